#include "sim/record/journal_verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <optional>

#include "sim/check/journal_books.h"
#include "sim/check/shadow.h"
#include "sim/record/digest.h"

namespace pinfold::sim {
namespace {

constexpr std::size_t kBrokenKept = 20;
constexpr std::uint32_t kGapMost = 1U << 16;  // in the numbers of sequences
constexpr std::uint32_t kHostIdsMost = 1U << 26;

/// The invariant with its subject.
std::string title_of(Check check) {
  switch (check) {
    case Check::kI1: return "I1 conservation";
    case Check::kI2: return "I2 owners";
    case Check::kI3: return "I3 free but in use";
    case Check::kI4: return "I4 block 0";
    case Check::kI5: return "I5 shared block";
    case Check::kI6: return "I6 coverage";
    case Check::kI7: return "I7 fence";
    case Check::kI8: return "I8 copy";
    case Check::kI10: return "I10 answers";
    case Check::kI13: return "I13 drain";
    case Check::kI15: return "I15 shrink";
    case Check::kI16: return "I16 state slot";
    case Check::kI17: return "I17 tokens";
    case Check::kI20: return "I20 counts";
    case Check::kI21: return "I21 parked";
    default: return name_of(check);
  }
}

/// Which line an event stands in. Only lines that are no events make a difference.
class Lines {
 public:
  void add(std::uint64_t event, std::uint64_t line) {
    if (steps_.empty() || steps_.back().line - steps_.back().event != line - event) {
      steps_.push_back({event, line});
    }
  }
  std::uint64_t line_of(std::uint64_t event) const {
    const auto after = std::upper_bound(
        steps_.begin(), steps_.end(), event,
        [](std::uint64_t wanted, const Step& step) { return wanted < step.event; });
    if (after == steps_.begin()) return 0;
    const Step& step = *std::prev(after);
    return step.line + (event - step.event);
  }
  /// "event 18" becomes "line 19".
  std::string in_lines(const std::string& text) const {
    static constexpr std::string_view kEvent = "event ";
    std::string lines;
    std::size_t at = 0;
    for (std::size_t found = text.find(kEvent); found != std::string::npos;
         found = text.find(kEvent, at)) {
      lines += text.substr(at, found - at);
      at = found + kEvent.size();
      std::uint64_t event = 0;
      for (; at < text.size() && std::isdigit(static_cast<unsigned char>(text[at])) != 0; ++at) {
        event = 10 * event + static_cast<std::uint64_t>(text[at] - '0');
      }
      lines += fmt::format("line {}", line_of(event));
    }
    return lines + text.substr(at);
  }

 private:
  struct Step {
    std::uint64_t event, line;
  };
  std::vector<Step> steps_;
};

/// The last events that gave an id an owner or took one from it.
struct IdHistory {
  std::uint64_t got_line = 0, lost_line = 0;
  std::uint32_t got_by = 0, lost_by = 0;
  Verb got = Verb::kAcquire, lost = Verb::kRelease;
};

std::string_view past_of(Verb verb) {
  switch (verb) {
    case Verb::kAcquire: return "issued to";
    case Verb::kPin: return "pinned by";
    case Verb::kHit: return "found by";
    case Verb::kPark: return "parked by";
    case Verb::kUnpark: return "unpinned, having been parked, by";
    default: return "released by";
  }
}

BooksOptions books_options(const JournalHeader& header) {
  BooksOptions books;
  books.block_size = header.block_size;
  books.state_slots = header.state_ids > 1;
  books.fences_always = header.fence == FenceMode::kAlways;
  books.usable[index_of(PoolKind::kBlocks)] = header.block_ids - 1;
  books.usable[index_of(PoolKind::kStateSlots)] = header.state_ids - 1;
  books.usable[index_of(PoolKind::kDraftSlots)] = header.draft_ids - 1;
  books.own_policy = false;
  return books;
}

ShadowOptions shadow_options(const JournalHeader& header) {
  ShadowOptions shadow;
  shadow.block_size = header.block_size;
  shadow.block_ids = header.block_ids;
  shadow.state_ids = header.state_ids;
  shadow.draft_ids = header.draft_ids;
  shadow.state_slots = header.state_ids > 1;
  shadow.fences_always = header.fence == FenceMode::kAlways;
  shadow.copy_lane = header.copy_lane == CopyLane::kSeparate ? Lane::kCopy : Lane::kCompute;
  return shadow;
}

class Judge {
 public:
  explicit Judge(const JournalHeader& header)
      : books_(books_options(header), findings_), shadow_(shadow_options(header)) {
    verdict_.header = header;
    limit_ = {header.block_ids, header.state_ids, header.draft_ids, kHostIdsMost, kHostIdsMost};
    for (std::size_t pool = 0; pool < kPoolKinds; ++pool) {
      if (pool < index_of(PoolKind::kHostBlocks)) history_[pool].resize(limit_[pool]);
    }
  }

