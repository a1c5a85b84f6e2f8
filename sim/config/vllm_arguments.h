#pragma once
// The flags of a vLLM server, as configuration: what `--vllm-args` takes.

#include <string>
#include <string_view>
#include <vector>

#include "sim/config/parse.h"
#include "sim/trace/input_error.h"

namespace pinfold::sim {

/// What a command line said.
struct VllmArguments {
  std::vector<FlagValue> values;   // in the order of our options; of a flag given twice, the last
  std::vector<std::string> notes;  // one for each word that was ignored, and why
};

/// Reads a command line as a shell would split it (quotes and backslashes; nothing is expanded) and as
/// vLLM's parser would read it: `--max-num-seqs 64`, `--max_num_seqs=64`, `-tp 2`, `8k` (8,000) and `8K`
/// (8,192) where vLLM takes such numbers, a number of drafts inside `--speculative-config`. A leading
/// `vllm serve` and the model's name are skipped. A flag that we do not simulate is ignored with a note,
/// unless it looks like a misspelt one that we do.
Outcome<VllmArguments> parse_vllm_arguments(std::string_view text);

}  // namespace pinfold::sim
