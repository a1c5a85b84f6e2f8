#include "sim/gate/figure_change.h"

#include <algorithm>

#include "sim/gate/exact_decimal.h"
#include "sim/sweep/requirement.h"

namespace pinfold::sim {
namespace {

using Kind = ReportField::Kind;

const ReportField* find(std::span<const ReportField> fields, std::string_view name) {
  for (const ReportField& field : fields) {
    if (field.name == name) return &field;
  }
  return nullptr;
}

/// Digits with at most one point and a sign; sums of 128 bits are such texts too.
bool is_number(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  const bool digit_first = !text.empty() && text[0] >= '0' && text[0] <= '9';
  return digit_first && text.find_first_not_of("0123456789.") == std::string_view::npos &&
         !text.starts_with("00");
}

bool both_numbers(const FigureChange& row) {
  // A digest may consist of digits alone.
  return !row.figure.starts_with("digest") && !row.figure.ends_with("_digest") &&
         is_number(row.old) && is_number(row.now);
}

std::string change_text(std::string_view old, std::string_view now) {
  const std::string sign = compare_decimals(now, old) < 0 ? "-" : "+";
  const std::string percent = change_in_percent(old, now);
  return sign + distance(old, now) + (percent.empty() ? "" : " (" + percent + ")");
}

bool same(const FigureChange& row, bool numbers) {
  return numbers ? compare_decimals(row.old, row.now) == 0 : row.old == row.now;
}

ChangeVerdict judge(const FigureChange& row, const FigureTolerance& tolerance) {
  const bool numbers = both_numbers(row);
  if (same(row, numbers)) return ChangeVerdict::kSame;
  if (row.better == Better::kNeither) return ChangeVerdict::kChanged;
  if (row.now.empty()) return ChangeVerdict::kWorse;
  if (row.old.empty()) return ChangeVerdict::kChanged;
  if (row.better != Better::kSame) {
    const int order = numbers ? compare_decimals(row.now, row.old)
                              : rank_of_word(row.now) - rank_of_word(row.old);
    if (row.better == Better::kLower ? order < 0 : order > 0) return ChangeVerdict::kBetter;
  }
  const bool near = numbers && within(row.old, row.now, tolerance);
  return near ? ChangeVerdict::kWithin : ChangeVerdict::kWorse;
}

}  // namespace

std::string_view name_of(ChangeVerdict verdict) {
  switch (verdict) {
    case ChangeVerdict::kSame: return "same";
    case ChangeVerdict::kBetter: return "better";
    case ChangeVerdict::kWithin: return "within";
    case ChangeVerdict::kWorse: return "WORSE";
    case ChangeVerdict::kChanged: return "changed";
    case ChangeVerdict::kNew: return "new";
    case ChangeVerdict::kGone: return "gone";
  }
  return "?";
}

std::vector<FigureChange> compare_figures(std::span<const ReportField> old,
                                          std::span<const ReportField> now,
                                          std::span<const FigureTolerance> tolerances) {
  const FigureTolerance exact;
  std::vector<FigureChange> rows;
  for (const ReportField& field : now) {
    FigureChange row;
    row.figure = field.name;
    row.now = field.text;
    row.better = better_of(field.name);
    const FigureTolerance* const named = tolerance_for(field.name, tolerances);
    const bool in_full = named != nullptr && named->pattern == field.name;
    if (in_full && row.better == Better::kNeither) row.better = Better::kSame;
    const FigureTolerance& tolerance = named == nullptr ? exact : *named;
    if (row.better != Better::kNeither) row.tolerance = tolerance.text();
    if (const ReportField* const before = find(old, field.name)) {
      row.old = before->text;
      row.verdict = judge(row, tolerance);
      if (row.verdict != ChangeVerdict::kSame && both_numbers(row)) {
        row.change = change_text(row.old, row.now);
      }
    } else {
      row.verdict = ChangeVerdict::kNew;
    }
    rows.push_back(std::move(row));
  }
  for (const ReportField& field : old) {
    if (find(now, field.name) != nullptr) continue;
    FigureChange row;
    row.figure = field.name;
    row.old = field.text;
    row.verdict = ChangeVerdict::kGone;
    rows.push_back(std::move(row));
  }
  return rows;
}

bool any_worse(std::span<const FigureChange> changes) {
  return std::any_of(changes.begin(), changes.end(),
                     [](const FigureChange& row) { return row.verdict == ChangeVerdict::kWorse; });
}

}  // namespace pinfold::sim
