#include "sim/gate/first_difference.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <deque>

#include "sim/core/simulate.h"
#include "sim/gate/event_words.h"
#include "sim/gate/journal_tables.h"
#include "sim/record/digest.h"
#include "sim/record/journal_records.h"

namespace pinfold::sim {
namespace {

constexpr std::uint64_t kWindow = 1024;  // events between two digests
constexpr std::size_t kCommonShown = 3;

/// Compares events one by one, with the tables that both runs have in common.
class Parting {
 public:
  Parting() = default;
  Parting(JournalTables tables, std::uint64_t events)
      : tables_(std::move(tables)), events_(events) {}

  /// True while both are the same; then takes the event as common. nullptr: the journal has ended.
  bool same(const JournalEntry* a, const JournalEntry* b) {
    ++events_;
    if (a == nullptr && b == nullptr) return false;
    if (a == nullptr || b == nullptr || !(*a == *b)) {
      part(a, b);
      return false;
    }
    tables_.apply(a->record, a->ids);
    common_.push_back(*a);
    if (common_.size() > kCommonShown) common_.pop_front();
    return true;
  }

  const std::optional<FirstDifference>& found() const { return found_; }

 private:
  void part(const JournalEntry* a, const JournalEntry* b) {
    FirstDifference difference;
    difference.event = events_;
    for (const JournalEntry& entry : common_) {
      difference.common.push_back(words_of(entry.record, entry.ids));
    }
    JournalTables after_a = tables_;
    JournalTables after_b = tables_;
    std::vector<std::uint32_t> sequences;
    const auto take = [&](const JournalEntry* entry, std::optional<std::string>& words,
                          JournalTables& tables) {
      if (entry == nullptr) return;
      words = words_of(entry->record, entry->ids);
      tables.apply(entry->record, entry->ids);
      const std::uint32_t sequence = entry->record.sequence;
      if (!names_sequence(entry->record.verb)) return;
      if (std::find(sequences.begin(), sequences.end(), sequence) == sequences.end()) {
        sequences.push_back(sequence);
      }
    };
    take(a, difference.a, after_a);
    take(b, difference.b, after_b);
    const auto copied = [](std::span<const BlockId> table) {
      return std::vector<BlockId>(table.begin(), table.end());
    };
    for (const std::uint32_t sequence : sequences) {
      difference.tables.push_back({sequence, copied(tables_.table_of(sequence)),
                                   copied(after_a.table_of(sequence)),
                                   copied(after_b.table_of(sequence))});
    }
    found_ = std::move(difference);
  }

  JournalTables tables_;
  std::uint64_t events_ = 0;
  std::deque<JournalEntry> common_;
  std::optional<FirstDifference> found_;
};

// --- Two runs --------------------------------------------------------------------------------------

/// A digest of everything so far after each kWindow events, and at the end.
class WindowDigests final : public RunObserver {
 public:
  void on_records(std::span<const std::byte> records, std::int64_t) override {
    for_each_record(records, ids_, [this](const Record& record, std::span<const BlockId> ids) {
      digest_.update(std::as_bytes(std::span(&record, 1)));
      digest_.update(std::as_bytes(ids));
      if (++events_ % kWindow == 0) values_.push_back(digest_.value());
    });
  }

  std::vector<std::uint64_t> finish() {
    values_.push_back(digest_.value());
    return std::move(values_);
  }

 private:
  Digest digest_;
  std::uint64_t events_ = 0;
  std::vector<std::uint64_t> values_;
  std::vector<BlockId> ids_;
};

/// Thrown out of a run of which enough has been seen.
struct SeenEnough {};

/// The events of one window and the tables before it; then ends the run.
class WindowEvents final : public RunObserver {
 public:
  explicit WindowEvents(std::uint64_t first) : first_(first) {}

  void on_records(std::span<const std::byte> records, std::int64_t) override {
    for_each_record(records, ids_, [this](const Record& record, std::span<const BlockId> ids) {
      if (events_++ < first_) {
        tables_.apply(record, ids);
      } else if (entries_.size() < kWindow) {
        entries_.push_back({record, {ids.begin(), ids.end()}});
      }
    });
    if (entries_.size() == kWindow) throw SeenEnough{};
  }

