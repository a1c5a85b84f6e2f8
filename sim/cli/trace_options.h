#pragma once
// What to do with a trace, from the texts of flags.

#include <optional>
#include <string>

#include "sim/trace/trace_source.h"

namespace pinfold::sim {

/// What flags said, or a Python caller; nothing: the default.
struct TraceOptionTexts {
  std::optional<std::string> trace_format{};
  std::optional<std::string> columns{};
  std::optional<std::string> id_block{};
  std::optional<std::string> on_unordered{};
  std::optional<std::string> zero_output{};
  std::optional<std::string> on_error{};
  std::optional<std::string> start{};
  std::optional<std::string> end{};
  std::optional<std::string> shard{};
  std::optional<std::string> limit{};
  std::optional<std::string> repeat{};
};

/// Throws UsageError, which names a text by its flag.
TraceOptions trace_options_of(const TraceOptionTexts& texts);

}  // namespace pinfold::sim
