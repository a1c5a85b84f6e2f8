#include "sim/core/progress_watch.h"

#include <doctest/doctest.h>

namespace pinfold::sim {
namespace {

TEST_CASE("progress: rows computed again come to an end, whoever loses them again does not") {
  ProgressWatch watch;
  watch.requeue(7);
  for (int pass = 0; pass < 1000; ++pass) watch.pass(false);  // one requeue, many small chunks
  CHECK_FALSE(watch.stands_still(0));
  for (int pass = 0; pass < 63; ++pass) {
    watch.requeue(7);
    watch.pass(false);
  }
  CHECK_FALSE(watch.stands_still(0));  // 64 passes
  watch.requeue(7);
  watch.pass(false);
  CHECK(watch.stands_still(0));        // 65: more than 4 * 0 + 64
  CHECK_FALSE(watch.stands_still(1));  // 68 are allowed
  watch.requeue(7);
  watch.pass(true);
  CHECK_FALSE(watch.stands_still(0));
}

TEST_CASE("progress: the cycle is named, with who takes whose blocks and how often") {
  ProgressWatch watch;
  for (int round = 0; round < 40; ++round) {
    watch.requeue(3);
    watch.take(3);  // its own record
    watch.take(8);
    watch.take(9);  // somebody else, later
    watch.pass(false);
    watch.requeue(8);
    watch.take(3);
    watch.pass(false);
  }
  watch.requeue(5);
  watch.pass(false);
  CHECK(watch.text() ==
        "steps run without progress: 81 of them computed only what was lost before, and somebody "
        "lost it "
        "again\n"
        "  sequence 3 was put into the queue again 40 times, its blocks go to sequence 8\n"
        "  sequence 8 was put into the queue again 40 times, its blocks go to sequence 3\n"
        "  sequence 5 was put into the queue again 1 time");
}

}  // namespace
}  // namespace pinfold::sim
