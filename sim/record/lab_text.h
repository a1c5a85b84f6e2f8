#pragma once
// The words and columns of a replay's output. What they say is decided in replay.cc.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "sim/record/event_file.h"

namespace pinfold::sim {

/// `OK`, `LATER`, `NEVER`
std::string_view word_of(Answer answer);
/// `[1, 2]`
std::string list_text(std::span<const BlockId> ids);
/// `[1, 2]`, or `[1, 2]...[8, 9]` for more than four rows; `-` for a row that was never written.
std::string rows_text(std::span<const std::optional<RowValue>> rows);
/// `1 token`, `8 tokens`
std::string plural(std::uint32_t number, std::string_view word);
/// `one`, ..., `twelve`, `13`
std::string number_word(std::uint32_t number);
/// `[(3, 4)]`, of the copies of one pool.
std::string copies_text(std::span<const QueuedCopy> copies, PoolKind pool);

/// Collects lines. A column is as wide as its widest cell and three spaces; a line of one cell does not
/// widen its column.
class LabText {
 public:
  void columns(std::vector<std::string> cells);
  /// A line of one cell. A wait that is still open becomes a line of its own first.
  void line(std::string text);

  /// `name waits`, left open for what comes next.
  void wait(const std::string& name);
  /// Closes the open wait: true if it is this one's, which the caller then goes on with.
  bool take_wait(const std::string& name);

  /// The lines, under the title and indented by two spaces if there is one.
  std::vector<std::string> finish(const std::optional<std::string>& title);

 private:
  void close_wait();

  std::vector<std::vector<std::string>> lines_;
  std::optional<std::string> waiting_;
};

}  // namespace pinfold::sim