  const JournalTables& tables() const { return tables_; }
  const JournalEntry* entry(std::size_t n) const {
    return n < entries_.size() ? &entries_[n] : nullptr;
  }

 private:
  std::uint64_t first_;
  std::uint64_t events_ = 0;
  JournalTables tables_;
  std::vector<JournalEntry> entries_;
  std::vector<BlockId> ids_;
};

/// Holds a run's events against a recorded journal, which is read as they come.
class AgainstFile final : public RunObserver {
 public:
  explicit AgainstFile(JournalReader& reader) : reader_(reader) {}

  void on_records(std::span<const std::byte> records, std::int64_t) override {
    for_each_record(records, ids_, [this](const Record& record, std::span<const BlockId> ids) {
      if (over_) return;
      const JournalEntry now{record, {ids.begin(), ids.end()}};
      step(&now);
    });
    if (over_) throw SeenEnough{};
  }

  /// The run is over: so should the file be.
  void finish() {
    if (!over_) step(nullptr);
  }
  const std::optional<FirstDifference>& found() const { return parting_.found(); }

 private:
  void step(const JournalEntry* now) {
    const bool more = reader_.next(recorded_);
    const JournalEntry entry{recorded_.record, recorded_.ids};
    over_ = reader_.error().has_value() || !parting_.same(more ? &entry : nullptr, now);
  }

  JournalReader& reader_;
  JournalEvent recorded_;
  Parting parting_;
  bool over_ = false;
  std::vector<BlockId> ids_;
};

void run(const Trace& trace, const RunConfig& config, RunObserver& observer) {
  RunOptions options;
  options.ledger = false;
  options.observer = &observer;
  try {
    simulate(trace, config, options);
  } catch (const SeenEnough&) {
  }
}

std::vector<std::uint64_t> digests_of(const Trace& trace, const RunConfig& config) {
  WindowDigests digests;
  run(trace, config, digests);
  return digests.finish();
}

}  // namespace

bool JournalEntry::operator==(const JournalEntry& other) const {
  return std::memcmp(&record, &other.record, sizeof record) == 0 && ids == other.ids;
}

std::optional<FirstDifference> first_difference(const Trace& trace, const RunConfig& a,
                                                const RunConfig& b) {
  const std::vector<std::uint64_t> left = digests_of(trace, a);
  const std::vector<std::uint64_t> right = digests_of(trace, b);
  if (left == right) return std::nullopt;
  const auto parted = std::mismatch(left.begin(), left.end(), right.begin(), right.end()).first;
  const std::uint64_t first = static_cast<std::uint64_t>(parted - left.begin()) * kWindow;
  WindowEvents events_a(first);
  WindowEvents events_b(first);
  run(trace, a, events_a);
  run(trace, b, events_b);
  Parting parting(events_a.tables(), first);
  std::size_t n = 0;
  while (parting.same(events_a.entry(n), events_b.entry(n))) ++n;
  return parting.found();
}

Outcome<std::optional<FirstDifference>> first_difference(std::string_view recorded,
                                                         const std::string& path,
                                                         const Trace& trace, const RunConfig& now) {
  JournalReader reader(recorded, path);
  if (const auto header = reader.header(); !header) return header.error();
  AgainstFile against(reader);
  run(trace, now, against);
  against.finish();
  if (reader.error()) return *reader.error();
  return against.found();
}

Outcome<std::optional<FirstDifference>> first_difference(std::string_view a,
                                                         const std::string& path_a,
                                                         std::string_view b,
                                                         const std::string& path_b) {
  JournalReader reader_a(a, path_a);
  JournalReader reader_b(b, path_b);
  if (const auto header = reader_a.header(); !header) return header.error();
  if (const auto header = reader_b.header(); !header) return header.error();
  Parting parting;
  JournalEvent event_a;
  JournalEvent event_b;
  for (;;) {
    const bool more_a = reader_a.next(event_a);
    const bool more_b = reader_b.next(event_b);
    if (reader_a.error()) return *reader_a.error();
    if (reader_b.error()) return *reader_b.error();
    const JournalEntry entry_a{event_a.record, event_a.ids};
    const JournalEntry entry_b{event_b.record, event_b.ids};
    if (!parting.same(more_a ? &entry_a : nullptr, more_b ? &entry_b : nullptr)) break;
  }
  return parting.found();
}

}  // namespace pinfold::sim
