#pragma once
// Writes down a run while it happens: the files of `pinfold run -o DIR` that need more than its result.
// docs/results.md is their manual.

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/run_observer.h"
#include "sim/core/wait_reason.h"
#include "sim/metrics/bytes_in_flight.h"
#include "sim/metrics/latency.h"
#include "sim/metrics/ledger.h"
#include "sim/metrics/store_loads.h"
#include "sim/report/block_map.h"
#include "sim/report/file_writer.h"
#include "sim/report/perfetto_trace.h"
#include "sim/report/timeline.h"

namespace pinfold::sim {

/// The first line of requests.csv, without its end.
std::string requests_header();

/// A file that could not be written.
struct FileFailure {
  std::string name;
  int reason = 0;  // errno
};

struct RecorderOptions {
  std::uint32_t block_ids = 1;  // block 0 counted
  std::uint32_t block_size = 16;
  Lane copy_lane = Lane::kCompute;
  CopySizes copy_sizes{};
  std::optional<LedgerOptions> ledger{};  // nothing: no ledger columns
};

/// Follows a run by its journal alone and writes
///   requests.csv      a row a request, when it ends
///   preemptions.csv   a row a preemption
///   timeline.csv      gauges and counters (sim/report/timeline.h)
///   blockmap.json     blocks by address and time (sim/report/block_map.h)
///   trace.pftrace     steps, copies, request lifetimes and counters for Perfetto
///   recording.json    how much of the run the bounded files show
/// Memory is bounded by the pools, the requests alive and the caps of those headers, not by the run's
/// length. Same run, same bytes.
class RunRecorder final : public RunObserver {
 public:
  /// Steps are slices of their own up to this many slices; the next as many slices stand for two steps
  /// each, the next for four, and so on.
  static constexpr std::uint64_t kStepSlices = 65'536;

  /// `path_of` says where to write a file of a name.
  RunRecorder(const RecorderOptions& options,
              const std::function<std::string(std::string_view)>& path_of);

  void on_arrival(std::uint32_t request, std::int64_t arrival_ns) override;
  void on_sequence(SequenceId id, std::uint32_t request, std::uint32_t sample) override;
  void on_end(std::uint32_t request, std::int64_t now_ns) override;
  void on_wait(Cause cause, std::int64_t from_ns, std::int64_t to_ns) override;
  void on_records(std::span<const std::byte> records, std::int64_t now_ns) override;
  void on_first_token(std::uint32_t request, std::int64_t now_ns) override;

  /// Completes and closes all files; `inter_token` is the run's. The first that could not be written,
  /// if any.
  std::optional<FileFailure> finish(const LatencyStats& inter_token);

  /// How often drafts were proposed at each place of a verify row, and accepted there.
  static constexpr std::size_t kDraftPlaces = 16;
  const std::array<std::uint64_t, kDraftPlaces>& drafts_proposed() const { return proposed_; }
  const std::array<std::uint64_t, kDraftPlaces>& drafts_accepted() const { return accepted_; }

 private:
  /// kForking: a fork that is not in the queue, whether it holds its parent's blocks yet or not.
  enum class Phase : std::uint8_t { kForking, kWaiting, kLoading, kPrefill, kDecode };
  using Waits = std::array<std::int64_t, kWaits>;

  /// A sequence that has not ended.
  struct Live {
    Phase phase = Phase::kWaiting;
    std::uint32_t request = 0;
    std::uint32_t sample = 0;
    std::int64_t since_ns = 0;          // it waits in the queue since then
    std::optional<Waits> waits_from{};  // all waits at that time; none: it is since the last plan
    Waits waited_ns{};
    std::int64_t preempted_at_ns = -1;  // -1: it does not wait as a victim
    std::uint32_t attempt = 0;
    std::uint32_t prompt = 0;
    std::uint32_t rows = 0;  // prompt rows in dispatched chunks
    std::uint32_t rows_high = 0;
    std::vector<BlockId> table{};
    TrackId track{};
    std::uint64_t flow = 0;  // from its preemption
  };
  /// A request that has not ended, and what its ended sequences had.
  struct Request {
    std::int64_t arrival_ns = 0;
    std::int64_t first_token_ns = -1;
    std::int64_t end_ns = -1;
    std::int64_t tpot_ns = -1;  // the longest of its sequences
    std::uint32_t prompt = 0;
    std::uint32_t samples = 0;    // sequences so far ...
    std::uint32_t live = 0;       // ... that have not ended ...
    std::uint32_t unsettled = 0;  // ... and that ended with waits nobody has told yet
    std::uint64_t emitted = 0;
    EndReason reason = EndReason::kStop;  // never or aborted where a sequence was, else the first's
    Waits waited_ns{};
    std::int64_t preempted_ns = 0;
    std::uint32_t preemptions = 0;
    std::uint64_t recomputed = 0;
    std::size_t blocks_most = 0;  // of one sequence
    // From the external store; what was loaded counts once its load has passed.
    std::uint64_t loads = 0;
    std::uint64_t loads_lost = 0;
    std::int64_t loading_ns = 0;
    std::uint64_t loaded_tokens = 0;
    std::uint64_t loaded_blocks = 0;
    std::uint64_t loaded_states = 0;
  };
  /// A sequence that ended in the queue: what it waited for since the last plan is told with the next.
  struct Departed {
    std::uint32_t request = 0;
    std::int64_t since_ns = 0;
    std::optional<Waits> waits_from{};
  };
  struct Block {
    std::uint16_t tables = 0;
    std::uint16_t holds = 0;
    bool committed = false;
    bool taken = false;
    bool published = false;
    BlockState state = BlockState::kFree;
    std::uint32_t owner = kNoOwner;    // a sequence
    std::uint32_t request = kNoOwner;  // the owner's
  };
  /// Ids of a pool of slots that somebody owns.
  class Slots {
   public:
    void add(std::span<const BlockId> ids);
    void drop(std::span<const BlockId> ids);
    std::int64_t owned() const { return owned_; }

