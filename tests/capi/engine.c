/* A small engine in C: two requests through pool and scheduler, a fork, an abort, and every kind of refusal.
 * Prints what it checked as `N passed, N failed`. Expected values: B = 4, so 6 positions are 2 blocks; ids come
 * out in the order 1, 2, ...; a released table goes to the back of the free list last block first (rule O2). */
#include <pinfold.h>

#include <stdio.h>
#include <string.h>

static int passed = 0;
static int failed = 0;

static void check(int holds, const char* what, int line) {
  if (holds) {
    ++passed;
  } else {
    ++failed;
    printf("engine.c:%d: failed: %s\n", line, what);
  }
}
#define CHECK(condition) check((condition), #condition, __LINE__)

static void pool(void) {
  pinfold_pool* p = NULL;
  uint32_t ids[8] = {0};
  const uint32_t nine[1] = {9};
  CHECK(pinfold_pool_create(0, 0, 0, &p) == PINFOLD_BAD_ARGUMENT && p == NULL);
  CHECK(pinfold_pool_create(6, 0, 0, &p) == PINFOLD_OK);
  CHECK(pinfold_pool_take(p, ids, 6) == PINFOLD_NEVER);
  CHECK(pinfold_pool_take(p, ids, 3) == PINFOLD_OK && ids[0] == 1 && ids[1] == 2 && ids[2] == 3);
  CHECK(pinfold_pool_take(p, ids + 3, 3) == PINFOLD_LATER && pinfold_pool_available(p) == 2);
  CHECK(pinfold_pool_pin(p, ids, 2) == PINFOLD_OK && pinfold_pool_owners(p, 1) == 2);
  CHECK(pinfold_pool_release(p, ids, 3) == PINFOLD_OK && pinfold_pool_available(p) == 3);
  CHECK(pinfold_pool_park(p, ids, 2) == PINFOLD_OK && pinfold_pool_parked(p) == 2);
  CHECK(pinfold_pool_unpark(p, ids, 2) == PINFOLD_OK && pinfold_pool_owned(p) == 0);
  CHECK(pinfold_pool_take(p, ids, 5) == PINFOLD_OK && ids[0] == 4 && ids[1] == 5 && ids[2] == 3 &&
        ids[3] == 1 && ids[4] == 2);
  CHECK(pinfold_pool_audit(p) == PINFOLD_OK);
  CHECK(pinfold_pool_release(p, nine, 1) == PINFOLD_VIOLATION);
  CHECK(strstr(pinfold_pool_error(p), "block 9") != NULL);
  CHECK(pinfold_pool_take(p, NULL, 1) == PINFOLD_BAD_ARGUMENT);
  CHECK(pinfold_pool_take(NULL, ids, 1) == PINFOLD_BAD_ARGUMENT);
  CHECK(pinfold_pool_pin(p, ids, SIZE_MAX) == PINFOLD_BAD_ARGUMENT);
  CHECK(strstr(pinfold_pool_error(p), "count") != NULL);
  pinfold_pool_destroy(p);
}

/* Ids 1 and 2 are taken and released, 2 first unless told otherwise: which one is issued next? */
static void pool_orders(void) {
  const uint32_t expected[2][2] = {{2, 1}, {1, 2}}; /* [forward][lifo] of two usable ids */
  for (int forward = 0; forward < 2; ++forward) {
    for (int lifo = 0; lifo < 2; ++lifo) {
      pinfold_pool* p = NULL;
      uint32_t ids[2] = {0};
      CHECK(pinfold_pool_create(3, forward, lifo, &p) == PINFOLD_OK);
      CHECK(pinfold_pool_take(p, ids, 2) == PINFOLD_OK && ids[0] == 1 && ids[1] == 2);
      CHECK(pinfold_pool_release(p, ids, 2) == PINFOLD_OK);
      CHECK(pinfold_pool_take(p, ids, 1) == PINFOLD_OK && ids[0] == expected[forward][lifo]);
      pinfold_pool_destroy(p);
    }
  }
}

/* Runs to the end; every row yields one token. Returns the number of steps. */
static int drain(pinfold_scheduler* s) {
  pinfold_plan plan;
  int steps = 0;
  while (pinfold_scheduler_unfinished(s) > 0 && steps < 100) {
    if (pinfold_scheduler_plan(s, &plan) != PINFOLD_OK || plan.empty) return -1;
    if (pinfold_scheduler_complete(s, plan.step, 0, NULL, 0) != PINFOLD_OK) return -1;
    if (pinfold_scheduler_audit(s) != PINFOLD_OK) return -1;
    ++steps;
  }
  return steps;
}

