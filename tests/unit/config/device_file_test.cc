#include "sim/config/device_file.h"

#include <doctest/doctest.h>

#include <string>
#include <variant>
#include <vector>

#include "sim/config/parse.h"
#include "sim/config/resolved_config.h"

namespace pinfold::sim {
namespace {

const std::string kFile = R"({
  "name": "small", "model": "m", "gpu": "g", "engine": "e", "engine_version": "1",
  "source": "measured here", "licence": "Apache-2.0",  // comments are allowed
  "copy": {"bytes_per_s": 1000, "latency_ns": 2, "piece_ps": 3, "pieces_per_block": 4},
  "entries": [
    {
      "tensor_parallel_size": 2, "variant": "bf16", "weights": "bf16", "kv_cache": "bf16",
      "kv_bytes_per_position": 64,
      "range": {"decode_rows_max": 512},
      "linear": {"step_ns": 1, "prompt_row_ps": 2, "decode_row_ps": 3, "context_position_ps": 4,
                 "pair_fs": 5, "held_out_error": {"median_percent": 1.5, "p90_percent": 20}},
      "table": {
        "layers": 2, "range": {"decode_rows_max": 4},
        "dense": {"rows": [1, 8], "ns": [10, 20]},
        "head": {"rows": [1], "ns": [5]},
        "decode_attention": {"rows": [1, 4], "context": [16, 32], "layer_ns": [[1, 2], [3]]},
        "prompt_attention": {"rows": [1, 64], "layer_ns": [7, 9]}
      }
    }
  ]
})";

const DeviceChoice kLinear{.tensor_parallel_size = 2, .variant = "bf16", .fit = Fit::kLinear};

