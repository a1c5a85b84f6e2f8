#pragma once
// The configuration's options, each declared once: parsing, `--set`, the JSON Schema and the resolved
// dump all read this table.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "sim/config/run_config.h"

namespace pinfold::sim {

struct IntegerOption {
  std::uint64_t least;
  std::uint64_t most;
  std::uint64_t (*get)(const RunConfig&);
  void (*set)(RunConfig&, std::uint64_t);
};

/// An exact decimal.
struct DecimalOption {
  std::uint64_t least;
  std::uint64_t most;
  std::uint32_t decimals;  // at most so many digits behind the point
  Rational (*get)(const RunConfig&);
  void (*set)(RunConfig&, Rational);
};

/// A cost in microseconds, held in picoseconds: at most 6 digits behind the point.
struct MicrosecondOption {
  std::uint64_t most_us;
  std::uint64_t (*get_ps)(const RunConfig&);
  void (*set_ps)(RunConfig&, std::uint64_t);
};

/// One of a few words.
struct ChoiceOption {
  std::span<const std::string_view> words;
  std::size_t (*get)(const RunConfig&);  // index of the word
  void (*set)(RunConfig&, std::size_t);
};

struct BooleanOption {
  bool (*get)(const RunConfig&);
  void (*set)(RunConfig&, bool);
};

/// An array of integers.
struct ListOption {
  std::uint32_t least;
  std::uint32_t most;
  const std::vector<std::uint32_t>& (*get)(const RunConfig&);
  void (*set)(RunConfig&, std::vector<std::uint32_t>);
};

/// Any text.
struct TextOption {
  std::string_view expected;  // "a variant of the device"
  const std::string& (*get)(const RunConfig&);
  void (*set)(RunConfig&, std::string);
};

/// When an option has an effect. Setting one that has none is an error.
struct Condition {
  bool (*holds)(const RunConfig&);
  std::string_view text;                         // "workload.drafts is at least 1"
  std::span<const std::string_view> depends_on;  // the options that decide
};

struct Option {
  std::string_view path;  // "engine.block_size"
  std::string_view unit;  // plural, as in "16 token positions"; may be empty
  std::string_view description;
  std::variant<IntegerOption, DecimalOption, MicrosecondOption, ChoiceOption, BooleanOption,
               ListOption, TextOption>
      kind;
  std::string_view limit_hint = {};  // added to errors about the value: why there are no more
  std::optional<Condition> condition = {};

  /// "engine", or empty for an option at the root.
  std::string_view section() const;
  /// "block_size".
  std::string_view name() const;
  bool has_effect(const RunConfig& config) const { return !condition || condition->holds(config); }
};

/// All options in the order of the canonical dump; those of a section stand together.
std::span<const Option> all_options();

/// The option of this path, or nullptr.
const Option* find_option(std::string_view path);

/// What a value of this option may be, in words: "an integer from 1 to 65536 token positions".
std::string expected_value(const Option& option);

/// The option's value in `config` as JSON text.
std::string value_text(const Option& option, const RunConfig& config);

}  // namespace pinfold::sim
