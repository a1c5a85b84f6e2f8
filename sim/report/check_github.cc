#include <fmt/format.h>

#include "sim/report/check_report.h"
#include "sim/report/difference_text.h"

namespace pinfold::sim {
namespace {

constexpr std::size_t kMostOfAKind = 9;

struct Annotation {
  std::string title;
  std::string message;
};

/// Annotations of one kind.
class Kind {
 public:
  explicit Kind(std::string word) : word_(std::move(word)) {}

  void add(std::string title, std::string message) {
    ++count_;
    if (all_.size() < kMostOfAKind) all_.push_back({std::move(title), std::move(message)});
  }

  std::string text() const {
    std::string text;
    for (const Annotation& one : all_) {
      text += fmt::format("::{} title={}::{}\n", word_, github_property(one.title),
                          github_data(one.message));
    }
    if (count_ > all_.size()) {
      text += fmt::format("::{} title=pinfold check::{} more\n", word_, count_ - all_.size());
    }
    return text;
  }

 private:
  std::string word_;
  std::vector<Annotation> all_;
  std::size_t count_ = 0;
};

std::string change_text(const FigureChange& row) {
  return fmt::format("{}: {} -> {}, {}, tolerance {}", row.figure,
                     row.old.empty() ? "no value" : row.old, row.now.empty() ? "no value" : row.now,
                     row.change.empty() ? "changed" : row.change, row.tolerance);
}

std::string escaped(std::string_view text, std::string_view letters) {
  std::string result;
  for (const char letter : text) {
    const bool control = (letter >= 0 && letter < ' ') || letter == 0x7F;
    if (letters.find(letter) != std::string_view::npos) {
      result += fmt::format("%{:02X}", static_cast<unsigned char>(letter));
    } else {
      result += control ? '?' : letter;  // an escape sequence is not the log's to obey
    }
  }
  return result;
}

}  // namespace

std::string github_data(std::string_view text) { return escaped(text, "%\r\n"); }
std::string github_property(std::string_view text) { return escaped(text, "%\r\n:,"); }

std::string check_github(std::span<const CheckResult> results) {
  Kind errors("error");
  Kind warnings("warning");
  Kind notices("notice");
  for (const CheckResult& result : results) {
    const std::string title = "pinfold check " + result.name;
    for (const std::string& reason : result.incomparable) {
      errors.add(title, "not comparable: " + reason);
    }
    for (const RequirementResult& row : result.requirements) {
      if (row.holds) continue;
      errors.add(title, fmt::format("required {}, found {}", row.requirement.text(),
                                    row.found.empty() ? "no value" : row.found));
    }
    // Behind the first failure stands where the runs part.
    std::string difference = result.difference
                                 ? "\n" + difference_text(*result.difference, "baseline", "now")
                                 : std::string();
    for (const FigureChange& row : result.figures) {
      if (row.verdict == ChangeVerdict::kWorse) {
        errors.add(title, change_text(row) + difference);
        difference.clear();
      }
      if (row.verdict == ChangeVerdict::kWithin) warnings.add(title, change_text(row));
      if (row.verdict == ChangeVerdict::kBetter) notices.add(title, change_text(row));
    }
  }
  return errors.text() + warnings.text() + notices.text();
}

}  // namespace pinfold::sim
