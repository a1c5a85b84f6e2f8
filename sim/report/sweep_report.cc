#include "sim/report/sweep_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "sim/config/json_writer.h"
#include "sim/report/field_text.h"
#include "sim/report/text_table.h"

namespace pinfold::sim {
namespace {

using Align = TextTable::Align;

constexpr std::uint32_t kPlaces = 2;       // in text
constexpr std::uint32_t kExactPlaces = 6;  // in JSON

/// The last part of a key, where that says it.
std::vector<std::string> short_names(const std::vector<std::string>& paths) {
  std::vector<std::string> names;
  for (const std::string& path : paths) {
    const std::string name = path.substr(path.rfind('.') + 1);
    const auto same = std::count_if(paths.begin(), paths.end(), [&](const std::string& other) {
      return other.substr(other.rfind('.') + 1) == name;
    });
    names.push_back(same > 1 ? path : name);
  }
  return names;
}

std::string_view unit_of(std::string_view figure) {
  if (figure.ends_with("_ms")) return "ms";
  if (figure.ends_with("_s")) return "s";
  if (figure == "request_throughput" || figure == "request_goodput") return "requests/s";
  if (figure.ends_with("throughput")) return "tokens/s";
  if (figure.starts_with("wait_ns")) return "ns";
  if (figure == "pool.block_ids" || figure.starts_with("blocks.")) return "blocks";
  if (figure.ends_with("bytes") || figure == "blocks.bytes_each") return "bytes";
  if (figure.ends_with("tokens")) return "tokens";
  if (figure.ends_with("positions")) return "positions";
  if (figure.starts_with("slots.") || figure == "pool.state_ids") return "slots";
  return "";
}

/// A value as people read it: whole numbers without a point.
std::string shown(Unsigned128 numerator, std::size_t seeds) {
  const Unsigned128 denominator = Unsigned128{kFigureUnit} * seeds;
  return decimal(numerator, denominator, numerator % denominator == 0 ? 0 : kPlaces);
}

std::string shown(const std::optional<SeedInterval>& value, std::size_t seeds) {
  if (!value) return "-";
  const std::string mean = shown(value->sum, seeds);
  if (value->low == value->high) return mean;
  return fmt::format("{} [{}..{}]", mean, shown(value->low, 1), shown(value->high, 1));
}

std::string value_of(const SweepConfig& config, const std::string& path) {
  for (const Setting& setting : config.settings) {
    if (setting.path == path) return setting.value;
  }
  return "";
}

/// `block_size=64 slot_factor=1.2`
std::string settings_text(const SweepConfig& config, const std::vector<std::string>& paths) {
  const std::vector<std::string> names = short_names(paths);
  std::string text;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const std::string value = value_of(config, paths[i]);
    if (!value.empty()) text += fmt::format("{}{}={}", text.empty() ? "" : " ", names[i], value);
  }
  return text.empty() ? "base" : text;
}

class SweepPage {
 public:
  SweepPage(const SweepResult& result, const SweepSummary& summary)
      : result_(result), summary_(summary), paths_(swept_paths(result.spec)) {}

  std::string text() {
    head();
    points();
    for (std::size_t trace = 0; trace < result_.spec.traces.size(); ++trace) {
      best(trace);
      front(trace);
    }
    sensitivity();
    troubles();
    if (!result_.spec.learnt.empty()) {
      section("What this sweep taught");
      text_ += result_.spec.learnt + '\n';
    }
    return std::move(text_);
  }

 private:
  void section(const std::string& title) { text_ += fmt::format("\n--- {} ---\n", title); }

  bool many_traces() const { return result_.spec.traces.size() > 1; }
  std::string of_trace(std::size_t trace) const {
    return many_traces() ? ", " + result_.spec.traces[trace].name : "";
  }

  void head() {
    const std::size_t seeds = result_.plan.seeds;
    text_ += fmt::format(
        "Sweep: {} cells = {} trace{} x {} setting{} x {} seed{}: {} ok", result_.plan.cells.size(),
        result_.spec.traces.size(), many_traces() ? "s" : "", result_.plan.configs.size() / seeds,
        result_.plan.configs.size() == seeds ? "" : "s", seeds, seeds == 1 ? "" : "s", summary_.ok);
    if (summary_.failed > 0) text_ += fmt::format(", {} failed", summary_.failed);
    if (summary_.invalid > 0) text_ += fmt::format(", {} invalid", summary_.invalid);
    text_ += fmt::format("\npinfold {}\n", result_.version);
  }

