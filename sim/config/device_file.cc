#include "sim/config/device_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "sim/config/json_object.h"

namespace pinfold::sim {
namespace {

// Bounds under which a step's time, summed in 128 bits, cannot overflow: sim/device/forward_time.cc.
constexpr std::uint64_t kMostPart = 1'000'000'000'000'000;  // ns, ps and fs of one part
constexpr std::uint64_t kMostRows = 1U << 30;
constexpr std::uint64_t kMostBytes = 1'000'000'000'000'000;  // of a position, and a second's

constexpr std::uint64_t kPsPerNs = 1000;

std::string item_path(std::string_view array, std::size_t index) {
  return fmt::format("{}[{}]", array, index);
}

/// One entry of a file, with all the models it has.
struct Entry {
  std::uint32_t tensor_parallel_size = 0;
  std::string variant;
  std::uint64_t bytes_per_position = 0;
  struct Model {
    ForwardModel forward;
    FittedRange range;
    std::optional<HeldOutError> error;
  };
  std::array<std::optional<Model>, kFitNames.size()> models;  // by Fit
};

class DeviceReader {
 public:
  DeviceReader(const JsonValue& document, const std::string& name)
      : document_(document), mistake_{name, {}} {}

  void read() {
    JsonObject root(document_, "", mistake_);
    if (root.has("$schema")) root.text("$schema");
    device.name = root.text("name");
    device.model = root.text("model");
    device.gpu = root.text("gpu");
    device.engine = root.text("engine");
    device.engine_version = root.text("engine_version");
    device.source = root.text("source");
    root.text("licence");
    if (root.has("notes")) root.text("notes");
    JsonObject copy = root.object("copy");
    read_copy(copy);
    const std::vector<JsonValue>& items = root.array("entries");
    if (items.empty()) mistake_.note(root.member("entries"), "entries", "at least one entry");
    for (std::size_t i = 0; i < items.size(); ++i) {
      entries.push_back(read_entry(items[i], item_path("entries", i)));
    }
    root.refuse_others();
  }

  const std::optional<InputError>& error() const { return mistake_.error; }

  Device device;
  std::vector<Entry> entries;

 private:
  static std::uint64_t ns(JsonObject& object, std::string_view key) {
    return kPsPerNs * object.integer(key, 0, kMostPart);
  }
  static std::uint64_t part(JsonObject& object, std::string_view key) {
    return object.integer(key, 0, kMostPart);
  }

  void read_copy(JsonObject& copy) {
    device.copy.bytes_per_s = copy.integer("bytes_per_s", 1, kMostBytes);
    device.copy.latency_ps = ns(copy, "latency_ns");
    device.copy.piece_ps = part(copy, "piece_ps");
    device.copy.pieces_per_block = copy.integer("pieces_per_block", 0, kMostRows);
    if (copy.has("notes")) copy.text("notes");
    copy.refuse_others();
  }

  Entry read_entry(const JsonValue& value, const std::string& path) {
    JsonObject object(value, path, mistake_);
    Entry entry;
    entry.tensor_parallel_size =
        static_cast<std::uint32_t>(object.integer("tensor_parallel_size", 1, 1024));
    entry.variant = object.text("variant");
    for (const Entry& other : entries) {
      if (other.tensor_parallel_size == entry.tensor_parallel_size &&
          other.variant == entry.variant) {
        mistake_.note(object.member("variant"), object.path_of("variant"),
                      "each tensor_parallel_size and variant once");
      }
    }
    object.text("weights");
    object.text("kv_cache");
    entry.bytes_per_position = object.integer("kv_bytes_per_position", 0, kMostBytes);
    JsonObject range = object.object("range");
    const FittedRange fitted = read_range(range);
    bool any = false;
    for (std::size_t fit = 0; fit < kFitNames.size(); ++fit) {
      if (!object.has(kFitNames[fit])) continue;
      any = true;
      JsonObject model = object.object(kFitNames[fit]);
      entry.models[fit] = read_model(static_cast<Fit>(fit), model, fitted);
      model.refuse_others();
    }
    if (!any) mistake_.note(value, path, "at least one of linear, roofline, knots and table");
    object.refuse_others();
    return entry;
  }

