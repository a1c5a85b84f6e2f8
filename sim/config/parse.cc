#include "sim/config/parse.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <numeric>

#include "sim/config/decimal_text.h"
#include "sim/config/device_file.h"
#include "sim/config/json_reader.h"
#include "sim/config/option.h"
#include "sim/config/pool_size.h"
#include "sim/trace/closest_word.h"
#include "sim/trace/read_file.h"

namespace pinfold::sim {
namespace {

constexpr std::uint64_t kPicosecondsPerMicrosecond = 1'000'000;

/// Sources by what beats what: the defaults, then each file behind the files it includes, then the
/// flags.
using Layer = std::uint32_t;
constexpr Layer kDefaults = 0;
constexpr Layer included_by(std::size_t file) { return static_cast<Layer>(2 * file + 1); }
constexpr Layer layer_of(std::size_t file) { return static_cast<Layer>(2 * file + 2); }
constexpr Layer kImported = UINT32_MAX - 1;
constexpr Layer kFlags = UINT32_MAX;

/// Where an option's value came from.
struct Origin {
  Layer layer = kDefaults;
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

bool take(const TextOption& kind, const JsonValue& value, RunConfig& config) {
  if (value.kind != JsonValue::Kind::kString || value.text.empty()) return false;
  kind.set(config, value.text);
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
  std::optional<std::string_view> close = closest_word(name, names);
  if (!close) close = closest_beginning(name, names);
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

  /// The `file`-th file: first what it includes, then what it says itself.
  MaybeError apply_file(std::string_view json, const std::string& name, std::size_t file) {
    const Outcome<JsonValue> document = parse_object(json, name);
    if (!document) return document.error();
    apply_document(document.value(), name, file);
    return std::nullopt;
  }

  /// The same with a document, or an object of one, that has been parsed.
  void apply_document(const JsonValue& document, const std::string& name, std::size_t file) {
    for (const JsonMember& member : document.members) {
      if (member.key != kInclude) continue;
      note(apply_includes(member.value, name, file));
    }
    apply_members(document, name, layer_of(file));
  }

  /// One option of a file, by its path.
  MaybeError apply_path(const std::string& path, const JsonValue& value,
                        const TextPosition& key_position, const std::string& file) {
    const Option* option = find_option(path);
    if (option == nullptr) return unknown(path, {layer_of(0), file, key_position});
    return apply(*option, value, {layer_of(0), file, value.position});
  }

  MaybeError apply_override(const std::string& text) {
    const Origin place{kFlags, "--set " + text, {}};
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) {
      return error_at(place, "", in_quotes(text),
                      "an option and its value, as engine.block_size=64");
    }
    return apply_text(text.substr(0, equals), text.substr(equals + 1), place);
  }

  MaybeError apply_flag(const FlagValue& flag, Layer layer) {
    return apply_text(flag.path, flag.value, Origin{layer, flag.flag, {}});
  }

  /// What needs all options: that each one set has an effect, the relations between them, and the size
  /// of the pool. Each asks only what was right before it.
  void finish() {
    if (!wrong()) note(choose_pool_source());
    if (wrong()) return;
    for (const Option& option : all_options()) note(check_effect(option));
    if (wrong()) return;
    for (const auto rule :
         {&ConfigBuilder::check_ratios, &ConfigBuilder::check_caches, &ConfigBuilder::check_heads,
          &ConfigBuilder::check_budget, &ConfigBuilder::check_ring, &ConfigBuilder::check_drafts,
          &ConfigBuilder::check_store}) {
      note((this->*rule)());
    }
    if (!wrong()) note(load_device());
    if (!wrong()) note(size_pool());
    if (!wrong()) look_for_moved_bytes();
  }

  /// A mistake does not keep others from being found.
  void note(MaybeError error) {
    if (error) mistakes_.push_back(std::move(*error));
  }
  bool wrong() const { return !mistakes_.empty(); }
  const std::vector<InputError>& mistakes() const { return mistakes_; }

  RunConfig& config() { return config_; }
  std::vector<std::string>& notes() { return notes_; }
  bool pool_is_given() const { return pool_is_given_; }

 private:
  static constexpr std::string_view kInclude = "include";

