#include "sim/cli/trace_options.h"

#include <algorithm>

#include "sim/cli/flag_value.h"
#include "sim/trace/plain_trace.h"

namespace pinfold::sim {
namespace {

void take_shard(const std::string& text, TraceOptions& options) {
  const std::size_t slash = std::min(text.find('/'), text.size());
  const char* const expected = "K/N with K from 1 to N, as 1/4";
  options.shard = count_of("--shard", text.substr(0, slash), expected);
  options.shards = count_of("--shard", text.substr(std::min(slash + 1, text.size())), expected);
  if (options.shard <= options.shards) return;
  throw UsageError{"--shard: found " + in_quotes(text) + ", expected " + expected};
}

}  // namespace

TraceOptions trace_options_of(const TraceOptionTexts& texts) {
  TraceOptions options;
  if (texts.trace_format) options.reader.format = *texts.trace_format;
  if (texts.columns) options.reader.columns = value_of(parse_column_names(*texts.columns));
  if (texts.id_block) {
    options.reader.id_block = tokens_of("--id-block", *texts.id_block, 1, kIdBlockMost);
  }
  if (texts.on_unordered) {
    options.unordered = one_of<Unordered>("--on-unordered", *texts.on_unordered,
                                          {{"error", Unordered::kError},
                                           {"sort", Unordered::kSort},
                                           {"segments", Unordered::kSegments}});
  }
  if (texts.zero_output) {
    options.zero_output = one_of<ZeroOutput>(
        "--zero-output", *texts.zero_output,
        {{"drop", ZeroOutput::kDrop}, {"prefill_only", ZeroOutput::kPrefillOnly}});
  }
  if (texts.on_error) {
    options.on_error = one_of<OnError>("--on-error", *texts.on_error,
                                       {{"stop", OnError::kStop}, {"skip", OnError::kSkip}});
  }
  if (texts.start) options.start_ns = seconds_of("--start", *texts.start);
  if (texts.end) options.end_ns = seconds_of("--end", *texts.end);
  if (options.start_ns && options.end_ns && *options.start_ns >= *options.end_ns) {
    throw UsageError{"found --start " + *texts.start + " and --end " + *texts.end +
                     ", expected the first to be less"};
  }
  if (texts.limit) {
    options.limit = count_of("--limit", *texts.limit, "a number of requests from 1");
  }
  if (texts.repeat) options.repeat = count_of("--repeat", *texts.repeat, "a number from 1");
  if (texts.shard) take_shard(*texts.shard, options);
  return options;
}

}  // namespace pinfold::sim