  /// False after an event behind which nothing can be judged.
  bool judge(const JournalEvent& event) {
    line_ = event.line;
    ++verdict_.events;
    lines_.add(verdict_.events, event.line);
    const Record& record = event.record;
    const std::size_t named = record.verb == Verb::kKeys ? 0 : event.ids.size();
    const bool pairs = record.verb == Verb::kSave || record.verb == Verb::kLoad;
    if (pairs && event.ids.size() % 2 != 0) {
      find(Check::kI1, fmt::format("sequence {} names a source without a destination: expected "
                                   "pairs of ids",
                                   record.sequence));
      return false;
    }
    for (std::size_t n = 0; n < named; ++n) {
      const BlockId id = event.ids[n];
      // Of a pair, the one on the host comes second in a save and first in a load.
      const bool on_host = pairs && (n % 2 == 1) == (record.verb == Verb::kSave);
      const std::size_t pool = index_of(on_host ? PoolKind::kHostBlocks : record.pool);
      if (index_of(id) < limit_[pool]) continue;
      find(Check::kI1,
           fmt::format(
               "{} {}, named by sequence {}, is none of the pool's: expected ids from 1 to {}",
               name_of(on_host ? PoolKind::kHostBlocks : record.pool), index_of(id),
               record.sequence, limit_[pool] - 1));
      return false;
    }
    if (const auto stranger = not_arrived(record)) {
      find(Check::kI2, fmt::format("sequence {} is named and has not arrived", *stranger));
      return false;
    }
    before(record);
    books_.consume_record(record, event.ids);
    feed_shadow(event);
    after(event);
    take_findings();
    remember(event);
    return true;
  }

  /// One more than the largest number of a sequence so far.
  std::uint64_t next_sequence() const { return books_.next_sequence(); }

  JournalVerdict finish() {
    books_.settle_open();
    take_findings();
    look_at_the_end();
    take_findings();
    verdict_.sequences += books_.forgotten();
    for (const SequenceBooks& of : books_.sequences()) {
      verdict_.sequences += of.known;
      verdict_.unfinished += of.known && !of.ended;
    }
    verdict_.rows_read = shadow_.rows_read();
    return std::move(verdict_);
  }

  void find_digest(const std::string& found, const std::string& expected, std::uint64_t line) {
    line_ = line;
    report({"digest",
            line,
            fmt::format("the events have the digest {}, the last line says {}", found, expected),
            {}});
  }

 private:
  void find(Check check, std::string text) {
    findings_.add(check, verdict_.events, std::move(text));
    take_findings();
  }

  std::optional<std::uint32_t> not_arrived(const Record& record) const {
    if (record.verb == Verb::kArrive || record.verb == Verb::kPassed ||
        record.verb == Verb::kStored || record.verb == Verb::kForkMissed ||
        names_step(record.verb)) {
      return std::nullopt;
    }
    if (!books_.sequence(record.sequence).known) return record.sequence;
    const bool of_parent = record.verb == Verb::kFork;
    if (of_parent && !books_.sequence(record.aux).known) return record.aux;
    return std::nullopt;
  }

