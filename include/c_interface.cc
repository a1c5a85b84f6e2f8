// The C interface: plain structs in, plain structs out, and no exception across it.

#include <pinfold.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "engine/ownership.h"
#include "engine/scheduler.h"

struct pinfold_pool {
  pinfold::Pool pool;
  std::string error;
};

struct pinfold_scheduler {
  pinfold::Scheduler scheduler;
  std::string error;
  pinfold::StepPlan plan;
  std::vector<pinfold_copy> copies;
  std::vector<pinfold_chunk> chunks;
  std::vector<pinfold_row> joined, left, drafted;
  std::vector<pinfold::RowResult> exceptions;
  std::vector<pinfold_ended> ended;
  std::vector<std::uint32_t> table;
};

namespace {

using pinfold::BlockId;
using pinfold::SequenceId;
using pinfold::TokenCount;

/// Runs `call`, which returns a status, and turns what it throws into one.
template <class Object, class Call>
pinfold_status guarded(Object* object, Call call) {
  if (object == nullptr) return PINFOLD_BAD_ARGUMENT;
  try {
    return call();
  } catch (const pinfold::InvariantViolation& violation) {
    object->error = violation.what();
    return PINFOLD_VIOLATION;
  } catch (const std::length_error&) {
    object->error = "count: more than a list can hold";
    return PINFOLD_BAD_ARGUMENT;
  } catch (const std::bad_alloc&) {
    return PINFOLD_NO_MEMORY;
  }
}

template <class Object>
pinfold_status refuse(Object* object, const char* why) {
  object->error = why;
  return PINFOLD_BAD_ARGUMENT;
}

std::vector<BlockId> ids_of(const std::uint32_t* ids, std::size_t count) {
  std::vector<BlockId> blocks(count);
  for (std::size_t n = 0; n < count; ++n) blocks[n] = BlockId{ids[n]};
  return blocks;
}

/// A verb of the pool on a list of ids.
template <class Verb>
pinfold_status on_ids(pinfold_pool* pool, const std::uint32_t* ids, std::size_t count, Verb verb) {
  return guarded(pool, [&] {
    if (ids == nullptr && count > 0) return refuse(pool, "ids: a null pointer");
    verb(pool->pool, ids_of(ids, count));
    return PINFOLD_OK;
  });
}

pinfold_status status_of(pinfold::Answer answer) {
  switch (answer) {
    case pinfold::Answer::kOk: return PINFOLD_OK;
    case pinfold::Answer::kLater: return PINFOLD_LATER;
    case pinfold::Answer::kNever: return PINFOLD_NEVER;
  }
  return PINFOLD_VIOLATION;
}

pinfold::RequestSpec spec_of(const pinfold_request& request) {
  pinfold::RequestSpec spec;
  spec.prompt = TokenCount(request.prompt);
  spec.limit = TokenCount(request.limit);
  spec.stop = request.known_stop != 0 ? pinfold::StopMode::kKnown : pinfold::StopMode::kHidden;
  spec.drafts = TokenCount(request.drafts);
  spec.priority = request.priority;
  return spec;
}

const char* bad_request(const pinfold_request* request) {
  if (request == nullptr) return "request: a null pointer";
  if (request->prompt == 0) return "request.prompt: found 0, expected at least 1 token";
  return nullptr;
}

pinfold::SchedulerOptions options_of(const pinfold_options& given) {
  pinfold::SchedulerOptions options;
  options.block_size = TokenCount(given.block_size);
  options.block_ids = given.block_ids;
  options.state_ids = given.state_ids;
  options.state = given.state_ids > 1 ? pinfold::Switch::kOn : pinfold::Switch::kOff;
  options.draft_ids = given.draft_ids;
  options.max_sequences = given.max_sequences;
  options.token_budget = TokenCount(given.token_budget);
  options.max_model_len = TokenCount(given.max_model_len);
  options.overlap = given.overlap;
  if (given.forward_release != 0) options.release_order = pinfold::ReleaseOrder::kForward;
  if (given.lifo != 0) options.free_order = pinfold::FreeOrder::kLifo;
  if (given.unordered_writers != 0) options.fence = pinfold::FenceMode::kUnorderedWriters;
  if (given.separate_copies != 0) options.copy_lane = pinfold::CopyLane::kSeparate;
  return options;
}

const char* bad_options(const pinfold_options& options) {
  if (options.block_size == 0) return "block_size: found 0, expected at least 1 position";
  if (options.block_ids == 0) return "block_ids: found 0, expected at least 1 (id 0 is counted)";
  if (options.state_ids == 0) return "state_ids: found 0, expected at least 1 (id 0 is counted)";
  if (options.draft_ids == 0) return "draft_ids: found 0, expected at least 1 (id 0 is counted)";
  if (options.max_sequences == 0) return "max_sequences: found 0, expected at least 1";
  if (options.max_model_len == 0) return "max_model_len: found 0, expected at least 1 position";
  if (options.overlap > 2) return "overlap: expected 0, 1 or 2";
  if (options.token_budget < options.max_sequences) {
    return "token_budget: found less than max_sequences, expected at least so many rows";
  }
  return nullptr;
}

pinfold_row row_of(const auto& row) { return {pinfold::value_of(row.sequence), row.epoch, 0}; }

void fill_lists(pinfold_scheduler& object) {
  const pinfold::StepPlan& plan = object.plan;
  object.copies.clear();
  for (const pinfold::Copy& copy : plan.copies) {
    const bool state = copy.pool == pinfold::PoolKind::kStateSlots;
    object.copies.push_back(
        {state ? 1u : 0u, index_of(copy.from), index_of(copy.to), copy.rows.value});
  }
  object.chunks.clear();
  for (const pinfold::Chunk& chunk : plan.chunks) {
    object.chunks.push_back({pinfold::value_of(chunk.sequence), chunk.epoch, chunk.first.value,
                             chunk.count.value, chunk.last ? 1 : 0});
  }
  object.joined.clear();
  for (const pinfold::Joined& joined : plan.joined) object.joined.push_back(row_of(joined));
  object.left.clear();
  for (const pinfold::Left& left : plan.left) object.left.push_back(row_of(left));
  object.drafted.clear();
  for (const pinfold::Drafted& drafted : plan.drafted) {
    pinfold_row row = row_of(drafted);
    row.drafts = drafted.drafts.value;
    object.drafted.push_back(row);
  }
}

}  // namespace

