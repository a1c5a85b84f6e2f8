#pragma once
// Wall-clock text to an integer, exactly: no floating point, no locale, no C library calendar.

#include <cstdint>
#include <string>
#include <string_view>

#include "sim/trace/input_error.h"

namespace pinfold::sim {

/// A parsed time of day on a date.
struct Timestamp {
  std::int64_t unix_ns = 0;  // since 1970-01-01 00:00:00, of the zone below
  bool zoned = false;        // the text named an offset; the time is then UTC, else it is naive
};

/// Reads `2023-11-16 18:17:03.9799600`: the date, a space or `T`, the time with no or 1 to 9 fraction
/// digits, and optionally `Z` or an offset (`+00:00`). Years 1970 to 2261, so that int64 nanoseconds
/// hold every one; a leap second (`:60`) is refused. The error has `found` and `expected` only, and in
/// `column` the offending byte of `text` counted from 1.
Outcome<Timestamp> parse_timestamp(std::string_view text);

/// `2023-11-16 18:17:03.979960000`: what parse_timestamp reads back, without an offset. Not before 1970.
std::string timestamp_text(std::int64_t unix_ns);

}  // namespace pinfold::sim
