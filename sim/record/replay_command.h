#pragma once
// `pinfold replay EVENTS`.

#include <cstdint>
#include <iosfwd>
#include <string>

namespace pinfold::sim {

struct ReplayOptions {
  enum class Format : std::uint8_t { kText, kJson };

  std::string path;
  Format format = Format::kText;
  /// `--verify`: refused, because it is not built yet.
  bool verify = false;
};

/// Writes the whole result to `out` or one message to `err`, never both. Returns the exit code: 0 done,
/// 1 bad file, 2 `--verify`, 3 a broken invariant.
int run_replay(const ReplayOptions& options, std::ostream& out, std::ostream& err);

}  // namespace pinfold::sim
