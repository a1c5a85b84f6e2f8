#include "sim/config/parse.h"

#include <fmt/format.h>

#include <charconv>
#include <numeric>

#include "sim/config/decimal_text.h"
#include "sim/config/json_reader.h"
#include "sim/config/option.h"
#include "sim/trace/closest_word.h"
#include "sim/trace/read_file.h"

namespace pinfold::sim {
namespace {

constexpr std::uint64_t kPicosecondsPerMicrosecond = 1'000'000;

/// Where an option's value came from.
struct Origin {
  enum class Layer : std::uint8_t { kDefault, kFile, kOverride };
  Layer layer = Layer::kDefault;
  std::string source;  // the file, or the flag
  TextPosition position;
};

using MaybeError = std::optional<InputError>;

InputError error_at(const Origin& origin, std::string key, std::string found, std::string expected,
                    std::string hint = {}) {
  return InputError{.path = origin.source,
                    .line = origin.position.line,
                    .column = origin.position.column,
                    .key = std::move(key),
                    .found = std::move(found),
                    .expected = std::move(expected),
                    .hint = std::move(hint)};
}

/// An unsigned integer written with nothing but digits.
std::optional<std::uint64_t> parse_integer(const std::string& text) {
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, failure] = std::from_chars(text.data(), end, value);
  if (failure != std::errc() || stop != end) return std::nullopt;
  return value;
}

// --- One value -----------------------------------------------------------------------------------
// Each overload takes a value into the configuration and returns false if the option cannot have it.

bool take(const IntegerOption& kind, const JsonValue& value, RunConfig& config) {
  if (value.kind != JsonValue::Kind::kNumber) return false;
  const std::optional<std::uint64_t> number = parse_integer(value.text);
  if (!number || *number < kind.least || *number > kind.most) return false;
  kind.set(config, *number);
  return true;
}

/// True if `number` lies in [least, most] and `scale` times it is an integer. 10^9 bounds every limit
/// and every scale, and decimals have at most 18 digits, so the products need 128 bits at most.
bool fits(Rational number, std::uint64_t least, std::uint64_t most, std::uint64_t scale) {
  const std::uint64_t whole = number.numerator / number.denominator;
  if (whole < least || whole > most) return false;
  if (whole == most && number.denominator != 1) return false;
  return scale % number.denominator == 0;
}

bool take(const DecimalOption& kind, const JsonValue& value, RunConfig& config) {
  if (value.kind != JsonValue::Kind::kNumber) return false;
  const std::optional<Rational> number = parse_decimal(value.text);
  std::uint64_t scale = 1;
  for (std::uint32_t i = 0; i < kind.decimals; ++i) scale *= 10;
  if (!number || !fits(*number, kind.least, kind.most, scale)) return false;
  kind.set(config, *number);
  return true;
}

bool take(const MicrosecondOption& kind, const JsonValue& value, RunConfig& config) {
  if (value.kind != JsonValue::Kind::kNumber) return false;
  const std::optional<Rational> number = parse_decimal(value.text);
  if (!number || !fits(*number, 0, kind.most_us, kPicosecondsPerMicrosecond)) return false;
  // At most 10^9 us are 10^15 ps, and the denominator divides 10^6.
  kind.set_ps(config, number->numerator * (kPicosecondsPerMicrosecond / number->denominator));
  return true;
}

bool take(const ChoiceOption& kind, const JsonValue& value, RunConfig& config) {
  if (value.kind != JsonValue::Kind::kString) return false;
  for (std::size_t index = 0; index < kind.words.size(); ++index) {
    if (kind.words[index] != value.text) continue;
    kind.set(config, index);
    return true;
  }
  return false;
}

bool take(const BooleanOption& kind, const JsonValue& value, RunConfig& config) {
  if (value.kind != JsonValue::Kind::kBoolean) return false;
  kind.set(config, value.text == "true");
  return true;
}

bool take(const ListOption& kind, const JsonValue& value, RunConfig& config) {
  if (value.kind != JsonValue::Kind::kArray) return false;
  std::vector<std::uint32_t> numbers;
  for (const JsonValue& item : value.items) {
    if (item.kind != JsonValue::Kind::kNumber) return false;
    const std::optional<std::uint64_t> number = parse_integer(item.text);
    if (!number || *number < kind.least || *number > kind.most) return false;
    numbers.push_back(static_cast<std::uint32_t>(*number));
  }
  kind.set(config, std::move(numbers));
  return true;
}

// --- Words ---------------------------------------------------------------------------------------

std::string did_you_mean(std::string_view word, std::span<const std::string_view> candidates) {
  const std::optional<std::string_view> close = closest_word(word, candidates);
  return close ? fmt::format("did you mean {}?", *close) : std::string();
}

/// For a path that is no option's: the option with the same name elsewhere, or the closest path.
std::string hint_for_unknown(std::string_view path) {
  const std::size_t dot = path.rfind('.');
  const std::string_view name = dot == std::string_view::npos ? path : path.substr(dot + 1);
  std::vector<std::string_view> paths;
  std::vector<std::string_view> names;
  for (const Option& option : all_options()) {
    if (option.name() == name) return fmt::format("did you mean {}?", option.path);
    paths.push_back(option.path);
    names.push_back(option.name());
  }
  if (std::string hint = did_you_mean(path, paths); !hint.empty()) return hint;
  const std::optional<std::string_view> close = closest_word(name, names);
  if (!close) return "`pinfold schema` lists all options";
  for (const Option& option : all_options()) {
    if (option.name() == *close) return fmt::format("did you mean {}?", option.path);
  }
  return {};
}

std::string hint_for_value(const Option& option, const JsonValue& value) {
  if (const auto* choice = std::get_if<ChoiceOption>(&option.kind)) {
    if (value.kind == JsonValue::Kind::kString) {
      if (std::string hint = did_you_mean(value.text, choice->words); !hint.empty()) return hint;
    }
  } else if (value.kind == JsonValue::Kind::kString && value.position.line != 0 &&
             parse_decimal(value.text)) {
    return "write it without quotes";
  }
  return std::string(option.limit_hint);
}

std::string found_value(const JsonValue& value) {
  if (value.kind == JsonValue::Kind::kString && value.text.empty()) return "an empty value";
  if (value.kind != JsonValue::Kind::kArray) return shown(value);
  std::string text = "[";
  for (std::size_t i = 0; i < value.items.size(); ++i) {
    text += fmt::format("{}{}", i > 0 ? ", " : "", shown(value.items[i]));
  }
  return text + "]";
}

// --- The whole -----------------------------------------------------------------------------------

class ConfigBuilder {
 public:
  ConfigBuilder() : origins_(all_options().size()) {}

