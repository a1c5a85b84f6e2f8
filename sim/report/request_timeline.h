#pragma once
// One request's life in a run, read from the journal: `pinfold run --why`.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/core/run_observer.h"
#include "sim/core/wait_reason.h"
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
    kNever,       // it can never run
    kChunk,       // a: first position, b: rows, c: step
    kFirstToken,  //
    kDecode,      // a decode row joins the batch; a: known tokens
    kSitOut,      // a: steps in a row
    kPreempt,     // a: known tokens kept, b: rows in flight, c: blocks let go
    kForkMissed,  //
    kDemote,      //
    kEnd,         // a: tokens, b: the most blocks it held, c: EndReason
  };
  Kind kind;
  std::int64_t at_ns = 0;
  std::array<std::int64_t, kWaits> waited_ns{};  // by reason
  Wait wait = Wait::kStep;
  std::uint64_t a = 0, b = 0, c = 0;
};

/// Collects one request's events while the run happens.
class RequestTimeline final : public RunObserver {
 public:
  RequestTimeline(std::uint32_t request, const TraceRequest& asked)
      : request_(request), asked_(asked) {}

  void on_arrival(std::uint32_t request, std::int64_t arrival_ns) override;
  void on_wait(Cause cause, std::int64_t from_ns, std::int64_t to_ns) override;
  void on_records(std::span<const std::byte> records, std::int64_t now_ns) override;
  void on_first_token(std::uint32_t request, std::int64_t now_ns) override;

  std::uint32_t request() const { return request_; }
  const std::vector<TimelineEvent>& events() const { return events_; }
  /// Waiting time by reason; it sums to the time that the request waited.
  const std::array<std::int64_t, kWaits>& waited_ns() const { return waited_ns_; }

 private:
  void take(const Record& record, std::int64_t now_ns);
  void take_answer(const Record& record, std::int64_t now_ns);
  void add_wait(Wait wait, std::int64_t from_ns, std::int64_t to_ns);
  TimelineEvent& add(TimelineEvent::Kind kind, std::int64_t at_ns);

  std::uint32_t request_;
  TraceRequest asked_;
  std::vector<TimelineEvent> events_;
  std::array<std::int64_t, kWaits> waited_ns_{};
  std::int64_t arrival_ns_ = 0;
  bool waiting_ = false;
  std::uint64_t steps_ = 0;  // dispatched so far
  std::uint64_t blocks_ = 0;
  std::uint64_t blocks_most_ = 0;
};

std::string timeline_text(const RequestTimeline& timeline, const Provenance& provenance);
std::string timeline_json(const RequestTimeline& timeline, const Provenance& provenance);

}  // namespace pinfold::sim
