#include "sim/trace/timestamp.h"

#include <fmt/format.h>

#include <array>
#include <cstddef>

namespace pinfold::sim {
namespace {

constexpr std::int64_t kNanoseconds = 1'000'000'000;
constexpr const char* kForm = "a time as YYYY-MM-DD HH:MM:SS[.fraction][Z or +HH:MM]";

bool is_digit(char letter) { return letter >= '0' && letter <= '9'; }

constexpr bool is_leap(std::int64_t year) {
  return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

constexpr std::int64_t days_in(std::int64_t year, std::int64_t month) {
  constexpr std::array<std::int64_t, 12> kDays{31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  return month == 2 && is_leap(year) ? 29 : kDays[static_cast<std::size_t>(month - 1)];
}

/// Days from 1970-01-01. A year is counted from March, so that the leap day is its last; months then
/// begin at day (153 * month + 2) / 5.
constexpr std::int64_t days_since_1970(std::int64_t year, std::int64_t month, std::int64_t day) {
  const std::int64_t from_march = (month + 9) % 12;
  const std::int64_t y = month <= 2 ? year - 1 : year;
  return 365 * y + y / 4 - y / 100 + y / 400 + (153 * from_march + 2) / 5 + day - 1 - 719'468;
}
static_assert(days_since_1970(1970, 1, 1) == 0);
static_assert(days_since_1970(2000, 3, 1) == 11'017);
static_assert(days_since_1970(2024, 2, 29) + 1 == days_since_1970(2024, 3, 1));

/// Walks over the text. The first step that fails is remembered, and every later one does nothing.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  /// Exactly `digits` decimal digits with a value from `low` to `high`; `what` names them.
  std::int64_t number(int digits, std::int64_t low, std::int64_t high, const char* what) {
    const std::size_t start = at_;
    std::int64_t value = 0;
    for (int i = 0; i < digits; ++i) {
      if (failed_) return low;
      if (at_ >= text_.size() || !is_digit(text_[at_])) return fail(at_, kForm), low;
      value = 10 * value + (text_[at_++] - '0');
    }
    if (value < low || value > high) return fail(start, what), low;
    return value;
  }

  void letter(char wanted, char alternative) {
    if (failed_) return;
    if (at_ >= text_.size() || (text_[at_] != wanted && text_[at_] != alternative)) {
      fail(at_, kForm);
      return;
    }
    ++at_;
  }

  bool next_is(char wanted) const { return !failed_ && at_ < text_.size() && text_[at_] == wanted; }

  /// Nanoseconds from the digits behind the point.
  std::int64_t fraction() {
    const std::size_t start = at_;
    std::int64_t value = 0;
    while (!failed_ && at_ < text_.size() && is_digit(text_[at_])) {
      if (at_ - start == 9) return fail(at_, "at most 9 fraction digits (nanoseconds)"), 0;
      value = 10 * value + (text_[at_++] - '0');
    }
    if (!failed_ && at_ == start) return fail(at_, "1 to 9 fraction digits behind the point"), 0;
    for (std::size_t digits = at_ - start; digits < 9; ++digits) value *= 10;
    return value;
  }

  void end() {
    if (!failed_ && at_ != text_.size()) fail(at_, kForm);
  }

  void fail(std::size_t at, const char* expected) {
    if (failed_) return;
    failed_ = true;
    at_ = at;
    expected_ = expected;
  }

  bool failed() const { return failed_; }

  InputError error() const {
    InputError error;
    error.column = at_ + 1;
    error.found = in_quotes(text_);
    error.expected = expected_;
    return error;
  }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
  bool failed_ = false;
  const char* expected_ = "";
};

}  // namespace

Outcome<Timestamp> parse_timestamp(std::string_view text) {
  Reader reader(text);
  const std::int64_t year = reader.number(4, 1970, 2261, "a year from 1970 to 2261");
  reader.letter('-', '-');
  const std::int64_t month = reader.number(2, 1, 12, "a month from 01 to 12");
  reader.letter('-', '-');
  const std::int64_t day = reader.number(2, 1, days_in(year, month), "a day that this month has");
  reader.letter(' ', 'T');
  const std::int64_t hour = reader.number(2, 0, 23, "an hour from 00 to 23");
  reader.letter(':', ':');
  const std::int64_t minute = reader.number(2, 0, 59, "a minute from 00 to 59");
  reader.letter(':', ':');
  const std::int64_t second = reader.number(2, 0, 59, "a second from 00 to 59");
  std::int64_t fraction_ns = 0;
  if (reader.next_is('.')) {
    reader.letter('.', '.');
    fraction_ns = reader.fraction();
  }

  std::int64_t offset_minutes = 0;
  const bool east = reader.next_is('+');
  const bool west = reader.next_is('-');
  const bool zulu = reader.next_is('Z');
  if (zulu) {
    reader.letter('Z', 'Z');
  } else if (east || west) {
    reader.letter('+', '-');
    offset_minutes = 60 * reader.number(2, 0, 23, "an offset from -23:59 to +23:59");
    reader.letter(':', ':');
    offset_minutes += reader.number(2, 0, 59, "an offset from -23:59 to +23:59");
    if (west) offset_minutes = -offset_minutes;
  }
  reader.end();
  if (reader.failed()) return reader.error();

  const std::int64_t seconds = 86'400 * days_since_1970(year, month, day) + 3'600 * hour +
                               60 * (minute - offset_minutes) + second;
  return Timestamp{.unix_ns = seconds * kNanoseconds + fraction_ns, .zoned = zulu || east || west};
}

std::string timestamp_text(std::int64_t unix_ns) {
  const std::int64_t seconds = unix_ns / kNanoseconds;
  const std::int64_t days = seconds / 86'400;
  // A year has at least 365 days, so this is the year or one after it.
  std::int64_t year = 1970 + days / 365;
  while (days_since_1970(year, 1, 1) > days) --year;
  std::int64_t month = 12;
  while (days_since_1970(year, month, 1) > days) --month;
  const std::int64_t day = days - days_since_1970(year, month, 1) + 1;
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02}.{:09}", year, month, day,
                     seconds / 3'600 % 24, seconds / 60 % 60, seconds % 60, unix_ns % kNanoseconds);
}

}  // namespace pinfold::sim
