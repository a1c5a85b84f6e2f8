#include "sim/config/vllm_arguments.h"

#include <doctest/doctest.h>

#include <string>

namespace pinfold::sim {
namespace {

/// "path=value ..." of what was imported.
std::string imported(const std::string& text) {
  const Outcome<VllmArguments> arguments = parse_vllm_arguments(text);
  if (!arguments) return describe(arguments.error());
  std::string result;
  for (const FlagValue& value : arguments.value().values) {
    result += (result.empty() ? "" : " ") + value.path + "=" + value.value;
  }
  return result;
}

/// The ignored words, one a line.
std::string ignored(const std::string& text) {
  const Outcome<VllmArguments> arguments = parse_vllm_arguments(text);
  if (!arguments) return describe(arguments.error());
  std::string result;
  for (const std::string& note : arguments.value().notes) result += note + "\n";
  return result;
}

TEST_CASE("vllm arguments: every flag becomes the option that means the same") {
  CHECK(imported("--num-gpu-blocks-override 2000 --block-size 32 --max-num-seqs 64 "
                 "--max-num-batched-tokens 4096 --max-model-len 8192 --tensor-parallel-size 4 "
                 "--gpu-memory-utilization 0.95 --kv-cache-dtype fp8_e4m3 "
                 "--num-speculative-tokens 3") ==
        "engine.num_blocks=2000 engine.block_size=32 engine.max_num_seqs=64 "
        "engine.max_num_batched_tokens=4096 engine.max_model_len=8192 "
        "engine.tensor_parallel_size=4 memory.utilization=0.95 model.kv_bytes_per_element=1 "
        "workload.drafts=3");
}

TEST_CASE("vllm arguments: dashes or underscores, spaces or equals signs, short names") {
  for (const std::string text : {"--max-num-seqs 64", "--max_num_seqs 64", "--max-num-seqs=64",
                                 "--max_num_seqs=64", "'--max-num-seqs' \"64\""}) {
    CHECK(imported(text) == "engine.max_num_seqs=64");
  }
  CHECK(imported("-tp 8") == "engine.tensor_parallel_size=8");
  CHECK(imported("-tp=8") == "engine.tensor_parallel_size=8");
}

TEST_CASE("vllm arguments: of a flag given twice the last counts, as in vLLM") {
  CHECK(imported("--max-num-seqs 64 --max-num-seqs 32") == "engine.max_num_seqs=32");
}

// vLLM: "'1k' -> 1,000, '1K' -> 1,024, '25.6k' -> 25,600", no decimals with binary suffixes.
TEST_CASE("vllm arguments: human numbers where vLLM takes them") {
  CHECK(imported("--max-model-len 1k") == "engine.max_model_len=1000");
  CHECK(imported("--max-model-len 1K") == "engine.max_model_len=1024");
  CHECK(imported("--max-model-len 25.6k") == "engine.max_model_len=25600");
  CHECK(imported("--max-num-batched-tokens 2m") == "engine.max_num_batched_tokens=2000000");
  CHECK(imported("--max-model-len 1.5K") ==
        "--vllm-args: found --max-model-len 1.5K, expected an integer, as 8192, 8k (8000) or 8K "
        "(8192)");
  CHECK(imported("--max-model-len k").find("found --max-model-len k, expected") !=
        std::string::npos);
  // Not here: vLLM takes a plain integer.
  CHECK(imported("--max-num-seqs 1k") == "engine.max_num_seqs=1k");
}

TEST_CASE("vllm arguments: drafts inside the speculative configuration") {
  CHECK(imported("--speculative-config '{\"method\": \"eagle\", \"num_speculative_tokens\": 5}'") ==
        "workload.drafts=5");
  CHECK(imported("--speculative-config.num_speculative_tokens 2") == "workload.drafts=2");
  CHECK(imported("--speculative-config '{\"method\": \"ngram\"}'").find("expected a JSON object") !=
        std::string::npos);
}

TEST_CASE("vllm arguments: a whole command line, the rest listed with the reason") {
  const std::string line =
      "vllm serve meta-llama/Llama-3.1-8B --port 8000 --enforce-eager --max-num-seqs 8 \\\n"
      "  --enable-prefix-caching --max-model-len auto";
  CHECK(imported(line) == "engine.max_num_seqs=8");
  CHECK(
      ignored(line) ==
      "--vllm-args: ignored meta-llama/Llama-3.1-8B: the model comes from the configuration\n"
      "--vllm-args: ignored --port 8000: it is not simulated\n"
      "--vllm-args: ignored --enforce-eager: it is not simulated\n"
      "--vllm-args: ignored --enable-prefix-caching: --set prefix.reuse=on simulates it, where the "
      "trace has prefix ids\n"
      "--vllm-args: ignored --max-model-len auto: what the engine would choose is the "
      "configuration's to say\n");
  CHECK(imported("") == "");
}

TEST_CASE("vllm arguments: a misspelt flag is an error, another one is not") {
  CHECK(
      imported("--max-num-sequences 8 --max-num-seq 8") ==
      "--vllm-args: found the unknown flag --max-num-seq 8, expected a flag of vLLM (did you mean "
      "--max-num-seqs?)");
  CHECK(imported("--gpu-memory-utilisation 0.9").find("did you mean --gpu-memory-utilization?") !=
        std::string::npos);
  for (const std::string flag : {"--max-log-len 8", "--data-parallel-size 2", "--swap-space 4",
                                 "--pipeline-parallel-size 2", "--max-num-partial-prefills 2"}) {
    CHECK(imported(flag) == "");
  }
}

TEST_CASE("vllm arguments: broken quotes and missing values are errors") {
  CHECK(imported("--max-num-seqs '8") ==
        "--vllm-args: found an opening quote ' without a closing one, expected words as a shell "
        "takes them");
  CHECK(imported("--block-size") ==
        "--vllm-args: found --block-size without a value, expected an integer");
  CHECK(imported("--block-size --max-num-seqs 8")
            .find("found --block-size without a value, expected an integer") != std::string::npos);
}

}  // namespace
}  // namespace pinfold::sim
