#pragma once
// A report for people, line by line.

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "sim/config/decimal.h"
#include "sim/metrics/latency.h"

namespace pinfold::sim {

/// Rulers of 50 columns and lines of a 40-column label and a value, as vLLM's benchmark prints them.
class TextPage {
 public:
  static constexpr std::uint32_t kDecimals = 2;

  void title(std::string_view text) { text_ += fmt::format("{:=^50}\n", text); }
  void section(std::string_view text) { text_ += fmt::format("{:-^50}\n", text); }
  void line(std::string_view label, std::string_view value) {
    text_ += fmt::format("{:<40} {}\n", label, value);
  }
  void line(std::string_view label, std::uint64_t value) {
    line(label, std::string_view(fmt::format("{}", value)));
  }
  void ratio(std::string_view label, Unsigned128 numerator, Unsigned128 denominator) {
    line(label, denominator == 0 ? std::string("-") : decimal(numerator, denominator, kDecimals));
  }
  void waited(std::string_view label, std::int64_t value_ns) { line(label, seconds(value_ns, 3)); }

  void latency(std::string_view title, std::string_view metric, const LatencyStats& stats) {
    section(title);
    const auto figure = [&](std::string_view statistic, std::int64_t value_ns) {
      line(fmt::format("{} {} (ms):", statistic, metric),
           stats.samples == 0 ? std::string("-") : milliseconds(value_ns, kDecimals));
    };
    figure("Mean", stats.mean_ns);
    figure("Median", stats.p50_ns);
    figure("P90", stats.p90_ns);
    figure("P99", stats.p99_ns);
  }

  void end() { text_ += std::string(50, '=') + '\n'; }
  void paragraph(std::string_view text) { text_ += fmt::format("{}\n", text); }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

}  // namespace pinfold::sim