  MaybeError apply_file(std::string_view json, const std::string& name) {
    const Outcome<JsonValue> document = parse_json(json, name);
    if (!document) return document.error();
    const Origin place{Origin::Layer::kFile, name, document.value().position};
    if (document.value().kind != JsonValue::Kind::kObject) {
      return error_at(place, "", shown(document.value()), "an object with the configuration");
    }
    for (const JsonMember& member : document.value().members) {
      if (auto error = apply_root_member(member, name)) return error;
    }
    return std::nullopt;
  }

  MaybeError apply_override(const std::string& text) {
    Origin place{Origin::Layer::kOverride, "--set " + text, {}};
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) {
      return error_at(place, "", in_quotes(text),
                      "an option and its value, as engine.block_size=64");
    }
    const std::string path = text.substr(0, equals);
    const Option* option = find_option(path);
    if (option == nullptr) return unknown(path, place);
    if (origin_of(*option).layer == Origin::Layer::kOverride) {
      place.source = "--set";
      return error_at(place, path, "two values", "one",
                      fmt::format("the other one is `{}`", origin_of(*option).source));
    }
    const Outcome<JsonValue> value = override_value(*option, text.substr(equals + 1), place);
    if (!value) return value.error();
    return apply(*option, value.value(), place);
  }

  /// The checks that need all options: first that each one set has an effect, then the relations.
  MaybeError check() const {
    for (const Option& option : all_options()) {
      if (auto error = check_effect(option)) return error;
    }
    for (const auto rule : {&ConfigBuilder::check_ratios, &ConfigBuilder::check_budget,
                            &ConfigBuilder::check_ring, &ConfigBuilder::check_drafts}) {
      if (auto error = (this->*rule)()) return error;
    }
    return std::nullopt;
  }

