#include "sim/report/capacity_report.h"

#include <fmt/format.h>

#include <string_view>
#include <vector>

#include "sim/config/decimal.h"
#include "sim/config/json_writer.h"
#include "sim/report/text_table.h"

namespace pinfold::sim {
namespace {

std::string joined(const std::vector<Requirement>& requirements) {
  std::string text;
  for (const Requirement& one : requirements) text += (text.empty() ? "" : ", ") + one.text();
  return text;
}

const char* name_of(CapacityVerdict verdict) {
  switch (verdict) {
    case CapacityVerdict::kFound: return "found";
    case CapacityVerdict::kNone: return "none";
    case CapacityVerdict::kUnbounded: return "unbounded";
  }
  return "?";
}

bool of_rate(const CapacityResult& result) { return result.question.vary == CapacityOf::kRate; }

std::string figure_text(const RunRecord& record, const std::string& name) {
  for (const ReportField& field : record.figures) {
    if (field.name == name && field.kind != ReportField::Kind::kNone) return field.text;
  }
  return "-";
}

/// "blocks (83.1 % of all waiting)", or that nobody waits.
std::string binding_text(const RunRecord& record) {
  const BindingLimit limit = binding_limit(record);
  if (limit.reason.empty()) return "nothing: nobody waits";
  return fmt::format("{} ({} % of all waiting)", limit.reason,
                     decimal(Unsigned128{limit.wait_ns} * 100, limit.total_ns, 1));
}

std::string misses_text(const CapacityRun& run) {
  std::string text;
  for (const Miss& miss : run.misses) {
    text += fmt::format("{}{} (found {})", text.empty() ? "" : ", ", miss.requirement, miss.found);
  }
  return text;
}

/// "6.120000 requests/s" or "2000 block ids".
std::string value_text(const CapacityResult& result, const CapacityRun& run, const Trace& trace) {
  return of_rate(result) ? offered_rate(trace, run.value) + " requests/s"
                         : fmt::format("{} block ids", run.value);
}

std::string setting_text(const CapacityRun& run) {
  return fmt::format("{}={}", run.setting.path, run.setting.value);
}

/// Figures that were asked for, each once.
std::vector<std::string> asked_figures(const CapacityResult& result) {
  std::vector<std::string> names;
  for (const Requirement& one : result.question.requirements) {
    bool known = false;
    for (const std::string& name : names) known |= name == one.figure;
    if (!known) names.push_back(one.figure);
  }
  return names;
}

std::string runs_table(const CapacityResult& result, const Trace& trace) {
  using Align = TextTable::Align;
  const std::vector<std::string> figures = asked_figures(result);
  std::vector<Align> columns{Align::kRight, Align::kRight};
  std::vector<std::string> head{"run", result.runs.front().setting.path};
  if (of_rate(result)) {
    columns.push_back(Align::kRight);
    head.emplace_back("requests/s");
  }
  for (const std::string& figure : figures) {
    columns.push_back(Align::kRight);
    head.push_back(figure);
  }
  columns.insert(columns.end(), {Align::kLeft, Align::kLeft});
  head.insert(head.end(), {"meets", "waits most for"});
  TextTable table(columns);
  table.row(head);
  for (std::size_t i = 0; i < result.runs.size(); ++i) {
    const CapacityRun& run = result.runs[i];
    std::vector<std::string> row{fmt::format("{}", i), run.setting.value};
    if (of_rate(result)) row.push_back(offered_rate(trace, run.value));
    for (const std::string& figure : figures) row.push_back(figure_text(run.record, figure));
    row.emplace_back(run.misses.empty() ? "yes" : "no");
    row.push_back(binding_text(run.record));
    table.row(std::move(row));
  }
  return table.text();
}

void write_run(JsonWriter& json, const CapacityResult& result, const CapacityRun& run,
               const Trace& trace) {
  json.open_object();
  json.key("setting").string(setting_text(run));
  if (of_rate(result)) {
    json.key("requests_per_second").number(offered_rate(trace, run.value));
  } else {
    json.key("block_ids").integer(run.value);
  }
  json.key("meets").boolean(run.misses.empty());
  json.key("misses").open_array();
  for (const Miss& miss : run.misses) {
    json.open_object();
    json.key("requirement").string(miss.requirement);
    json.key("found").string(miss.found);
    json.close();
  }
  json.close();
  const BindingLimit limit = binding_limit(run.record);
  json.key("waits_most_for").string(limit.reason);
  json.key("wait_ns").integer(limit.wait_ns);
  json.key("wait_ns_total").integer(limit.total_ns);
  if (!run.record.reason.empty()) json.key("reason").string(run.record.reason);
  json.key("config_digest").string(run.record.config_digest);
  json.key("digest").string(figure_text(run.record, "digest"));
  json.close();
}

void write_requirements(JsonWriter& json, std::string_view key,
                        const std::vector<Requirement>& requirements) {
  json.key(key).open_array();
  for (const Requirement& one : requirements) json.string(one.text());
  json.close();
}

}  // namespace

std::string capacity_none(const CapacityResult& result) {
  return fmt::format("no {} meets {}", of_rate(result) ? "request rate" : "pool",
                     joined(result.question.requirements));
}

std::string capacity_text(const CapacityResult& result, const Trace& trace,
                          const Provenance& provenance) {
  std::string text =
      fmt::format("Capacity: the {} with {}\n",
                  of_rate(result) ? "largest request rate" : "smallest pool of blocks",
                  joined(result.question.requirements));
  if (!result.implied.empty()) {
    text += fmt::format("required too: {}\n", joined(result.implied));
  }
  text += '\n' + runs_table(result, trace) + '\n';
  const auto end = [&](const char* what, const CapacityRun& run) {
    text +=
        fmt::format("{} {}  (--set {})\n", what, value_text(result, run, trace), setting_text(run));
  };
  switch (result.verdict) {
    case CapacityVerdict::kFound: end("Capacity:", result.runs[*result.best]); break;
    case CapacityVerdict::kUnbounded:
      end("Everything that was tried meets it, up to", result.runs[*result.best]);
      break;
    case CapacityVerdict::kNone: {
      std::string none = capacity_none(result);
      none.front() = 'N';
      text += none + (result.why_none.empty() ? "" : ": " + result.why_none) + '\n';
    }
  }
  if (result.failing) {
    const CapacityRun& run = result.runs[*result.failing];
    end("Not met at", run);
    text += fmt::format("  missed there: {}\n  binds there: {}\n", misses_text(run),
                        binding_text(run.record));
  }
  text += fmt::format("\npinfold {}, trace {} ({}), base configuration {}\n", provenance.version,
                      provenance.trace, provenance.trace_digest, provenance.config_digest);
  return text;
}

std::string capacity_json(const CapacityResult& result, const Trace& trace,
                          const Provenance& provenance) {
  JsonWriter json;
  json.open_object();
  json.key("vary").string(of_rate(result) ? "rate" : "memory");
  json.key("verdict").string(name_of(result.verdict));
  write_requirements(json, "requirements", result.question.requirements);
  write_requirements(json, "required_too", result.implied);
  if (!result.why_none.empty()) json.key("why_none").string(result.why_none);
  const auto end = [&](std::string_view key, const std::optional<std::size_t>& run) {
    json.key(key);
    if (run) {
      write_run(json, result, result.runs[*run], trace);
    } else {
      json.null();
    }
  };
  end("best", result.best);
  end("failing", result.failing);
  json.key("runs").open_array();
  for (const CapacityRun& run : result.runs) write_run(json, result, run, trace);
  json.close();
  json.key("version").string(provenance.version);
  json.key("trace").string(provenance.trace);
  json.key("trace_digest").string(provenance.trace_digest);
  json.key("config_digest").string(provenance.config_digest);
  json.key("seed").integer(provenance.seed);
  json.close();
  return json.finish();
}

}  // namespace pinfold::sim