static void scheduler(void) {
  pinfold_options options;
  pinfold_scheduler* s = NULL;
  pinfold_request request = {6, 3, 1, 0, 0};
  pinfold_plan plan;
  pinfold_view view;
  const pinfold_ended* ended = NULL;
  size_t count = 0;
  char message[80];

  pinfold_options_default(&options);
  options.block_size = 0;
  CHECK(pinfold_scheduler_create(&options, &s, message, sizeof message) == PINFOLD_BAD_ARGUMENT);
  CHECK(s == NULL && strstr(message, "block_size") != NULL);
  CHECK(pinfold_scheduler_create(&options, &s, message, 4) == PINFOLD_BAD_ARGUMENT);
  CHECK(strcmp(message, "blo") == 0);
  options.block_size = 4;
  options.block_ids = 8;
  options.max_sequences = 2;
  options.token_budget = 16;
  options.max_model_len = 32;
  CHECK(pinfold_scheduler_create(&options, &s, message, sizeof message) == PINFOLD_OK);

  /* 6 + 3 - 1 = 8 positions: 2 blocks. 33 exceed the model. */
  CHECK(pinfold_scheduler_add(s, 1, &request) == PINFOLD_OK);
  request.prompt = 33;
  CHECK(pinfold_scheduler_add(s, 2, &request) == PINFOLD_NEVER);
  request.prompt = 0;
  CHECK(pinfold_scheduler_add(s, 3, &request) == PINFOLD_BAD_ARGUMENT);
  CHECK(pinfold_scheduler_plan(s, &plan) == PINFOLD_OK);
  CHECK(!plan.empty && plan.step == 1 && plan.chunk_count == 1 && plan.chunks[0].sequence == 1 &&
        plan.chunks[0].count == 6 && plan.chunks[0].last);
  CHECK(pinfold_scheduler_view(s, 1, &view) == PINFOLD_OK);
  CHECK(view.table_count == 2 && view.table[0] == 1 && view.table[1] == 2 && view.in_flight == 6);
  CHECK(pinfold_scheduler_view(s, 2, &view) == PINFOLD_UNKNOWN);
  CHECK(pinfold_scheduler_complete(s, 1, 0, NULL, 0) == PINFOLD_OK);

  /* A fork at C = 6: its prompt goes on, so it shares block 1, and its tail block is copied. */
  request.prompt = 8;
  CHECK(pinfold_scheduler_fork(s, 1, 4, &request) == PINFOLD_OK);
  CHECK(pinfold_scheduler_plan(s, &plan) == PINFOLD_OK);
  CHECK(plan.copy_count >= 1 && plan.copies[0].from == 2 && plan.copies[0].to == 3);
  CHECK(plan.joined_count == 1 && plan.joined[0].sequence == 1);
  CHECK(pinfold_scheduler_complete(s, 2, 0, NULL, 0) == PINFOLD_OK);
  CHECK(pinfold_scheduler_abort(s, 9) == PINFOLD_UNKNOWN);
  CHECK(drain(s) > 0);
  CHECK(pinfold_scheduler_ended(s, &ended, &count) == PINFOLD_OK);
  CHECK(count == 2 && ended[0].sequence == 1 && ended[0].reason == PINFOLD_LIMIT &&
        ended[0].emitted == 3 && ended[1].sequence == 4 && ended[1].emitted == 3);
  CHECK(pinfold_scheduler_available_blocks(s) == 7 && pinfold_scheduler_nothing_pending(s));

  /* A hidden stop, drafts beyond what the plan had, and an abort. */
  request.prompt = 3;
  request.limit = 20;
  request.known_stop = 0;
  CHECK(pinfold_scheduler_add(s, 5, &request) == PINFOLD_OK);
  CHECK(pinfold_scheduler_add(s, 6, &request) == PINFOLD_OK);
  CHECK(pinfold_scheduler_plan(s, &plan) == PINFOLD_OK);
  {
    const pinfold_row_result stop = {5, 0, 1, 1};
    CHECK(pinfold_scheduler_complete(s, plan.step, 0, &stop, 1) == PINFOLD_OK);
  }
  CHECK(pinfold_scheduler_abort(s, 6) == PINFOLD_OK && pinfold_scheduler_unfinished(s) == 0);
  CHECK(pinfold_scheduler_ended(s, &ended, &count) == PINFOLD_OK && count == 2 &&
        ended[0].reason == PINFOLD_STOP && ended[1].reason == PINFOLD_ABORTED);
  CHECK(pinfold_scheduler_complete(s, 99, 0, NULL, 0) == PINFOLD_VIOLATION);
  CHECK(strncmp(pinfold_scheduler_error(s), "O15", 3) == 0);
  CHECK(pinfold_scheduler_passed(s, 9, 1) == PINFOLD_BAD_ARGUMENT);
  pinfold_scheduler_destroy(s);
  pinfold_scheduler_destroy(NULL);
}

