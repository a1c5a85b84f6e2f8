// Does a run of a billion ownership operations keep its memory and its digest?
//   pinfold-soak [OPERATIONS [RUNS]]
// Made-up requests without end on a pool that is much too small: drafts, state slots, samples, forks, aborts,
// failed steps, late copies, preemption, overlap. All rules are audited every so many events and from outside
// as they go. An operation is one id taken, shared, let go, parked or unparked. Prints for each tenth of a run
// the most bytes that were allocated at any time in it, and the resident memory at its end; then the digest of
// each run; closes with what held. Memory must be flat: the second half may need no more than kGrowthMost
// bytes above the first, whatever there was of requests, and resident memory must stay as well. All digests must be one.

#include <fmt/format.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <new>
#include <set>
#include <string_view>

#include "sim/config/parse.h"
#include "sim/core/simulate.h"
#include "sim/trace/synthetic_trace.h"

namespace {
std::uint64_t allocated_bytes = 0;  // of the one thread there is
}

// Every allocation of the program is counted: what is resident says little of a small leak. Not inlined: g++
// would see one half of a pair and warn.
[[gnu::noinline]] void* operator new(std::size_t size) {
  void* const bytes = std::malloc(size);
  if (bytes == nullptr) throw std::bad_alloc();
  allocated_bytes += ::malloc_usable_size(bytes);
  return bytes;
}
[[gnu::noinline]] void operator delete(void* bytes) noexcept {
  allocated_bytes -= ::malloc_usable_size(bytes);
  std::free(bytes);
}
[[gnu::noinline]] void operator delete(void* bytes, std::size_t) noexcept {
  operator delete(bytes);
}

namespace pinfold::sim {
namespace {

constexpr std::uint64_t kAuditEvery = 100'000;          // events
constexpr std::uint64_t kGrowthMost = 64 << 10;         // bytes allocated
constexpr std::uint64_t kResidentGrowthMost = 4 << 10;  // KiB: pages of the allocator's own
constexpr std::uint64_t kTenths = 10;

constexpr std::string_view kConfig = R"({
  "engine": {"block_size": 4, "num_blocks": 700, "overlap": 1, "max_num_seqs": 20, "slot_factor": 1,
             "max_num_batched_tokens": 128, "max_model_len": 1024},
  "model": {"state_slots": true, "window_tokens": 16, "ring_tokens": 22, "compression_ratios": [4]},
  "workload": {"concurrency": 40, "stop": "hidden", "drafts": 3, "draft_acceptance_by_position": [850, 700, 550],
               "samples": 2, "samples_permille": 100, "abort_permille": 30, "abort_within_us": 1000000},
  "fork": {"copy_lane": "separate", "wait": "poll"},
  "fault": {"step_failed_permille": 1, "copy_delay_us": 300},
  "seed": 7
})";

SyntheticTrace workload() {
  SyntheticTrace trace;
  trace.requests = UINT32_MAX;  // for as long as operations are wanted
  trace.prompt = {1, 600, LengthRange::Law::kLogNormal, 60, fixed_ratio(8, 10)};
  trace.output = {1, 300, LengthRange::Law::kExponential, 60, 0};
  trace.rate_numerator = 1000;
  trace.arrivals.kind = ArrivalLaw::Kind::kPoisson;
  trace.forks = 50;
  trace.seed = 11;
  return trace;
}

std::uint64_t resident_kib() {
  std::ifstream file("/proc/self/statm");
  std::uint64_t size = 0, resident = 0;
  file >> size >> resident;
  return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)) / 1024;
}

/// Counts operations in the journal and looks at the memory.
class Counter final : public RunObserver {
 public:
  explicit Counter(std::uint64_t wanted) : wanted_(wanted) {}

  void on_records(std::span<const std::byte> records, std::int64_t) override {
    while (!records.empty()) {
      Record record;
      std::memcpy(&record, records.data(), sizeof record);
      const std::size_t ids = ids_after(record);
      switch (record.verb) {
        case Verb::kAcquire:
        case Verb::kPin:
        case Verb::kRelease:
        case Verb::kPark:
        case Verb::kUnpark: operations_ += ids; break;
        default: break;
      }
      records = records.subspan(sizeof record + ids * sizeof(BlockId));
    }
    tenth_most_ = std::max(tenth_most_, allocated_bytes);
    while (told_ < kTenths && operations_ >= (told_ + 1) * wanted_ / kTenths) tell();
  }

