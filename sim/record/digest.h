#pragma once
// The two digests that end a run. Same trace, configuration and seed: same digests, on any compiler,
// processor, path and job count.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace pinfold::sim {

/// XXH3 over a stream of bytes; how the stream is cut into updates does not show.
class Digest {
 public:
  Digest();
  ~Digest();
  Digest(const Digest&) = delete;
  Digest& operator=(const Digest&) = delete;

  void update(std::span<const std::byte> bytes);
  std::uint64_t value() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace pinfold::sim
