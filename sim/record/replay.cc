#include "sim/record/replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "sim/record/lab_text.h"
#include "sim/record/row_store.h"
#include "sim/trace/closest_word.h"

namespace pinfold::sim {
namespace {

/// An event that cannot happen; caught in replay().
struct ImpossibleEvent {
  InputError error;
};

/// A sequence as the file knows it.
struct Participant {
  enum class State : std::uint8_t {
    kWaiting,  // told LATER
    kNever,    // told NEVER
    kLive,
    kWaitingFork,  // pinned its parent's table, lacks a block or slot of its own
    kEnded,
  };

  std::string name;
  State state = State::kWaiting;
  std::uint64_t ended_in_line = 0;
  TokenCount tokens;                  // known, the history
  TokenCount drafts;                  // reserved behind it
  std::vector<RowValue> should_hold;  // by position: what it or its parent wrote there last
  std::size_t parent = 0;             // of a waiting fork: index of the parent
};

/// A write that waits in the lane behind a copy.
struct QueuedWrite {
  struct Row {
    BlockId block = kNoBlock;
    TokenCount row;
    RowValue value = 0;
  };
  Ticket behind{};
  std::vector<Row> rows;
  std::string writer;
  std::uint64_t line = 0;
};

/// What the judge remembers of a block: the last lines that issued it and that let go of a copy's
/// source too early.
struct BlockStory {
  std::string issued_to, unpinned_by;
  std::uint64_t issued_in = 0, unpinned_in = 0;
};

/// Who wrote a row, and where the file says so.
struct RowStory {
  std::string writer;
  std::uint64_t line = 0;
};

std::string value_text(const std::optional<RowValue>& value) {
  return value ? fmt::format("{}", *value) : std::string("nothing");
}

class Replay {
 public:
  explicit Replay(const EventFile& file)
      : file_(file), ownership_(file.pool), rows_(file.pool.block_size) {}

  void apply(const Event& event) {
    event_ = &event;
    std::visit([this](const auto& body) { perform(body); }, event.body);
    ownership_.audit();
  }

  ReplayOutput finish();

 private:
  void perform(const AdmitEvent& event);
  void perform(const GrowEvent& event);
  void perform(const DraftEvent& event);
  void perform(const CommitEvent& event);
  void perform(const CheckEvent& event);
  void perform(const ForkEvent& event);
  void perform(const UnpinEvent& event);
  void perform(const CopyDoneEvent& event);
  void perform(const FinishEvent& event);
  void perform(const WriteEvent& event);
  void perform(const ReadEvent& event);
  void perform(const NoteEvent& event) { text_.line(event.text); }

  // --- names ---
  [[noreturn]] void impossible(TextPosition at, std::string found, std::string expected,
                               std::string hint = {}) const;
  std::optional<std::size_t> find(const std::string& name) const;
  std::size_t add(const std::string& name);
  std::size_t known(const PlacedName& name) const;
  std::size_t live(const PlacedName& name) const;
  std::string status(const Participant& participant) const;
  static SequenceId id_of(std::size_t index) {
    return SequenceId{static_cast<std::uint32_t>(index)};
  }
  bool in_tables(std::size_t index) const;

  // --- parts of events ---
  std::size_t requested(const AdmitEvent::Request& request);
  void resize(std::size_t index, TextPosition at);
  void reach(std::size_t index, const PlacedCount& tokens);
  std::size_t begin_fork(const ForkEvent& event);
  void run_oldest_copy();
  void store(const QueuedWrite& write);

  // --- judging ---
  void note_issued(std::size_t index, std::size_t from);
  void judge_copy(const QueuedCopy& copy);
  void judge_read(const ReadResult& read, std::span<const BlockId> table);
  std::vector<std::string> story_of(BlockId block, TokenCount row) const;
  void check_copy_name(const CopyDoneEvent::Named& named, const QueuedCopy& copy) const;

  // --- text ---
  bool sharing() const { return file_.view == EventView::kSharing; }
  bool has_state() const { return file_.pool.num_state_slots.has_value(); }
  std::string free_text(PoolKind pool) const;
  std::string free_and_held_text(PoolKind pool) const;
  void show_tables(std::string sentence);
  void show_change(std::size_t index, std::string sentence);
  void show_admission(std::size_t index, Answer answer);
  void show_fork(const ForkEvent& event, std::size_t child, Answer answer,
                 std::span<const QueuedCopy> copies);
  std::string fork_story(std::size_t parent, std::size_t child, Answer answer,
                         std::span<const QueuedCopy> copies) const;
  std::string owners_text(PoolKind pool, const std::set<BlockId>& ids) const;

