#include "sim/trace/simulator_traces.h"

#include <memory>

#include "sim/trace/time_sum.h"

namespace pinfold::sim {

TableSchema vidur_csv() {
  return {.format = "vidur",
          .columns = {{"arrived_at", Field::kArrival, false, Clock::kSeconds},
                      {"num_prefill_tokens", Field::kPrompt, true},
                      {"num_decode_tokens", Field::kOutput, true}}};
}

TableSchema splitwise_csv() {
  return {.format = "splitwise",
          .columns = {{"arrival_timestamp", Field::kArrival, true, Clock::kSeconds},
                      {"prompt_size", Field::kPrompt, true},
                      {"token_size", Field::kOutput, true}}};
}

TableSchema llm_serving_sim() {
  return {.format = "llmservingsim",
          .columns = {{"input_toks", Field::kPrompt, true},
                      {"output_toks", Field::kOutput, true},
                      {"arrival_time_ns", Field::kArrival, true, Clock::kNs}}};
}

TableSchema rag_pulse() {
  return {.format = "ragpulse",
          .columns = {{"timestamp", Field::kArrival, true, Clock::kSeconds, true},
                      {"input_length", Field::kPrompt, true},
                      {"output_length", Field::kOutput, true},
                      {"session_id", Field::kSession}}};
}

TableSchema trace_lab_replay() {
  struct Round {
    std::uint64_t session = kNoSession;
    std::int64_t arrival_ns = 0;
    std::int64_t wait_ns = 0;
  };
  auto last = std::make_shared<Round>();
  return {.format = "tracelab_replay",
          .columns = {{"session_id", Field::kSession, true},
                      {"arrival_time", Field::kArrival, true, Clock::kMs},
                      {"prefix_len", Field::kPrefix, true},
                      {"input_len", Field::kPrompt, true},
                      {"output_len", Field::kOutput, true},
                      {"tool_wait_after_ms", Field::kDelay, true, Clock::kMs}},
          .rule = [last](TraceRequest& request, const RowExtras&) -> std::optional<InputError> {
            const std::int64_t wait_ns = request.delay_ns;
            request.delay_ns = 0;
            if (request.session == last->session) {
              request.delay_ns = last->wait_ns;
              const auto arrival_ns = time_sum(last->arrival_ns, last->wait_ns);
              if (!arrival_ns) return too_late();
              request.arrival_ns = *arrival_ns;
            }
            *last = {request.session, request.arrival_ns, wait_ns};
            return std::nullopt;
          }};
}

}  // namespace pinfold::sim