  static Outcome<JsonValue> parse_object(std::string_view json, const std::string& name) {
    Outcome<JsonValue> document = parse_json(json, name);
    if (!document) return document.error();
    if (document.value().kind == JsonValue::Kind::kObject) return document;
    return error_at({kDefaults, name, document.value().position}, "", shown(document.value()),
                    "an object with the configuration");
  }

  /// Paths are relative to the including file. One level deep: what a file is made of can be read in it.
  MaybeError apply_includes(const JsonValue& value, const std::string& file, std::size_t number) {
    const auto wrong = [&](const JsonValue& found) {
      return error_at({kDefaults, file, found.position}, std::string(kInclude), shown(found),
                      "an array of paths, as [\"../models/llama_3_1_8b.json\"]");
    };
    if (value.kind != JsonValue::Kind::kArray) return wrong(value);
    for (const JsonValue& item : value.items) {
      if (item.kind != JsonValue::Kind::kString) return wrong(item);
      const std::string path =
          (std::filesystem::path(file).parent_path() / item.text).lexically_normal().string();
      const std::string place =
          fmt::format("included by {}:{}:{}", file, item.position.line, item.position.column);
      const Outcome<std::string> text = read_file(path, "a configuration (JSON)");
      if (!text) return with_hint(text.error(), place);
      const Outcome<JsonValue> document = parse_object(text.value(), path);
      if (!document) return with_hint(document.error(), place);
      const std::size_t before = mistakes_.size();
      apply_members(document.value(), path, included_by(number));
      for (std::size_t n = before; n < mistakes_.size(); ++n) {
        mistakes_[n] = with_hint(mistakes_[n], place);
      }
    }
    return std::nullopt;
  }

  static InputError with_hint(InputError error, const std::string& hint) {
    error.hint += (error.hint.empty() ? "" : "; ") + hint;
    return error;
  }

  void apply_members(const JsonValue& document, const std::string& file, Layer layer) {
    for (const JsonMember& member : document.members) note(apply_root_member(member, file, layer));
  }

  MaybeError apply_root_member(const JsonMember& member, const std::string& file, Layer layer) {
    const Origin place{layer, file, member.position};
    const Origin value_place{layer, file, member.value.position};
    if (member.key == "$schema") {
      if (member.value.kind == JsonValue::Kind::kString) return std::nullopt;
      return error_at(value_place, "$schema", shown(member.value),
                      "the schema's address as a string");
    }
    if (member.key == kInclude) {
      const bool included = layer % 2 == 1;
      if (!included) return std::nullopt;
      return error_at(place, member.key, "an include in a file that is itself included",
                      "included files without includes", "include both in the outer file");
    }
    if (const Option* option = find_option(member.key); option && option->section().empty()) {
      return apply(*option, member.value, value_place);
    }
    bool section = false;
    for (const Option& option : all_options()) section |= option.section() == member.key;
    if (!section) return unknown_at_root(member.key, place);
    if (member.value.kind != JsonValue::Kind::kObject) {
      return error_at(value_place, member.key, shown(member.value),
                      fmt::format("an object with the options of {}", member.key));
    }
    for (const JsonMember& inner : member.value.members) {
      const std::string path = fmt::format("{}.{}", member.key, inner.key);
      const Option* option = find_option(path);
      note(option == nullptr ? unknown(path, {layer, file, inner.position})
                             : apply(*option, inner.value, {layer, file, inner.value.position}));
    }
    return std::nullopt;
  }

  MaybeError apply_text(const std::string& path, const std::string& text, Origin place) {
    const Option* option = find_option(path);
    if (option == nullptr) return unknown(path, place);
    if (origin_of(*option).layer == place.layer) {
      const std::string other = origin_of(*option).source;
      const std::string_view source = place.source;
      place.source = source.substr(0, source.find_first_of(" ="));
      return error_at(place, path, "two values", "one",
                      fmt::format("the other one is `{}`", other));
    }
    const Outcome<JsonValue> value = override_value(*option, text, place);
    if (!value) return value.error();
    return apply(*option, value.value(), place);
  }

  /// The text behind `=`: an array for a list, brackets optional, else a number, true, false or a word.
  static Outcome<JsonValue> override_value(const Option& option, const std::string& text,
                                           const Origin& place) {
    JsonValue word;
    word.kind = JsonValue::Kind::kString;
    word.text = text;
    if (std::holds_alternative<TextOption>(option.kind)) return word;
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
    Origin& before = origin_of(option);
    // A file has each key once and a flag is looked up before, so these are two included files.
    if (before.layer == place.layer) {
      return error_at(place, std::string(option.path), "a second included file that sets it", "one",
                      fmt::format("the first is {}:{}:{}", before.source, before.position.line,
                                  before.position.column));
    }
    before = place;
    return std::nullopt;
  }