/* Blocks of 4, 7 of them; two sequences, 16 rows a step, 64 positions. */
static pinfold_options small(void) {
  pinfold_options options;
  pinfold_options_default(&options);
  options.block_size = 4;
  options.block_ids = 8;
  options.max_sequences = 2;
  options.token_budget = 16;
  options.max_model_len = 64;
  return options;
}

static pinfold_scheduler* create(pinfold_options options) {
  pinfold_scheduler* s = NULL;
  CHECK(pinfold_scheduler_create(&options, &s, NULL, 0) == PINFOLD_OK);
  return s;
}

/* State and draft slots, overlap 1, a failed step (decision 9), and a fork that clones a slot (rule O8). */
static void slots_and_drafts(void) {
  pinfold_options options = small();
  pinfold_request request = {4, 9, 0, 2, 0};
  pinfold_plan plan;
  pinfold_view view;
  pinfold_scheduler* s;
  options.state_ids = 3;
  options.draft_ids = 2;
  options.overlap = 1;
  s = create(options);
  CHECK(pinfold_scheduler_add(s, 1, &request) == PINFOLD_OK);
  CHECK(pinfold_scheduler_plan(s, &plan) == PINFOLD_OK && plan.prompt_rows == 4);
  CHECK(pinfold_scheduler_plan(s, &plan) == PINFOLD_OK && plan.step == 2); /* step 1 is in flight */
  CHECK(plan.decode_rows == 1 && plan.draft_rows == 2 && plan.drafted_count == 1);
  CHECK(plan.drafted[0].sequence == 1 && plan.drafted[0].drafts == 2);
  CHECK(pinfold_scheduler_view(s, 1, &view) == PINFOLD_OK && view.state == 1 && view.draft == 1);
  CHECK(view.history == 4 && view.processed == 0 && view.in_flight == 7 && view.emitted == 0);
  CHECK(pinfold_scheduler_complete(s, 1, 0, NULL, 0) == PINFOLD_OK);
  CHECK(pinfold_scheduler_view(s, 1, &view) == PINFOLD_OK && view.history == 5);
  CHECK(view.processed == 4 && view.emitted == 1);
  /* What the slot holds after a lost step is nobody's state: it starts over, with slot 2. */
  CHECK(pinfold_scheduler_complete(s, 2, 1, NULL, 0) == PINFOLD_OK);
  CHECK(pinfold_scheduler_view(s, 1, &view) == PINFOLD_OK && view.epoch == 1);
  CHECK(view.state == 0 && view.table_count == 0);
  CHECK(pinfold_scheduler_plan(s, &plan) == PINFOLD_OK && plan.chunk_count == 1);
  CHECK(plan.left_count == 1 && plan.left[0].sequence == 1 && plan.left[0].epoch == 0);
  CHECK(plan.chunks[0].epoch == 1 && plan.chunks[0].first == 0 && plan.chunks[0].count == 5);
  CHECK(pinfold_scheduler_complete(s, 3, 0, NULL, 0) == PINFOLD_OK);
  CHECK(pinfold_scheduler_fork(s, 1, 2, &request) == PINFOLD_OK);
  CHECK(pinfold_scheduler_plan(s, &plan) == PINFOLD_OK && plan.copy_count == 2);
  CHECK(plan.copies[0].state == 0 && plan.copies[0].rows == 4);
  CHECK(plan.copies[1].state == 1 && plan.copies[1].from == 2 && plan.copies[1].to == 1);
  CHECK(pinfold_scheduler_passed(s, 0, plan.copy_ticket) == PINFOLD_OK);
  CHECK(pinfold_scheduler_complete(s, 4, 0, NULL, 0) == PINFOLD_OK);
  CHECK(pinfold_scheduler_abort(s, 1) == PINFOLD_OK);
  CHECK(pinfold_scheduler_abort(s, 2) == PINFOLD_OK);
  CHECK(pinfold_scheduler_nothing_pending(s) && pinfold_scheduler_available_blocks(s) == 7);
  pinfold_scheduler_destroy(s);
}

