#include "sim/config/parse.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "sim/config/resolved_config.h"

namespace pinfold::sim {
namespace {

RunConfig config_of(const std::string& json, const std::vector<std::string>& overrides = {}) {
  const Outcome<RunConfig> config = parse_config(json, "c.json", overrides);
  REQUIRE_MESSAGE(config, (config ? std::string() : describe(config.error())));
  return config.value();
}

/// The whole message of a configuration that is refused.
std::string refusal(const std::string& json, const std::vector<std::string>& overrides = {}) {
  const Outcome<RunConfig> config = parse_config(json, "c.json", overrides);
  return config ? "none" : describe(config.error());
}

/// The message for one override of the defaults.
std::string override_refusal(const std::string& text) { return refusal("{}", {text}); }

TEST_CASE("configuration: the built-in defaults are those of configs/runs/default.json") {
  const char* root = std::getenv("PINFOLD_SOURCE_ROOT");
  REQUIRE(root != nullptr);
  const Outcome<RunConfig> file = load_config(std::string(root) + "/configs/runs/default.json", {});
  REQUIRE_MESSAGE(file, (file ? std::string() : describe(file.error())));
  CHECK(resolved_json(file.value()) == resolved_json(RunConfig{}));
  CHECK(resolved_json(load_config(std::nullopt, {}).value()) == resolved_json(RunConfig{}));
}

TEST_CASE("configuration: every option is read into its field") {
  const RunConfig config = config_of(R"({
    "$schema": "config.schema.json",
    "engine": {"profile": "deepinfer", "block_size": 128, "num_blocks": 500, "overlap": 2,
      "max_num_seqs": 64, "slot_factor": 1.5, "max_num_batched_tokens": 4096,
      "max_model_len": 8192, "release_order": "forward", "free_order": "lifo", "victim": "newest",
      "preemption": "recompute", "watermark": 0, "fence": "unordered_writers",
      "growth_check": "one_free"},
    "model": {"state_slots": true, "window_tokens": 128, "ring_tokens": 134,
      "compression_ratios": [4, 128]},
    "workload": {"stop": "known", "time_scale": 0.25, "drafts": 5,
      "draft_acceptance_permille": 850},
    "fork": {"demote": "off", "sole_owner": "adopt"},
    "cost": {"step_base_us": 8123.5, "row_us": 0.000001, "prompt_token_us": 3,
      "context_token_us": 0.01, "block_copy_us": 1e1, "state_copy_us": 2.25},
    "seed": 18446744073709551615
  })");
  CHECK(config.engine.block_size == 128);
  CHECK(config.engine.num_blocks == 500);
  CHECK(config.engine.overlap == 2);
  CHECK(config.engine.max_num_seqs == 64);
  CHECK(config.engine.slot_factor.numerator == 3);
  CHECK(config.engine.slot_factor.denominator == 2);
  CHECK(config.engine.max_num_batched_tokens == 4096);
  CHECK(config.engine.max_model_len == 8192);
  CHECK(config.engine.release_order == ReleaseOrder::kForward);
  CHECK(config.engine.free_order == FreeOrder::kLifo);
  CHECK(config.engine.fence == FenceMode::kUnorderedWriters);
  CHECK(config.engine.growth_check == GrowthCheck::kOneFree);
  CHECK(config.model.state_slots);
  CHECK(config.model.window_tokens == 128);
  CHECK(config.model.ring_tokens == 134);
  CHECK(config.model.compression_ratios == std::vector<std::uint32_t>{4, 128});
  CHECK(config.workload.stop == StopMode::kKnown);
  CHECK(config.workload.time_scale.numerator == 1);
  CHECK(config.workload.time_scale.denominator == 4);
  CHECK(config.workload.drafts == 5);
  CHECK(config.workload.draft_acceptance_permille == 850);
  CHECK_FALSE(config.fork.demote);
  CHECK(config.fork.sole_owner == SoleOwner::kAdopt);
  CHECK(config.cost.step_base_ps == 8'123'500'000);
  CHECK(config.cost.row_ps == 1);
  CHECK(config.cost.prompt_token_ps == 3'000'000);
  CHECK(config.cost.context_token_ps == 10'000);
  CHECK(config.cost.block_copy_ps == 10'000'000);
  CHECK(config.cost.state_copy_ps == 2'250'000);
  CHECK(config.seed == UINT64_MAX);
}

TEST_CASE("configuration: overrides replace, with the same kinds of value") {
  const RunConfig config =
      config_of(R"({"engine": {"block_size": 32}})",
                {"engine.block_size=64", "workload.stop=known", "model.state_slots=true",
                 "workload.time_scale=0.5", "model.compression_ratios=4,16", "seed=7",
                 "fork.demote=off", "engine.slot_factor=1"});
  CHECK(config.engine.block_size == 64);
  CHECK(config.workload.stop == StopMode::kKnown);
  CHECK(config.model.state_slots);
  CHECK(config.workload.time_scale.denominator == 2);
  CHECK(config.model.compression_ratios == std::vector<std::uint32_t>{4, 16});
  CHECK(config.seed == 7);
  CHECK_FALSE(config.fork.demote);
  CHECK(config_of("{}", {"model.compression_ratios=[4, 8]"}).model.compression_ratios.size() == 2);
  CHECK(config_of("{}", {"model.compression_ratios="}).model.compression_ratios.empty());
}

TEST_CASE("configuration: unknown keys, with what was meant") {
  CHECK(refusal("{\n  \"engine\": {\"blok_size\": 16}\n}") ==
        "c.json:2:14: engine.blok_size: found an unknown option, expected an option of `pinfold "
        "schema` (did you mean engine.block_size?)");
  CHECK(refusal(R"({"engin": {}})") ==
        "c.json:1:2: engin: found an unknown option, expected an option of `pinfold schema` (did "
        "you mean engine?)");
  CHECK(refusal(R"({"block_size": 16})") ==
        "c.json:1:2: block_size: found an unknown option, expected an option of `pinfold schema` "
        "(did you mean engine.block_size?)");
  CHECK(refusal(R"({"engine": {"drafts": 1}})") ==
        "c.json:1:13: engine.drafts: found an unknown option, expected an option of `pinfold "
        "schema` (did you mean workload.drafts?)");
  CHECK(override_refusal("engine.blok_size=16") ==
        "--set engine.blok_size=16: engine.blok_size: found an unknown option, expected an option "
        "of `pinfold schema` (did you mean engine.block_size?)");
  CHECK(override_refusal("gpu=8") ==
        "--set gpu=8: gpu: found an unknown option, expected an option of `pinfold schema` "
        "(`pinfold schema` lists all options)");
  CHECK(override_refusal("engine=8").find("found an unknown option") != std::string::npos);
}

TEST_CASE("configuration: values out of range or of another kind") {
  const std::string block_size = ", expected an integer from 1 to 65536 token positions";
  CHECK(override_refusal("engine.block_size=0") ==
        "--set engine.block_size=0: engine.block_size: found 0" + block_size);
  CHECK(override_refusal("engine.block_size=65537") ==
        "--set engine.block_size=65537: engine.block_size: found 65537" + block_size);
  CHECK(override_refusal("engine.block_size=-16") ==
        "--set engine.block_size=-16: engine.block_size: found -16" + block_size);
  CHECK(override_refusal("engine.block_size=16.5") ==
        "--set engine.block_size=16.5: engine.block_size: found 16.5" + block_size);
  CHECK(override_refusal("engine.block_size=99999999999999999999") ==
        "--set engine.block_size=99999999999999999999: engine.block_size: found "
        "99999999999999999999" +
            block_size);
  CHECK(override_refusal("engine.block_size=") ==
        "--set engine.block_size=: engine.block_size: found an empty value" + block_size);
  CHECK(override_refusal("engine.block_size=lots") ==
        "--set engine.block_size=lots: engine.block_size: found \"lots\"" + block_size);
  CHECK(refusal(R"({"engine": {"block_size": "16"}})") ==
        "c.json:1:27: engine.block_size: found \"16\"" + block_size + " (write it without quotes)");
  CHECK(refusal(R"({"engine": {"block_size": null}})") ==
        "c.json:1:27: engine.block_size: found null" + block_size);
  CHECK(refusal(R"({"engine": {"block_size": {}}})") ==
        "c.json:1:27: engine.block_size: found an object" + block_size);
  CHECK(override_refusal("engine.num_blocks=1") ==
        "--set engine.num_blocks=1: engine.num_blocks: found 1, expected an integer from 2 to "
        "67108864 block ids (block 0 is never issued and takes one id)");
  CHECK(override_refusal("engine.overlap=3") ==
        "--set engine.overlap=3: engine.overlap: found 3, expected an integer from 0 to 2 steps");
  CHECK(override_refusal("model.state_slots=yes") ==
        "--set model.state_slots=yes: model.state_slots: found \"yes\", expected true or false");
  CHECK(override_refusal("fork.demote=true") ==
        "--set fork.demote=true: fork.demote: found true, expected \"off\" or \"on\"");
  CHECK(override_refusal("workload.stop=hiden") ==
        "--set workload.stop=hiden: workload.stop: found \"hiden\", expected \"hidden\" or "
        "\"known\" (did you mean hidden?)");
  CHECK(override_refusal("model.compression_ratios=4,0") ==
        "--set model.compression_ratios=4,0: model.compression_ratios: found [4, 0], expected an "
        "array of integers from 1 to 65536 positions a row");
  CHECK(override_refusal("seed=18446744073709551616")
            .find("found 18446744073709551616, expected an integer from 0 to") !=
        std::string::npos);
}

TEST_CASE("configuration: decimals are exact or refused") {
  CHECK(override_refusal("cost.row_us=0.0000001") ==
        "--set cost.row_us=0.0000001: cost.row_us: found 0.0000001, expected a decimal from 0 to "
        "1000000000 microseconds with at most 6 digits behind the point (picoseconds)");
  CHECK(config_of("{}", {"cost.row_us=0.1234560"}).cost.row_ps == 123'456);
  CHECK(config_of("{}", {"cost.row_us=1000000000"}).cost.row_ps == 1'000'000'000'000'000);
  CHECK(override_refusal("cost.row_us=1000000000.000001").find("expected a decimal") !=
        std::string::npos);
  CHECK(override_refusal("cost.row_us=-1").find("found -1, expected a decimal") !=
        std::string::npos);
  CHECK(override_refusal("workload.time_scale=1000.5").find("from 0 to 1000 times") !=
        std::string::npos);
  CHECK(config_of("{}", {"workload.time_scale=0"}).workload.time_scale.numerator == 0);
  CHECK(refusal(R"({"model": {"state_slots": true}, "engine": {"slot_factor": 0.99}})") ==
        "c.json:1:60: engine.slot_factor: found 0.99, expected a decimal from 1 to 16 slots a "
        "sequence with at most 6 digits behind the point (every running sequence needs one)");
}

TEST_CASE("configuration: what is decided on and not built yet says so") {
  CHECK(override_refusal("engine.profile=vllm-v1") ==
        "--set engine.profile=vllm-v1: engine.profile: found \"vllm-v1\", expected \"deepinfer\" "
        "(no other profile is built yet)");
  CHECK(override_refusal("engine.victim=oldest") ==
        "--set engine.victim=oldest: engine.victim: found \"oldest\", expected \"newest\" (no "
        "other victim policy is built yet)");
  CHECK(override_refusal("engine.preemption=swap") ==
        "--set engine.preemption=swap: engine.preemption: found \"swap\", expected \"recompute\" "
        "(no other kind of preemption is built yet)");
  CHECK(override_refusal("engine.watermark=5") ==
        "--set engine.watermark=5: engine.watermark: found 5, expected 0 blocks (a watermark is "
        "not built yet)");
}

TEST_CASE("configuration: an option without effect is an error") {
  CHECK(override_refusal("workload.draft_acceptance_permille=700") ==
        "--set workload.draft_acceptance_permille=700: workload.draft_acceptance_permille: found "
        "an option without effect, expected it only where workload.drafts is at least 1 and "
        "workload.draft_acceptance_by_position is empty (leave it out)");
  CHECK(refusal("{\"engine\":\n {\"slot_factor\": 1.2}}") ==
        "c.json:2:18: engine.slot_factor: found an option without effect, expected it only where "
        "model.state_slots is true or workload.drafts is at least 1 (leave it out)");
  CHECK(override_refusal("model.window_tokens=128").find("only where model.state_slots is true") !=
        std::string::npos);
  CHECK(override_refusal("cost.state_copy_us=1").find("only where model.state_slots is true") !=
        std::string::npos);
  CHECK(refusal("{}", {"model.state_slots=true", "model.ring_tokens=8"})
            .find("only where model.window_tokens is at least 1") != std::string::npos);
}

TEST_CASE("configuration: an override may switch off what the file details") {
  const std::string drafting =
      R"({"workload": {"drafts": 3, "draft_acceptance_permille": 800}, "engine": {"slot_factor": 1.5}})";
  CHECK(config_of(drafting, {"workload.drafts=0"}).workload.drafts == 0);
  CHECK(refusal(drafting, {"workload.drafts=0", "workload.draft_acceptance_permille=1"})
            .find("without effect") != std::string::npos);
  CHECK(refusal(R"({"workload": {"drafts": 0, "draft_acceptance_permille": 800}})")
            .find("without effect") != std::string::npos);
}

TEST_CASE("configuration (O1): the block size is a multiple of every compression ratio") {
  CHECK(override_refusal("model.compression_ratios=4,128") ==
        "--set model.compression_ratios=4,128: engine.block_size: found a block size of 16, "
        "expected a multiple of the compression ratio 128 (a block holds block_size/ratio rows of "
        "each compressed cache, a whole number)");
  const std::string v4 =
      R"({"engine": {"block_size": 128}, "model": {"compression_ratios": [4, 128]}})";
  CHECK(refusal(v4) == "none");
  CHECK(refusal(v4, {"engine.block_size=64"}).find("--set engine.block_size=64: ") == 0);
  CHECK(refusal(v4, {"engine.block_size=256"}) == "none");
}

TEST_CASE("configuration (O1): the ring holds the window and the drafts") {
  const std::string windowed = R"({"model": {"state_slots": true, "window_tokens": 128,
    "ring_tokens": 130}, "workload": {"drafts": 2}})";
  CHECK(refusal(windowed) == "none");
  CHECK(refusal(windowed, {"workload.drafts=3"}) ==
        "c.json:2:20: model.ring_tokens: found a ring of 130 rows, expected at least window_tokens "
        "+ drafts = 128 + 3 = 131 (a draft would overwrite a row that the window still shows)");
  CHECK(refusal(windowed, {"workload.drafts=3", "model.ring_tokens=131"}) == "none");
}

TEST_CASE("configuration: a budget for all, and drafts as the profile allows") {
  CHECK(refusal("{}", {"engine.max_num_batched_tokens=255"}) ==
        "--set engine.max_num_batched_tokens=255: engine.max_num_batched_tokens: found a token "
        "budget of 255, expected at least max_num_seqs = 256 (every running sequence takes a token "
        "a step)");
  CHECK(refusal("{}", {"engine.max_num_batched_tokens=256"}) == "none");
  CHECK(refusal("{}", {"engine.max_num_seqs=2049"}).find("--set engine.max_num_seqs=2049: ") == 0);
  CHECK(refusal("{}", {"workload.drafts=5"}) == "none");
  CHECK(override_refusal("workload.drafts=6") ==
        "--set workload.drafts=6: workload.drafts: found 6 drafts, expected at most 5 with profile "
        "deepinfer (its steps have at most six rows a sequence)");
  CHECK(override_refusal("workload.drafts=9").find("from 0 to 8") != std::string::npos);
}

TEST_CASE("configuration: overrides that are none, or come twice") {
  CHECK(override_refusal("engine.block_size") ==
        "--set engine.block_size: found \"engine.block_size\", expected an option and its value, "
        "as engine.block_size=64");
  CHECK(override_refusal("=5").find("expected an option and its value") != std::string::npos);
  CHECK(refusal("{}", {"seed=1", "seed=2"}) ==
        "--set: seed: found two values, expected one (the other one is `--set seed=1`)");
}

TEST_CASE("configuration: a document that is no configuration") {
  CHECK(refusal("[]") == "c.json:1:1: found an array, expected an object with the configuration");
  CHECK(refusal("5") == "c.json:1:1: found 5, expected an object with the configuration");
  CHECK(refusal(R"({"engine": 5})") ==
        "c.json:1:12: engine: found 5, expected an object with the options of engine");
  CHECK(refusal(R"({"$schema": 5})") ==
        "c.json:1:13: $schema: found 5, expected the schema's address as a string");
  CHECK(refusal(R"({"seed": 1, "seed": 2})").find("found a second key \"seed\"") !=
        std::string::npos);
  CHECK(describe(load_config(std::string("/nonexistent/c.json"), {}).error()) ==
        "/nonexistent/c.json: found no file of this name, expected a configuration (JSON)");
}

}  // namespace
}  // namespace pinfold::sim
