// The books that the invariants keep: they do not grow with those who are over, and a copy is a copy.
#include "sim/check/journal_books.h"

#include <doctest/doctest.h>

#include <cstring>
#include <vector>

#include "sim/check/invariants.h"

namespace pinfold::sim {
namespace {

SchedulerOptions small_options() {
  SchedulerOptions options;
  options.block_size = TokenCount(4);
  options.block_ids = 9;
  options.max_sequences = 2;
  options.token_budget = TokenCount(16);
  options.max_model_len = TokenCount(32);
  return options;
}

/// One request after another, two at a time, to their end; the books read every verb.
class Run {
 public:
  explicit Run(Invariants& invariants) : invariants_(invariants), scheduler_(small_options()) {
    scheduler_.journal().set_enabled(true);
  }

  void requests(std::uint32_t count) {
    for (std::uint32_t n = 0; n < count; ++n) {
      RequestSpec spec;
      spec.prompt = TokenCount(1 + n % 7);
      spec.limit = TokenCount(1 + n % 3);
      spec.stop = StopMode::kKnown;
      const SequenceId id{next_++};
      invariants_.expect(id, spec.prompt, spec.limit, spec.stop);
      const Answer answer = scheduler_.add(id, spec);
      read();
      invariants_.answered(id, answer);
      while (scheduler_.unfinished() > 1) step();
    }
    while (scheduler_.unfinished() > 0) step();
    invariants_.audit(scheduler_);
    invariants_.at_drain(scheduler_);
  }

 private:
  void step() {
    invariants_.before_plan(scheduler_);
    scheduler_.plan_step(plan_);
    read();
    invariants_.after_plan(scheduler_, plan_);
    if (!plan_.empty) scheduler_.on_step_complete({plan_.step, false, nullptr, 0});
    scheduler_.clear_ended();
    read();
  }
  void read() {
    invariants_.consume(scheduler_.journal().unread());
    scheduler_.journal().clear();
  }

  Invariants& invariants_;
  Scheduler scheduler_;
  StepPlan plan_;
  std::uint32_t next_ = 0;
};

TEST_CASE("books: whoever is over is forgotten, however long the run") {
  Invariants invariants(small_options());
  Run run(invariants);
  // They look for those who are over at every 1024th arrival, and two live at once.
  constexpr std::uint32_t kEvery = 1024;
  for (std::uint32_t done = 1000; done <= 8000; done += 1000) {
    run.requests(1000);
    CHECK(invariants.books().sequences().size() <= kEvery + 2);
    CHECK(invariants.books().next_sequence() == done);
    CHECK(invariants.books().forgotten() + invariants.books().sequences().size() == done);
  }
  CHECK(invariants.findings().empty());
}

TEST_CASE("books: a copy of the invariants finds for itself alone") {
  Invariants original(small_options());
  Run run(original);
  run.requests(5);
  Invariants copy(original);
  Invariants assigned(small_options());
  assigned = original;
  // Nobody owns block 3 now: the next record says that a request that has ended lets it go.
  const BlockId block{3};
  Record record{Verb::kRelease, PoolKind::kBlocks, 0, 4, 1, 0};
  std::vector<std::byte> bytes(sizeof record + sizeof block);
  std::memcpy(bytes.data(), &record, sizeof record);
  std::memcpy(bytes.data() + sizeof record, &block, sizeof block);
  copy.consume(bytes);
  CHECK_FALSE(copy.findings().empty());
  CHECK(original.findings().empty());
  CHECK(assigned.findings().empty());
  assigned.consume(bytes);
  CHECK_FALSE(assigned.findings().empty());
  CHECK(original.findings().empty());
}

}  // namespace
}  // namespace pinfold::sim
