#include "tests/unit/scheduler/harness.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>

#include "tests/unit/pool/id_lists.h"

namespace pinfold::test {
namespace {

constexpr std::uint32_t kPassesMax = 1000;

SchedulerOptions with_fast_path(SchedulerOptions options, Switch fast_path) {
  options.fast_path = fast_path;
  return options;
}

std::string list_of(const std::vector<SequenceId>& ids) {
  std::string result = "[";
  for (const SequenceId id : ids) {
    if (result.size() > 1) result += ", ";
    result += std::to_string(value_of(id));
  }
  return result + "]";
}

/// Appends with a blank between entries.
void add_word(std::string& text, const std::string& word) {
  if (!text.empty()) text += " ";
  text += word;
}

const char* name_of(EndReason reason) {
  switch (reason) {
    case EndReason::kStop: return "stop";
    case EndReason::kLimit: return "limit";
    case EndReason::kAborted: return "aborted";
    case EndReason::kNever: return "never";
  }
  return "?";
}

const char* name_of(Cause cause) {
  switch (cause) {
    case Cause::kNone: return "none";
    case Cause::kBlocks: return "blocks";
    case Cause::kSlot: return "slot";
    case Cause::kFence: return "fence";
    case Cause::kFork: return "fork";
    case Cause::kPressure: return "pressure";
    case Cause::kRunLimit: return "run limit";
    case Cause::kBudget: return "budget";
    case Cause::kLoad: return "load";
  }
  return "?";
}

const char* name_of(Phase phase) {
  switch (phase) {
    case Phase::kWaiting: return "waiting";
    case Phase::kForkSettling: return "settling";
    case Phase::kForkPinned: return "pinned";
    case Phase::kLoading: return "loading";
    case Phase::kPrefill: return "prefill";
    case Phase::kDecode: return "decode";
  }
  return "?";
}

}  // namespace

SchedulerOptions engine_with(std::uint32_t usable_blocks, std::uint32_t block_size) {
  SchedulerOptions options;
  options.block_ids = usable_blocks + 1;
  options.block_size = TokenCount(block_size);
  options.max_sequences = 8;
  options.token_budget = TokenCount(64);
  options.max_model_len = TokenCount(1000);
  return options;
}

SchedulerOptions stateful_with(std::uint32_t usable_blocks, std::uint32_t block_size,
                               std::uint32_t usable_slots) {
  SchedulerOptions options = engine_with(usable_blocks, block_size);
  options.state = Switch::kOn;
  options.state_ids = usable_slots + 1;
  return options;
}

RequestSpec known(std::uint32_t prompt, std::uint32_t output, std::uint32_t drafts) {
  RequestSpec spec;
  spec.prompt = TokenCount(prompt);
  spec.limit = TokenCount(output);
  spec.stop = StopMode::kKnown;
  spec.drafts = TokenCount(drafts);
  return spec;
}

RequestSpec hidden(std::uint32_t prompt, std::uint32_t limit, std::uint32_t drafts) {
  RequestSpec spec = known(prompt, limit, drafts);
  spec.stop = StopMode::kHidden;
  return spec;
}

RequestSpec with_priority(RequestSpec spec, std::uint32_t priority) {
  spec.priority = priority;
  return spec;
}

// ---- acts ------------------------------------------------------------------------------------------

Engine::Engine(const SchedulerOptions& options)
    : fast_(with_fast_path(options, Switch::kOn)), slow_(with_fast_path(options, Switch::kOff)) {
  fast_.journal().set_enabled(true);
  slow_.journal().set_enabled(true);
}

Answer Engine::add(SequenceId id, const RequestSpec& spec, const PromptKeys& keys) {
  const Answer answer = fast_.add(id, spec, keys);
  REQUIRE(slow_.add(id, spec, keys) == answer);
  after_act();
  return answer;
}

Answer Engine::fork(SequenceId parent, SequenceId child, const RequestSpec& spec,
                    const PromptKeys& keys) {
  const Answer answer = fast_.fork(parent, child, spec, keys);
  REQUIRE(slow_.fork(parent, child, spec, keys) == answer);
  after_act();
  return answer;
}

bool Engine::abort(SequenceId id) {
  const bool lived = fast_.abort(id);
  REQUIRE(slow_.abort(id) == lived);
  after_act();
  return lived;
}

const StepPlan& Engine::plan() {
  fast_.plan_step(plan_);
  slow_.plan_step(slow_plan_);
  REQUIRE(slow_plan_.empty == plan_.empty);
  REQUIRE(slow_plan_.decode_rows == plan_.decode_rows);
  REQUIRE(slow_plan_.context_rows == plan_.context_rows);
  REQUIRE(slow_plan_.cause == plan_.cause);
  // The worker's mirror of the batch, from the deltas alone.
  for (const Left& gone : plan_.left) REQUIRE(batch_.erase(gone.sequence) == 1);
  after_act();
  if (plan_.empty) {
    last_rows_.clear();
    check_tables();
    return plan_;
  }
  for (const Joined& fresh : plan_.joined) {
    REQUIRE(batch_.emplace(fresh.sequence, fresh.epoch).second);
  }
  REQUIRE(batch_.size() == plan_.decode_rows);
  Flying flying{value_of(plan_.step), plan_.copy_ticket, !plan_.copies.empty(), batch_};
  for (const Chunk& chunk : plan_.chunks) flying.rows.emplace(chunk.sequence, chunk.epoch);
  last_rows_ = flying.rows;
  flying_.push_back(flying);
  check_tables();
  return plan_;
}

// Rule O6: after the plan table == need for whoever takes part in it (its own rows are in F by now);
// nobody else keeps more than the need without a further row.
void Engine::check_tables() const {
  for (const SequenceId id : fast_.running()) {
    const SequenceView seen = view(id);
    const BlockCount need = need_without_row(seen.rows, fast_.options().block_size);
    if (in_step(id)) {
      REQUIRE(seen.table.size() == need.value);
    } else {
      REQUIRE(seen.table.size() <= need.value);
    }
  }
}

void Engine::pass_copies() {
  const auto oldest = std::find_if(flying_.begin(), flying_.end(),
                                   [](const Flying& flying) { return flying.copies_pending; });
  REQUIRE(oldest != flying_.end());
  oldest->copies_pending = false;
  fast_.on_passed(Lane::kCompute, oldest->copy_ticket);
  slow_.on_passed(Lane::kCompute, oldest->copy_ticket);
  after_act();
}

void Engine::pass_transfer(Lane lane, bool lost) {
  const auto oldest = std::find_if(transfers_.begin(), transfers_.end(),
                                   [&](const Transfer& queued) { return queued.lane == lane; });
  REQUIRE(oldest != transfers_.end());
  const Ticket ticket = oldest->ticket;
  std::erase_if(transfers_, [&](const Transfer& queued) {
    return queued.lane == lane && queued.ticket == ticket;
  });
  for (Scheduler* scheduler : {&fast_, &slow_}) {
    lost ? scheduler->on_lost(lane, ticket) : scheduler->on_passed(lane, ticket);
  }
  after_act();
}

std::string Engine::transfers(Lane lane) const {
  std::string result;
  const Transfer* before = nullptr;
  for (const Transfer& queued : transfers_) {
    if (queued.lane != lane) continue;
    const bool follows = before != nullptr && before->ticket == queued.ticket;
    const bool same_pool = follows && before->pool == queued.pool;
    if (!follows) add_word(result, std::to_string(value_of(queued.ticket)) + ":");
    before = &queued;
    const bool load = lane == Lane::kHostToDevice;
    const std::string from = std::to_string(index_of(load ? queued.host : queued.device));
    const std::string to = std::to_string(index_of(load ? queued.device : queued.host));
    if (!same_pool) add_word(result, queued.pool == PoolKind::kBlocks ? "block" : "state");
    add_word(result, from + ">" + to);
  }
  return result;
}

std::string Engine::loads() const { return transfers(Lane::kHostToDevice); }
std::string Engine::saves() const { return transfers(Lane::kDeviceToHost); }

void Engine::finish_step(std::initializer_list<Yield> rows) {
  REQUIRE(!flying_.empty());
  const Flying step = flying_.front();
  flying_.pop_front();
  std::vector<RowResult> results;
  for (const Yield& row : rows) {
    REQUIRE(step.rows.count(row.sequence) == 1);
    results.push_back({row.sequence, step.rows.at(row.sequence), TokenCount(row.tokens), row.ends});
  }
  const StepResult result{StepNumber{step.step}, false, results.data(), results.size()};
  fast_.on_step_complete(result);
  slow_.on_step_complete(result);
  after_act();
}

void Engine::fail_step() {
  REQUIRE(!flying_.empty());
  const StepResult result{StepNumber{flying_.front().step}, true, nullptr, 0};
  flying_.pop_front();
  fast_.on_step_complete(result);
  slow_.on_step_complete(result);
  after_act();
}

const StepPlan& Engine::step(std::initializer_list<Yield> rows) {
  plan();
  if (flying_.size() > fast_.options().overlap || (plan_.empty && !flying_.empty())) {
    finish_step(rows);
  }
  return plan_;
}

void Engine::steps(std::uint32_t count) {
  for (std::uint32_t n = 0; n < count; ++n) step();
}

void Engine::drain() {
  std::uint32_t passes = 0;
  while (flying_.size() > fast_.options().overlap) finish_step();
  while (fast_.unfinished() > 0) {
    REQUIRE(++passes < kPassesMax);
    const std::uint64_t before = fast_.state_hash();
    step();
    if (plan_.empty && flying_.empty() && !loads().empty()) pass_load();
    REQUIRE(fast_.state_hash() != before);
  }
  while (!flying_.empty()) finish_step();
}

void Engine::after_act() {
  fast_.audit();
  slow_.audit();
  REQUIRE(fast_.state_hash() == slow_.state_hash());
  const std::span<const std::byte> bytes = fast_.journal().unread();
  const std::span<const std::byte> twin = slow_.journal().unread();
  REQUIRE(std::equal(bytes.begin(), bytes.end(), twin.begin(), twin.end()));
  for (const Ended& ended : fast_.ended()) {
    if (!ends_.empty()) ends_ += "; ";
    ends_ += std::to_string(value_of(ended.sequence)) + " " + name_of(ended.reason) + " " +
             std::to_string(ended.emitted.value);
    last_end_ = ended;
    batch_.erase(ended.sequence);
  }
  REQUIRE(fast_.ended().size() == slow_.ended().size());
  fast_.clear_ended();
  slow_.clear_ended();
  REQUIRE(fast_.transfers().size() == slow_.transfers().size());
  for (const Transfer& queued : fast_.transfers()) transfers_.push_back(queued);
  fast_.clear_transfers();
  slow_.clear_transfers();
}

// ---- probes ----------------------------------------------------------------------------------------

std::string Engine::free_blocks() const { return free_text(fast_.pools().blocks()); }

std::string Engine::free_slots() const {
  return free_text(fast_.pools().of(PoolKind::kStateSlots));
}

std::string Engine::idle_blocks() const { return text(fast_.pools().blocks().idle_list()); }

std::uint32_t Engine::owners(std::uint32_t block) const {
  return fast_.pools().blocks().owners(BlockId{block});
}

std::uint32_t Engine::slot_owners(std::uint32_t slot) const {
  return fast_.pools().of(PoolKind::kStateSlots).owners(BlockId{slot});
}

std::string Engine::running() const { return list_of(fast_.running()); }
std::string Engine::waiting() const { return list_of(fast_.waiting()); }
std::string Engine::forks() const { return list_of(fast_.waiting_forks()); }

bool Engine::is_drained() const {
  if (fast_.unfinished() > 0 || !flying_.empty() || !fast_.holds().empty()) return false;
  for (const PoolKind kind : {PoolKind::kBlocks, PoolKind::kStateSlots, PoolKind::kDraftSlots}) {
    const Pool& pool = fast_.pools().of(kind);
    if (pool.owned().value > 0 || pool.available() != pool.usable()) return false;
  }
  return true;
}

std::string Engine::table(SequenceId id) const { return text(view(id).table); }

std::string Engine::counts(SequenceId id) const {
  const RowCounts rows = view(id).rows;
  return "H " + std::to_string(rows.history.value) + " C " + std::to_string(rows.processed.value) +
         " F " + std::to_string(rows.in_flight.value);
}

std::uint32_t Engine::held(SequenceId id) const {
  return static_cast<std::uint32_t>(view(id).table.size());
}

std::string Engine::phase(SequenceId id) const { return name_of(view(id).phase); }

bool Engine::in_step(SequenceId id) const { return last_rows_.count(id) == 1; }

std::string Engine::why(SequenceId id) const {
  for (const WaitReason& reason : fast_.explain_wait()) {
    if (reason.sequence != id) continue;
    std::string result = name_of(reason.cause);
    if (reason.lacking.value > 0) result += ", lacking " + std::to_string(reason.lacking.value);
    if (reason.has_holder) result += ", held by " + std::to_string(value_of(reason.holder));
    const std::uint64_t load = value_of(reason.fence.ticket[index_of(Lane::kHostToDevice)]);
    if (load > 0) result += ", until load " + std::to_string(load);
    const std::uint64_t save = value_of(reason.fence.ticket[index_of(Lane::kDeviceToHost)]);
    if (save > 0) result += ", until save " + std::to_string(save);
    const std::uint64_t ticket = value_of(reason.fence.ticket[index_of(Lane::kCompute)]);
    if (ticket > 0) {
      result += ticket % 2 == 0 ? ", until step " : ", until the copies of step ";
      result += std::to_string((ticket + 1) / 2);
    }
    return result;
  }
  return "nothing";
}

std::string Engine::copies() const {
  std::string slots;
  std::string blocks;
  for (const Copy& copy : plan_.copies) {
    const bool of_block = copy.pool == PoolKind::kBlocks;
    std::string word = of_block ? "block " : "slot ";
    word += std::to_string(index_of(copy.from)) + ">" + std::to_string(index_of(copy.to));
    if (copy.rows.value > 0) word += ":" + std::to_string(copy.rows.value);
    add_word(of_block ? blocks : slots, word);
  }
  if (!blocks.empty()) add_word(slots, blocks);
  return slots;
}

std::string Engine::chunks() const {
  std::string result;
  for (const Chunk& chunk : plan_.chunks) {
    add_word(result, std::to_string(value_of(chunk.sequence)) + "[" +
                         std::to_string(chunk.first.value) + "," +
                         std::to_string((chunk.first + chunk.count).value) + ")" +
                         (chunk.last ? "!" : ""));
  }
  return result;
}

std::string Engine::drafted() const {
  std::string result;
  for (const Drafted& row : plan_.drafted) {
    add_word(result,
             std::to_string(value_of(row.sequence)) + ":" + std::to_string(row.drafts.value));
  }
  return result;
}

std::string Engine::joined() const {
  std::vector<SequenceId> ids;
  for (const Joined& row : plan_.joined) ids.push_back(row.sequence);
  return list_of(ids);
}

std::string Engine::left() const {
  std::vector<SequenceId> ids;
  for (const Left& row : plan_.left) ids.push_back(row.sequence);
  return list_of(ids);
}

std::vector<std::byte> Engine::journal_bytes() {
  const std::span<const std::byte> bytes = fast_.journal().unread();
  return {bytes.begin(), bytes.end()};
}

std::vector<Record> Engine::records() {
  std::vector<Record> records;
  const std::vector<std::byte> bytes = journal_bytes();
  for (std::size_t at = 0; at < bytes.size();) {
    Record record{};
    std::memcpy(&record, &bytes[at], sizeof record);
    records.push_back(record);
    at += sizeof record + ids_after(record) * sizeof(BlockId);
  }
  return records;
}

std::string Engine::ids_with(Verb verb, std::size_t from) {
  const std::vector<std::byte> bytes = journal_bytes();
  std::size_t number = 0;
  for (std::size_t at = 0; at < bytes.size(); ++number) {
    Record record{};
    std::memcpy(&record, &bytes[at], sizeof record);
    at += sizeof record;
    std::vector<BlockId> ids(ids_after(record));
    if (!ids.empty()) std::memcpy(ids.data(), &bytes[at], ids.size() * sizeof(BlockId));
    if (number >= from && record.verb == verb) return text(ids);
    at += ids.size() * sizeof(BlockId);
  }
  return "none";
}

}  // namespace pinfold::test