  // What the books leave to whoever sees the scheduler too.
  void before(const Record& record) {
    // Commits and passed fences still belong to the result before them.
    if (record.verb != Verb::kCommit && record.verb != Verb::kUnpark) books_.settle_open();
    const SequenceBooks& of = books_.sequence(record.sequence);
    const auto counts = [&](const char* what, std::uint64_t said, std::uint64_t booked) {
      if (said == booked) return;
      find(Check::kI20,
           fmt::format("sequence {} is said to have {} {}: its steps and results make {}",
                       record.sequence, said, what, booked));
    };
    if (record.verb == Verb::kPreempt) counts("rows in flight", record.aux, of.in_flight);
    if (record.verb == Verb::kJoin) counts("known tokens", record.count, of.history);
    if (record.verb == Verb::kStep && record.sequence != books_.steps() + 1) {
      find(Check::kI20, fmt::format("step {} is dispatched: expected step {}", record.sequence,
                                    books_.steps() + 1));
    }
    const std::uint64_t steps = books_.steps();
    const bool of_load = static_cast<Behind>(record.detail) == Behind::kLoad;
    if (record.verb == Verb::kPark && !of_load && record.aux > 2 * steps + 2) {
      find(Check::kI21,
           fmt::format("sequence {} parks behind ticket {}: expected one of a dispatched "
                       "step or of the next one, at most {}",
                       record.sequence, record.aux, 2 * steps + 2));
    }
    if ((record.verb == Verb::kArrive || record.verb == Verb::kAcquire) && of.ended) {
      find(Check::kI2,
           fmt::format("sequence {} goes on although it has ended: expected a new number",
                       record.sequence));
    }
  }

  // Nothing may become free that dispatched work still uses.
  void after(const JournalEvent& event) {
    if (event.record.verb != Verb::kRelease && event.record.verb != Verb::kUnpark) return;
    const PoolKind pool = event.record.pool;
    for (const BlockId id : event.ids) {
      const IdBooks& books = books_.id(pool, index_of(id));
      const bool busy = books.busy_until > books_.passed();
      if (!books.owners.empty() || (!busy && books.copied_until <= books_.copies_passed()))
        continue;
      findings_.add(
          Check::kI3, verdict_.events,
          fmt::format("{} {} is free, and dispatched work uses it until ticket {}; the lane "
                      "has come to {}",
                      name_of(pool), index_of(id), std::max(books.busy_until, books.copied_until),
                      books_.passed()),
          pool, index_of(id));
    }
  }

  void look_at_the_end() {
    for (const PoolKind pool : {PoolKind::kBlocks, PoolKind::kStateSlots, PoolKind::kDraftSlots,
                                PoolKind::kHostBlocks, PoolKind::kHostStates}) {
      const auto ids = books_.ids(pool);
      for (std::uint32_t id = 0; id < ids.size(); ++id) {
        for (const NamedOwner& owner : ids[id].owners) look_at_owner(pool, id, owner);
      }
    }
  }

  void look_at_owner(PoolKind pool, std::uint32_t id, const NamedOwner& owner) {
    const std::string name = fmt::format("{} {}", name_of(pool), id);
    const std::uint64_t passed =
        owner.behind == Behind::kSave   ? books_.passed_on(Lane::kDeviceToHost)
        : owner.behind == Behind::kLoad ? books_.passed_on(Lane::kHostToDevice)
                                        : std::max(books_.passed(), books_.copies_passed());
    if (owner.hold && owner.ticket <= passed) {
      findings_.add(
          Check::kI21, verdict_.events,
          fmt::format("{} is still parked by sequence {} behind ticket {} when the file ends; "
                      "the lane has come to {}",
                      name, owner.sequence, owner.ticket, passed),
          pool, id);
    } else if (!owner.hold && books_.sequence(owner.sequence).ended) {
      findings_.add(Check::kI13, verdict_.events,
                    fmt::format("{} is still owned by sequence {} when the file ends, and that has "
                                "ended: expected no owner",
                                name, owner.sequence),
                    pool, id);
    }
  }

  void feed_shadow(const JournalEvent& event) {
    bytes_.resize(sizeof(Record) + event.ids.size() * sizeof(BlockId));
    std::memcpy(bytes_.data(), &event.record, sizeof(Record));
    if (!event.ids.empty()) {
      std::memcpy(bytes_.data() + sizeof(Record), event.ids.data(),
                  event.ids.size() * sizeof(BlockId));
    }
    shadow_.consume(bytes_);
  }