  const EventFile& file_;
  const Event* event_ = nullptr;
  Ownership ownership_;
  RowStore rows_;
  std::vector<Participant> participants_;  // index == SequenceId
  std::map<std::string, std::size_t> index_by_name_;
  std::vector<QueuedWrite> queued_writes_;
  std::set<BlockId> copied_from_;  // blocks that a copy has read
  bool forked_ = false;
  std::map<BlockId, BlockStory> block_stories_;
  std::map<std::pair<BlockId, std::uint32_t>, RowStory> row_stories_;
  std::map<Ticket, std::size_t> copied_for_;  // the child, by the ticket of a copy that has not run
  LabText text_;
  ReplayOutput output_;
};

// --- Names ----------------------------------------------------------------------------------------

void Replay::impossible(TextPosition at, std::string found, std::string expected,
                        std::string hint) const {
  throw ImpossibleEvent{InputError{.path = file_.path,
                                   .line = at.line,
                                   .column = at.column,
                                   .key = {},
                                   .found = std::move(found),
                                   .expected = std::move(expected),
                                   .hint = std::move(hint)}};
}

std::optional<std::size_t> Replay::find(const std::string& name) const {
  const auto found = index_by_name_.find(name);
  if (found == index_by_name_.end()) return std::nullopt;
  return found->second;
}

std::size_t Replay::add(const std::string& name) {
  const std::size_t index = participants_.size();
  participants_.emplace_back().name = name;
  index_by_name_.emplace(name, index);
  return index;
}

std::size_t Replay::known(const PlacedName& name) const {
  if (const auto index = find(name.value)) return *index;
  std::vector<std::string_view> names;
  for (const Participant& participant : participants_) names.push_back(participant.name);
  const auto closest = closest_word(name.value, names);
  impossible(name.at,
             fmt::format("\"{}\", a sequence that no event before admits or forks", name.value),
             "a sequence of an earlier event",
             closest ? fmt::format("did you mean \"{}\"?", *closest) : std::string());
}

std::string Replay::status(const Participant& participant) const {
  switch (participant.state) {
    case Participant::State::kWaiting: return "which waits for admission";
    case Participant::State::kNever: return "which was told NEVER";
    case Participant::State::kLive: return "which is live";
    case Participant::State::kWaitingFork: return "a fork that waits with its pins";
    case Participant::State::kEnded:
      return fmt::format("which finished in line {}", participant.ended_in_line);
  }
  return "?";
}

std::size_t Replay::live(const PlacedName& name) const {
  const std::size_t index = known(name);
  const Participant& participant = participants_[index];
  if (participant.state != Participant::State::kLive) {
    impossible(name.at, fmt::format("\"{}\", {}", name.value, status(participant)),
               "a live sequence");
  }
  return index;
}

bool Replay::in_tables(std::size_t index) const {
  const Participant::State state = participants_[index].state;
  return state == Participant::State::kLive || state == Participant::State::kWaitingFork;
}

// --- Events: tables -------------------------------------------------------------------------------

std::size_t Replay::requested(const AdmitEvent::Request& request) {
  const auto found = find(request.sequence.value);
  if (!found) {
    const std::size_t index = add(request.sequence.value);
    participants_[index].tokens = TokenCount(request.tokens.value);
    return index;
  }
  const Participant& participant = participants_[*found];
  if (participant.state != Participant::State::kWaiting) {
    impossible(request.sequence.at,
               fmt::format("\"{}\", {}", request.sequence.value, status(participant)),
               "a new name, or a sequence that was told LATER");
  }
  if (participant.tokens.value != request.tokens.value) {
    impossible(request.tokens.at, fmt::format("{}", request.tokens.value),
               fmt::format("{}, the length that was told LATER", participant.tokens.value));
  }
  return *found;
}

void Replay::perform(const AdmitEvent& event) {
  std::string names;
  std::string refusals;
  for (const AdmitEvent::Request& request : event.requests) {
    const std::size_t index = requested(request);
    Participant& participant = participants_[index];
    const Answer answer = ownership_.admit(id_of(index), participant.tokens).answer;
    if (answer == Answer::kOk) {
      participant.state = Participant::State::kLive;
      note_issued(index, 0);
    }
    if (answer == Answer::kNever) participant.state = Participant::State::kNever;
    names += fmt::format("{}{}({})", names.empty() ? "" : ", ", participant.name,
                         participant.tokens.value);
    if (answer != Answer::kOk)
      refusals += fmt::format("; {}: {}", participant.name, word_of(answer));
    if (sharing() && forked_) show_admission(index, answer);
  }
  if (!sharing()) show_tables(fmt::format("admit {}{}", names, refusals));
}

void Replay::resize(std::size_t index, TextPosition at) {
  const Participant& participant = participants_[index];
  const TokenCount positions = participant.tokens + participant.drafts;
  const BlockCount need = blocks_for(positions, file_.pool.block_size);
  const std::size_t had = ownership_.table(id_of(index)).size();
  if (ownership_.resize(id_of(index), positions).answer == Answer::kOk) {
    return note_issued(index, had);
  }
  const std::uint32_t available = ownership_.pool(PoolKind::kBlocks).available().value;
  impossible(
      at,
      fmt::format("{}, for which {} needs {} more", plural(positions.value, "position"),
                  participant.name, plural(need.value - static_cast<std::uint32_t>(had), "block")),
      fmt::format("at most {} more, which is what is free", plural(available, "block")));
}

void Replay::reach(std::size_t index, const PlacedCount& tokens) {
  Participant& participant = participants_[index];
  if (participant.drafts.value > 0) {
    impossible(event_->at, "an event that adds tokens",
               fmt::format("\"commit\" first: {} has {} reserved", participant.name,
                           plural(participant.drafts.value, "draft")));
  }
  if (tokens.value < participant.tokens.value) {
    impossible(tokens.at, fmt::format("{}", tokens.value),
               fmt::format("{} or more: {} has them", plural(participant.tokens.value, "token"),
                           participant.name),
               "a history does not shrink");
  }
  participant.tokens = TokenCount(tokens.value);
}

void Replay::perform(const GrowEvent& event) {
  const std::size_t index = live(event.sequence);
  reach(index, event.tokens);
  resize(index, event.tokens.at);
  const Participant& participant = participants_[index];
  show_change(index, fmt::format("{} reaches {}", participant.name,
                                 plural(participant.tokens.value, "token")));
}

void Replay::perform(const DraftEvent& event) {
  const std::size_t index = live(event.sequence);
  reach(index, event.tokens);
  Participant& participant = participants_[index];
  participant.drafts = TokenCount(event.drafts.value);
  resize(index, event.drafts.at);
  show_change(index, fmt::format("{} at {}, {} {} reserved", participant.name,
                                 participant.tokens.value, number_word(event.drafts.value),
                                 event.drafts.value == 1 ? "draft" : "drafts"));
}

void Replay::perform(const CommitEvent& event) {
  const std::size_t index = live(event.sequence);
  Participant& participant = participants_[index];
  const std::uint32_t drafts = participant.drafts.value;
  const std::uint32_t accepted = event.accepted.value;
  if (drafts == 0) {
    impossible(event_->at, fmt::format("\"commit\", though {} has no drafts", participant.name),
               "\"draft\" first");
  }
  if (accepted > drafts) {
    impossible(event.accepted.at, fmt::format("{}", accepted),
               fmt::format("at most {}: so many are reserved", plural(drafts, "draft")));
  }
  if (participant.tokens.value + accepted >= kEventTokensMost) {
    impossible(event.accepted.at,
               fmt::format("{} tokens and {} more", participant.tokens.value, accepted + 1),
               fmt::format("at most {} tokens", kEventTokensMost));
  }
  // Rows of the history and of accepted drafts are data; the token that the step adds has no row yet.
  const std::size_t data = participant.tokens.value + accepted;
  if (participant.should_hold.size() > data) participant.should_hold.resize(data);
  participant.tokens += TokenCount(accepted + 1);
  participant.drafts = TokenCount(0);
  resize(index, event.accepted.at);

  const std::string_view word = drafts == 1 ? "draft" : "drafts";
  std::string outcome = fmt::format("{} of {} drafts accepted", accepted, drafts);
  if (accepted == 0) outcome = fmt::format("{} rejected", word);
  if (accepted == drafts) outcome = fmt::format("{} accepted", word);
  show_change(index,
              fmt::format("{}; {} at {}", outcome, participant.name, participant.tokens.value));
}

void Replay::perform(const CheckEvent& event) {
  const Answer answer =
      ownership_.answer(BlockCount(event.blocks), BlockCount(event.state_slots.value_or(0))).answer;
  output_.checks.push_back({event.blocks, event.state_slots.value_or(0), answer});
  std::string sentence = "admission check for " + plural(event.blocks, "block");
  if (event.state_slots) sentence += " and " + plural(*event.state_slots, "state slot");
  text_.line(fmt::format("{}: {}", sentence, word_of(answer)));
}

void Replay::perform(const FinishEvent& event) {
  const std::size_t index = known(event.sequence);
  Participant& participant = participants_[index];
  if (!in_tables(index)) {
    impossible(event.sequence.at, fmt::format("\"{}\", {}", participant.name, status(participant)),
               "a live sequence or a waiting fork");
  }
  const auto table = ownership_.table(id_of(index));
  const std::vector<BlockId> released(table.begin(), table.end());
  ownership_.finish(id_of(index));
  participant.state = Participant::State::kEnded;
  participant.ended_in_line = event_->at.line;
  if (!sharing()) return show_tables(participant.name + " finishes");

  std::set<BlockId> in_other_tables;
  for (std::size_t other = 0; other < participants_.size(); ++other) {
    if (!in_tables(other)) continue;
    for (const BlockId id : ownership_.table(id_of(other))) in_other_tables.insert(id);
  }
  std::vector<BlockId> shared;
  std::copy_if(released.begin(), released.end(), std::back_inserter(shared),
               [&](BlockId id) { return in_other_tables.contains(id); });
  std::string sentence =
      fmt::format("{} finishes: {}", participant.name, free_text(PoolKind::kBlocks));
  if (!shared.empty()) sentence += fmt::format("; shared {} kept", list_text(shared));
  if (has_state()) sentence += "; slots " + free_text(PoolKind::kStateSlots);
  text_.line(sentence);
}

// --- Events: forks and copies ---------------------------------------------------------------------

/// Index of the child, a waiting fork with its pins.
std::size_t Replay::begin_fork(const ForkEvent& event) {
  if (const auto found = find(event.child.value)) {
    const Participant& child = participants_[*found];
    if (child.state != Participant::State::kWaitingFork) {
      impossible(event.child.at, fmt::format("\"{}\", {}", child.name, status(child)),
                 "a new name, or a fork that waits");
    }
    const Participant& parent = participants_[child.parent];
    const bool same =
        parent.name == event.parent.value && child.tokens.value == event.processed.value;
    if (!same) {
      impossible(event.parent.at,
                 fmt::format("\"{}\" at {}", event.parent.value, event.processed.value),
                 fmt::format("\"{}\" at {}: so {} forked, and waits", parent.name,
                             child.tokens.value, child.name));
    }
    return *found;
  }
  const std::size_t parent = live(event.parent);
  if (event.processed.value > participants_[parent].tokens.value) {
    impossible(
        event.processed.at, fmt::format("{}", event.processed.value),
        fmt::format("at most {}: so many has {}",
                    plural(participants_[parent].tokens.value, "token"), event.parent.value));
  }
  const std::size_t index = add(event.child.value);
  Participant& child = participants_[index];
  child.state = Participant::State::kWaitingFork;
  child.parent = parent;
  child.tokens = TokenCount(event.processed.value);
  child.should_hold = participants_[parent].should_hold;
  if (child.should_hold.size() > child.tokens.value) child.should_hold.resize(child.tokens.value);
  ownership_.fork(id_of(index), id_of(parent), child.tokens);
  return index;
}

void Replay::perform(const ForkEvent& event) {
  forked_ = true;
  const std::size_t index = begin_fork(event);
  const std::size_t queued_before = ownership_.queued_copies().size();
  const Answer answer = ownership_.separate(id_of(index)).answer;
  if (answer == Answer::kOk) {
    participants_[index].state = Participant::State::kLive;
    for (const QueuedCopy& copy : ownership_.queued_copies().subspan(queued_before)) {
      copied_for_.emplace(copy.ticket, index);
      if (copy.pool == PoolKind::kBlocks) {
        block_stories_[copy.to] = {participants_[index].name, {}, event_->at.line, 0};
      }
    }
  }
  show_fork(event, index, answer, ownership_.queued_copies().subspan(queued_before));
}

void Replay::perform(const UnpinEvent& event) {
  const std::size_t index = known(event.sequence);
  const ReleaseList* found = ownership_.release_list(id_of(index));
  if (found == nullptr) {
    impossible(event.sequence.at,
               fmt::format("\"{}\", which has no release list", event.sequence.value),
               "a fork whose list has not been released yet");
  }
  const ReleaseList list = *found;
  if (event.when == SourceRelease::kNow) {
    for (const BlockId id : list.blocks) {
      block_stories_[id].unpinned_by = event.sequence.value;
      block_stories_[id].unpinned_in = event_->at.line;
    }
  }
  ownership_.release_sources(id_of(index), event.when);
  if (sharing()) return;
  const std::string slots = has_state() ? " and slots " + list_text(list.slots) : "";
  const bool now = event.when == SourceRelease::kNow;
  show_tables(fmt::format("unpin {}{} {}", list_text(list.blocks), slots,
                          now ? "now" : "after the copies"));
}

void Replay::check_copy_name(const CopyDoneEvent::Named& named, const QueuedCopy& copy) const {
  const std::uint32_t ids = ownership_.pool(copy.pool).ids();
  for (const PlacedCount& id : {named.from, named.to}) {
    if (id.value >= 1 && id.value < ids) continue;
    impossible(id.at, fmt::format("{} {}", name_of(copy.pool), id.value),
               fmt::format("an id from 1 to {}", ids - 1), "id 0 is never issued");
  }
  if (named.from.value == index_of(copy.from) && named.to.value == index_of(copy.to)) return;
  impossible(named.from.at, fmt::format("copy ({}, {})", named.from.value, named.to.value),
             fmt::format("copy ({}, {}), the oldest that has not run", index_of(copy.from),
                         index_of(copy.to)),
             "copies run in the order in which they were queued");
}

void Replay::perform(const CopyDoneEvent& event) {
  if (ownership_.queued_copies().empty()) {
    impossible(event_->at, "\"copy_done\", though no copy is queued",
               "a \"fork\" that queues one first");
  }
  const QueuedCopy copy = ownership_.queued_copies().front();
  if (event.copy) check_copy_name(*event.copy, copy);
  run_oldest_copy();
  if (sharing()) return;
  show_tables(fmt::format("{}copy ({}, {}) done", copy.pool == PoolKind::kStateSlots ? "slot " : "",
                          index_of(copy.from), index_of(copy.to)));
}

void Replay::run_oldest_copy() {
  const QueuedCopy copy = ownership_.queued_copies().front();
  if (copy.pool == PoolKind::kBlocks) {
    judge_copy(copy);
    rows_.copy(copy.from, copy.to);
    copied_from_.insert(copy.from);
  }
  // The lane goes on with the writes that were queued behind this copy.
  const auto next =
      std::stable_partition(queued_writes_.begin(), queued_writes_.end(),
                            [&](const QueuedWrite& write) { return write.behind == copy.ticket; });
  for (auto write = queued_writes_.begin(); write != next; ++write) store(*write);
  queued_writes_.erase(queued_writes_.begin(), next);
  ownership_.copy_done();
}

// --- Events: rows ---------------------------------------------------------------------------------

void Replay::store(const QueuedWrite& write) {
  for (const QueuedWrite::Row& row : write.rows) {
    rows_.write(row.block, row.row, row.value);
    row_stories_[{row.block, row.row.value}] = {write.writer, write.line};
  }
}

void Replay::perform(const WriteEvent& event) {
  const std::size_t index = live(event.sequence);
  Participant& participant = participants_[index];
  const auto table = ownership_.table(id_of(index));
  const std::uint32_t block_size = file_.pool.block_size.value;
  const std::size_t written = participant.should_hold.size();
  const std::size_t first = event.position ? event.position->value : written;
  const std::size_t end = first + event.values.value.size();
  if (first > written) {
    impossible(event.position->at, fmt::format("position {}", first),
               fmt::format("at most {}, the first row without a value", written));
  }
  if (end > table.size() * block_size) {
    impossible(event.values.at, fmt::format("rows up to position {}", end - 1),
               fmt::format("at most {}: the table of {} has {} of {} rows",
                           table.size() * block_size - 1, participant.name,
                           plural(static_cast<std::uint32_t>(table.size()), "block"), block_size));
  }

  QueuedWrite write;
  write.writer = participant.name;
  write.line = event_->at.line;
  participant.should_hold.resize(std::max(written, end));
  std::vector<std::optional<RowValue>> shown;
  for (std::size_t position = first; position < end; ++position) {
    const RowValue value = event.values.value[position - first];
    const auto row = TokenCount(static_cast<std::uint32_t>(position % block_size));
    write.rows.push_back({table[position / block_size], row, value});
    participant.should_hold[position] = value;
    shown.push_back(value);
  }
  const auto copies = ownership_.queued_copies();
  const bool queued = event.when == WriteOrder::kAfterCopies && !copies.empty();
  const std::string sentence = fmt::format("{} writes {}", participant.name, rows_text(shown));
  if (!sharing())
    text_.line(fmt::format("{} at {}{}", sentence, first, queued ? " after the copies" : ""));
  if (sharing() && queued) {
    text_.line(fmt::format("{} behind the {}", sentence, copies.size() == 1 ? "copy" : "copies"));
  }
  if (!queued) return store(write);
  write.behind = copies.back().ticket;
  queued_writes_.push_back(std::move(write));
}

void Replay::perform(const ReadEvent& event) {
  const std::size_t index = live(event.sequence);
  const Participant& participant = participants_[index];
  if (participant.should_hold.empty()) {
    impossible(event.sequence.at,
               fmt::format("a read by \"{}\", which has no rows", participant.name),
               "a sequence that wrote or shares rows");
  }
  const auto table = ownership_.table(id_of(index));
  const std::uint32_t block_size = file_.pool.block_size.value;
  ReadResult result;
  result.sequence = participant.name;
  result.expected = participant.should_hold;
  for (std::size_t position = 0; position < participant.should_hold.size(); ++position) {
    const auto row = TokenCount(static_cast<std::uint32_t>(position % block_size));
    result.rows.push_back(rows_.read(table[position / block_size], row));
  }
  result.correct = std::equal(result.rows.begin(), result.rows.end(), result.expected.begin());
  text_.line(fmt::format("{} reads {}: correct={}", participant.name, rows_text(result.rows),
                         result.correct ? "True" : "False"));
  if (!result.correct) judge_read(result, table);
  output_.reads.push_back(std::move(result));
}

// --- Judging --------------------------------------------------------------------------------------

void Replay::note_issued(std::size_t index, std::size_t from) {
  const auto table = ownership_.table(id_of(index));
  for (std::size_t entry = from; entry < table.size(); ++entry) {
    BlockStory& story = block_stories_[table[entry]];
    story.issued_to = participants_[index].name;
    story.issued_in = event_->at.line;
  }
}

/// In the order of the lines.
std::vector<std::string> Replay::story_of(BlockId block, TokenCount row) const {
  std::vector<std::pair<std::uint64_t, std::string>> lines;
  const auto add = [&](std::uint64_t line, std::string text) {
    if (line > 0) lines.emplace_back(line, std::move(text) + fmt::format(" in line {}", line));
  };
  if (const auto found = block_stories_.find(block); found != block_stories_.end()) {
    const BlockStory& story = found->second;
    const std::string name = fmt::format("block {} was ", index_of(block));
    add(story.issued_in, name + "issued to " + story.issued_to);
    add(story.unpinned_in, name + "unpinned before its copy ran, by " + story.unpinned_by);
  }
  if (const auto found = row_stories_.find({block, row.value}); found != row_stories_.end()) {
    add(found->second.line, fmt::format("row {} of block {} was written by {}", row.value,
                                        index_of(block), found->second.writer));
  }
  std::sort(lines.begin(), lines.end());
  std::vector<std::string> texts;
  texts.reserve(lines.size());
  for (auto& [line, text] : lines) texts.push_back(std::move(text));
  return texts;
}

// A copy must move the rows that were there when it was queued.
void Replay::judge_copy(const QueuedCopy& copy) {
  const auto found = copied_for_.find(copy.ticket);
  if (found == copied_for_.end()) return;
  const std::size_t index = found->second;
  const Participant& child = participants_[index];
  copied_for_.erase(found);
  const std::uint32_t block_size = file_.pool.block_size.value;
  if (!in_tables(index)) return;  // it has ended: nobody will read the copy
  const auto table = ownership_.table(id_of(index));
  for (std::size_t position = 0; position < child.should_hold.size(); ++position) {
    const std::size_t entry = position / block_size;
    if (entry >= table.size() || table[entry] != copy.to) continue;
    const TokenCount row(static_cast<std::uint32_t>(position % block_size));
    const std::optional<RowValue> value = rows_.read(copy.from, row);
    if (value == child.should_hold[position]) continue;
    output_.broken.push_back(
        {"I8 copy", event_->at.line,
         fmt::format(
             "the copy from block {} to {} for {} moves {} as position {}: expected {}; the source "
             "was written before the copy ran",
             index_of(copy.from), index_of(copy.to), child.name, value_text(value), position,
             child.should_hold[position]),
         story_of(copy.from, row)});
    return;
  }
}

void Replay::judge_read(const ReadResult& read, std::span<const BlockId> table) {
  const std::uint32_t block_size = file_.pool.block_size.value;
  for (std::size_t position = 0; position < read.expected.size(); ++position) {
    if (read.rows[position] == read.expected[position]) continue;
    const TokenCount row(static_cast<std::uint32_t>(position % block_size));
    const BlockId block = table[position / block_size];
    output_.broken.push_back(
        {"O12 visible rows", event_->at.line,
         fmt::format("{} reads position {}, row {} of block {}: expected {}, found {}",
                     read.sequence, position, row.value, index_of(block), read.expected[position],
                     value_text(read.rows[position])),
         story_of(block, row)});
    return;
  }
}

// --- Text -----------------------------------------------------------------------------------------

std::string Replay::free_text(PoolKind pool) const {
  return "free=" + list_text(ownership_.pool(pool).free_list());
}

std::string Replay::free_and_held_text(PoolKind pool) const {
  const std::vector<BlockId> held = ownership_.owned_outside_tables(pool);
  return free_text(pool) + (held.empty() ? "" : " held=" + list_text(held));
}

void Replay::show_tables(std::string sentence) {
  std::string tables;
  std::string slots = "slots ";
  for (std::size_t index = 0; index < participants_.size(); ++index) {
    if (!in_tables(index)) continue;
    const std::string& name = participants_[index].name;
    const std::string table = list_text(ownership_.table(id_of(index)));
    tables += fmt::format("{}{}={}", tables.empty() ? "" : " ", name, table);
    if (has_state()) slots += fmt::format("{}={} ", name, index_of(*ownership_.slot(id_of(index))));
  }
  std::vector<std::string> cells{std::move(sentence), tables,
                                 free_and_held_text(PoolKind::kBlocks)};
  if (has_state()) cells.push_back(slots + free_and_held_text(PoolKind::kStateSlots));
  text_.columns(std::move(cells));
}

void Replay::show_change(std::size_t index, std::string sentence) {
  if (!sharing()) return show_tables(std::move(sentence));
  text_.line(fmt::format("{}: {}={} {}", sentence, participants_[index].name,
                         list_text(ownership_.table(id_of(index))), free_text(PoolKind::kBlocks)));
}

void Replay::show_admission(std::size_t index, Answer answer) {
  const std::string& name = participants_[index].name;
  if (answer == Answer::kLater) return text_.wait(name);
  if (answer == Answer::kNever) return text_.line(name + ": NEVER");

  const auto table = ownership_.table(id_of(index));
  const auto is_in_table = [&](BlockId id) {
    return std::find(table.begin(), table.end(), id) != table.end();
  };
  const auto copies = ownership_.queued_copies();
  const bool read_later = std::any_of(copies.begin(), copies.end(), [&](const QueuedCopy& copy) {
    return copy.pool == PoolKind::kBlocks && is_in_table(copy.from);
  });
  const bool was_read = std::any_of(copied_from_.begin(), copied_from_.end(), is_in_table);

  std::string sentence = name + (text_.take_wait(name) ? " waits;" : "") + " receives ";
  sentence += table.size() == 1 ? fmt::format("block {}", index_of(table[0]))
                                : "blocks " + list_text(table);
  if (read_later) {
    sentence += " before the copy runs";
  } else if (was_read) {
    sentence += " after the copy";
  }
  text_.line(std::move(sentence));
}

std::string Replay::owners_text(PoolKind pool, const std::set<BlockId>& ids) const {
  std::string text = " refs";
  for (const BlockId id : ids)
    text += fmt::format(" {}:{}", index_of(id), ownership_.pool(pool).owners(id));
  return text;
}

void Replay::show_fork(const ForkEvent& event, std::size_t child, Answer answer,
                       std::span<const QueuedCopy> copies) {
  if (sharing()) return text_.line(fork_story(participants_[child].parent, child, answer, copies));
  std::string outcome(word_of(answer));
  if (answer == Answer::kOk) {
    outcome = "copy=" + copies_text(copies, PoolKind::kBlocks);
    if (has_state()) outcome += " slot copy=" + copies_text(copies, PoolKind::kStateSlots);
  }
  show_tables(fmt::format("{} forks {} at {}: {}", event.child.value, event.parent.value,
                          event.processed.value, outcome));
}

std::string Replay::fork_story(std::size_t parent, std::size_t child, Answer answer,
                               std::span<const QueuedCopy> copies) const {
  std::vector<std::size_t> shown{child};
  if (in_tables(parent)) shown.insert(shown.begin(), parent);
  std::set<BlockId> blocks;
  std::set<BlockId> slots;
  if (const ReleaseList* list = ownership_.release_list(id_of(child))) {
    blocks.insert(list->blocks.begin(), list->blocks.end());
    slots.insert(list->slots.begin(), list->slots.end());
  }
  std::string tables;
  std::string slot_owners;
  for (const std::size_t index : shown) {
    const auto table = ownership_.table(id_of(index));
    blocks.insert(table.begin(), table.end());
    tables += fmt::format(" {}={}", participants_[index].name, list_text(table));
    const auto slot = ownership_.slot(id_of(index));
    if (!slot) continue;
    slots.insert(*slot);
    slot_owners += fmt::format(" {}={}", participants_[index].name, index_of(*slot));
  }
  const bool waits = answer != Answer::kOk;
  std::string text = "fork:" + tables + owners_text(PoolKind::kBlocks, blocks);
  text += waits ? " waits" : " copy=" + copies_text(copies, PoolKind::kBlocks);
  if (!has_state()) return text;
  text += " slots" + slot_owners + owners_text(PoolKind::kStateSlots, slots);
  if (!waits) text += " copy=" + copies_text(copies, PoolKind::kStateSlots);
  return text;
}

// --- The end --------------------------------------------------------------------------------------

ReplayOutput Replay::finish() {
  output_.lines = text_.finish(file_.title);
  for (std::size_t index = 0; index < participants_.size(); ++index) {
    if (!in_tables(index)) continue;
    const auto table = ownership_.table(id_of(index));
    output_.tables.push_back(
        {participants_[index].name, {table.begin(), table.end()}, ownership_.slot(id_of(index))});
  }
  const auto pool_result = [&](PoolKind pool) {
    return PoolResult{ownership_.pool(pool).free_list(), ownership_.owned_outside_tables(pool)};
  };
  output_.blocks = pool_result(PoolKind::kBlocks);
  if (has_state()) output_.slots = pool_result(PoolKind::kStateSlots);
  output_.copies_not_run = ownership_.queued_copies().size();
  return std::move(output_);
}

}  // namespace

Outcome<ReplayOutput> replay(const EventFile& file) {
  Replay replayed(file);
  for (const Event& event : file.events) {
    try {
      replayed.apply(event);
    } catch (const ImpossibleEvent& impossible) {
      return impossible.error;
    } catch (const InvariantViolation& violation) {
      const std::string message = std::string(violation.what()).substr(violation.rule().size() + 2);
      throw InvariantViolation(
          violation.rule(), fmt::format("{} (event in {}:{})", message, file.path, event.at.line));
    }
  }
  return replayed.finish();
}

}  // namespace pinfold::sim