  FittedRange read_range(JsonObject& object) {
    FittedRange range;
    for (std::size_t limit = 0; limit < kLimits; ++limit) {
      if (!object.has(kLimitNames[limit])) continue;
      range[limit] = object.integer(kLimitNames[limit], 0, kMostPart);
    }
    object.refuse_others();
    return range;
  }

  Entry::Model read_model(Fit fit, JsonObject& object, const FittedRange& fitted) {
    Entry::Model model;
    model.range = fitted;
    switch (fit) {
      case Fit::kLinear: model.forward = read_linear(object); break;
      case Fit::kRoofline: model.forward = read_roofline(object); break;
      case Fit::kKnots: model.forward = read_knots(object); break;
      case Fit::kTable: {
        model.forward = read_table(object);
        JsonObject range = object.object("range");
        model.range = read_range(range);
        break;
      }
    }
    if (object.has("held_out_error")) {
      JsonObject error = object.object("held_out_error");
      model.error = HeldOutError{error.decimal("median_percent"), error.decimal("p90_percent")};
      error.refuse_others();
    }
    return model;
  }

  static LinearModel read_linear(JsonObject& object) {
    LinearModel model;
    model.step_ps = ns(object, "step_ns");
    model.prompt_row_ps = part(object, "prompt_row_ps");
    model.decode_row_ps = part(object, "decode_row_ps");
    model.context_position_ps = part(object, "context_position_ps");
    model.pair_fs = part(object, "pair_fs");
    return model;
  }

  static RooflineModel read_roofline(JsonObject& object) {
    RooflineModel model;
    model.step_ps = ns(object, "step_ns");
    model.knee_rows = object.integer("knee_rows", 0, kMostRows);
    model.row_from_knee_ps = part(object, "row_from_knee_ps");
    model.row_ps = part(object, "row_ps");
    model.decode_row_ps = part(object, "decode_row_ps");
    model.context_position_ps = part(object, "context_position_ps");
    model.pair_fs = part(object, "pair_fs");
    return model;
  }

  KnotsModel read_knots(JsonObject& object) {
    KnotsModel model;
    model.dense = read_curve(object, "dense", "ns");
    model.head = read_curve(object, "head", "ns");
    model.any_decode_ps = ns(object, "any_decode_ns");
    model.decode_row_ps = part(object, "decode_row_ps");
    model.context_position_ps = part(object, "context_position_ps");
    model.chunk_ps = ns(object, "chunk_ns");
    model.prompt_position_ps = part(object, "prompt_position_ps");
    model.pair_fs = part(object, "pair_fs");
    return model;
  }

