#pragma once
// A run over simulated time in OpenMetrics text, with the names of vLLM's metrics: `pinfold run --metrics-out`.
// docs/ci.md lists them.

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/core/run_observer.h"
#include "sim/metrics/bytes_in_flight.h"
#include "sim/metrics/store_loads.h"

namespace pinfold::sim {

struct MetricsOptions {
  std::uint32_t block_ids = 1;  // block 0 counted
  bool prefix_reuse = false;
  bool store = false;  // an external one
  Lane copy_lane = Lane::kCompute;
  CopySizes copy_sizes{};
  std::string model_name;  // a label of every sample
};

/// Follows a run and samples it every second of simulated time. Where that were more than kSamplesMost
/// samples, every second one is dropped and the interval doubled, as often as needed; the end of the run is
/// always a sample. Memory is bounded by the pool, the live requests and that cap.
class OpenMetrics final : public RunObserver {
 public:
  static constexpr std::size_t kSamplesMost = 1024;
  static_assert(kSamplesMost % 2 == 0);

  explicit OpenMetrics(MetricsOptions options);

  void on_arrival(std::uint32_t request, std::int64_t arrival_ns) override;
  void on_sequence(SequenceId id, std::uint32_t request, std::uint32_t sample) override;
  void on_records(std::span<const std::byte> records, std::int64_t now_ns) override;
  void on_first_token(std::uint32_t request, std::int64_t now_ns) override;

  /// The whole text, ending in "# EOF". Call once, when the run is over.
  std::string finish();

  /// Simulated time between two samples of the text.
  std::int64_t interval_ns() const { return interval_ns_; }

 private:
  /// A sequence that has not ended.
  struct Life {
    std::uint32_t request = 0;
    std::uint32_t sample = 0;
    std::uint32_t prompt = 0;
    std::uint64_t emitted = 0;  // tokens counted so far
    bool running = false;
    bool loading = false;          // from the external store; it waits
    bool admitted = false;         // ever
    bool shares = false;           // it waits as a fork, which looks for no prefix
    std::uint32_t rows_found = 0;  // at its first admission
    bool looked_up = false;        // ... which was the last one
    bool delivered = false;        // it had a row in the step whose result came last
  };
  /// A row of the batch: the sequence and the first step that has it.
  using Row = std::pair<std::uint32_t, std::uint32_t>;
  struct Request {
    std::int64_t arrival_ns = 0;
    std::int64_t first_token_ns = -1;
    std::uint32_t prompt = 0;
    std::uint32_t live = 0;  // sequences
    bool completes = true;   // none of them was refused or aborted
  };
  struct Histogram {
    std::vector<std::uint64_t> counts;  // by bucket, the last one unbounded
    std::uint64_t count = 0;
    std::uint64_t sum_ns = 0;
  };
  enum class Series : std::uint8_t {
    kRunning,
    kWaiting,
    kOwned,
    kPreemptions,
    kPromptTokens,
    kGenerationTokens,
    kStopped,
    kLimited,
    kAborted,
    kPrefixQueries,
    kPrefixHits,
    kStoreQueries,
    kStoreHits,
    kLoading,
    kLoads,
    kLoadsLost,
    kLoadingNs,
    kLoadedBlocks,
    kLoadedStates,
    kCopyBytes,
    kLoadBytes,
    kSaveBytes
  };
  static constexpr std::size_t kSeries = 22;
  static constexpr std::size_t kHistograms = 3;  // TTFT, TPOT, E2EL

  struct Sample {
    std::int64_t at_ns = 0;
    std::array<std::uint64_t, kSeries> values{};
    std::array<Histogram, kHistograms> histograms{};
  };

  void take(const Record& record, std::span<const BlockId> ids);
  void take_blocks(const Record& record, std::span<const BlockId> ids);
  void take_result(const Record& record);
  void leave(std::uint32_t sequence);
  void admit(Life& life);
  void load(Life& life, const StoreLoad& load);
  void run(Life& life);
  void wait(Life& life);
  void known(Life& life, std::uint64_t emitted);
  void end(std::uint32_t sequence, EndReason reason, std::uint64_t emitted);
  void observe(std::size_t histogram, std::int64_t value_ns);
  void sample_until(std::int64_t now_ns);
  void push(std::int64_t at_ns);
  void thin_out();
  std::uint64_t& value(Series series) { return now_.values[static_cast<std::size_t>(series)]; }

  MetricsOptions options_;
  Sample now_;
  std::uint64_t tokens_ = 0;  // emitted; the counter is the most that this has been
  std::int64_t last_ns_ = 0;
  std::int64_t interval_ns_ = 1'000'000'000;
  std::int64_t next_ns_ = 0;
  std::vector<Sample> samples_;

  std::vector<std::uint32_t> owners_;  // of each block: tables and holds
  std::map<std::uint32_t, Life> lives_;
  std::map<Row, std::uint32_t> rows_;  // the first step that does not have it any more
  std::map<std::uint32_t, Request> requests_;
  std::uint32_t steps_planned_ = 0;
  StoreLoads loads_;
  BytesInFlight bytes_;
  std::vector<BlockId> ids_;
};

}  // namespace pinfold::sim