  static InputError unknown(const std::string& path, const Origin& place) {
    return error_at(place, path, "an unknown option", "an option of `pinfold schema`",
                    hint_for_unknown(path));
  }

  static InputError unknown_at_root(const std::string& key, const Origin& place) {
    std::vector<std::string_view> candidates{kInclude, "$schema"};
    for (const Option& option : all_options()) {
      candidates.push_back(option.section().empty() ? option.name() : option.section());
    }
    std::string hint = did_you_mean(key, candidates);
    if (hint.empty()) hint = hint_for_unknown(key);
    return error_at(place, key, "an unknown option", "an option of `pinfold schema`", hint);
  }

  /// The source of highest rank sizes the pool.
  MaybeError choose_pool_source() {
    struct Candidate {
      std::string_view path;
      PoolSource source;
    };
    constexpr std::array<Candidate, 3> kCandidates{
        Candidate{"engine.num_blocks", PoolSource::kNumBlocks},
        Candidate{"memory.available_gib", PoolSource::kAvailable},
        Candidate{"memory.device_gib", PoolSource::kDevice}};
    const Candidate* best = &kCandidates[0];
    for (const Candidate& candidate : std::span(kCandidates).subspan(1)) {
      const Origin& origin = origin_of(*find_option(candidate.path));
      const Layer highest = origin_of(*find_option(best->path)).layer;
      if (origin.layer > highest) best = &candidate;
      if (origin.layer != highest || origin.layer == kDefaults) continue;
      return error_at(origin, std::string(candidate.path), "a second figure that sizes the pool",
                      "engine.num_blocks, memory.available_gib or memory.device_gib alone",
                      fmt::format("{} is given too", best->path));
    }
    config_.memory.source = best->source;
    pool_is_given_ = origin_of(*find_option(best->path)).layer != kDefaults;
    return std::nullopt;
  }

  MaybeError size_pool() {
    const PoolSource source = config_.memory.source;
    const std::string_view path = source == PoolSource::kNumBlocks   ? "engine.num_blocks"
                                  : source == PoolSource::kAvailable ? "memory.available_gib"
                                                                     : "memory.device_gib";
    constexpr std::uint64_t kMostBytes = std::uint64_t{1}
                                         << 36;  // 64 GiB: no product passes 64 bits
    const std::uint64_t largest =
        std::max(block_bytes_of(config_).value, slot_bytes_of(config_).value);
    if (largest > kMostBytes) {
      return error_at(origin_of(*find_option(path)), "model",
                      fmt::format("a block or a state slot of {} bytes", largest),
                      fmt::format("at most {}", kMostBytes));
    }
    const MemorySplit split = split_memory(config_);
    if (auto fault = find_pool_fault(split)) {
      return error_at(origin_of(*find_option(path)), std::string(path), fault->found,
                      fault->expected, fault->hint);
    }
    config_.engine.num_blocks = static_cast<std::uint32_t>(split.sizing.block_ids);
    return std::nullopt;
  }

  /// A part of a configuration may say a bandwidth for models that say what a block takes, and for others.
  void look_for_moved_bytes() {
    const Origin& origin = origin_of(*find_option("store.bandwidth_gb_s"));
    const bool said = origin.layer != kDefaults && config_.store.bandwidth_gb_s.numerator > 0;
    if (!said || block_bytes_of(config_).value > 0 || config_.cost.device) return;
    notes_.push_back(
        fmt::format("{}: store.bandwidth_gb_s is without effect: model.layers and its sizes do not "
                    "say what a block takes, so "
                    "that a transfer takes store.latency_us alone",
                    origin.source));
  }