  void points() {
    const std::size_t seeds = result_.plan.seeds;
    section(seeds > 1 ? "Settings: the mean over seeds [lowest..highest]" : "Settings");
    std::vector<Align> columns{Align::kRight};
    std::vector<std::string> names{"cell"};
    std::vector<std::string> units{""};
    const auto column = [&](Align align, std::string name, std::string_view unit) {
      columns.push_back(align);
      names.push_back(std::move(name));
      units.emplace_back(unit);
    };
    if (many_traces()) column(Align::kLeft, "trace", "");
    for (const std::string& name : short_names(paths_)) column(Align::kRight, name, "");
    for (const std::string& figure : summary_.figures) {
      column(Align::kRight, figure, unit_of(figure));
    }
    column(Align::kLeft, "status", "");
    TextTable table(columns);
    table.row(names);
    table.row(units);
    for (const SweepPoint& point : summary_.points) {
      const SweepConfig& config = result_.config(point.first_cell);
      std::vector<std::string> row{fmt::format("{}", point.first_cell)};
      if (many_traces()) row.push_back(result_.spec.traces[point.trace].name);
      for (const std::string& path : paths_) row.push_back(value_of(config, path));
      for (const std::optional<SeedInterval>& value : point.values) {
        row.push_back(shown(value, seeds));
      }
      row.emplace_back(name_of(point.status));
      table.row(std::move(row));
    }
    text_ += table.text();
  }

  std::string settings(std::size_t point) const {
    return settings_text(result_.config(summary_.points[point].first_cell), paths_);
  }

  void best(std::size_t trace) {
    TextTable table({Align::kLeft, Align::kLeft, Align::kRight, Align::kLeft});
    bool any = false;
    for (const BestPoint& best : summary_.best) {
      if (best.trace != trace) continue;
      any = true;
      const std::string& figure = summary_.figures[best.figure];
      const std::string ties = best.ties == 0 ? "" : fmt::format(" (as good: {} more)", best.ties);
      table.row({figure, more_is_better(figure) ? "highest" : "lowest",
                 shown(summary_.points[best.point].values[best.figure]->sum, result_.plan.seeds),
                 settings(best.point) + ties});
    }
    if (!any) return;
    section("Best settings" + of_trace(trace));
    text_ += table.text();
  }

  void front(std::size_t trace) {
    for (const ParetoFront& front : summary_.fronts) {
      if (front.trace != trace || front.points.empty()) continue;
      std::string about;
      for (const std::string& figure : summary_.front_figures) {
        about += fmt::format("{}{} ({})", about.empty() ? "" : ", ", figure,
                             more_is_better(figure) ? "more" : "less");
      }
      section("Pareto front" + of_trace(trace) + ": " + about);
      TextTable table({Align::kRight, Align::kLeft});
      for (const std::size_t point : front.points) {
        table.row({fmt::format("{}", summary_.points[point].first_cell), settings(point)});
      }
      text_ += table.text();
    }
  }

  void sensitivity() {
    if (summary_.sensitivities.empty()) return;
    section("What moves what, the other keys held: highest less lowest");
    TextTable table({Align::kLeft, Align::kLeft, Align::kRight, Align::kRight, Align::kRight});
    table.row({"key", "figure", "on average", "of the mean", "at most"});
    for (const Sensitivity& one : summary_.sensitivities) {
      const std::size_t seeds = result_.plan.seeds;
      // spread_sum / groups over value_sum / points, in percent.
      const std::string percent =
          one.value_sum == 0 ? "-"
                             : decimal(one.spread_sum / one.groups * 100,
                                       std::max(one.value_sum / one.points, Unsigned128{1}), 1) +
                                   " %";
      table.row({result_.spec.axes[one.axis].name, summary_.figures[one.figure],
                 shown(one.spread_sum, seeds * one.groups), percent,
                 shown(one.spread_most, seeds)});
    }
    text_ += table.text();
  }

  /// Each reason once, with the cells that have it.
  void troubles() {
    std::vector<std::pair<std::string, std::vector<std::size_t>>> reasons;
    for (std::size_t cell = 0; cell < result_.plan.cells.size(); ++cell) {
      if (result_.status(cell) == RunStatus::kOk) continue;
      const std::string reason =
          fmt::format("{}: {}", name_of(result_.status(cell)), result_.reason(cell));
      const auto at = std::find_if(reasons.begin(), reasons.end(),
                                   [&](const auto& known) { return known.first == reason; });
      if (at == reasons.end()) {
        reasons.push_back({reason, {cell}});
      } else {
        at->second.push_back(cell);
      }
    }
    if (reasons.empty()) return;
    section("Cells without a result");
    for (const auto& [reason, cells] : reasons) {
      constexpr std::size_t kMost = 12;
      const std::vector<std::size_t> some(
          cells.begin(),
          cells.begin() + static_cast<std::ptrdiff_t>(std::min(cells.size(), kMost)));
      text_ += fmt::format(
          "cell{} {}{}: {}\n", cells.size() == 1 ? "" : "s", fmt::join(some, ", "),
          cells.size() > kMost ? fmt::format(" and {} more", cells.size() - kMost) : "", reason);
    }
  }

