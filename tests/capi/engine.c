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
  pinfold_pool_destroy(p);
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

int main(void) {
  CHECK(strcmp(pinfold_status_name(PINFOLD_LATER), "later") == 0);
  pool();
  scheduler();
  printf("%d passed, %d failed\n", passed, failed);
  return failed == 0 ? 0 : 1;
}
