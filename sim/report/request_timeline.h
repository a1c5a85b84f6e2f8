#pragma once
// One request's life in a run, read from the journal: `pinfold run --why`.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/core/run_observer.h"
#include "sim/core/wait_reason.h"
#include "sim/metrics/store_loads.h"
#include "sim/report/run_report.h"
#include "sim/trace/request.h"

namespace pinfold::sim {

/// Something that happened to the request. What the numbers hold stands beside each kind.
struct TimelineEvent {
  enum class Kind : std::uint8_t {
    kArrive,      // a: prompt tokens, b: output tokens
    kWait,        // without a break, as long as `waited_ns` sums to
    kLater,       // refused for `wait`; a: blocks asked for, b: state slots asked for
    kAdmit,       // a: blocks, b: state slots
    kLoad,        // from the external store, as `load` says
    kNever,       // it can never run
    kChunk,       // a: first position, b: rows, c: step
    kFirstToken,  //
    kDecode,      // a decode row joins the batch; a: known tokens
    kSitOut,      // a: steps in a row
    kPreempt,     // a: known tokens kept, b: rows in flight, c: blocks let go
    kFork,        // a: tokens that it has in common with its parent
    kForkMissed,  //
    kDemote,      // a: 1 because its load was given up
    kEnd,         // a: tokens, b: the most blocks it held, c: EndReason
  };
  Kind kind;
  std::uint32_t sample = 0;  // of the request's sequences
  std::int64_t at_ns = 0;
  std::array<std::int64_t, kWaits> waited_ns{};  // by reason
  Wait wait = Wait::kStep;
  std::uint64_t a = 0, b = 0, c = 0;
  StoreLoad load{};
};

/// Collects one request's events while the run happens: those of all its sequences, where it asks for
/// several completions or others are forked for it.
class RequestTimeline final : public RunObserver {
 public:
  RequestTimeline(std::uint32_t request, const TraceRequest& asked)
      : request_(request), asked_(asked) {}

  void on_arrival(std::uint32_t request, std::int64_t arrival_ns) override;
  void on_sequence(SequenceId id, std::uint32_t request, std::uint32_t sample) override;
  void on_end(std::uint32_t request, std::int64_t now_ns) override;
  void on_wait(Cause cause, std::int64_t from_ns, std::int64_t to_ns) override;
  void on_records(std::span<const std::byte> records, std::int64_t now_ns) override;
  void on_first_token(std::uint32_t request, std::int64_t now_ns) override;

  std::uint32_t request() const { return request_; }
  /// Sequences that it had: 1, more with samples, 0 if it was given up before.
  std::size_t samples() const { return sequences_.size(); }
  /// In the order of time.
  std::vector<TimelineEvent> events() const;
  /// Waiting time in the queue by reason, of all its sequences; requests.csv has the same.
  std::array<std::int64_t, kWaits> waited_ns() const;
  /// Time that its sequences spent loading from the external store; it follows the queue and is no part of it.
  std::int64_t loading_ns() const;

 private:
  static constexpr std::size_t kNoEvent = SIZE_MAX;

  struct Sequence {
    std::uint32_t id = 0;
    std::uint32_t sample = 0;
    bool queued = false;
    bool over = false;                // its id may be another's from here on
    std::int64_t told_ns = 0;         // what is said of its waiting reaches up to here
    std::size_t waits_in = kNoEvent;  // the event that holds the stretch it waits in
    std::size_t preempted_in = kNoEvent;
    std::size_t loads_in = kNoEvent;
    std::uint64_t blocks = 0;
    std::uint64_t blocks_most = 0;
    std::array<std::int64_t, kWaits> waited_ns{};
  };

  void take(Sequence& sequence, const Record& record, std::int64_t now_ns);
  void tell_loads(std::int64_t now_ns);
  void take_load(Sequence& sequence, const StoreLoad& load);
  void take_answer(Sequence& sequence, const Record& record, std::int64_t now_ns);
  void enqueue(Sequence& sequence, std::int64_t since_ns);
  void add_wait(Sequence& sequence, Wait wait, std::int64_t to_ns);
  TimelineEvent& add(Sequence& sequence, TimelineEvent::Kind kind, std::int64_t at_ns);

  std::uint32_t request_;
  TraceRequest asked_;
  std::vector<TimelineEvent> events_;  // in the order in which they were told
  std::vector<Sequence> sequences_;    // by sample
  std::int64_t arrival_ns_ = 0;
  std::int64_t waits_upto_ns_ = 0;  // what was told of waits reaches up to here
  std::uint64_t steps_ = 0;         // dispatched so far
  StoreLoads loads_;
};

std::string timeline_text(const RequestTimeline& timeline, const Provenance& provenance);
std::string timeline_json(const RequestTimeline& timeline, const Provenance& provenance);

}  // namespace pinfold::sim
