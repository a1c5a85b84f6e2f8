#include "sim/report/run_report.h"

#include <fmt/format.h>

#include "sim/config/json_writer.h"
#include "sim/core/run_fields.h"
#include "sim/report/field_text.h"
#include "sim/report/text_report.h"

namespace pinfold::sim {
namespace {

const char* kind_word(StallHolder::Kind kind) {
  switch (kind) {
    case StallHolder::Kind::kRunning: return "running";
    case StallHolder::Kind::kWaitingFork: return "waiting_fork";
    case StallHolder::Kind::kFence: return "fence";
    case StallHolder::Kind::kLoading: return "loading";
  }
  return "?";
}

/// The wait-for graph: `waiting` are its edges, `holding` its other ends.
void write_stall(JsonWriter& json, const StallReport& stall) {
  json.key("stall").open_object();
  json.key("what").string(stall.what);
  json.key("waiting").open_array();
  for (const StallWaiter& waiter : stall.waiters) {
    json.open_object();
    json.key("sequence").integer(waiter.sequence);
    json.key("waits_for").string(word_of(waiter.cause));
    if (waiter.lacking > 0) {
      json.key("pool").string(name_of(waiter.pool));
      json.key("lacking").integer(waiter.lacking);
    }
    if (waiter.has_holder) json.key("held_by").integer(waiter.holder);
    if (waiter.ticket > 0) {
      json.key("lane").string(name_of(waiter.lane));
      json.key("ticket").integer(waiter.ticket);
    }
    json.close();
  }
  json.close();
  json.key("holding").open_array();
  for (const StallHolder& holder : stall.holders) {
    json.open_object();
    json.key("kind").string(kind_word(holder.kind));
    json.key("sequence").integer(holder.sequence);
    json.key("blocks").integer(holder.blocks);
    json.key("state_slots").integer(holder.state_slots);
    json.key("draft_slots").integer(holder.draft_slots);
    json.key("preemptible").boolean(holder.preemptible());
    if (holder.ticket > 0) {
      json.key("lane").string(name_of(holder.lane));
      json.key("ticket").integer(holder.ticket);
    }
    json.close();
  }
  json.close();
  json.close();
}

std::string json_report(const RunResult& result, const std::vector<ReportField>& fields) {
  JsonWriter json;
  json.open_object();
  write_fields(json, fields);
  if (result.stall) write_stall(json, *result.stall);
  json.close();
  return json.finish();
}

std::string csv_report(const std::vector<ReportField>& fields) {
  std::string names;
  std::string values;
  for (const ReportField& field : fields) {
    if (!names.empty()) {
      names += ',';
      values += ',';
    }
    names += field.name;
    values += csv_field(field.text);
  }
  return names + '\n' + values + '\n';
}

std::string markdown_cell(const ReportField& field) {
  if (field.kind == ReportField::Kind::kNone) return "-";
  std::string text;
  for (const char letter : field.text) {
    if (letter == '|') text += '\\';
    text += letter == '\n' ? ' ' : letter;
  }
  return text;
}

std::string markdown_report(const std::vector<ReportField>& fields) {
  std::string table = "| figure | value |\n| :--- | ---: |\n";
  for (const ReportField& field : fields) {
    table += fmt::format("| {} | {} |\n", field.name, markdown_cell(field));
  }
  return table;
}

}  // namespace

std::string run_report(const RunResult& result, const Provenance& provenance, ReportFormat format) {
  switch (format) {
    case ReportFormat::kText: return text_report(result, provenance);
    case ReportFormat::kJson: return json_report(result, run_fields(result, provenance));
    case ReportFormat::kCsv: return csv_report(run_fields(result, provenance));
    case ReportFormat::kMarkdown: return markdown_report(run_fields(result, provenance));
  }
  return {};
}

}  // namespace pinfold::sim
