/* Pinfold for engines in other languages: the block pool and the scheduler behind a C interface.
 *
 * The rules are those of the C++ library (src/engine/scheduler.h, src/engine/ownership.h); O1..O16 name them.
 * Link with libpinfold_c. An object belongs to one thread at a time. Nothing is thrown across this interface:
 * every call that can fail returns a pinfold_status, and pinfold_*_error() then tells why. After
 * PINFOLD_VIOLATION the object broke an ownership rule, or was asked to: it must only be read and destroyed.
 *
 * Ids of blocks and slots count from 1: id 0 is never issued and means "none" (rule O2). Sequence ids are the
 * caller's and must increase. Arrays that are handed out live until the next call on the same object. */
#ifndef PINFOLD_H
#define PINFOLD_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PINFOLD_VERSION_MAJOR 0
#define PINFOLD_VERSION_MINOR 1

typedef enum pinfold_status {
  PINFOLD_OK = 0,
  PINFOLD_LATER = 1,   /* no room now; nothing was changed */
  PINFOLD_NEVER = 2,   /* no room ever; nothing was changed (rule O3) */
  PINFOLD_UNKNOWN = 3, /* no such live sequence */
  PINFOLD_BAD_ARGUMENT =
      4, /* a null pointer, a count or an option outside its range; nothing was changed */
  PINFOLD_NO_MEMORY = 5,
  PINFOLD_VIOLATION = 6 /* an ownership rule broke; the message names it, the owners and the ids */
} pinfold_status;

/* "ok", "later", ... */
const char* pinfold_status_name(pinfold_status status);
/* "0.1.0" */
const char* pinfold_version(void);

/* ---- the pool (rules O2 and O9) -------------------------------------------------------------------- */

typedef struct pinfold_pool pinfold_pool;

/* `ids` counts id 0, as engines log it: ids - 1 can be issued. Orders: release walks a table in reverse unless
 * `forward_release`; the id that has been free for longest is issued next unless `lifo`. */
pinfold_status pinfold_pool_create(uint32_t ids, int forward_release, int lifo,
                                   pinfold_pool** pool);
void pinfold_pool_destroy(pinfold_pool* pool);
const char* pinfold_pool_error(const pinfold_pool* pool);

uint32_t pinfold_pool_available(const pinfold_pool* pool);
uint32_t pinfold_pool_owned(const pinfold_pool* pool);
uint32_t pinfold_pool_parked(const pinfold_pool* pool); /* owned, but only behind fences */
uint32_t pinfold_pool_owners(const pinfold_pool* pool, uint32_t id);

/* Issues `count` ids, all or none (PINFOLD_LATER, or PINFOLD_NEVER if the pool has not so many). */
pinfold_status pinfold_pool_take(pinfold_pool* pool, uint32_t* ids, size_t count);
/* One more owner for each id, all of which must be live. */
pinfold_status pinfold_pool_pin(pinfold_pool* pool, const uint32_t* ids, size_t count);
/* One owner less for each id; at 0 it is free. Unpin is the same. */
pinfold_status pinfold_pool_release(pinfold_pool* pool, const uint32_t* ids, size_t count);
/* Turns one owner of each id into a hold behind a fence of the caller's; unpark drops the holds when it passed. */
pinfold_status pinfold_pool_park(pinfold_pool* pool, const uint32_t* ids, size_t count);
pinfold_status pinfold_pool_unpark(pinfold_pool* pool, const uint32_t* ids, size_t count);
/* Proves the pool's laws. O(ids). */
pinfold_status pinfold_pool_audit(pinfold_pool* pool);

/* ---- the scheduler --------------------------------------------------------------------------------- */

typedef struct pinfold_scheduler pinfold_scheduler;

/* Fill with pinfold_options_default() and change what differs. */
typedef struct pinfold_options {
  uint32_t block_size;    /* positions a block; default 16 */
  uint32_t block_ids;     /* id 0 counted; default 2 */
  uint32_t state_ids;     /* state slots, id 0 counted; 1: the model has none (default) */
  uint32_t draft_ids;     /* draft slots, id 0 counted; 1: none (default) */
  uint32_t max_sequences; /* running at once; default 1 */
  uint32_t token_budget;  /* rows a step, at least max_sequences; default 2048 */
  uint32_t max_model_len; /* positions a sequence; default 131072 */
  uint32_t overlap;       /* 0, 1 or 2 (rule O15); default 0 */
  int forward_release;    /* as for the pool; default 0 */
  int lifo;               /* default 0 */
  int unordered_writers;  /* 1: only copies are fenced (decision 5); default 0 */
  int separate_copies; /* 1: copies run in lane 1, which is reported with pinfold_scheduler_passed */
} pinfold_options;

void pinfold_options_default(pinfold_options* options);

typedef struct pinfold_request {
  uint32_t prompt;   /* tokens, at least 1 */
  uint32_t limit;    /* tokens it may yield; 0: prefill only */
  int known_stop;    /* 1: it yields exactly `limit` tokens */
  uint32_t drafts;   /* draft tokens wanted a decode row */
  uint32_t priority; /* lower goes first */
} pinfold_request;