  RunConfig& config() { return config_; }

 private:
  MaybeError apply_root_member(const JsonMember& member, const std::string& file) {
    const Origin place{Origin::Layer::kFile, file, member.position};
    if (member.key == "$schema") {
      if (member.value.kind == JsonValue::Kind::kString) return std::nullopt;
      return error_at({place.layer, file, member.value.position}, "$schema", shown(member.value),
                      "the schema's address as a string");
    }
    if (const Option* option = find_option(member.key); option && option->section().empty()) {
      return apply(*option, member.value, {place.layer, file, member.value.position});
    }
    bool section = false;
    for (const Option& option : all_options()) section |= option.section() == member.key;
    if (!section) return unknown_at_root(member.key, place);
    if (member.value.kind != JsonValue::Kind::kObject) {
      return error_at({place.layer, file, member.value.position}, member.key, shown(member.value),
                      fmt::format("an object with the options of {}", member.key));
    }
    for (const JsonMember& inner : member.value.members) {
      const std::string path = fmt::format("{}.{}", member.key, inner.key);
      const Option* option = find_option(path);
      if (option == nullptr) return unknown(path, {place.layer, file, inner.position});
      const Origin value_place{place.layer, file, inner.value.position};
      if (auto error = apply(*option, inner.value, value_place)) return error;
    }
    return std::nullopt;
  }

  /// The text behind `=`: an array for a list, brackets optional, else a number, true, false or a word.
  static Outcome<JsonValue> override_value(const Option& option, const std::string& text,
                                           const Origin& place) {
    JsonValue word;
    word.kind = JsonValue::Kind::kString;
    word.text = text;
    const bool list = std::holds_alternative<ListOption>(option.kind);
    const bool brackets = text.starts_with('[');
    const Outcome<JsonValue> json =
        parse_json(list && !brackets ? "[" + text + "]" : text, place.source);
    const bool plain = json && (json.value().kind == JsonValue::Kind::kNumber ||
                                json.value().kind == JsonValue::Kind::kBoolean ||
                                json.value().kind == JsonValue::Kind::kArray);
    if (!plain) return word;
    JsonValue value = json.value();
    value.position = {};
    return value;
  }

  MaybeError apply(const Option& option, const JsonValue& value, const Origin& place) {
    const bool taken =
        std::visit([&](const auto& kind) { return take(kind, value, config_); }, option.kind);
    if (!taken) {
      return error_at(place, std::string(option.path), found_value(value), expected_value(option),
                      hint_for_value(option, value));
    }
    origin_of(option) = place;
    return std::nullopt;
  }

  static InputError unknown(const std::string& path, const Origin& place) {
    for (const std::string_view planned : options_not_built_yet()) {
      if (path == planned) {
        return error_at(place, path, "an option that is not built yet", "an option that exists");
      }
    }
    return error_at(place, path, "an unknown option", "an option of `pinfold schema`",
                    hint_for_unknown(path));
  }

  static InputError unknown_at_root(const std::string& key, const Origin& place) {
    std::vector<std::string_view> candidates;
    for (const Option& option : all_options()) {
      candidates.push_back(option.section().empty() ? option.name() : option.section());
    }
    std::string hint = did_you_mean(key, candidates);
    if (hint.empty()) hint = hint_for_unknown(key);
    return error_at(place, key, "an unknown option", "an option of `pinfold schema`", hint);
  }

  MaybeError check_effect(const Option& option) const {
    const Origin& origin = origin_of(option);
    if (origin.layer == Origin::Layer::kDefault || option.has_effect(config_)) return std::nullopt;
    for (const std::string_view other : option.condition->depends_on) {
      if (origin_of(*find_option(other)).layer > origin.layer) return std::nullopt;
    }
    return error_at(origin, std::string(option.path), "an option without effect",
                    fmt::format("it only where {}", option.condition->text), "leave it out");
  }

