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
  /// `--verify`: judge the events by the ownership rules.
  bool verify = false;
};

/// Writes the whole result to `out`, and one message to `err` if the exit code is not 0: 1 bad file
/// (nothing is written to `out` then), 3 a broken rule, or a recorded event that does not happen again.
int run_replay(const ReplayOptions& options, std::ostream& out, std::ostream& err);

}  // namespace pinfold::sim
