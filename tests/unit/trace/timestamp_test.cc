#include "sim/trace/timestamp.h"

#include <doctest/doctest.h>

#include <string>

namespace pinfold::sim {
namespace {

std::int64_t unix_ns(std::string_view text) {
  const Outcome<Timestamp> time = parse_timestamp(text);
  REQUIRE_MESSAGE(time, std::string(text));
  return time.value().unix_ns;
}

/// "column: expected" of a text that is no time.
std::string refusal(std::string_view text) {
  const Outcome<Timestamp> time = parse_timestamp(text);
  if (time) return "none";
  return std::to_string(time.error().column) + ": " + time.error().expected;
}

// Seconds by Python's calendar.timegm.
TEST_CASE("timestamp: seconds since 1970, leap years included") {
  CHECK(unix_ns("1970-01-01 00:00:00") == 0);
  CHECK(unix_ns("2000-02-29 23:59:59") == 951'868'799'000'000'000);
  CHECK(unix_ns("2024-02-29 00:00:00") == 1'709'164'800'000'000'000);
  CHECK(unix_ns("2024-12-31 23:59:59") == 1'735'689'599'000'000'000);
  CHECK(unix_ns("2100-03-01 00:00:00") == 4'107'542'400'000'000'000);
  CHECK(unix_ns("2261-12-31 23:59:59") == 9'214'646'399'000'000'000);
}

TEST_CASE("timestamp: none or 1 to 9 fraction digits, exact to the nanosecond") {
  constexpr std::int64_t kSecond = 1'700'158'546'000'000'000;  // 2023-11-16 18:15:46
  CHECK(unix_ns("2023-11-16 18:15:46") == kSecond);
  CHECK(unix_ns("2023-11-16 18:15:46.6") == kSecond + 600'000'000);
  CHECK(unix_ns("2023-11-16 18:15:46.6805900") == kSecond + 680'590'000);
  CHECK(unix_ns("2023-11-16 18:15:46.680590001") == kSecond + 680'590'001);
  CHECK(unix_ns("2023-11-16 18:15:46.000000000") == kSecond);
  CHECK(refusal("2023-11-16 18:15:46.") == "21: 1 to 9 fraction digits behind the point");
  CHECK(refusal("2023-11-16 18:15:46.1234567890") == "30: at most 9 fraction digits (nanoseconds)");
}

TEST_CASE("timestamp: T for the space, Z and offsets") {
  constexpr std::int64_t kNoon = 1'709'208'000'000'000'000;  // 2024-02-29 12:00:00
  CHECK(unix_ns("2024-02-29T12:00:00Z") == kNoon);
  CHECK(unix_ns("2024-02-29 12:00:00.000+00:00") == kNoon);
  CHECK(unix_ns("2024-02-29T13:30:00+01:30") == kNoon);
  CHECK(unix_ns("2024-02-29T04:00:00-08:00") == kNoon);
  CHECK(parse_timestamp("2024-02-29T12:00:00Z").value().zoned);
  CHECK_FALSE(parse_timestamp("2024-02-29T12:00:00").value().zoned);
}

TEST_CASE("timestamp: days that do not exist") {
  CHECK(refusal("2023-02-29 00:00:00") == "9: a day that this month has");
  CHECK(refusal("2100-02-29 00:00:00") == "9: a day that this month has");
  CHECK(refusal("2024-02-29 00:00:00") == "none");
  CHECK(refusal("2000-02-29 00:00:00") == "none");
  CHECK(refusal("2023-04-31 00:00:00") == "9: a day that this month has");
  CHECK(refusal("2023-11-00 00:00:00") == "9: a day that this month has");
  CHECK(refusal("2023-00-10 00:00:00") == "6: a month from 01 to 12");
  CHECK(refusal("2023-13-10 00:00:00") == "6: a month from 01 to 12");
  CHECK(refusal("1969-12-31 00:00:00") == "1: a year from 1970 to 2261");
  CHECK(refusal("2262-01-01 00:00:00") == "1: a year from 1970 to 2261");
}

TEST_CASE("timestamp: times of day that do not exist") {
  CHECK(refusal("2023-11-16 24:00:00") == "12: an hour from 00 to 23");
  CHECK(refusal("2023-11-16 18:60:00") == "15: a minute from 00 to 59");
  CHECK(refusal("2023-11-16 18:15:60") == "18: a second from 00 to 59");
  CHECK(refusal("2023-11-16 18:15:46+24:00") == "21: an offset from -23:59 to +23:59");
  CHECK(refusal("2023-11-16 18:15:46+01:60") == "24: an offset from -23:59 to +23:59");
}

TEST_CASE("timestamp: other forms are refused at the first byte that differs") {
  const std::string form = ": a time as YYYY-MM-DD HH:MM:SS[.fraction][Z or +HH:MM]";
  CHECK(refusal("") == "1" + form);
  CHECK(refusal("2023-11-16") == "11" + form);
  CHECK(refusal("2023/11/16 18:15:46") == "5" + form);
  CHECK(refusal("23-11-16 18:15:46") == "3" + form);
  CHECK(refusal("2023-11-16 18:15:46 ") == "20" + form);
  CHECK(refusal("2023-11-16 8:15:46") == "13" + form);
  CHECK(refusal("2023-11-16 18:15:46Zulu") == "21" + form);
  CHECK(refusal("1999158546.68") == "5" + form);
  CHECK(refusal("2023-11-16 18:15:46,5") == "20" + form);
}

}  // namespace
}  // namespace pinfold::sim
