#include "sim/sweep/sweep_summary.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <utility>

#include "base/check.h"

namespace pinfold::sim {
namespace {

constexpr std::array<std::string_view, 6> kShown{"pool.block_ids", "output_throughput",
                                                 "p99_ttft_ms",    "p99_tpot_ms",
                                                 "mean_e2el_ms",   "preemptions"};

/// A figure's text in units of 10^-9.
Unsigned128 units_of(const std::string& text) {
  Unsigned128 value = 0;
  std::size_t behind = 0;
  bool point = false;
  for (const char letter : text) {
    if (letter == '.') {
      point = true;
      continue;
    }
    PINFOLD_CHECK(letter >= '0' && letter <= '9', "sweep", "a figure that is no decimal");
    value = value * 10 + static_cast<unsigned>(letter - '0');
    if (point) ++behind;
  }
  PINFOLD_CHECK(behind <= 9, "sweep", "a figure with more than 9 digits behind the point");
  for (; behind < 9; ++behind) value *= 10;
  return value;
}

class Summarizer {
 public:
  explicit Summarizer(const SweepResult& result) : result_(result) {
    choose_figures();
    // Those of the front are looked up like those that are shown.
    all_ = summary_.figures;
    for (const std::string& figure : summary_.front_figures) place_of(figure);
  }

  SweepSummary take() {
    count_cells();
    for (std::size_t first = 0; first < result_.plan.cells.size(); first += result_.plan.seeds) {
      summary_.points.push_back(point_at(first));
    }
    for (std::size_t trace = 0; trace < result_.spec.traces.size(); ++trace) {
      find_best(trace);
      find_front(trace);
    }
    for (std::size_t axis = 0; axis < result_.spec.axes.size(); ++axis) measure_axis(axis);
    for (SweepPoint& point : summary_.points) point.values.resize(summary_.figures.size());
    return std::move(summary_);
  }

 private:
  void choose_figures() {
    summary_.figures = result_.spec.figures;
    const std::vector<std::string> paths = swept_paths(result_.spec);
    if (summary_.figures.empty()) {
      summary_.figures.assign(kShown.begin(), kShown.end());
      // Where it is a setting it stands there already.
      if (std::find(paths.begin(), paths.end(), "engine.num_blocks") != paths.end()) {
        summary_.figures.erase(summary_.figures.begin());
      }
    }
    summary_.front_figures = result_.spec.front;
    if (!summary_.front_figures.empty()) return;
    summary_.front_figures = {"output_throughput", "p99_ttft_ms"};
    if (std::any_of(paths.begin(), paths.end(), sizes_pool)) {
      summary_.front_figures.emplace_back("pool.positions");
    }
  }

  std::size_t place_of(const std::string& figure) {
    const auto at = std::find(all_.begin(), all_.end(), figure);
    const auto place = static_cast<std::size_t>(at - all_.begin());
    if (at == all_.end()) all_.push_back(figure);
    return place;
  }

  void count_cells() {
    for (std::size_t cell = 0; cell < result_.plan.cells.size(); ++cell) {
      switch (result_.status(cell)) {
        case RunStatus::kOk: ++summary_.ok; break;
        case RunStatus::kFailed: ++summary_.failed; break;
        case RunStatus::kInvalid: ++summary_.invalid; break;
      }
    }
  }

  SweepPoint point_at(std::size_t first) const {
    SweepPoint point;
    point.first_cell = first;
    point.trace = result_.plan.cells[first].trace;
    for (std::size_t seed = 0; seed < result_.plan.seeds; ++seed) {
      point.status = std::max(point.status, result_.status(first + seed));
    }
    for (const std::string& figure : all_) point.values.push_back(interval(first, figure));
    return point;
  }

  std::optional<SeedInterval> interval(std::size_t first, const std::string& figure) const {
    SeedInterval interval;
    for (std::size_t seed = 0; seed < result_.plan.seeds; ++seed) {
      const std::optional<std::string> text = result_.figure(first + seed, figure);
      if (!text) return std::nullopt;
      const Unsigned128 value = units_of(*text);
      interval.low = seed == 0 ? value : std::min(interval.low, value);
      interval.high = std::max(interval.high, value);
      interval.sum += value;
    }
    return interval;
  }

  /// Points of a trace whose cells are all ok.
  std::vector<std::size_t> usable(std::size_t trace) const {
    std::vector<std::size_t> points;
    for (std::size_t i = 0; i < summary_.points.size(); ++i) {
      const SweepPoint& point = summary_.points[i];
      if (point.trace == trace && point.status == RunStatus::kOk) points.push_back(i);
    }
    return points;
  }