  TableModel read_table(JsonObject& object) {
    TableModel model;
    model.layers = object.integer("layers", 1, 10'000);
    model.dense = read_curve(object, "dense", "ns");
    model.head = read_curve(object, "head", "ns");
    model.prompt_layer = read_curve(object, "prompt_attention", "layer_ns");
    read_decode_attention(object, model);
    return model;
  }

  /// {"rows": [1, 8], "ns": [10, 20]}
  Curve read_curve(JsonObject& parent, std::string_view key, std::string_view times) {
    JsonObject object = parent.object(key);
    Curve curve;
    curve.rows = read_nodes(object, "rows");
    curve.ns = object.integers(times, 0, kMostPart);
    if (curve.ns.size() != curve.rows.size()) {
      mistake_.note(object.member(times), object.path_of(times),
                    fmt::format("as many times as rows: {}", curve.rows.size()));
    }
    object.refuse_others();
    return curve;
  }

  std::vector<std::uint32_t> read_nodes(JsonObject& object, std::string_view key) {
    std::vector<std::uint32_t> nodes;
    const JsonValue& array = object.member(key);
    for (const std::uint64_t node :
         integers_of(array, object.path_of(key), 1, kMostRows, mistake_)) {
      if (!nodes.empty() && node <= nodes.back()) {
        mistake_.note(array.items[nodes.size()], item_path(object.path_of(key), nodes.size()),
                      fmt::format("more than the one before, {}", nodes.back()));
      }
      nodes.push_back(static_cast<std::uint32_t>(node));
    }
    if (nodes.empty()) mistake_.note(array, object.path_of(key), "at least one count");
    return nodes;
  }

  /// A row of times for each count of rows; its long end may be missing.
  void read_decode_attention(JsonObject& parent, TableModel& model) {
    JsonObject object = parent.object("decode_attention");
    model.decode_rows = read_nodes(object, "rows");
    const std::vector<std::uint32_t> context = read_nodes(object, "context");
    const std::vector<JsonValue>& lines = object.array("layer_ns");
    const std::string path = object.path_of("layer_ns");
    if (lines.size() != model.decode_rows.size()) {
      mistake_.note(object.member("layer_ns"), path,
                    fmt::format("as many arrays as rows: {}", model.decode_rows.size()));
    }
    for (const JsonValue& line : lines) {
      const std::string line_path = item_path(path, model.decode_layer.size());
      Curve curve;
      curve.ns = integers_of(line, line_path, 0, kMostPart, mistake_);
      if (curve.ns.empty() || curve.ns.size() > context.size()) {
        mistake_.note(line, line_path,
                      fmt::format("from 1 to {} times, as context has", context.size()));
        return;
      }
      curve.rows.assign(context.begin(),
                        context.begin() + static_cast<std::ptrdiff_t>(curve.ns.size()));
      model.decode_layer.push_back(std::move(curve));
    }
    object.refuse_others();
  }

  const JsonValue& document_;
  JsonMistake mistake_;
};

std::string joined(const std::set<std::string>& words) {
  return fmt::format("{}", fmt::join(words, ", "));
}

DeviceOutcome choose(Device device, const std::vector<Entry>& entries, const DeviceChoice& choice) {
  std::set<std::uint32_t> sizes;
  std::set<std::string> variants;
  for (const Entry& entry : entries) {
    sizes.insert(entry.tensor_parallel_size);
    if (entry.tensor_parallel_size != choice.tensor_parallel_size) continue;
    variants.insert(entry.variant);
    if (entry.variant != choice.variant) continue;
    const auto& model = entry.models[static_cast<std::size_t>(choice.fit)];
    if (!model) {
      std::set<std::string> fits;
      for (std::size_t fit = 0; fit < kFitNames.size(); ++fit) {
        if (entry.models[fit]) fits.emplace(kFitNames[fit]);
      }
      return ChoiceError{
          "cost.fit", in_quotes(kFitNames[static_cast<std::size_t>(choice.fit)]),
          fmt::format("what {} has for variant {}: {}", device.name, entry.variant, joined(fits))};
    }
    device.forward = model->forward;
    device.range = model->range;
    device.error = model->error;
    device.copy.bytes_per_position = entry.bytes_per_position;
    return device;
  }
  if (variants.empty()) {
    return ChoiceError{"engine.tensor_parallel_size",
                       fmt::format("{}", choice.tensor_parallel_size),
                       fmt::format("a size that {} has: {}", device.name, fmt::join(sizes, ", "))};
  }
  return ChoiceError{"cost.variant", in_quotes(choice.variant),
                     fmt::format("a variant that {} has on {} GPUs: {}", device.name,
                                 choice.tensor_parallel_size, joined(variants))};
}

}  // namespace

DeviceOutcome read_device(std::string_view text, const std::string& name,
                          const DeviceChoice& choice) {
  const Outcome<JsonValue> document = parse_json(text, name);
  if (!document) return document.error();
  DeviceReader reader(document.value(), name);
  reader.read();
  if (reader.error()) return *reader.error();
  reader.device.digest = fmt::format("{:016x}", XXH3_64bits(text.data(), text.size()));
  return choose(std::move(reader.device), reader.entries, choice);
}

}  // namespace pinfold::sim