   private:
    std::vector<std::uint32_t> owners_;
    std::int64_t owned_ = 0;
  };
  struct PlannedStep {
    std::uint32_t number = 0;
    std::int64_t planned_ns = 0;
    std::uint64_t rows = 0;
    std::uint64_t prompt_rows = 0;
  };
  /// Steps that share a slice.
  struct StepGroup {
    std::uint64_t steps = 0;
    std::uint64_t first = 0;
    std::int64_t begin_ns = 0;
    std::int64_t end_ns = 0;
    std::uint64_t rows = 0;
    std::uint64_t prompt_rows = 0;
  };
  struct PendingCopies {
    std::uint32_t step = 0;
    std::int64_t queued_ns = 0;
    std::uint64_t count = 0;
  };
  struct PendingPreemption {
    std::uint32_t sequence = 0;
    std::uint32_t known = 0;
    std::uint32_t in_flight = 0;
    std::uint32_t blocks = 0;
  };

  void take(const Record& record, std::span<const BlockId> ids);
  void take_ids(const Record& record, std::span<const BlockId> ids);
  void take_blocks(const Record& record, std::span<const BlockId> ids);
  void save_blocks(std::span<const BlockId> ids);
  std::int64_t blocks_owned() const;
  void publish(std::span<const BlockId> ids, bool findable);
  void settle(std::uint32_t id, Block& block, std::uint32_t owner, std::uint32_t request);
  void commit_blocks(Live& live, std::uint32_t rows);

  Live& live(std::uint32_t sequence);
  Live* find(std::uint32_t sequence);
  void enqueue(std::uint32_t sequence, Live& live, std::int64_t since_ns);
  void add_waits(Live& live);
  void add_departed(const Waits& before, std::int64_t from_ns, std::int64_t to_ns);
  void leave_queue(Live& live);
  void arrive(const Record& record);
  void miss_fork(const Record& record);
  void fork(const Record& record);
  void demote(const Record& record);
  void admit(Live& live);
  void load(Live& live, const StoreLoad& load);
  void chunk(Live& live, std::uint32_t first, std::uint32_t count);
  void join(Live& live);
  void preempt(const Record& record);
  void flush_preemption();
  void end(std::uint32_t sequence, EndReason reason, std::uint32_t emitted);
  void end_request(std::uint32_t number);
  void write_request(std::uint32_t number, const Request& request, std::string_view reason);
  void begin_attempt(Live& live, std::int64_t at_ns);
  void end_attempt(Live& live);

  void step_done(const Record& record);
  void flush_steps();
  void copies_passed(std::uint32_t lane, std::uint64_t upto_step);
  void note_drafts(const Record& record);

  void sample();
  void write_counters();
  std::string recording_json(const LatencyStats& inter_token) const;

  RecorderOptions options_;
  std::function<std::string(std::string_view)> path_of_;
  std::map<std::string_view, FileWriter> files_;
  PerfettoTrace trace_;
  BlockMap map_;
  Timeline timeline_;
  std::optional<Ledger> ledger_;

  std::vector<Block> blocks_;
  std::array<std::int64_t, kBlockStates> blocks_in_{};
  Slots state_slots_, draft_slots_;
  std::map<std::uint32_t, Live> live_;         // by sequence
  std::map<std::uint32_t, Request> requests_;  // by number
  std::vector<std::uint32_t> queued_;          // sequences, since the last plan
  std::vector<std::uint32_t> refused_;         // in these records
  std::vector<Departed> departed_;
  std::int64_t waits_upto_ns_ = 0;  // what has been told of waits reaches up to here
  Waits waits_ns_{};                // for each reason: how long the queue has waited for it
  TimelineRow now_;
  std::optional<PendingPreemption> preemption_;

  std::deque<PlannedStep> planned_;
  std::int64_t last_result_ns_ = 0;
  StepGroup group_;
  std::uint64_t step_slices_ = 0;
  std::uint64_t step_group_ = 1;  // steps that a slice stands for
  StoreLoads loads_;
  BytesInFlight bytes_;
  std::deque<PendingCopies> copies_;
  std::uint64_t copies_queued_ = 0;  // since the last step was planned
  std::uint32_t steps_planned_ = 0;

  TrackId engine_{}, clients_{}, compute_{};
  std::array<std::optional<TrackId>, kLanes> copy_tracks_;
  std::array<std::int64_t, kLanes> copies_done_ns_{};
  std::uint64_t flows_ = 0;
  std::uint64_t rows_written_ = 0;
  std::vector<BlockId> ids_;
  std::array<std::uint64_t, kDraftPlaces> proposed_{};
  std::array<std::uint64_t, kDraftPlaces> accepted_{};
};

}  // namespace pinfold::sim
