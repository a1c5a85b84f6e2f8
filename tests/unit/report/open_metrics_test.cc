#include "sim/report/open_metrics.h"

#include <doctest/doctest.h>

namespace pinfold::sim {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

/// One sequence of 10 prompt tokens, told record by record.
class Told {
 public:
  Told() : metrics_({.block_ids = 9, .prefix_reuse = false, .model_name = "m"}) {
    metrics_.on_arrival(0, 0);
    metrics_.on_sequence(SequenceId{0}, 0, 0);
  }
  void tell(Verb verb, std::uint32_t subject, std::uint32_t count, std::uint32_t aux,
            std::int64_t at_ns) {
    Record record{};
    record.verb = verb;
    record.sequence = subject;
    record.count = count;
    record.aux = aux;
    metrics_.on_records(std::as_bytes(std::span(&record, 1)), at_ns);
  }
  /// The last sample's value of a series.
  std::string last(const std::string& series) {
    if (text_.empty()) text_ = metrics_.finish();
    const std::size_t line = text_.rfind("\n" + series + "{");
    const std::size_t value = text_.find("} ", line) + 2;
    return text_.substr(value, text_.find('\n', value) - value);
  }
  OpenMetrics& metrics() { return metrics_; }

 private:
  OpenMetrics metrics_;
  std::string text_;
};

TEST_CASE("metrics: a preempted row's late token counts, and no later step's") {
  Told run;
  run.tell(Verb::kArrive, 0, 10, 100, 0);
  run.tell(Verb::kAnswer, 0, 1, 0, 0);
  run.tell(Verb::kChunk, 0, 10, 0, 0);
  run.tell(Verb::kStep, 1, 0, 10, 0);
  run.tell(Verb::kResult, 1, 0, 0, kSecond);
  run.tell(Verb::kJoin, 0, 11, 10, kSecond);  // 11 known tokens: one of them is new
  run.tell(Verb::kStep, 2, 1, 0, kSecond);
  run.tell(Verb::kPreempt, 0, 11, 1, kSecond);
  run.tell(Verb::kStep, 3, 0, 5, kSecond);
  run.tell(Verb::kResult, 2, 0, 0, 2 * kSecond);
  run.tell(Verb::kResult, 3, 0, 0, 3 * kSecond);
  CHECK(run.last("vllm:generation_tokens_total") == R"(2 3.000)");
  CHECK(run.last("vllm:num_preemptions_total") == "1 3.000");
  CHECK(run.last("vllm:num_requests_running") == "0 3.000");
  CHECK(run.last("vllm:num_requests_waiting") == "1 3.000");
}

TEST_CASE("metrics: failed steps deliver nothing, a verify row what was accepted") {
  Told run;
  run.tell(Verb::kArrive, 0, 10, 100, 0);
  run.tell(Verb::kAnswer, 0, 1, 0, 0);
  run.tell(Verb::kStep, 1, 0, 10, 0);
  run.tell(Verb::kJoin, 0, 11, 10, 0);
  run.tell(Verb::kStep, 2, 4, 0, 0);
  run.tell(Verb::kResult, 2, 0, 1, kSecond);  // it failed
  run.tell(Verb::kStep, 3, 4, 0, kSecond);
  run.tell(Verb::kResult, 3, 0, 0, 2 * kSecond);
  run.tell(Verb::kCommit, 0, 3, 0, 2 * kSecond);  // three instead of one
  CHECK(run.last("vllm:generation_tokens_total") == "4 2.000");
}

TEST_CASE("metrics: 1024 samples of a second, then of two") {
  Told run;
  run.tell(Verb::kArrive, 0, 10, 100, 1023 * kSecond + 1);
  CHECK(run.metrics().interval_ns() == kSecond);
  run.tell(Verb::kAnswer, 0, 1, 0, 1024 * kSecond + 1);
  CHECK(run.metrics().interval_ns() == 2 * kSecond);
  run.tell(Verb::kChunk, 0, 10, 0, 2048 * kSecond + 1);
  CHECK(run.metrics().interval_ns() == 4 * kSecond);
  CHECK(run.last("vllm:num_requests_running") == "1 2048.001");
}

}  // namespace
}  // namespace pinfold::sim