/* A device copy ahead of the step's forward. to 0: no copy, `from` is only released behind it. */
typedef struct pinfold_copy {
  uint32_t state; /* 1: a state slot, 0: a block */
  uint32_t from, to;
  uint32_t rows;
} pinfold_copy;

/* Prompt rows [first, first + count); last: the step yields the sequence's next token. */
typedef struct pinfold_chunk {
  uint32_t sequence, epoch, first, count;
  int last;
} pinfold_chunk;

/* A decode row that enters the batch (or leaves it, or carries drafts in this step). */
typedef struct pinfold_row {
  uint32_t sequence, epoch;
  uint32_t drafts; /* of the `drafted` list; 0 elsewhere */
} pinfold_row;

/* What one step does, as a delta against the batch: a decode row that goes on is in no list. */
typedef struct pinfold_plan {
  int empty;            /* 1: no step; the lists but `left` say nothing */
  uint64_t step;        /* counts from 1 */
  uint64_t copy_ticket; /* 0: no copies */
  uint32_t decode_rows, draft_rows, prompt_rows;
  const pinfold_copy* copies;
  size_t copy_count;
  const pinfold_chunk* chunks;
  size_t chunk_count;
  const pinfold_row* joined;
  size_t joined_count;
  const pinfold_row* left;
  size_t left_count;
  const pinfold_row* drafted;
  size_t drafted_count;
} pinfold_plan;

/* What a row yielded, where that is not "one token, goes on". */
typedef struct pinfold_row_result {
  uint32_t sequence, epoch;
  uint32_t accepted; /* tokens: 1 + accepted drafts */
  int ended;         /* 1: the last of them ends the output */
} pinfold_row_result;

typedef enum pinfold_end {
  PINFOLD_STOP,
  PINFOLD_LIMIT,
  PINFOLD_ABORTED,
  PINFOLD_NEVER_FITS
} pinfold_end;

typedef struct pinfold_ended {
  uint32_t sequence;
  pinfold_end reason;
  uint32_t emitted; /* tokens */
} pinfold_ended;

typedef struct pinfold_view {
  uint32_t epoch;
  uint32_t history, processed, in_flight; /* H, C, F (rule O4) */
  uint32_t emitted;
  uint32_t state, draft; /* slots; 0: none */
  const uint32_t* table; /* blocks */
  size_t table_count;
} pinfold_view;

/* PINFOLD_BAD_ARGUMENT writes why into `message`, if `size` is not 0. */
pinfold_status pinfold_scheduler_create(const pinfold_options* options,
                                        pinfold_scheduler** scheduler, char* message, size_t size);
void pinfold_scheduler_destroy(pinfold_scheduler* scheduler);
const char* pinfold_scheduler_error(const pinfold_scheduler* scheduler);

/* OK, LATER (both: it is queued) or NEVER (it is not kept). `sequence` must be greater than any before. */
pinfold_status pinfold_scheduler_add(pinfold_scheduler* scheduler, uint32_t sequence,
                                     const pinfold_request* request);
/* A fork of a live parent at its settled count (rule O8); of any other, an ordinary request. */
pinfold_status pinfold_scheduler_fork(pinfold_scheduler* scheduler, uint32_t parent,
                                      uint32_t sequence, const pinfold_request* request);
pinfold_status pinfold_scheduler_abort(pinfold_scheduler* scheduler, uint32_t sequence);
/* Plans and dispatches the next step. At most `overlap` steps may be in flight before it. */
pinfold_status pinfold_scheduler_plan(pinfold_scheduler* scheduler, pinfold_plan* plan);
/* The oldest step in flight is done; failed: nothing of it or of those behind it counts (decision 9). */
pinfold_status pinfold_scheduler_complete(pinfold_scheduler* scheduler, uint64_t step, int failed,
                                          const pinfold_row_result* exceptions, size_t count);
/* A lane (0 compute, 1 copy) has come as far as `ticket` (rule O9). */
pinfold_status pinfold_scheduler_passed(pinfold_scheduler* scheduler, uint32_t lane,
                                        uint64_t ticket);
/* Ends since the last call, in order. */
pinfold_status pinfold_scheduler_ended(pinfold_scheduler* scheduler, const pinfold_ended** ended,
                                       size_t* count);
pinfold_status pinfold_scheduler_view(pinfold_scheduler* scheduler, uint32_t sequence,
                                      pinfold_view* view);

uint32_t pinfold_scheduler_unfinished(const pinfold_scheduler* scheduler);
uint32_t pinfold_scheduler_available_blocks(const pinfold_scheduler* scheduler);
/* 1: nothing is in flight and no fence holds anything: an empty plan now means a stall. */
int pinfold_scheduler_nothing_pending(const pinfold_scheduler* scheduler);
uint64_t pinfold_scheduler_state_hash(const pinfold_scheduler* scheduler);
/* Proves every law of pools, tables, queues and counts. O(state). */
pinfold_status pinfold_scheduler_audit(pinfold_scheduler* scheduler);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* PINFOLD_H */