  void take_findings() {
    if (!findings_.empty()) {
      for (const Finding& finding : findings_.first()) {
        report(
            {title_of(finding.check), line_, finding.text, history_of(finding.pool, finding.id)});
      }
      findings_ = Findings{};
    }
    if (shadow_.finding_count() == shadow_taken_) return;
    const auto& all = shadow_.findings();
    for (; shadow_taken_ < all.size(); ++shadow_taken_) {
      const ShadowFinding& finding = all[shadow_taken_];
      report({finding.rule, line_, lines_.in_lines(finding.text),
              history_of(finding.pool, finding.id)});
    }
    verdict_.broken_count += shadow_.finding_count() - shadow_taken_;
    shadow_taken_ = shadow_.finding_count();
  }

  void report(BrokenRule broken) {
    ++verdict_.broken_count;
    if (verdict_.broken.size() < kBrokenKept) verdict_.broken.push_back(std::move(broken));
  }

  std::vector<std::string> history_of(PoolKind pool, std::uint32_t id) const {
    const std::vector<IdHistory>& histories = history_[index_of(pool)];
    if (id == 0 || id >= histories.size()) return {};
    const IdHistory& history = histories[id];
    const std::string name = fmt::format("{} {} was ", name_of(pool), id);
    std::vector<std::string> lines;
    const auto got = [&] {
      if (history.got_line == 0) return;
      lines.push_back(fmt::format("{}{} sequence {} in line {}", name, past_of(history.got),
                                  history.got_by, history.got_line));
    };
    if (history.got_line <= history.lost_line) got();
    if (history.lost_line > 0) {
      lines.push_back(fmt::format("{}{} sequence {} in line {}", name, past_of(history.lost),
                                  history.lost_by, history.lost_line));
    }
    if (history.got_line > history.lost_line) got();
    return lines;
  }

  void remember(const JournalEvent& event) {
    std::vector<IdHistory>& histories = history_[index_of(event.record.pool)];
    const Verb verb = event.record.verb;
    for (const BlockId id : event.ids) {
      if (index_of(id) >= histories.size()) continue;
      IdHistory& history = histories[index_of(id)];
      if (verb == Verb::kAcquire || verb == Verb::kPin || verb == Verb::kHit) {
        history.got_line = event.line;
        history.got_by = event.record.sequence;
        history.got = verb;
      } else if (verb == Verb::kRelease || verb == Verb::kPark || verb == Verb::kUnpark) {
        history.lost_line = event.line;
        history.lost_by = event.record.sequence;
        history.lost = verb;
      }
    }
  }

  JournalVerdict verdict_;
  Findings findings_;
  JournalBooks books_;
  Shadow shadow_;
  std::uint64_t shadow_taken_ = 0;
  Lines lines_;
  std::uint64_t line_ = 0;
  std::array<std::uint32_t, kPoolKinds> limit_{};
  std::array<std::vector<IdHistory>, kPoolKinds> history_;
  std::vector<std::byte> bytes_;
};

InputError too_large(const std::string& path, std::uint64_t line, std::uint32_t number,
                     std::uint64_t next) {
  InputError error;
  error.path = path;
  error.line = line;
  error.found = fmt::format("sequence {}", number);
  error.expected = fmt::format("sequence {} or one of the next {}", next, kGapMost);
  error.hint = "sequences are numbered from 0 on, without large gaps";
  return error;
}

}  // namespace

Outcome<JournalVerdict> verify_journal(std::string_view text, const std::string& path) {
  JournalReader reader(text, path);
  const Outcome<JournalHeader> header = reader.header();
  if (!header) return header.error();
  Judge judge(header.value());
  Digest digest;
  JournalEvent event;
  bool goes_on = true;
  while (goes_on && reader.next(event)) {
    const Verb verb = event.record.verb;
    if (verb == Verb::kArrive && event.record.sequence >= judge.next_sequence() + kGapMost) {
      return too_large(path, event.line, event.record.sequence, judge.next_sequence());
    }
    goes_on = judge.judge(event);
    digest.update(std::as_bytes(std::span(&event.record, 1)));
    digest.update(std::as_bytes(std::span(event.ids)));
  }
  if (reader.error()) return *reader.error();
  if (goes_on) {
    const std::string found = fmt::format("{:016x}", digest.value());
    const std::string& said = reader.end().digest;
    if (!said.empty() && said != found) judge.find_digest(found, said, reader.line());
  }
  JournalVerdict verdict = judge.finish();
  verdict.stopped = !goes_on;
  return verdict;
}

}  // namespace pinfold::sim