const char* pinfold_status_name(pinfold_status status) {
  switch (status) {
    case PINFOLD_OK: return "ok";
    case PINFOLD_LATER: return "later";
    case PINFOLD_NEVER: return "never";
    case PINFOLD_UNKNOWN: return "unknown sequence";
    case PINFOLD_BAD_ARGUMENT: return "bad argument";
    case PINFOLD_NO_MEMORY: return "no memory";
    case PINFOLD_VIOLATION: return "violation";
  }
  return "?";
}

const char* pinfold_version(void) { return PINFOLD_VERSION; }

// ---- the pool --------------------------------------------------------------------------------------

pinfold_status pinfold_pool_create(uint32_t ids, int forward_release, int lifo,
                                   pinfold_pool** pool) {
  if (pool == nullptr) return PINFOLD_BAD_ARGUMENT;
  *pool = nullptr;
  if (ids == 0) return PINFOLD_BAD_ARGUMENT;
  pinfold::PoolOptions options;
  options.ids = ids;
  if (forward_release != 0) options.release_order = pinfold::ReleaseOrder::kForward;
  if (lifo != 0) options.free_order = pinfold::FreeOrder::kLifo;
  try {
    *pool = new pinfold_pool{pinfold::Pool(options), {}};
  } catch (const std::bad_alloc&) {
    return PINFOLD_NO_MEMORY;
  } catch (const pinfold::InvariantViolation&) {
    return PINFOLD_BAD_ARGUMENT;
  }
  return PINFOLD_OK;
}

void pinfold_pool_destroy(pinfold_pool* pool) { delete pool; }
const char* pinfold_pool_error(const pinfold_pool* pool) {
  return pool == nullptr ? "a null pointer" : pool->error.c_str();
}
uint32_t pinfold_pool_available(const pinfold_pool* pool) {
  return pool == nullptr ? 0 : pool->pool.available().value;
}
uint32_t pinfold_pool_owned(const pinfold_pool* pool) {
  return pool == nullptr ? 0 : pool->pool.owned().value;
}
uint32_t pinfold_pool_parked(const pinfold_pool* pool) {
  return pool == nullptr ? 0 : pool->pool.parked().value;
}
uint32_t pinfold_pool_owners(const pinfold_pool* pool, uint32_t id) {
  if (pool == nullptr || id == 0 || id >= pool->pool.ids()) return 0;
  return pool->pool.owners(BlockId{id});
}

pinfold_status pinfold_pool_take(pinfold_pool* pool, uint32_t* ids, size_t count) {
  return guarded(pool, [&] {
    if (ids == nullptr && count > 0) return refuse(pool, "ids: a null pointer");
    if (count > pool->pool.usable().value) return PINFOLD_NEVER;
    if (count > pool->pool.available().value) return PINFOLD_LATER;
    std::vector<BlockId> taken(count);
    pool->pool.take(taken);
    std::transform(taken.begin(), taken.end(), ids, [](BlockId id) { return index_of(id); });
    return PINFOLD_OK;
  });
}