/* One request of `prompt` tokens that yields one; writes its table, of up to two blocks. */
static void run_one(pinfold_scheduler* s, uint32_t id, uint32_t prompt, uint32_t table[2]) {
  const pinfold_request request = {prompt, 1, 1, 0, 0};
  pinfold_plan plan;
  pinfold_view view;
  CHECK(pinfold_scheduler_add(s, id, &request) == PINFOLD_OK);
  CHECK(pinfold_scheduler_plan(s, &plan) == PINFOLD_OK && !plan.empty);
  CHECK(pinfold_scheduler_view(s, id, &view) == PINFOLD_OK && view.table_count <= 2);
  for (size_t n = 0; n < view.table_count; ++n) table[n] = view.table[n];
  CHECK(pinfold_scheduler_complete(s, plan.step, 0, NULL, 0) == PINFOLD_OK);
}

static void orders_and_fences(void) {
  const pinfold_request later = {4, 1, 1, 0, 1}, sooner = {4, 1, 1, 0, 0};
  const pinfold_request parent = {6, 2, 1, 0, 0}, child = {8, 1, 1, 0, 0};
  pinfold_options options = small();
  pinfold_scheduler* s;
  pinfold_plan plan;
  uint32_t table[2] = {0};

  /* Priority ahead of arrival. */
  options.max_sequences = 1;
  s = create(options);
  CHECK(pinfold_scheduler_add(s, 1, &later) == PINFOLD_OK);
  CHECK(pinfold_scheduler_add(s, 2, &sooner) == PINFOLD_OK);
  CHECK(pinfold_scheduler_plan(s, &plan) == PINFOLD_OK && plan.chunk_count == 1);
  CHECK(plan.chunks[0].sequence == 2);
  pinfold_scheduler_destroy(s);

  /* Block 1 comes back behind 2 to 7, or ahead of them. */
  for (int lifo = 0; lifo < 2; ++lifo) {
    options = small();
    options.lifo = lifo;
    s = create(options);
    run_one(s, 1, 4, table);
    run_one(s, 2, 4, table);
    CHECK(table[0] == (lifo ? 1u : 2u));
    pinfold_scheduler_destroy(s);
  }

  /* Two usable blocks, 1 and 2, come back as 2, 1 or as 1, 2. */
  for (int forward = 0; forward < 2; ++forward) {
    options = small();
    options.block_ids = 3;
    options.forward_release = forward;
    s = create(options);
    run_one(s, 1, 8, table);
    run_one(s, 2, 8, table);
    CHECK(table[0] == (forward ? 1u : 2u) && table[1] == (forward ? 2u : 1u));
    pinfold_scheduler_destroy(s);
  }

  /* An abort under its own step: its block is free behind that, or at once. */
  for (int unordered = 0; unordered < 2; ++unordered) {
    options = small();
    options.unordered_writers = unordered;
    s = create(options);
    CHECK(pinfold_scheduler_add(s, 1, &later) == PINFOLD_OK);
    CHECK(pinfold_scheduler_plan(s, &plan) == PINFOLD_OK);
    CHECK(pinfold_scheduler_abort(s, 1) == PINFOLD_OK);
    CHECK(pinfold_scheduler_available_blocks(s) == (unordered ? 7u : 6u));
    pinfold_scheduler_destroy(s);
  }

  /* Copies of the fork at C = 6: the step's result proves them, or nothing but their own lane does. */
  for (int separate = 0; separate < 2; ++separate) {
    options = small();
    options.separate_copies = separate;
    s = create(options);
    CHECK(pinfold_scheduler_add(s, 1, &parent) == PINFOLD_OK);
    CHECK(pinfold_scheduler_plan(s, &plan) == PINFOLD_OK);
    CHECK(pinfold_scheduler_complete(s, 1, 0, NULL, 0) == PINFOLD_OK);
    CHECK(pinfold_scheduler_fork(s, 1, 2, &child) == PINFOLD_OK);
    CHECK(pinfold_scheduler_plan(s, &plan) == PINFOLD_OK && plan.copy_count == 1);
    CHECK(pinfold_scheduler_complete(s, 2, 0, NULL, 0) == PINFOLD_OK);
    CHECK(pinfold_scheduler_unfinished(s) == 0);
    CHECK(pinfold_scheduler_nothing_pending(s) == (separate ? 0 : 1));
    CHECK(pinfold_scheduler_passed(s, 1, plan.copy_ticket) == PINFOLD_OK);
    CHECK(pinfold_scheduler_nothing_pending(s) == 1);
    pinfold_scheduler_destroy(s);
  }
}

int main(void) {
  CHECK(strcmp(pinfold_status_name(PINFOLD_LATER), "later") == 0);
  pool();
  pool_orders();
  scheduler();
  slots_and_drafts();
  orders_and_fences();
  printf("%d passed, %d failed\n", passed, failed);
  return failed == 0 ? 0 : 1;
}
