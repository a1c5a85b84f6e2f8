#include "sim/record/lab_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

namespace pinfold::sim {

std::string_view word_of(Answer answer) {
  switch (answer) {
    case Answer::kOk: return "OK";
    case Answer::kLater: return "LATER";
    case Answer::kNever: return "NEVER";
  }
  return "?";
}

std::string list_text(std::span<const BlockId> ids) {
  std::vector<std::uint32_t> numbers;
  for (const BlockId id : ids) numbers.push_back(index_of(id));
  return fmt::format("[{}]", fmt::join(numbers, ", "));
}

std::string rows_text(std::span<const std::optional<RowValue>> rows) {
  constexpr std::size_t kShownWhole = 4;
  std::vector<std::string> words;
  for (const auto& row : rows) words.push_back(row ? fmt::format("{}", *row) : "-");
  if (words.size() <= kShownWhole) return fmt::format("[{}]", fmt::join(words, ", "));
  const std::size_t last = words.size() - 1;
  return fmt::format("[{}, {}]...[{}, {}]", words[0], words[1], words[last - 1], words[last]);
}

std::string plural(std::uint32_t number, std::string_view word) {
  return fmt::format("{} {}{}", number, word, number == 1 ? "" : "s");
}

std::string number_word(std::uint32_t number) {
  static constexpr std::array<std::string_view, 13> kWords{
      "zero",  "one",   "two",  "three", "four",   "five",  "six",
      "seven", "eight", "nine", "ten",   "eleven", "twelve"};
  return number < kWords.size() ? std::string(kWords[number]) : fmt::format("{}", number);
}

std::string copies_text(std::span<const QueuedCopy> copies, PoolKind pool) {
  std::vector<std::string> pairs;
  for (const QueuedCopy& copy : copies) {
    if (copy.pool == pool)
      pairs.push_back(fmt::format("({}, {})", index_of(copy.from), index_of(copy.to)));
  }
  return fmt::format("[{}]", fmt::join(pairs, ", "));
}

void LabText::columns(std::vector<std::string> cells) {
  close_wait();
  lines_.push_back(std::move(cells));
}

void LabText::line(std::string text) {
  close_wait();
  lines_.push_back({std::move(text)});
}

void LabText::wait(const std::string& name) {
  if (waiting_ == name) return;
  close_wait();
  waiting_ = name;
}

bool LabText::take_wait(const std::string& name) {
  const bool continued = waiting_ == name;
  if (continued) waiting_.reset();
  close_wait();
  return continued;
}

void LabText::close_wait() {
  if (!waiting_) return;
  lines_.push_back({*waiting_ + " waits"});
  waiting_.reset();
}

std::vector<std::string> LabText::finish(const std::optional<std::string>& title) {
  constexpr std::size_t kGap = 3;
  close_wait();
  std::vector<std::size_t> widths;
  for (const auto& cells : lines_) {
    if (cells.size() == 1) continue;
    widths.resize(std::max(widths.size(), cells.size()));
    for (std::size_t n = 0; n < cells.size(); ++n)
      widths[n] = std::max(widths[n], cells[n].size() + kGap);
  }
  std::vector<std::string> text;
  if (title) text.push_back(*title);
  for (const auto& cells : lines_) {
    std::string line = title ? "  " : "";
    for (std::size_t n = 0; n + 1 < cells.size(); ++n)
      line += fmt::format("{:<{}}", cells[n], widths[n]);
    text.push_back(line + cells.back());
  }
  return text;
}

}  // namespace pinfold::sim
