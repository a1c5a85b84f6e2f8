#include "sim/trace/mooncake.h"

#include <map>
#include <memory>

#include "sim/trace/time_sum.h"

namespace pinfold::sim {
namespace {

/// Fills in the arrivals that only a delay gives.
RowRule turns_after_delays() {
  auto arrivals = std::make_shared<std::map<std::uint64_t, std::int64_t>>();
  return [arrivals](TraceRequest& request, const RowExtras& extras) -> std::optional<InputError> {
    if (request.session == kNoSession) {
      if (extras.has_arrival) return std::nullopt;
      InputError error;
      error.found = "neither a timestamp nor a session";
      error.expected = "a timestamp, or a session_id and a delay";
      return error;
    }
    const auto before = arrivals->find(request.session);
    if (before == arrivals->end()) {
      if (!extras.has_arrival) {
        InputError error;
        error.found = "the first turn of a session without a timestamp";
        error.expected = "a timestamp";
        return error;
      }
      request.delay_ns = 0;
    } else if (!extras.has_arrival) {
      if (!extras.has_delay) {
        InputError error;
        error.found = "neither a timestamp nor a delay";
        error.expected = "one of them";
        return error;
      }
      const auto arrival_ns = time_sum(before->second, request.delay_ns);
      if (!arrival_ns) return too_late();
      request.arrival_ns = *arrival_ns;
    }
    (*arrivals)[request.session] = request.arrival_ns;
    return std::nullopt;
  };
}

TableSchema schema(const char* format, Clock clock, std::uint32_t block) {
  return {.format = format,
          .columns = {{"timestamp", Field::kArrival, false, clock},
                      {"input_length", Field::kPrompt},
                      {"output_length", Field::kOutput, true},
                      {"hash_ids", Field::kPrefixIds},
                      {"session_id", Field::kSession},
                      {"delay", Field::kDelay, false, clock},
                      {"text_input", Field::kText},
                      {"messages", Field::kText}},
          .id_block = block,
          .id_rule = IdRule::kCeil,
          .rule = turns_after_delays()};
}

}  // namespace

TableSchema mooncake() { return schema("mooncake", Clock::kMs, 512); }

TableSchema vllm_timed() { return schema("vllm_timed", Clock::kSeconds, 16); }

}  // namespace pinfold::sim