pinfold_status pinfold_pool_pin(pinfold_pool* pool, const uint32_t* ids, size_t count) {
  return on_ids(pool, ids, count, [](pinfold::Pool& of, const auto& list) { of.pin(list); });
}
pinfold_status pinfold_pool_release(pinfold_pool* pool, const uint32_t* ids, size_t count) {
  return on_ids(pool, ids, count, [](pinfold::Pool& of, const auto& list) { of.release(list); });
}
pinfold_status pinfold_pool_park(pinfold_pool* pool, const uint32_t* ids, size_t count) {
  return on_ids(pool, ids, count, [](pinfold::Pool& of, const auto& list) { of.park(list); });
}
pinfold_status pinfold_pool_unpark(pinfold_pool* pool, const uint32_t* ids, size_t count) {
  return on_ids(pool, ids, count, [](pinfold::Pool& of, const auto& list) { of.unpark(list); });
}
pinfold_status pinfold_pool_audit(pinfold_pool* pool) {
  return guarded(pool, [&] {
    pool->pool.audit();
    return PINFOLD_OK;
  });
}

// ---- the scheduler ---------------------------------------------------------------------------------

void pinfold_options_default(pinfold_options* options) {
  if (options == nullptr) return;
  *options = pinfold_options{};
  options->block_size = 16;
  options->block_ids = 2;
  options->state_ids = 1;
  options->draft_ids = 1;
  options->max_sequences = 1;
  options->token_budget = 2048;
  options->max_model_len = 131'072;
}

pinfold_status pinfold_scheduler_create(const pinfold_options* options,
                                        pinfold_scheduler** scheduler, char* message, size_t size) {
  const auto bad = [&](const std::string& why) {
    if (message != nullptr && size > 0) {
      const std::size_t length = std::min(why.size(), size - 1);
      std::memcpy(message, why.data(), length);
      message[length] = '\0';
    }
    return PINFOLD_BAD_ARGUMENT;
  };
  if (scheduler == nullptr) return bad("scheduler: a null pointer");
  *scheduler = nullptr;
  if (options == nullptr) return bad("options: a null pointer");
  if (const char* const why = bad_options(*options)) return bad(why);
  try {
    *scheduler = new pinfold_scheduler{
        pinfold::Scheduler(options_of(*options)), {}, {}, {}, {}, {}, {}, {}, {}, {}, {}};
  } catch (const std::bad_alloc&) {
    return PINFOLD_NO_MEMORY;
  } catch (const pinfold::InvariantViolation& violation) {
    return bad(violation.what());
  }
  return PINFOLD_OK;
}

void pinfold_scheduler_destroy(pinfold_scheduler* scheduler) { delete scheduler; }
const char* pinfold_scheduler_error(const pinfold_scheduler* scheduler) {
  return scheduler == nullptr ? "a null pointer" : scheduler->error.c_str();
}

pinfold_status pinfold_scheduler_add(pinfold_scheduler* scheduler, uint32_t sequence,
                                     const pinfold_request* request) {
  return guarded(scheduler, [&] {
    if (const char* const why = bad_request(request)) return refuse(scheduler, why);
    return status_of(scheduler->scheduler.add(SequenceId{sequence}, spec_of(*request)));
  });
}

pinfold_status pinfold_scheduler_fork(pinfold_scheduler* scheduler, uint32_t parent,
                                      uint32_t sequence, const pinfold_request* request) {
  return guarded(scheduler, [&] {
    if (const char* const why = bad_request(request)) return refuse(scheduler, why);
    return status_of(
        scheduler->scheduler.fork(SequenceId{parent}, SequenceId{sequence}, spec_of(*request)));
  });
}

pinfold_status pinfold_scheduler_abort(pinfold_scheduler* scheduler, uint32_t sequence) {
  return guarded(scheduler, [&] {
    return scheduler->scheduler.abort(SequenceId{sequence}) ? PINFOLD_OK : PINFOLD_UNKNOWN;
  });
}

pinfold_status pinfold_scheduler_plan(pinfold_scheduler* scheduler, pinfold_plan* out) {
  return guarded(scheduler, [&] {
    if (out == nullptr) return refuse(scheduler, "plan: a null pointer");
    scheduler->scheduler.plan_step(scheduler->plan);
    fill_lists(*scheduler);
    const pinfold::StepPlan& plan = scheduler->plan;
    *out = pinfold_plan{};
    out->empty = plan.empty ? 1 : 0;
    out->step = value_of(plan.step);
    out->copy_ticket = value_of(plan.copy_ticket);
    out->decode_rows = plan.decode_rows;
    out->draft_rows = plan.draft_rows;
    out->prompt_rows = plan.prompt_rows;
    const auto hand_out = [](const auto& list, auto& data, std::size_t& count) {
      data = list.data();
      count = list.size();
    };
    hand_out(scheduler->copies, out->copies, out->copy_count);
    hand_out(scheduler->chunks, out->chunks, out->chunk_count);
    hand_out(scheduler->joined, out->joined, out->joined_count);
    hand_out(scheduler->left, out->left, out->left_count);
    hand_out(scheduler->drafted, out->drafted, out->drafted_count);
    return PINFOLD_OK;
  });
}