  const SweepResult& result_;
  const SweepSummary& summary_;
  std::vector<std::string> paths_;
  std::string text_;
};

void write_settings(JsonWriter& json, const SweepConfig& config) {
  json.key("settings").open_object();
  for (const Setting& setting : config.settings) json.key(setting.path).string(setting.value);
  json.close();
}

void write_texts(JsonWriter& json, std::string_view key, const std::vector<std::string>& texts) {
  json.key(key).open_array();
  for (const std::string& text : texts) json.string(text);
  json.close();
}

/// value / (seeds x 10^9) with six digits.
std::string exact(Unsigned128 value, std::size_t seeds) {
  return decimal(value, Unsigned128{kFigureUnit} * seeds, kExactPlaces);
}

void write_point(JsonWriter& json, const SweepResult& result, const SweepSummary& summary,
                 const SweepPoint& point) {
  json.open_object();
  json.key("first_cell").integer(point.first_cell);
  json.key("trace").string(result.spec.traces[point.trace].name);
  write_settings(json, result.config(point.first_cell));
  json.key("status").string(name_of(point.status));
  json.key("figures").open_object();
  for (std::size_t i = 0; i < summary.figures.size(); ++i) {
    json.key(summary.figures[i]);
    if (!point.values[i]) {
      json.null();
      continue;
    }
    json.open_object();
    json.key("mean").number(exact(point.values[i]->sum, result.plan.seeds));
    json.key("low").number(exact(point.values[i]->low, 1));
    json.key("high").number(exact(point.values[i]->high, 1));
    json.close();
  }
  json.close();
  json.close();
}

void write_cell(JsonWriter& json, const SweepResult& result, std::size_t cell) {
  const SweepConfig& config = result.config(cell);
  const std::size_t trace = result.plan.cells[cell].trace;
  json.open_object();
  json.key("cell").integer(cell);
  json.key("trace").string(result.spec.traces[trace].name);
  json.key("trace_digest").string(result.trace_digests[trace]);
  write_settings(json, config);
  json.key("seed").number(config.seed);
  json.key("status").string(name_of(result.status(cell)));
  if (!result.reason(cell).empty()) json.key("reason").string(result.reason(cell));
  if (!config.digest.empty()) json.key("config_digest").string(config.digest);
  json.key("figures").open_object();
  write_fields(json, config.pool);
  if (result.record_of[cell]) write_fields(json, result.records[*result.record_of[cell]].figures);
  json.close();
  json.close();
}

void write_summary(JsonWriter& json, const SweepResult& result, const SweepSummary& summary) {
  json.key("points").open_array();
  for (const SweepPoint& point : summary.points) write_point(json, result, summary, point);
  json.close();
  json.key("best").open_array();
  for (const BestPoint& best : summary.best) {
    const SweepPoint& point = summary.points[best.point];
    json.open_object();
    json.key("trace").string(result.spec.traces[best.trace].name);
    json.key("figure").string(summary.figures[best.figure]);
    json.key("first_cell").integer(point.first_cell);
    json.key("mean").number(exact(point.values[best.figure]->sum, result.plan.seeds));
    json.key("ties").integer(best.ties);
    json.close();
  }
  json.close();
  json.key("front").open_object();
  write_texts(json, "figures", summary.front_figures);
  json.key("traces").open_array();
  for (const ParetoFront& front : summary.fronts) {
    json.open_object();
    json.key("trace").string(result.spec.traces[front.trace].name);
    json.key("first_cells").open_array();
    for (const std::size_t point : front.points) json.integer(summary.points[point].first_cell);
    json.close();
    json.close();
  }
  json.close();
  json.close();
  json.key("sensitivity").open_array();
  for (const Sensitivity& one : summary.sensitivities) {
    json.open_object();
    json.key("axis").string(result.spec.axes[one.axis].name);
    json.key("figure").string(summary.figures[one.figure]);
    json.key("groups").integer(one.groups);
    json.key("mean_spread").number(exact(one.spread_sum, result.plan.seeds * one.groups));
    json.key("largest_spread").number(exact(one.spread_most, result.plan.seeds));
    json.close();
  }
  json.close();
}

}  // namespace

std::string sweep_text(const SweepResult& result, const SweepSummary& summary) {
  return SweepPage(result, summary).text();
}

