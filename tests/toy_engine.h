#pragma once
// A toy engine on the library's public surface: it really executes plans. A row holds the token that was
// computed there, in place of its key and value; a request's next token is a hash of its whole history,
// read back from the blocks, and of its window, read back from the ring of its state slot. So a wrong
// block, row, slot or copy shows as a wrong token (invariant: with token = f(history), the emitted
// sequence is the same with and without preemption, drafts and forks).
//
// Host and device are apart: plan() queues work with the tables of that moment, the device runs it
// later, in order, in one lane. One writer does not queue, as if it had a lane of its own: an id is
// overwritten as soon as it has been issued, and a prompt's rows are loaded into new blocks at admission.
// So a release that comes too early destroys what queued work still reads, or lets queued work destroy
// loaded rows.
//
// With the external store (rule O16) the host has rows as well. Each transfer really moves them, on a lane
// of its own, when run_transfers() says so: as late as a caller likes.

#include <array>
#include <deque>
#include <map>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "engine/cache_geometry.h"
#include "engine/output_records.h"
#include "engine/scheduler.h"

namespace pinfold::toy {

using Token = std::uint32_t;

/// What a row holds before its owner has written it.
inline constexpr Token kScribble = 0xFFFF'FFFF;

/// f: a hash of the history and, once more, of its last `window` tokens.
Token next_token(std::span<const Token> history, std::span<const Token> window);

/// What blocks hold, for PromptKeys: a key is a hash of its own block's tokens.
struct Keys {
  std::vector<std::uint64_t> blocks;
  TokenCount tail_end;
  std::uint64_t tail = 0;

  Keys(std::span<const Token> tokens, TokenCount block_size, bool with_tail);
  operator PromptKeys() const { return {blocks, tail_end, tail}; }
};

/// The memory: rows of blocks, rings of state slots and their copy buffers, one tag a draft slot; on the
/// host rows of blocks and rings. A host ring lacks the last `options.recovered_rows` rows: no store keeps
/// them.
class RowStore {
 public:
  explicit RowStore(const SchedulerOptions& options, TokenCount window, TokenCount ring_len);

  void write(std::uint32_t position, Token token, std::span<const BlockId> table);
  void write_ring(std::uint32_t position, Token token, BlockId state);  // nothing without state
  void copy(const Copy& copy);
  void stage(const Copy& stage);  // a ring that belongs to `rows` rows, into its buffer
  void transfer(const Transfer& transfer);
  void scribble(PoolKind pool, BlockId id);

  /// Rows [0, rows) through the table.
  std::vector<Token> history(TokenCount rows, std::span<const BlockId> table) const;
  /// The last min(rows, window) of them through the ring; none without state.
  std::vector<Token> window(TokenCount rows, BlockId state) const;
  std::span<const Token> ring(BlockId state) const;

  std::vector<SequenceId> draft_tags;  // whose draft information lies in a draft slot

 private:
  /// A ring and the count of rows it belongs to.
  struct Image {
    std::vector<Token> ring;
    TokenCount rows;
  };
  /// All of the pool's rows, and how many an id has.
  std::pair<std::vector<Token>&, std::size_t> rows_of(PoolKind pool);

  TokenCount block_size_, window_, ring_len_, recovered_;
  std::vector<Token> blocks_;       // [block_ids][B]
  std::vector<Token> rings_;        // [state_ids][ring_len]
  std::vector<Token> host_blocks_;  // [host_block_ids][B]
  std::vector<Image> buffers_;      // [state_ids]
  std::vector<Image> host_images_;  // [host_state_ids]
};

struct ToyOptions {
  SchedulerOptions scheduler;
  TokenCount window{4};  // with state
  TokenCount ring_len{8};
  bool ordered_writers = false;  // overwrites wait in the lane, and nothing is loaded
  bool lost_steps_run = false;   // after a failure the device still runs what was queued
  std::uint64_t seed = 0;        // which drafts are right
};

/// A request as its client sees it.
struct Client {
  std::vector<Token> known;  // history: the given tokens, then what was emitted
  std::size_t given = 0;
  std::uint32_t output = 1;  // tokens at which it stops
  StopMode stop = StopMode::kHidden;
  std::vector<RequestOutput> kept;  // clones: the records themselves are released
  bool ended = false;
  EndReason reason = EndReason::kStop;
  std::span<const Token> emitted() const { return std::span(known).subspan(given); }
};

/// A row group whose result came with the last complete(), of a request that goes on.
struct Settled {
  SequenceId sequence{};
  TokenCount written;  // C + F before the result, rejected drafts included: for window_is_whole
};

class ToyEngine {
 public:
  explicit ToyEngine(const ToyOptions& options);

