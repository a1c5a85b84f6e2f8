#pragma once
// What a run has to meet, as `p99_ttft_ms<=500,preemptions==0`: a figure of `pinfold run --format json`, a
// comparison, and a value, compared exactly as they are printed.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/run_fields.h"
#include "sim/trace/input_error.h"

namespace pinfold::sim {

enum class Comparison : std::uint8_t { kLess, kAtMost, kEqual, kNotEqual, kAtLeast, kGreater };

/// As it is written: `<=`.
std::string_view text_of(Comparison comparison);

struct Requirement {
  std::string figure;  // "p99_ttft_ms", "blocks.peak_owned", "verdict"
  Comparison comparison = Comparison::kAtMost;
  std::string value;   // a decimal; a word for a figure that is one
  bool number = true;  // whether the two are compared as decimals

  /// `p99_ttft_ms<=500`
  std::string text() const;
};

/// The figures that a requirement may name: those of any run, in its order.
std::span<const std::string> requirement_figures();

/// Reads requirements separated by commas, with blanks where one likes; one or more, none twice. Numbers
/// are compared by any of `< <= == != >= >`, words (`verdict`, a digest, `saturated` as true or false) by
/// `==` and `!=`. An error stands at `source` (a flag) and its key says the column, from 1.
Outcome<std::vector<Requirement>> parse_requirements(std::string_view text,
                                                     const std::string& source);

/// Nothing if the figures meet the requirement; else what they have instead: "612.5", or "no value" for a
/// figure without samples, which meets nothing.
std::optional<std::string> unmet(const Requirement& requirement,
                                 std::span<const ReportField> figures);

/// -1, 0 or 1 as the decimal `a` is less than, equal to or greater than `b`: exact, whatever their length.
/// Both are digits with at most one point and an optional minus sign.
int compare_decimals(std::string_view a, std::string_view b);

}  // namespace pinfold::sim
