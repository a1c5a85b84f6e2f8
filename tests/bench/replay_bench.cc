// The whole replay beside the bare anchor loop: nanoseconds of processor time per output token, and the
// ratio, from one run. Nothing is asserted: machines differ, and this one may be busy.
//
//   replay_bench TRACE            best of five, both
//   replay_bench TRACE engine     one replay (for callgrind, which counts instructions)
//   replay_bench TRACE ledger     one replay with the position ledger
//   replay_bench TRACE slow       one replay, row by row
//   replay_bench TRACE shadow     one replay with shadow memory
//   replay_bench TRACE anchor     one run of the anchor

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <string_view>

#include "sim/core/simulate.h"
#include "sim/trace/azure_csv.h"
#include "tests/bench/anchor_loop.h"

namespace pinfold::bench {
namespace {

double processor_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

template <class Run>
double best_of_five(Run run) {
  double best = 1e9;
  for (int n = 0; n < 5; ++n) {
    const double start = processor_seconds();
    run();
    best = std::min(best, processor_seconds() - start);
  }
  return best;
}

sim::RunResult replay(const sim::Trace& trace, bool fast_path, bool ledger = false,
                      bool shadow = false) {
  sim::RunOptions options;
  options.fast_path = fast_path;
  options.ledger = ledger;
  options.shadow = shadow;
  return sim::simulate(trace, sim::RunConfig{}, options);
}

int compare(const sim::Trace& trace) {
  AnchorResult anchor;
  sim::RunResult fast;
  sim::RunResult counted;
  sim::RunResult slow;
  sim::RunResult shadowed;
  const double anchor_s = best_of_five([&] { anchor = run_anchor(trace); });
  const double fast_s = best_of_five([&] { fast = replay(trace, true); });
  const double counted_s = best_of_five([&] { counted = replay(trace, true, true); });
  const double slow_s = best_of_five([&] { slow = replay(trace, false); });
  const double shadow_s = best_of_five([&] { shadowed = replay(trace, true, false, true); });
  const double tokens = static_cast<double>(fast.total_output_tokens);
  std::printf("%-28s %10s %12s %10s %14s\n", "", "ms", "ns / token", "x anchor", "tokens / s");
  const auto line = [&](const char* what, double seconds) {
    std::printf("%-28s %10.2f %12.2f %10.2f %14.0f\n", what, seconds * 1e3, seconds * 1e9 / tokens,
                seconds / anchor_s, tokens / seconds);
  };
  line("anchor, one visit a row", anchor_s);
  line("replay", fast_s);
  line("replay with the ledger", counted_s);
  line("replay, fast path off", slow_s);
  line("replay, shadow on", shadow_s);
  std::printf("ledger on over off: %.2f\n", counted_s / fast_s);
  std::printf("shadow on over off: %.2f\n", shadow_s / fast_s);
  const bool equal = fast.digest == slow.digest && fast.digest == shadowed.digest;
  std::printf("%llu output tokens, anchor %llu; digests %s\n",
              static_cast<unsigned long long>(fast.total_output_tokens),
              static_cast<unsigned long long>(anchor.output_tokens), equal ? "equal" : "DIFFER");
  return equal && shadowed.verdict == sim::Verdict::kOk ? 0 : 1;
}

int main_of(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: replay_bench TRACE [engine|ledger|slow|shadow|anchor]\n");
    return 2;
  }
  auto read = sim::read_azure_csv(argv[1]);
  if (!read) {
    std::fprintf(stderr, "replay_bench: cannot read %s\n", argv[1]);
    return 1;
  }
  const sim::Trace& trace = read.value();
  if (argc < 3) return compare(trace);
  const std::string_view what = argv[2];
  if (what == "anchor")
    std::printf("%llu\n", static_cast<unsigned long long>(run_anchor(trace).digest));
  if (what == "engine")
    std::printf("%llu\n", static_cast<unsigned long long>(replay(trace, true).digest));
  if (what == "ledger")
    std::printf("%llu\n", static_cast<unsigned long long>(replay(trace, true, true).digest));
  if (what == "slow")
    std::printf("%llu\n", static_cast<unsigned long long>(replay(trace, false).digest));
  if (what == "shadow") {
    const sim::RunResult result = replay(trace, true, false, true);
    std::printf("%llu\n", static_cast<unsigned long long>(result.digest));
  }
  return 0;
}

}  // namespace
}  // namespace pinfold::bench

int main(int argc, char** argv) { return pinfold::bench::main_of(argc, argv); }