  MaybeError check_ratios() const {
    for (const std::uint32_t ratio : config_.model.compression_ratios) {
      if (config_.engine.block_size % ratio == 0) continue;
      return relation(
          "engine.block_size", "model.compression_ratios",
          fmt::format("a block size of {}", config_.engine.block_size),
          fmt::format("a multiple of the compression ratio {}", ratio),
          "a block holds block_size/ratio rows of each compressed cache, a whole number");
    }
    return std::nullopt;
  }

  MaybeError check_budget() const {
    const EngineConfig& engine = config_.engine;
    if (engine.max_num_batched_tokens >= engine.max_num_seqs) return std::nullopt;
    return relation("engine.max_num_batched_tokens", "engine.max_num_seqs",
                    fmt::format("a token budget of {}", engine.max_num_batched_tokens),
                    fmt::format("at least max_num_seqs = {}", engine.max_num_seqs),
                    "every running sequence takes a token a step");
  }

  MaybeError check_ring() const {
    const std::uint64_t window = config_.model.window_tokens;
    const std::uint64_t least = window + config_.workload.drafts;
    if (!config_.model.state_slots || window == 0 || config_.model.ring_tokens >= least) {
      return std::nullopt;
    }
    return relation("model.ring_tokens", "model.window_tokens",
                    fmt::format("a ring of {} rows", config_.model.ring_tokens),
                    fmt::format("at least window_tokens + drafts = {} + {} = {}", window,
                                config_.workload.drafts, least),
                    "a draft would overwrite a row that the window still shows");
  }

  MaybeError check_drafts() const {
    constexpr std::uint32_t kMostDeepInferDrafts = 5;
    if (config_.engine.profile != "deepinfer" || config_.workload.drafts <= kMostDeepInferDrafts) {
      return std::nullopt;
    }
    return relation("workload.drafts", "engine.profile",
                    fmt::format("{} drafts", config_.workload.drafts),
                    fmt::format("at most {} with profile deepinfer", kMostDeepInferDrafts),
                    "its steps have at most six rows a sequence");
  }

  /// An error between two options, placed at the one that was set last, at `first` if in doubt.
  InputError relation(std::string_view first, std::string_view second, std::string found,
                      std::string expected, std::string hint) const {
    const Origin& a = origin_of(*find_option(first));
    const Origin& b = origin_of(*find_option(second));
    return error_at(b.layer > a.layer ? b : a, std::string(first), std::move(found),
                    std::move(expected), std::move(hint));
  }

  Origin& origin_of(const Option& option) { return origins_[index_of(option)]; }
  const Origin& origin_of(const Option& option) const { return origins_[index_of(option)]; }
  static std::size_t index_of(const Option& option) {
    return static_cast<std::size_t>(&option - all_options().data());
  }

  RunConfig config_;
  std::vector<Origin> origins_;  // as all_options()
};

Outcome<RunConfig> finish(ConfigBuilder& builder, std::span<const std::string> overrides) {
  for (const std::string& text : overrides) {
    if (auto error = builder.apply_override(text)) return *error;
  }
  if (auto error = builder.check()) return *error;
  return std::move(builder.config());
}

}  // namespace

Outcome<RunConfig> parse_config(std::string_view json, const std::string& name,
                                std::span<const std::string> overrides) {
  ConfigBuilder builder;
  if (auto error = builder.apply_file(json, name)) return *error;
  return finish(builder, overrides);
}

Outcome<RunConfig> load_config(const std::optional<std::string>& path,
                               std::span<const std::string> overrides) {
  if (path) {
    const Outcome<std::string> text = read_file(*path, "a configuration (JSON)");
    if (!text) return text.error();
    return parse_config(text.value(), *path, overrides);
  }
  ConfigBuilder builder;
  return finish(builder, overrides);
}

}  // namespace pinfold::sim
