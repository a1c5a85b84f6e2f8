#include "sim/report/run_report.h"

#include <fmt/format.h>

#include "sim/config/json_writer.h"
#include "sim/core/run_fields.h"
#include "sim/report/field_text.h"
#include "sim/report/text_report.h"

namespace pinfold::sim {
namespace {

std::string json_report(const std::vector<ReportField>& fields) {
  JsonWriter json;
  json.open_object();
  write_fields(json, fields);
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
    case ReportFormat::kJson: return json_report(run_fields(result, provenance));
    case ReportFormat::kCsv: return csv_report(run_fields(result, provenance));
    case ReportFormat::kMarkdown: return markdown_report(run_fields(result, provenance));
  }
  return {};
}

}  // namespace pinfold::sim