  bool enough() const { return operations_ >= wanted_; }
  std::uint64_t operations() const { return operations_; }
  /// By how much more was allocated, or resident, in the second half than in the first.
  std::uint64_t growth() const { return Half::growth(first_.bytes, second_.bytes); }
  std::uint64_t growth_kib() const { return Half::growth(first_.kib, second_.kib); }

 private:
  /// The most there was at any time.
  struct Half {
    std::uint64_t bytes = 0;  // allocated
    std::uint64_t kib = 0;    // resident
    static std::uint64_t growth(std::uint64_t first, std::uint64_t second) {
      return second - std::min(first, second);
    }
  };

  void tell() {
    const std::uint64_t now_kib = resident_kib();
    fmt::print("  {:>13} operations  {:>11} bytes allocated at most  {:>7} KiB resident\n",
               operations_, tenth_most_, now_kib);
    std::fflush(stdout);
    Half& half = told_++ < kTenths / 2 ? first_ : second_;
    half.bytes = std::max(half.bytes, tenth_most_);
    half.kib = std::max(half.kib, now_kib);
    tenth_most_ = 0;
  }

  std::uint64_t wanted_;
  std::uint64_t operations_ = 0;
  std::uint64_t told_ = 0;        // tenths
  std::uint64_t tenth_most_ = 0;  // bytes allocated, in this tenth
  Half first_, second_;
};

/// Requests until there were operations enough.
class Endless final : public RequestSource {
 public:
  explicit Endless(const Counter& counter) : requests_(workload()), counter_(counter) {}
  bool next(TraceRequest& request) override {
    return !counter_.enough() && requests_.next(request);
  }
  const std::optional<InputError>& error() const override { return requests_.error(); }
  std::uint32_t id_block() const override { return requests_.id_block(); }

 private:
  SyntheticSource requests_;
  const Counter& counter_;
};

int soak(std::uint64_t wanted, std::uint64_t runs) {
  const auto config = parse_config(kConfig, "soak.json");
  if (!config) {
    fmt::print("{}\n", describe(config.error()));
    return 1;
  }
  std::set<std::string> digests;
  int passed = 0, failed = 0;
  const auto check = [&](bool holds, const std::string& sentence) {
    ++(holds ? passed : failed);
    if (!holds) fmt::print("failed: {}\n", sentence);
  };
  for (std::uint64_t run = 1; run <= runs; ++run) {
    const auto begin = std::chrono::steady_clock::now();
    Counter counter(wanted);
    Endless source(counter);
    RunOptions options;
    options.audit_every = kAuditEvery;
    options.ledger = false;
    options.observer = &counter;
    const RunResult result = simulate(source, config.value(), options);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    const std::string digest = fmt::format("{:016x} {:016x}", result.digest, result.digest_timed);
    fmt::print(
        "run {}: {} operations, {} requests, {} preemptions, {} aborts, {} forks; digest {}; "
        "{:.1f} s\n",
        run, counter.operations(), result.completed, result.preemptions, result.aborted,
        result.forks, digest, took.count());
    digests.insert(digest);
    check(result.verdict == Verdict::kOk, "verdict ok: " + result.verdict_detail);
    check(counter.enough(), "the operations came");
    check(counter.growth() <= kGrowthMost,
          fmt::format("memory is flat: {} bytes more were allocated in the second half",
                      counter.growth()));
    check(counter.growth_kib() <= kResidentGrowthMost,
          fmt::format("memory is flat: {} KiB more were resident in the second half",
                      counter.growth_kib()));
  }
  check(digests.size() == 1, "every run has the same digest");
  fmt::print("{} passed, {} failed\n", passed, failed);
  return failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace pinfold::sim

int main(int argc, char** argv) {
  std::uint64_t numbers[2] = {1'000'000, 2};
  for (int n = 1; n < argc; ++n) {
    const std::string_view text = argv[n];
    const auto [end, failure] =
        std::from_chars(text.data(), text.data() + text.size(), numbers[n < 2 ? 0 : 1]);
    if (argc > 3 || failure != std::errc{} || end != text.data() + text.size()) {
      fmt::print(stderr, "usage: pinfold-soak [OPERATIONS [RUNS]]\n");
      return 2;
    }
  }
  return pinfold::sim::soak(numbers[0], numbers[1]);
}