/// kFile with the first `from` replaced.
std::string edited(const std::string& from, const std::string& to) {
  std::string text = kFile;
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

std::string mistake_in(const std::string& text) {
  const DeviceOutcome outcome = read_device(text, "small.json", kLinear);
  REQUIRE(std::holds_alternative<InputError>(outcome));
  return describe(std::get<InputError>(outcome));
}

TEST_CASE("device file: says what it says") {
  const DeviceOutcome outcome = read_device(kFile, "small.json", kLinear);
  REQUIRE(std::holds_alternative<Device>(outcome));
  const auto& device = std::get<Device>(outcome);
  CHECK(device.name == "small");
  CHECK(device.source == "measured here");
  CHECK(device.digest.size() == 16);
  CHECK(device.copy.latency_ps == 2'000);
  CHECK(device.copy.bytes_per_position == 64);
  const auto& model = std::get<LinearModel>(device.forward);
  CHECK(model.step_ps == 1'000);
  CHECK(model.pair_fs == 5);
  CHECK(device.range[static_cast<std::size_t>(Limit::kDecodeRowsMax)] == 512);
  CHECK_FALSE(device.range[static_cast<std::size_t>(Limit::kPromptRowsMax)].has_value());
  REQUIRE(device.error.has_value());
  CHECK(device.error->median_percent == "1.5");
}

TEST_CASE("device file: the table has its own range, and its long ends may be missing") {
  const DeviceOutcome outcome = read_device(
      kFile, "small.json", {.tensor_parallel_size = 2, .variant = "bf16", .fit = Fit::kTable});
  const auto& device = std::get<Device>(outcome);
  const auto& table = std::get<TableModel>(device.forward);
  CHECK(device.range[static_cast<std::size_t>(Limit::kDecodeRowsMax)] == 4);
  CHECK_FALSE(device.error.has_value());
  REQUIRE(table.decode_layer.size() == 2);
  CHECK(table.decode_layer[0].rows.size() == 2);
  CHECK(table.decode_layer[1].rows.size() == 1);
}

TEST_CASE("device file: mistakes are placed by line, column and path") {
  CHECK(mistake_in("[]") == "small.json:1:1: found an array, expected an object");
  CHECK(mistake_in(edited("\"gpu\": \"g\", ", "")) ==
        "small.json:1:1: found no key \"gpu\", expected a key \"gpu\"");
  CHECK(mistake_in(edited("\"latency_ns\": 2, ", "")) ==
        "small.json:4:11: copy: found no key \"latency_ns\", expected a key \"latency_ns\"");
  CHECK(mistake_in(edited("\"gpu\"", "\"gpus\"")) ==
        "small.json:1:1: found no key \"gpu\", expected a key \"gpu\"");
  CHECK(mistake_in(edited("\"piece_ps\": 3", "\"piece_ps\": 3, \"pieces_ps\": 3")) ==
        "small.json:4:65: copy.pieces_ps: found an unknown key, expected a key of this object (did "
        "you mean piece_ps?)");
  CHECK(mistake_in(edited("\"step_ns\": 1", "\"step_ns\": -1")) ==
        "small.json:10:29: entries[0].linear.step_ns: found -1, expected an integer from 0 to "
        "1000000000000000");
  CHECK(mistake_in(edited("\"step_ns\": 1", "\"step_ns\": 1.5")) ==
        "small.json:10:29: entries[0].linear.step_ns: found 1.5, expected an integer from 0 to "
        "1000000000000000");
  CHECK(mistake_in(edited("\"variant\": \"bf16\"", "\"variant\": 16")) ==
        "small.json:7:45: entries[0].variant: found 16, expected a string");
  CHECK(mistake_in(edited("\"median_percent\": 1.5", "\"median_percent\": \"1.5\"")) ==
        "small.json:11:69: entries[0].linear.held_out_error.median_percent: found \"1.5\", "
        "expected a "
        "decimal, not negative");
  CHECK(
      mistake_in(edited("{\"decode_rows_max\": 512}", "{\"decode_rows\": 512}")) ==
      "small.json:9:17: entries[0].range.decode_rows: found an unknown key, expected a key of this "
      "object (did you mean decode_rows_max?)");
  CHECK(mistake_in(edited("[1, 8]", "[8, 8]")) ==
        "small.json:14:31: entries[0].table.dense.rows[1]: found 8, expected more than the one "
        "before, "
        "8");
  CHECK(mistake_in(edited("[10, 20]", "[10]")) ==
        "small.json:14:41: entries[0].table.dense.ns: found an array, expected as many times as "
        "rows: "
        "2");
  CHECK(mistake_in(edited("[[1, 2], [3]]", "[[1, 2, 3], [3]]")) ==
        "small.json:16:80: entries[0].table.decode_attention.layer_ns[0]: found an array, expected "
        "from "
        "1 to 2 times, as context has");
  CHECK(
      mistake_in(edited("[[1, 2], [3]]", "[[1, 2], [true]]")) ==
      "small.json:16:89: entries[0].table.decode_attention.layer_ns[1][0]: found true, expected an "
      "integer from 0 to 1000000000000000");
  CHECK(mistake_in(edited("[[1, 2], [3]]", "[[1, 2]]")) ==
        "small.json:16:79: entries[0].table.decode_attention.layer_ns: found an array, expected as "
        "many "
        "arrays as rows: 2");
}

TEST_CASE("device file: an entry comes once and has a model") {
  const std::string entry =
      R"({"tensor_parallel_size": 2, "variant": "bf16", "weights": "", "kv_cache": "",
          "kv_bytes_per_position": 1, "range": {}})";
  CHECK(mistake_in(edited("\"entries\": [", "\"entries\": [" + entry + ","))
            .find("entries[0]: found an object, expected at least one of linear") !=
        std::string::npos);
  const std::string second = edited("\n  ]\n}", ",\n" + entry + "]}");
  CHECK(mistake_in(second).find("entries[1].variant: found \"bf16\", expected each "
                                "tensor_parallel_size and variant once") != std::string::npos);
}

TEST_CASE("device file: a choice that it does not offer is the option's mistake") {
  const auto refused = [](DeviceChoice choice) {
    const DeviceOutcome outcome = read_device(kFile, "small.json", choice);
    REQUIRE(std::holds_alternative<ChoiceError>(outcome));
    return std::get<ChoiceError>(outcome);
  };
  DeviceChoice choice = kLinear;
  choice.tensor_parallel_size = 4;
  CHECK(refused(choice).option == "engine.tensor_parallel_size");
  CHECK(refused(choice).expected == "a size that small has: 2");
  choice = kLinear;
  choice.variant = "fp8";
  CHECK(refused(choice).option == "cost.variant");
  choice = kLinear;
  choice.fit = Fit::kKnots;
  CHECK(refused(choice).option == "cost.fit");
  CHECK(refused(choice).expected == "what small has for variant bf16: linear, table");
}

TEST_CASE("built-in devices: 24 files, sorted, each valid, named as it names itself") {
  CHECK(built_in_devices().size() == 24);
  std::string_view before;
  for (const BuiltInDevice& built_in : built_in_devices()) {
    CAPTURE(std::string(built_in.name));
    CHECK(before < built_in.name);
    before = built_in.name;
    const std::string path = std::string(built_in.name) + ".json";
    const DeviceOutcome outcome =
        read_device(built_in.text, path, {.tensor_parallel_size = 4, .variant = "bf16"});
    if (const auto* mistake = std::get_if<InputError>(&outcome)) FAIL(describe(*mistake));
    REQUIRE(std::holds_alternative<Device>(outcome));
    CHECK(std::get<Device>(outcome).name == built_in.name);
    CHECK(std::get<Device>(outcome).source.find("aiconfigurator@") != std::string::npos);
  }
}

RunConfig config_of(const std::vector<std::string>& overrides) {
  auto loaded = load_config(std::nullopt, overrides);
  REQUIRE_MESSAGE(bool(loaded), (loaded ? "" : describe(loaded.error())));
  return std::move(loaded.value());
}

std::string refusal(const std::vector<std::string>& overrides) {
  const auto loaded = load_config(std::nullopt, overrides);
  REQUIRE_FALSE(bool(loaded));
  return describe(loaded.error());
}

const std::string kDevice = "cost.device=llama_3_1_8b_h100_sxm_vllm";

TEST_CASE("configuration: a device's identity enters the dump and its digest") {
  const RunConfig config = config_of({kDevice});
  REQUIRE(config.cost.device.has_value());
  const std::string dump = resolved_json(config);
  CHECK(dump.find("\"device_digest\": \"" + config.cost.device->digest + "\"") !=
        std::string::npos);
  CHECK(dump.find("step_base_us") == std::string::npos);
  CHECK(config_digest(config) != config_digest(config_of({})));
  CHECK(config_digest(config) != config_digest(config_of({kDevice, "cost.fit=knots"})));
  CHECK(config_digest(config) ==
        config_digest(config_of({kDevice, "cost.device_digest=" + config.cost.device->digest})));
}

TEST_CASE("configuration: a device that is not there, not so, or not the same") {
  CHECK(refusal({"cost.device=llama_3_1_8b_h100_sxm_vlm"})
            .find("did you mean llama_3_1_8b_h100_sxm_vllm?") != std::string::npos);
  CHECK(
      refusal({"cost.device=nothing_like_it"}).find("built in are llama_3_1_70b_a100_sxm_trtllm") !=
      std::string::npos);
  CHECK(refusal({"cost.device=no/such.json"}).find("no/such.json: found no file of this name") !=
        std::string::npos);
  CHECK(
      refusal({kDevice, "engine.tensor_parallel_size=3"}) ==
      "--set engine.tensor_parallel_size=3: engine.tensor_parallel_size: found 3, expected a size "
      "that llama_3_1_8b_h100_sxm_vllm has: 1, 2, 4, 8");
  CHECK(refusal({kDevice, "cost.device_digest=0123456789012345"})
            .find("the device file has changed since") != std::string::npos);
  CHECK(
      refusal({kDevice, "cost.row_us=1"})
          .find("found an option without effect, expected it only where cost.device is \"none\"") !=
      std::string::npos);
  CHECK(refusal({"cost.host_us=1"}).find("only where cost.device names a device") !=
        std::string::npos);
}

}  // namespace
}  // namespace pinfold::sim