  const std::optional<SeedInterval>& value(std::size_t point, std::size_t figure) const {
    return summary_.points[point].values[figure];
  }

  /// Whether point `a` is better than `b` in a figure that both have.
  bool better(std::size_t a, std::size_t b, std::size_t figure) const {
    const Unsigned128 left = value(a, figure)->sum;
    const Unsigned128 right = value(b, figure)->sum;
    return more_is_better(all_[figure]) ? left > right : left < right;
  }

  void find_best(std::size_t trace) {
    for (std::size_t figure = 0; figure < summary_.figures.size(); ++figure) {
      if (summary_.figures[figure].starts_with("pool.")) continue;
      std::optional<BestPoint> best;
      for (const std::size_t point : usable(trace)) {
        if (!value(point, figure)) continue;
        if (!best || better(point, best->point, figure)) {
          best = BestPoint{figure, trace, point, 0};
        } else if (!better(best->point, point, figure)) {
          ++best->ties;
        }
      }
      if (best) summary_.best.push_back(*best);
    }
  }

  void find_front(std::size_t trace) {
    std::vector<std::size_t> places;
    for (const std::string& figure : summary_.front_figures) places.push_back(place_of(figure));
    std::vector<std::size_t> points = usable(trace);
    std::erase_if(points, [&](std::size_t point) {
      return std::any_of(places.begin(), places.end(),
                         [&](std::size_t place) { return !value(point, place); });
    });
    // Sorted by all figures, whatever beats a point comes before it.
    std::stable_sort(points.begin(), points.end(), [&](std::size_t a, std::size_t b) {
      for (const std::size_t place : places) {
        if (better(a, b, place)) return true;
        if (better(b, a, place)) return false;
      }
      return false;
    });
    const auto beats = [&](std::size_t a, std::size_t b) {
      bool once = false;
      for (const std::size_t place : places) {
        if (better(b, a, place)) return false;
        once |= better(a, b, place);
      }
      return once;
    };
    ParetoFront front{trace, {}};
    for (const std::size_t point : points) {
      const bool beaten = std::any_of(front.points.begin(), front.points.end(),
                                      [&](std::size_t other) { return beats(other, point); });
      if (!beaten) front.points.push_back(point);
    }
    summary_.fronts.push_back(std::move(front));
  }

  void measure_axis(std::size_t axis) {
    using Others = std::pair<std::size_t, std::vector<std::size_t>>;  // trace, other axes' steps
    std::map<Others, std::vector<std::size_t>> groups;
    for (std::size_t trace = 0; trace < result_.spec.traces.size(); ++trace) {
      for (const std::size_t point : usable(trace)) {
        std::vector<std::size_t> steps = result_.config(summary_.points[point].first_cell).steps;
        steps.erase(steps.begin() + static_cast<std::ptrdiff_t>(axis));
        groups[Others(trace, std::move(steps))].push_back(point);
      }
    }
    for (std::size_t figure = 0; figure < summary_.figures.size(); ++figure) {
      // How large the pool is follows from the settings; it is no outcome.
      if (summary_.figures[figure].starts_with("pool.")) continue;
      Sensitivity sensitivity{.axis = axis, .figure = figure};
      for (const auto& [others, points] : groups) add_group(points, sensitivity);
      if (sensitivity.groups > 0) summary_.sensitivities.push_back(sensitivity);
    }
  }

  void add_group(const std::vector<std::size_t>& points, Sensitivity& sensitivity) const {
    Unsigned128 low = 0, high = 0, sum = 0;
    std::size_t count = 0;
    for (const std::size_t point : points) {
      const std::optional<SeedInterval>& interval = value(point, sensitivity.figure);
      if (!interval) continue;
      low = count == 0 ? interval->sum : std::min(low, interval->sum);
      high = std::max(high, interval->sum);
      sum += interval->sum;
      ++count;
    }
    if (count < 2) return;
    ++sensitivity.groups;
    sensitivity.points += count;
    sensitivity.value_sum += sum;
    sensitivity.spread_sum += high - low;
    sensitivity.spread_most = std::max(sensitivity.spread_most, high - low);
  }

  const SweepResult& result_;
  SweepSummary summary_;
  std::vector<std::string> all_;  // shown figures, then the front's others
};

}  // namespace

bool more_is_better(const std::string& figure) {
  return figure.ends_with("throughput") || figure.ends_with("goodput") || figure == "completed" ||
         figure.find("hit") != std::string::npos || figure.starts_with("adjacency.") ||
         figure == "admission.ok" || figure == "drafts.accepted" || figure == "goodput.requests";
}

SweepSummary summarize(const SweepResult& result) { return Summarizer(result).take(); }

}  // namespace pinfold::sim
