#include "tests/toy_engine.h"

#include <algorithm>
#include <cstring>

namespace pinfold::toy {
namespace {

constexpr std::uint64_t mixed(std::uint64_t hash, std::uint64_t value) {
  hash = (hash ^ value) * 0x9E37'79B9'7F4A'7C15u;
  return hash ^ (hash >> 29);
}

}  // namespace

Token next_token(std::span<const Token> history, std::span<const Token> window) {
  std::uint64_t hash = history.size();
  for (const Token token : history) hash = mixed(hash, token);
  for (const Token token : window) hash = mixed(hash, token);
  return static_cast<Token>(mixed(hash, 1) >> 33);  // 31 bits: never the scribble
}

Keys::Keys(std::span<const Token> tokens, TokenCount block_size, bool with_tail) {
  const auto hash = [](std::span<const Token> part) {
    std::uint64_t key = part.size();
    for (const Token token : part) key = mixed(key, token);
    return key;
  };
  const std::size_t size = block_size.value;
  std::size_t at = 0;
  for (; at + size <= tokens.size(); at += size) blocks.push_back(hash(tokens.subspan(at, size)));
  if (!with_tail || at == tokens.size()) return;
  tail_end = TokenCount(static_cast<std::uint32_t>(tokens.size()));
  tail = hash(tokens.subspan(at));
}

// ---- memory ----------------------------------------------------------------------------------------

RowStore::RowStore(const SchedulerOptions& options, TokenCount window, TokenCount ring_len)
    : draft_tags(options.draft_ids),
      block_size_(options.block_size),
      window_(options.state == Switch::kOn ? window : TokenCount(0)),
      ring_len_(ring_len),
      recovered_(options.recovered_rows),
      blocks_(std::size_t{options.block_ids} * options.block_size.value, kScribble),
      rings_(std::size_t{options.state_ids} * ring_len.value, kScribble),
      host_blocks_(std::size_t{options.host_block_ids} * options.block_size.value, kScribble),
      buffers_(options.state_ids),
      host_images_(options.host_state_ids) {}

std::pair<std::vector<Token>&, std::size_t> RowStore::rows_of(PoolKind pool) {
  if (pool == PoolKind::kHostBlocks) return {host_blocks_, block_size_.value};
  if (pool == PoolKind::kStateSlots) return {rings_, ring_len_.value};
  return {blocks_, block_size_.value};
}

void RowStore::write(std::uint32_t position, Token token, std::span<const BlockId> table) {
  const BlockRow row = block_row_of(position, table, block_size_);
  blocks_[std::size_t{index_of(row.block)} * block_size_.value + row.row] = token;
}

void RowStore::write_ring(std::uint32_t position, Token token, BlockId state) {
  if (state != kNoBlock) rings_[ring_row_of(position, state, ring_len_)] = token;
}

void RowStore::copy(const Copy& copy) {
  if (copy.to == kNoBlock) return;  // release only
  const auto [rows, stride] = rows_of(copy.pool);
  const std::size_t count = copy.pool == PoolKind::kBlocks ? copy.rows.value : stride;
  std::copy_n(&rows[index_of(copy.from) * stride], count, &rows[index_of(copy.to) * stride]);
}

void RowStore::stage(const Copy& stage) {
  const std::span<const Token> slot = ring(stage.from);
  buffers_[index_of(stage.from)] = {{slot.begin(), slot.end()}, stage.rows};
}

void RowStore::transfer(const Transfer& transfer) {
  const bool loads = transfer.lane == Lane::kHostToDevice;
  const std::size_t device = index_of(transfer.device), host = index_of(transfer.host);
  if (transfer.pool == PoolKind::kBlocks) {
    const std::size_t size = block_size_.value;
    Token* const on_device = &blocks_[device * size];
    Token* const on_host = &host_blocks_[host * size];
    std::copy_n(loads ? on_host : on_device, size, loads ? on_device : on_host);
    return;
  }
  if (!loads) {
    host_images_[host] = buffers_[device];
    return;
  }
  const Image& image = host_images_[host];
  std::copy(image.ring.begin(), image.ring.end(), &rings_[device * ring_len_.value]);
  const std::uint32_t rows = image.rows.value;
  for (std::uint32_t position = rows - std::min(rows, recovered_.value); position < rows;
       ++position) {
    write_ring(position, kScribble, transfer.device);
  }
}

void RowStore::scribble(PoolKind pool, BlockId id) {
  if (pool == PoolKind::kDraftSlots) draft_tags[index_of(id)] = SequenceId{kScribble};
  if (pool == PoolKind::kHostStates) host_images_[index_of(id)] = {};
  if (pool == PoolKind::kDraftSlots || pool == PoolKind::kHostStates) return;
  const auto [rows, stride] = rows_of(pool);
  std::fill_n(&rows[index_of(id) * stride], stride, kScribble);
}

std::vector<Token> RowStore::history(TokenCount rows, std::span<const BlockId> table) const {
  std::vector<Token> tokens;
  for (std::uint32_t position = 0; position < rows.value; ++position) {
    const BlockRow row = block_row_of(position, table, block_size_);
    tokens.push_back(blocks_[std::size_t{index_of(row.block)} * block_size_.value + row.row]);
  }
  return tokens;
}

std::vector<Token> RowStore::window(TokenCount rows, BlockId state) const {
  std::vector<Token> tokens;
  if (state == kNoBlock) return tokens;
  std::uint32_t position = rows.value - std::min(rows, window_).value;
  for (; position < rows.value; ++position) {
    tokens.push_back(rings_[ring_row_of(position, state, ring_len_)]);
  }
  return tokens;
}

std::span<const Token> RowStore::ring(BlockId state) const {
  return std::span(rings_).subspan(ring_row_of(0, state, ring_len_), ring_len_.value);
}

// ---- requests --------------------------------------------------------------------------------------

ToyEngine::ToyEngine(const ToyOptions& options)
    : options_(options),
      scheduler_(options.scheduler),
      rows_(options.scheduler, options.window, options.ring_len),
      // A step's records wait for the D steps queued behind it, and go with the first plan after
      // them; until then as many steps again, and one, may complete.
      records_(options.scheduler.max_sequences * (2 * options.scheduler.overlap + 1)) {
  scheduler_.journal().set_enabled(true);
}

Answer ToyEngine::add(SequenceId id, const std::vector<Token>& prompt, const RequestSpec& spec,
                      std::uint32_t output, const PromptKeys& keys) {
  clients_[id] = {prompt, prompt.size(), output, spec.stop, {}, false, EndReason::kStop};
  const Answer answer = scheduler_.add(id, spec, keys);
  if (answer == Answer::kNever) clients_[id].ended = true;
  if (answer == Answer::kNever) clients_[id].reason = EndReason::kNever;
  read_journal();
  return answer;
}

Answer ToyEngine::fork(SequenceId parent, SequenceId child, const std::vector<Token>& prompt,
                       const RequestSpec& spec, std::uint32_t output, const PromptKeys& keys) {
  clients_[child] = {prompt, prompt.size(), output, spec.stop, {}, false, EndReason::kStop};
  const Answer answer = scheduler_.fork(parent, child, spec, keys);
  if (answer == Answer::kNever) clients_[child].ended = true;
  if (answer == Answer::kNever) clients_[child].reason = EndReason::kNever;
  read_journal();
  return answer;
}

void ToyEngine::abort(SequenceId id) {
  scheduler_.abort(id);
  read_journal();
  take_ends();
}

// What the library reports besides plans: ids issued, forks as they pin their parent, and transfers.
void ToyEngine::read_journal() {
  std::span<const std::byte> bytes = scheduler_.journal().unread();
  while (!bytes.empty()) {
    Record record;
    std::memcpy(&record, bytes.data(), sizeof record);
    bytes = bytes.subspan(sizeof record);
    std::vector<BlockId> ids(ids_after(record));
    if (!ids.empty()) std::memcpy(ids.data(), bytes.data(), ids.size() * sizeof(BlockId));
    bytes = bytes.subspan(ids.size() * sizeof(BlockId));
    for (const BlockId id : ids) {
      if (record.verb != Verb::kAcquire) break;
      issued_.push_back({record.pool, id});
      if (!options_.ordered_writers) rows_.scribble(record.pool, id);
    }
    const bool saves = record.verb == Verb::kSave;  // pairs: where from, where to
    const PoolKind host =
        record.pool == PoolKind::kBlocks ? PoolKind::kHostBlocks : PoolKind::kHostStates;
    for (std::size_t n = 1; saves && n < ids.size(); n += 2) rows_.scribble(host, ids[n]);
    if (record.verb != Verb::kFork) continue;
    Client& child = clients_.at(SequenceId{record.sequence});
    const bool decode = child.known.size() <= record.count;
    ++(decode ? decode_forks : prompt_forks);
    if (!decode) continue;
    const std::vector<Token>& known = clients_.at(SequenceId{record.aux}).known;
    child.known.assign(known.begin(),
                       known.begin() + record.count + 1);  // C rows and the next token
    child.given = child.known.size();
  }
  scheduler_.journal().clear();
  for (const Transfer& transfer : scheduler_.transfers()) {
    link(transfer.lane).queue.push_back(transfer);
  }
  scheduler_.clear_transfers();
}

void ToyEngine::take_ends() {
  for (const Ended& ended : scheduler_.ended()) {
    clients_.at(ended.sequence).ended = true;
    clients_.at(ended.sequence).reason = ended.reason;
    batch_.erase(ended.sequence);
  }
  scheduler_.clear_ended();
}

// ---- host: plan ------------------------------------------------------------------------------------

bool ToyEngine::plan() {
  records_.sync(passed_);
  scheduler_.plan_step(plan_);
  for (const Left& left : plan_.left) batch_.erase(left.sequence);
  read_journal();
  take_ends();
  if (plan_.empty) return false;
  for (const Joined& joined : plan_.joined) batch_[joined.sequence] = joined.epoch;
  queue(plan_);
  return true;
}

ToyEngine::Work ToyEngine::work_of(SequenceId id, std::uint32_t epoch) const {
  const SequenceView view = scheduler_.view(id);
  Work work;
  work.sequence = id;
  work.epoch = epoch;
  work.era = era_;
  work.table.assign(view.table.begin(), view.table.end());
  work.state = view.state;
  work.draft = view.draft;
  return work;
}

void ToyEngine::queue(const StepPlan& plan) {
  Step step{plan.step, plan.copy_ticket, plan.step_ticket, {}, plan.copies, plan.stages, {}};
  for (const Chunk& chunk : plan.chunks) {
    Work work = work_of(chunk.sequence, chunk.epoch);
    const std::vector<Token>& known = clients_.at(chunk.sequence).known;
    const TokenCount end = scheduler_.view(chunk.sequence).prompt_end;
    work.first = chunk.first.value;
    for (std::uint32_t n = 0; n < chunk.count.value; ++n)
      work.inputs.push_back(known[work.first + n]);
    for (std::uint32_t n = chunk.recovered.value; n > 0; --n) {
      work.recovered.push_back(known[work.first - n]);
    }
    recovered += chunk.recovered.value;
    work.chunk = true;
    work.yields = chunk.last;
    if (!options_.ordered_writers) load_prompt(work, end, plan);
    step.works.push_back(std::move(work));
  }
  for (const auto& [sequence, epoch] : batch_) {
    Work work = work_of(sequence, epoch);
    for (const Drafted& drafted : plan.drafted) {
      if (drafted.sequence == sequence) work.drafts = drafted.drafts.value;
    }
    const RowCounts rows = scheduler_.view(sequence).rows;
    work.first = (rows.processed + rows.in_flight).value - 1 - work.drafts;
    const std::vector<Token>& known = clients_.at(sequence).known;
    work.inputs.push_back(work.first < known.size() ? known[work.first] : kScribble);
    step.works.push_back(std::move(work));
  }
  step.issued.swap(issued_);
  queue_.push_back(std::move(step));
}

// The prompt's last rows that lie in blocks issued for this very step and filled by no copy.
void ToyEngine::load_prompt(const Work& work, TokenCount end, const StepPlan& plan) {
  const auto is_new = [&](BlockId id) {
    const auto fills = [&](const Copy& copy) {
      return copy.pool == PoolKind::kBlocks && copy.to == id;
    };
    const std::pair<PoolKind, BlockId> entry{PoolKind::kBlocks, id};
    return std::find(issued_.begin(), issued_.end(), entry) != issued_.end() &&
           std::none_of(plan.copies.begin(), plan.copies.end(), fills);
  };
  const std::vector<Token>& known = clients_.at(work.sequence).known;
  const TokenCount block_size = options_.scheduler.block_size;
  std::uint32_t first = end.value;
  while (first > work.first && is_new(block_row_of(first - 1, work.table, block_size).block)) {
    rows_.write(first - 1, known[first - 1], work.table);
    --first;
  }
  if (first < end.value) loaded_[{work.sequence, work.epoch}] = first;
}

// ---- device ----------------------------------------------------------------------------------------

void ToyEngine::copy(Step& step) {
  if (step.copied || (step.lost && !options_.lost_steps_run)) return;
  for (const auto& [pool, id] : step.issued) {
    if (options_.ordered_writers) rows_.scribble(pool, id);
  }
  for (const Copy& copy : step.copies) rows_.copy(copy);
  for (const Copy& stage : step.stages) rows_.stage(stage);
  step.copied = true;
}

void ToyEngine::run(Step& step) {
  if (step.ran || (step.lost && !options_.lost_steps_run)) return;
  copy(step);
  for (Work& work : step.works) {
    if (work.chunk) {
      run_chunk(work);
    } else {
      run_decode(work);
    }
  }
  step.ran = true;
}

Token ToyEngine::next_of(TokenCount rows, const Work& work) const {
  return next_token(rows_.history(rows, work.table), rows_.window(rows, work.state));
}

void ToyEngine::run_chunk(Work& work) {
  std::uint32_t position = work.first - static_cast<std::uint32_t>(work.recovered.size());
  for (const Token token : work.recovered) rows_.write_ring(position++, token, work.state);
  const auto loaded = loaded_.find({work.sequence, work.epoch});
  for (const Token token : work.inputs) {
    const bool here = loaded != loaded_.end() && position >= loaded->second;
    if (!here) rows_.write(position, token, work.table);
    rows_.write_ring(position++, token, work.state);
  }
  if (!work.yields) return;
  work.tokens.push_back(next_of(TokenCount(position), work));
  cursors_[{work.sequence, work.epoch, work.era}] = {position, work.tokens.back(), false};
}

// The drafter knows the model, and errs now and then.
std::vector<Token> ToyEngine::proposals(const Work& work, const Cursor& cursor) const {
  std::vector<Token> history = rows_.history(TokenCount(cursor.position), work.table);
  history.push_back(cursor.token);
  std::vector<Token> inputs{cursor.token};
  for (std::uint32_t n = 0; n < work.drafts; ++n) {
    const std::size_t window = work.state == kNoBlock ? 0 : options_.window.value;
    const std::size_t first = history.size() - std::min(history.size(), window);
    Token draft = next_token(history, std::span(history).subspan(first));
    if (mixed(options_.seed, draft) % 3 == 0) draft ^= 1;  // a wrong guess
    history.push_back(draft);
    inputs.push_back(draft);
  }
  return inputs;
}

void ToyEngine::run_decode(Work& work) {
  const auto start = cursors_.try_emplace({work.sequence, work.epoch, work.era},
                                          Cursor{work.first, work.inputs[0], false});
  Cursor& cursor = start.first->second;
  if (work.drafts > 0) {
    SequenceId& tag = rows_.draft_tags[index_of(work.draft)];
    if (cursor.drafted && tag != work.sequence) ++stale_draft_slots;
    tag = work.sequence;
    cursor.drafted = true;
  }
  const std::vector<Token> inputs = proposals(work, cursor);
  for (std::uint32_t n = 0; n <= work.drafts; ++n) {
    rows_.write(cursor.position + n, inputs[n], work.table);
    rows_.write_ring(cursor.position + n, inputs[n], work.state);
  }
  for (std::uint32_t n = 0; n <= work.drafts; ++n) {
    work.tokens.push_back(next_of(TokenCount(cursor.position + n + 1), work));
    if (n < work.drafts && inputs[n + 1] != work.tokens.back()) break;  // rejected from here on
  }
  cursor.position += static_cast<std::uint32_t>(work.tokens.size());
  cursor.token = work.tokens.back();
}

// ---- host: results ---------------------------------------------------------------------------------

void ToyEngine::run_copies() {
  for (Step& step : queue_) {
    if (!step.copied && !step.lost && !step.copies.empty()) {
      copy(step);
      scheduler_.on_passed(Lane::kCompute, step.copy_ticket);
      passed_.upto[index_of(Lane::kCompute)] = step.copy_ticket;
      return;
    }
    run(step);  // the lane is in order
  }
}

void ToyEngine::complete(bool failed) {
  if (failed) {
    for (Step& step : queue_) step.lost = true;
    ++era_;
  }
  run(queue_.front());
  Step step = std::move(queue_.front());
  queue_.pop_front();
  if (step.lost) step.works.clear();
  std::vector<RowResult> exceptions;
  for (Work& work : step.works) settle(work, exceptions);
  scheduler_.on_step_complete({step.number, failed, exceptions.data(), exceptions.size()});
  passed_.upto[index_of(Lane::kCompute)] = step.step_ticket;
  take_ends();
  read_journal();
  const Ticket last = queue_.empty() ? step.step_ticket : queue_.back().step_ticket;
  settled_.clear();
  for (const Work& work : step.works) {
    deliver(work, last);
    if (!scheduler_.knows(work.sequence)) continue;
    if (scheduler_.view(work.sequence).epoch != work.epoch) continue;
    settled_.push_back({work.sequence, work.written});
  }
}

// ---- transfers -------------------------------------------------------------------------------------

// A buffer is read once its step has staged it, if that step still comes.
bool ToyEngine::may_move(const Transfer& transfer) const {
  for (const Step& step : queue_) {
    if (step.number == transfer.after) return step.copied || step.lost;
  }
  return true;
}

void ToyEngine::run_transfers(Lane lane) {
  Link& moving = link(lane);
  if (moving.ran == moving.queue.size()) return;
  const Ticket ticket = moving.queue[moving.ran].ticket;
  while (moving.ran < moving.queue.size() && moving.queue[moving.ran].ticket == ticket &&
         may_move(moving.queue[moving.ran])) {
    rows_.transfer(moving.queue[moving.ran++]);
  }
}

void ToyEngine::report_transfers(Lane lane) {
  Link& moving = link(lane);
  if (moving.queue.empty()) return;
  const Ticket ticket = moving.queue.front().ticket;
  for (std::size_t n = 0; n < moving.queue.size() && moving.queue[n].ticket == ticket; ++n) {
    if (n >= moving.ran) return;
    // Not before the result of the step before the one that staged it.
    if (value_of(moving.queue[n].after) > value_of(scheduler_.done()) + 1) return;
  }
  take_off(moving);
  scheduler_.on_passed(lane, ticket);
  read_journal();
}

void ToyEngine::lose_transfers(Lane lane) {
  Link& moving = link(lane);
  if (moving.queue.empty()) return;
  const Ticket ticket = moving.queue.front().ticket;
  take_off(moving);
  scheduler_.on_lost(lane, ticket);
  read_journal();
}

// All of the oldest ticket.
void ToyEngine::take_off(Link& link) {
  const Ticket ticket = link.queue.front().ticket;
  while (!link.queue.empty() && link.queue.front().ticket == ticket) {
    link.queue.pop_front();
    if (link.ran > 0) --link.ran;
  }
}

// What of the row's tokens counts, and whether the scheduler must be told.
void ToyEngine::settle(Work& work, std::vector<RowResult>& exceptions) {
  const Client& client = clients_.at(work.sequence);
  if (client.ended) work.tokens.clear();  // aborted, or stopped in a step before: an overrun row
  if (client.ended) return;
  const RowCounts rows = scheduler_.view(work.sequence).rows;
  work.processed = rows.processed;
  work.written = rows.processed + rows.in_flight;
  if (!work.yields) return;
  const std::size_t emitted = client.emitted().size();
  work.tokens.resize(std::min(work.tokens.size(), client.output - emitted));
  const std::size_t tokens = work.tokens.size();
  const bool stops = client.stop == StopMode::kHidden && emitted + tokens == client.output;
  if (tokens == 1 && !stops) return;
  exceptions.push_back(
      {work.sequence, work.epoch, TokenCount(static_cast<std::uint32_t>(tokens)), stops});
}

// The record lives until the steps dispatched so far are done; the client keeps a clone.
void ToyEngine::deliver(const Work& work, Ticket last) {
  if (work.tokens.empty()) return;
  Client& client = clients_.at(work.sequence);
  const std::optional<RecordHandle> handle = records_.make(work.sequence, work.epoch);
  PINFOLD_CHECK(handle.has_value(), "O11", "more records than the steps in flight can yield");
  RequestOutput& output = records_.at(*handle);
  for (const Token token : work.tokens) output.push(token);
  if (client.ended) output.reason = client.reason;
  client.kept.push_back(records_.clone(*handle));
  client.known.insert(client.known.end(), work.tokens.begin(), work.tokens.end());
  records_.release_after(fence_on(Lane::kCompute, last), std::span(&*handle, 1));
  if (!client.ended && scheduler_.view(work.sequence).epoch != work.epoch) ++late_tokens;
}

}  // namespace pinfold::toy