std::string sweep_json(const SweepResult& result, const SweepSummary& summary) {
  JsonWriter json;
  json.open_object();
  json.key("version").string(result.version);
  if (!result.spec.learnt.empty()) json.key("learnt").string(result.spec.learnt);
  json.key("ok").integer(summary.ok);
  json.key("failed").integer(summary.failed);
  json.key("invalid").integer(summary.invalid);
  json.key("seeds").integer(result.plan.seeds);
  write_summary(json, result, summary);
  json.key("cells").open_array();
  for (std::size_t cell = 0; cell < result.plan.cells.size(); ++cell) {
    write_cell(json, result, cell);
  }
  json.close();
  json.close();
  return json.finish();
}

std::string sweep_csv(const SweepResult& result) {
  const std::vector<std::string> paths = swept_paths(result.spec);
  std::vector<std::string> columns;
  for (const RunRecord& record : result.records) {
    for (const ReportField& field : record.figures) {
      // A failure's detail is the reason.
      if (field.name == "verdict_detail") continue;
      if (std::find(columns.begin(), columns.end(), field.name) == columns.end()) {
        columns.push_back(field.name);
      }
    }
  }
  std::vector<std::string> pool;
  for (const SweepConfig& config : result.plan.configs) {
    for (const ReportField& field : config.pool) {
      if (std::find(pool.begin(), pool.end(), field.name) == pool.end()) {
        pool.push_back(field.name);
      }
    }
  }
  columns.insert(columns.begin(), pool.begin(), pool.end());

  std::string text = "cell,trace";
  for (const std::string& path : paths) text += "," + path;
  text += ",seed,status,reason";
  for (const std::string& column : columns) text += "," + column;
  text += ",trace_digest,config_digest,version\n";
  for (std::size_t cell = 0; cell < result.plan.cells.size(); ++cell) {
    const SweepConfig& config = result.config(cell);
    const std::size_t trace = result.plan.cells[cell].trace;
    text += fmt::format("{},{}", cell, csv_field(result.spec.traces[trace].name));
    for (const std::string& path : paths) text += "," + csv_field(value_of(config, path));
    text += fmt::format(",{},{},{}", config.seed, name_of(result.status(cell)),
                        csv_field(result.reason(cell)));
    for (const std::string& column : columns) {
      text += "," + csv_field(result.figure(cell, column).value_or(""));
    }
    text += fmt::format(",{},{},{}\n", result.trace_digests[trace], config.digest, result.version);
  }
  return text;
}

std::string plan_text(const SweepSpec& spec, const SweepPlan& plan) {
  const std::vector<std::string> paths = swept_paths(spec);
  std::vector<Align> columns{Align::kRight, Align::kLeft};
  std::vector<std::string> names{"cell", "trace"};
  for (const std::string& name : short_names(paths)) {
    columns.push_back(Align::kRight);
    names.push_back(name);
  }
  columns.insert(columns.end(), {Align::kRight, Align::kRight, Align::kLeft});
  names.insert(names.end(), {"seed", "block_ids", "invalid because"});
  TextTable table(columns);
  table.row(names);
  std::size_t invalid = 0;
  for (std::size_t cell = 0; cell < plan.cells.size(); ++cell) {
    const SweepConfig& config = plan.configs[plan.cells[cell].config];
    std::vector<std::string> row{fmt::format("{}", cell), spec.traces[plan.cells[cell].trace].name};
    for (const std::string& path : paths) row.push_back(value_of(config, path));
    row.push_back(config.seed);
    row.push_back(config.pool.empty() ? "-" : config.pool.front().text);
    row.push_back(config.invalid);
    if (!config.invalid.empty()) ++invalid;
    table.row(std::move(row));
  }
  return fmt::format("Sweep: {} cells, {} invalid; nothing was run\n\n", plan.cells.size(),
                     invalid) +
         table.text();
}

std::string plan_json(const SweepSpec& spec, const SweepPlan& plan) {
  JsonWriter json;
  json.open_object();
  json.key("cells").open_array();
  for (std::size_t cell = 0; cell < plan.cells.size(); ++cell) {
    const SweepConfig& config = plan.configs[plan.cells[cell].config];
    json.open_object();
    json.key("cell").integer(cell);
    json.key("trace").string(spec.traces[plan.cells[cell].trace].name);
    write_settings(json, config);
    json.key("seed").number(config.seed);
    json.key("status").string(config.invalid.empty() ? "to run" : "invalid");
    if (!config.invalid.empty()) json.key("reason").string(config.invalid);
    if (!config.digest.empty()) json.key("config_digest").string(config.digest);
    write_fields(json, config.pool);
    json.close();
  }
  json.close();
  json.close();
  return json.finish();
}

}  // namespace pinfold::sim