  MaybeError check_effect(const Option& option) {
    const Origin& origin = origin_of(option);
    if (origin.layer == kDefaults || option.has_effect(config_)) return std::nullopt;
    if (origin.layer == kImported) {
      notes_.push_back(fmt::format("{}: without effect: {} counts only where {}", origin.source,
                                   option.path, option.condition->text));
      return std::nullopt;
    }
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

  MaybeError check_caches() const {
    const ModelConfig& model = config_.model;
    const std::size_t ratios = model.compression_ratios.size();
    const auto check = [&](std::string_view path, std::size_t count) -> MaybeError {
      const bool both_or_none =
          model.compression_layers.empty() == model.compression_row_bytes.empty();
      if (count == ratios || (count == 0 && both_or_none)) return std::nullopt;
      return relation(path, "model.compression_ratios", fmt::format("{} values", count),
                      fmt::format("one for each of the {} compression_ratios", ratios),
                      "the three lists describe the same caches in the same order");
    };
    if (auto error = check("model.compression_layers", model.compression_layers.size())) {
      return error;
    }
    return check("model.compression_row_bytes", model.compression_row_bytes.size());
  }

  MaybeError check_heads() const {
    const std::uint32_t heads = config_.model.kv_heads;
    const std::uint32_t gpus = config_.engine.tensor_parallel_size;
    if (config_.model.layers == 0 || heads % gpus == 0 || gpus % heads == 0) return std::nullopt;
    return relation("engine.tensor_parallel_size", "model.kv_heads", fmt::format("{} GPUs", gpus),
                    fmt::format("a divisor or a multiple of the {} key-value heads", heads),
                    "every GPU holds as many whole heads as the others");
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

  MaybeError check_store() const {
    const StoreConfig& store = config_.store;
    if (!config_.prefix.reuse || store.host_blocks == 0) return std::nullopt;
    if (config_.engine.fence != FenceMode::kAlways) {
      return relation("engine.fence", "store.host_blocks", "\"unordered_writers\" with a store",
                      "\"always\"",
                      "a lane of its own is not queued behind a step that still writes");
    }
    if (store.interval % config_.engine.block_size == 0) return std::nullopt;
    return relation("store.interval", "engine.block_size",
                    fmt::format("an interval of {}", store.interval),
                    fmt::format("a multiple of block_size = {}", config_.engine.block_size),
                    "whole blocks are saved");
  }

  /// Reads what cost.device names and picks the model that the other options ask for.
  MaybeError load_device() {
    CostConfig& cost = config_.cost;
    if (cost.device_name == "none") return std::nullopt;
    const Origin& origin = origin_of(*find_option("cost.device"));
    const Outcome<std::string> text = device_text(cost.device_name, origin);
    if (!text) return text.error();
    const DeviceChoice choice{.tensor_parallel_size = config_.engine.tensor_parallel_size,
                              .variant = cost.variant,
                              .fit = cost.fit};
    DeviceOutcome outcome = read_device(text.value(), cost.device_name, choice);
    if (const auto* error = std::get_if<InputError>(&outcome)) return *error;
    if (const auto* error = std::get_if<ChoiceError>(&outcome)) {
      const Origin& chosen = origin_of(*find_option(error->option));
      return error_at(chosen.layer == kDefaults ? origin : chosen, error->option, error->found,
                      error->expected);
    }
    cost.device = std::get<Device>(std::move(outcome));
    if (!cost.device_digest.empty() && cost.device_digest != cost.device->digest) {
      return error_at(origin_of(*find_option("cost.device_digest")), "cost.device_digest",
                      in_quotes(cost.device_digest),
                      fmt::format("the digest of {}, {}", cost.device->name, cost.device->digest),
                      "the device file has changed since");
    }
    cost.device_digest = cost.device->digest;
    return check_cache_bytes();
  }

  /// A model whose cache has another size than the device's was measured with costs something else.
  MaybeError check_cache_bytes() const {
    if (config_.model.layers == 0 || !config_.model.compression_ratios.empty()) return std::nullopt;
    const std::uint64_t own = block_bytes_of(config_).value / config_.engine.block_size;
    const std::uint64_t measured = config_.cost.device->copy.bytes_per_position;
    if (own == measured) return std::nullopt;
    return relation("cost.variant", "model.kv_bytes_per_element",
                    fmt::format("a device measured with {} bytes a position on one GPU", measured),
                    fmt::format("the model's {}", own),
                    "model.layers, kv_heads, head_dim and kv_bytes_per_element must be those that "
                    "cost.device and cost.variant stand for");
  }

  /// A device file's text: a file's where the name ends in .json, else a built-in one's.
  static Outcome<std::string> device_text(const std::string& name, const Origin& origin) {
    if (name.ends_with(".json")) return read_file(name, "a device file (JSON)");
    std::vector<std::string_view> names;
    for (const BuiltInDevice& device : built_in_devices()) {
      if (device.name == name) return std::string(device.text);
      names.push_back(device.name);
    }
    std::string hint = did_you_mean(name, names);
    if (hint.empty()) hint = fmt::format("built in are {}", fmt::join(names, ", "));
    return error_at(origin, "cost.device", in_quotes(name),
                    expected_value(*find_option("cost.device")), std::move(hint));
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
  std::vector<std::string> notes_;
  std::vector<InputError> mistakes_;
  bool pool_is_given_ = false;
};

Outcome<LoadedConfig> finish(ConfigBuilder& builder, const ConfigSources& sources) {
  for (const FlagValue& flag : sources.imported) builder.note(builder.apply_flag(flag, kImported));
  for (const FlagValue& flag : sources.flags) builder.note(builder.apply_flag(flag, kFlags));
  for (const std::string& text : sources.overrides) builder.note(builder.apply_override(text));
  builder.finish();
  if (builder.wrong()) return builder.mistakes().front();
  return LoadedConfig{std::move(builder.config()), std::move(builder.notes()),
                      builder.pool_is_given()};
}

Outcome<RunConfig> without_notes(Outcome<LoadedConfig> loaded) {
  if (!loaded) return loaded.error();
  return std::move(loaded.value().config);
}

/// As behind `--set KEY=`: words without their quotes.
std::string flag_text(const Option& option, const RunConfig& config) {
  std::string text = value_text(option, config);
  if (!text.starts_with('"')) return text;
  const Outcome<JsonValue> word = parse_json(text, "");
  return word ? word.value().text : text;
}

}  // namespace

Outcome<std::string> option_text(const std::string& path, const JsonValue& value,
                                 const TextPosition& key_position, const std::string& file) {
  ConfigBuilder builder;
  if (auto error = builder.apply_path(path, value, key_position, file)) return *error;
  return flag_text(*find_option(path), builder.config());
}

Outcome<std::string> option_text(const FlagValue& flag) {
  ConfigBuilder builder;
  if (auto error = builder.apply_flag(flag, kFlags)) return *error;
  return flag_text(*find_option(flag.path), builder.config());
}

Outcome<LoadedConfig> load_config(const ConfigSources& sources, std::vector<InputError>* mistakes) {
  ConfigBuilder builder;
  for (std::size_t file = 0; file < sources.files.size(); ++file) {
    const std::string& path = sources.files[file];
    const Outcome<std::string> text = read_file(path, "a configuration (JSON)");
    builder.note(text ? builder.apply_file(text.value(), path, file) : text.error());
  }
  for (std::size_t i = 0; i < sources.documents.size(); ++i) {
    const ConfigDocument& document = sources.documents[i];
    const std::size_t file = sources.files.size() + i;
    builder.apply_document(document.value, document.file, file);
  }
  Outcome<LoadedConfig> loaded = finish(builder, sources);
  if (mistakes != nullptr) *mistakes = builder.mistakes();
  return loaded;
}

Outcome<RunConfig> load_config(const std::optional<std::string>& path,
                               std::span<const std::string> overrides) {
  ConfigSources sources;
  if (path) sources.files.push_back(*path);
  sources.overrides.assign(overrides.begin(), overrides.end());
  return without_notes(load_config(sources));
}

Outcome<RunConfig> parse_config(std::string_view json, const std::string& name,
                                std::span<const std::string> overrides) {
  ConfigBuilder builder;
  builder.note(builder.apply_file(json, name, 0));
  ConfigSources sources;
  sources.overrides.assign(overrides.begin(), overrides.end());
  return without_notes(finish(builder, sources));
}

Outcome<RunConfig> parse_config(const JsonValue& object, const std::string& name,
                                std::span<const std::string> overrides) {
  if (object.kind != JsonValue::Kind::kObject) {
    return error_at({kDefaults, name, object.position}, "config", shown(object),
                    "an object with the configuration");
  }
  ConfigBuilder builder;
  builder.apply_document(object, name, 0);
  ConfigSources sources;
  sources.overrides.assign(overrides.begin(), overrides.end());
  return without_notes(finish(builder, sources));
}

}  // namespace pinfold::sim
