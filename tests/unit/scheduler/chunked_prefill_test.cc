// Prompts in chunks under a token budget (rule O5, decision 2): the computation is divided, the claim
// is not.
#include <doctest/doctest.h>

#include "tests/unit/scheduler/harness.h"

namespace pinfold::test {
namespace {

SchedulerOptions chunked(std::uint32_t usable_blocks, std::uint32_t budget,
                         std::uint32_t overlap = 0) {
  SchedulerOptions options = engine_with(usable_blocks, 4);
  options.max_sequences = 4;
  options.token_budget = TokenCount(budget);
  options.overlap = overlap;
  return options;
}

TEST_CASE(
    "chunks (O5): the whole prompt's blocks from the first chunk to the last, one token at the "
    "end") {
  Engine engine(chunked(10, 4));
  engine.add(kA, known(10, 2));
  const char* const expected[] = {"0[0,4)", "0[4,8)", "0[8,10)!"};
  for (const char* const chunk : expected) {
    CHECK(engine.emitted(kA) == 0);
    engine.plan();
    CHECK(engine.chunks() == chunk);
    CHECK(engine.table(kA) == "[1, 2, 3]");
    engine.finish_step();
  }
  CHECK(engine.emitted(kA) == 1);
  CHECK(engine.acquired() == 3);
}

TEST_CASE("chunks: a budget of exactly the prompt is one chunk, one row less is two") {
  Engine exact(chunked(10, 8));
  exact.add(kA, known(8, 1));
  exact.step();
  CHECK(exact.ends() == "0 limit 1");
  Engine less(chunked(10, 7));
  less.add(kA, known(8, 1));
  less.step();
  CHECK(less.ends() == "");
  CHECK(less.phase(kA) == "prefill");
  less.step();
  CHECK(less.chunks() == "0[7,8)!");
  CHECK(less.ends() == "0 limit 1");
}

TEST_CASE("chunks (O15): the next chunk is planned while the last one is in flight") {
  Engine engine(chunked(10, 4, 1));
  engine.add(kA, known(6, 3));
  engine.plan();
  CHECK(engine.chunks() == "0[0,4)");
  engine.plan();
  CHECK(engine.chunks() == "0[4,6)!");
  CHECK(engine.counts(kA) == "H 6 C 0 F 6");
  CHECK(engine.phase(kA) == "decode");
  engine.finish_step();
  CHECK(engine.counts(kA) == "H 6 C 4 F 2");
  CHECK(engine.emitted(kA) == 0);
  engine.plan();
  CHECK(engine.joined() == "[0]");
  engine.finish_step();
  CHECK(engine.emitted(kA) == 1);
}

TEST_CASE("chunks (decision 2): decode rows take their share of the budget first") {
  Engine engine(chunked(20, 4));
  engine.add(kA, known(2, 9));
  engine.add(kB, known(2, 9));
  engine.step();
  engine.add(kC, known(5, 1));
  engine.step();
  CHECK(engine.chunks() == "2[0,2)");
  CHECK(engine.last_plan().decode_rows == 2);
  CHECK(engine.last_plan().prompt_rows == 2);
  engine.step();
  engine.step();
  CHECK(engine.ends() == "2 limit 1");
}

TEST_CASE("chunks (case B6): a half-prefilled request is in one queue and keeps its claim") {
  // C needs five blocks of six; A(5) needs two and is refused for as long as C has its blocks.
  Engine engine(chunked(6, 8));
  engine.add(kA, known(20, 1));
  engine.add(kB, known(5, 1));
  engine.step();
  CHECK(engine.running() == "[0]");
  CHECK(engine.waiting() == "[1]");
  CHECK(engine.held(kA) == 5);
  engine.step();
  CHECK(engine.held(kA) == 5);
  engine.step();
  CHECK(engine.ends() == "0 limit 1");
  engine.drain();
  CHECK(engine.is_drained());
}

TEST_CASE(
    "chunks (case B6): an abort with a chunk in flight frees the claim at its completion, once") {
  Engine engine(chunked(6, 8));
  engine.add(kA, known(20, 1));
  engine.step();
  engine.plan();
  CHECK(engine.chunks() == "0[8,16)");
  engine.abort(kA);
  CHECK(engine.ends() == "0 aborted 0");
  CHECK(engine.parked() == 5);
  CHECK(engine.available() == 1);
  engine.finish_step();
  CHECK(engine.available() == 6);
  CHECK(engine.is_drained());
}

TEST_CASE("chunks (case B27): an abort between the last chunk and its result yields no token") {
  Engine engine(chunked(6, 8));
  engine.add(kA, known(12, 5));
  engine.step();
  engine.plan();
  CHECK(engine.chunks() == "0[8,12)!");
  engine.abort(kA);
  CHECK(engine.ends() == "0 aborted 0");
  CHECK(engine.available() == 3);
  engine.finish_step();
  CHECK(engine.ends() == "0 aborted 0");
  CHECK(engine.available() == 6);
}

TEST_CASE("chunks: a prompt without output ends with its last chunk") {
  Engine engine(chunked(6, 8));
  engine.add(kA, known(12, 0));
  engine.step();
  CHECK(engine.ends() == "");
  engine.step();
  CHECK(engine.ends() == "0 limit 0");
}

TEST_CASE("chunks: what one prompt leaves of the budget starts the next one") {
  Engine engine(chunked(20, 8));
  engine.add(kA, known(6, 9));
  engine.add(kB, known(6, 9));
  engine.add(kC, known(6, 9));
  engine.step();
  CHECK(engine.chunks() == "0[0,6)! 1[0,2)");
  engine.step();
  CHECK(engine.chunks() == "1[2,6)! 2[0,3)");
  CHECK(engine.held(kC) == 2);
}

}  // namespace
}  // namespace pinfold::test