  /// `limit` at least `output`, both at least 1.
  Answer add(SequenceId id, const std::vector<Token>& prompt, const RequestSpec& spec,
             std::uint32_t output, const PromptKeys& keys = {});
  /// The child's prompt must agree with the parent's tokens up to C, or end below it: it then goes on
  /// from the parent's next token.
  Answer fork(SequenceId parent, SequenceId child, const std::vector<Token>& prompt,
              const RequestSpec& spec, std::uint32_t output, const PromptKeys& keys = {});
  void abort(SequenceId id);

  bool may_plan() const { return queue_.size() <= options_.scheduler.overlap; }
  bool busy() const { return !queue_.empty(); }
  /// Plans a step and queues its work; false if there is none.
  bool plan();
  /// Runs the device up to and including the oldest copies that have not run, and says so.
  void run_copies();
  /// Runs the oldest step to its end and processes its result; `failed`: it and what is queued behind
  /// it are lost.
  void complete(bool failed = false);
  /// Moves the rows of the oldest transfers of the lane that have not moved and may.
  void run_transfers(Lane lane);
  /// Says that the oldest transfers of the lane have passed, if they ran and may be reported.
  void report_transfers(Lane lane);
  /// Gives the oldest transfers of the lane up; the first of them may have moved.
  void lose_transfers(Lane lane);
  bool transfers_pending() const { return !links_[0].queue.empty() || !links_[1].queue.empty(); }

  const Scheduler& scheduler() const { return scheduler_; }
  const RowStore& rows() const { return rows_; }
  const OutputRecords& records() const { return records_; }
  const std::map<SequenceId, Client>& clients() const { return clients_; }
  const std::vector<Settled>& settled() const { return settled_; }
  std::uint64_t recovered = 0;  // rows computed again behind loaded states
  std::uint64_t decode_forks = 0, prompt_forks = 0, late_tokens = 0, stale_draft_slots = 0;

 private:
  /// A row group of one sequence in one step, with what the host knew when it was planned.
  struct Work {
    SequenceId sequence{};
    std::uint32_t epoch = 0;
    std::uint32_t era = 0;  // failed steps before it was planned
    std::vector<BlockId> table;
    BlockId state = kNoBlock, draft = kNoBlock;
    std::uint32_t first =
        0;  // a chunk's first position; a decode row's if the device has no cursor
    std::vector<Token> inputs;  // a chunk's tokens, or a decode row's token
    std::uint32_t drafts = 0;
    std::vector<Token> recovered;  // tokens before a chunk's, for the ring alone
    bool chunk = false, yields = true;
    std::vector<Token> tokens{};        // what it yielded
    TokenCount processed{}, written{};  // when its result came: C, and C + F
  };
  struct Step {
    StepNumber number{};
    Ticket copy_ticket{}, step_ticket{};
    std::vector<std::pair<PoolKind, BlockId>> issued;  // overwritten first, with ordered writers
    std::vector<Copy> copies, stages;
    std::vector<Work> works;
    bool copied = false, ran = false, lost = false;
  };
  /// A lane of transfers, in order: the first `ran` of them have moved.
  struct Link {
    std::deque<Transfer> queue;
    std::size_t ran = 0;
  };
  /// A decode row's life on the device: until a preemption or a failed step.
  using Life = std::tuple<SequenceId, std::uint32_t, std::uint32_t>;  // sequence, epoch, era
  /// Where it goes on: known to the device one step before the host knows it.
  struct Cursor {
    std::uint32_t position = 0;
    Token token = kScribble;
    bool drafted = false;
  };

  Work work_of(SequenceId id, std::uint32_t epoch) const;
  void queue(const StepPlan& plan);
  void load_prompt(const Work& work, TokenCount end, const StepPlan& plan);
  void copy(Step& step);
  void run(Step& step);
  void run_chunk(Work& work);
  void run_decode(Work& work);
  std::vector<Token> proposals(const Work& work, const Cursor& cursor) const;
  Link& link(Lane lane) { return links_[lane == Lane::kHostToDevice ? 0 : 1]; }
  bool may_move(const Transfer& transfer) const;
  void take_off(Link& link);
  void read_journal();
  void take_ends();
  void settle(Work& work, std::vector<RowResult>& exceptions);
  void deliver(const Work& work, Ticket last);
  Token next_of(TokenCount rows, const Work& work) const;

  ToyOptions options_;
  Scheduler scheduler_;
  RowStore rows_;
  OutputRecords records_;
  Passed passed_;
  StepPlan plan_;
  std::deque<Step> queue_;                            // dispatched, result not processed
  std::vector<std::pair<PoolKind, BlockId>> issued_;  // since the last dispatched plan
  std::map<SequenceId, std::uint32_t> batch_;         // the worker's mirror: sequence -> epoch
  std::map<Life, Cursor> cursors_;
  std::map<std::pair<SequenceId, std::uint32_t>, std::uint32_t>
      loaded_;  // by epoch: from this row on
  std::array<Link, 2> links_;
  std::vector<Settled> settled_;
  std::uint32_t era_ = 0;
  std::map<SequenceId, Client> clients_;
};

}  // namespace pinfold::toy