pinfold_status pinfold_scheduler_complete(pinfold_scheduler* scheduler, uint64_t step, int failed,
                                          const pinfold_row_result* exceptions, size_t count) {
  return guarded(scheduler, [&] {
    if (exceptions == nullptr && count > 0) return refuse(scheduler, "exceptions: a null pointer");
    scheduler->exceptions.clear();
    for (std::size_t n = 0; n < count; ++n) {
      const pinfold_row_result& row = exceptions[n];
      scheduler->exceptions.push_back(
          {SequenceId{row.sequence}, row.epoch, TokenCount(row.accepted), row.ended != 0});
    }
    pinfold::StepResult result;
    result.step = pinfold::StepNumber{step};
    result.failed = failed != 0;
    result.exceptions = scheduler->exceptions.data();
    result.exception_count = scheduler->exceptions.size();
    scheduler->scheduler.on_step_complete(result);
    return PINFOLD_OK;
  });
}

pinfold_status pinfold_scheduler_passed(pinfold_scheduler* scheduler, uint32_t lane,
                                        uint64_t ticket) {
  return guarded(scheduler, [&] {
    if (lane >= pinfold::kLanes) return refuse(scheduler, "lane: expected 0 to 3");
    scheduler->scheduler.on_passed(static_cast<pinfold::Lane>(lane), pinfold::Ticket{ticket});
    return PINFOLD_OK;
  });
}

pinfold_status pinfold_scheduler_ended(pinfold_scheduler* scheduler, const pinfold_ended** ended,
                                       size_t* count) {
  return guarded(scheduler, [&] {
    if (ended == nullptr || count == nullptr) return refuse(scheduler, "ended: a null pointer");
    scheduler->ended.clear();
    for (const pinfold::Ended& one : scheduler->scheduler.ended()) {
      scheduler->ended.push_back({pinfold::value_of(one.sequence),
                                  static_cast<pinfold_end>(one.reason), one.emitted.value});
    }
    scheduler->scheduler.clear_ended();
    *ended = scheduler->ended.data();
    *count = scheduler->ended.size();
    return PINFOLD_OK;
  });
}

pinfold_status pinfold_scheduler_view(pinfold_scheduler* scheduler, uint32_t sequence,
                                      pinfold_view* out) {
  return guarded(scheduler, [&] {
    if (out == nullptr) return refuse(scheduler, "view: a null pointer");
    if (!scheduler->scheduler.knows(SequenceId{sequence})) return PINFOLD_UNKNOWN;
    const pinfold::SequenceView view = scheduler->scheduler.view(SequenceId{sequence});
    scheduler->table.clear();
    for (const BlockId id : view.table) scheduler->table.push_back(index_of(id));
    *out = pinfold_view{};
    out->epoch = view.epoch;
    out->history = view.rows.history.value;
    out->processed = view.rows.processed.value;
    out->in_flight = view.rows.in_flight.value;
    out->emitted = view.emitted.value;
    out->state = index_of(view.state);
    out->draft = index_of(view.draft);
    out->table = scheduler->table.data();
    out->table_count = scheduler->table.size();
    return PINFOLD_OK;
  });
}

uint32_t pinfold_scheduler_unfinished(const pinfold_scheduler* scheduler) {
  return scheduler == nullptr ? 0 : scheduler->scheduler.unfinished();
}
uint32_t pinfold_scheduler_available_blocks(const pinfold_scheduler* scheduler) {
  return scheduler == nullptr ? 0 : scheduler->scheduler.pools().blocks().available().value;
}
int pinfold_scheduler_nothing_pending(const pinfold_scheduler* scheduler) {
  return scheduler != nullptr && scheduler->scheduler.nothing_pending() ? 1 : 0;
}
uint64_t pinfold_scheduler_state_hash(const pinfold_scheduler* scheduler) {
  return scheduler == nullptr ? 0 : scheduler->scheduler.state_hash();
}
pinfold_status pinfold_scheduler_audit(pinfold_scheduler* scheduler) {
  return guarded(scheduler, [&] {
    scheduler->scheduler.audit();
    return PINFOLD_OK;
  });
}
