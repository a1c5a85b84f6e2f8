#include "sim/gate/compared.h"

#include <filesystem>

#include "sim/config/parse.h"
#include "sim/gate/baseline.h"
#include "sim/record/journal_file.h"
#include "sim/trace/read_file.h"

namespace pinfold::sim {
namespace {

namespace fs = std::filesystem;

constexpr const char* kWanted = "a run's result";

InputError no_result(const std::string& path, std::string found) {
  InputError error;
  error.path = path;
  error.found = std::move(found);
  error.expected =
      "a directory of `pinfold run -o`, a file of `pinfold run --format json`, a baseline, or a "
      "file of "
      "`pinfold run --record`";
  return error;
}

Outcome<Compared> read_baseline(const std::string& text, const std::string& path) {
  Outcome<Baseline> baseline = parse_baseline(text, path);
  if (!baseline) return baseline.error();
  Compared compared;
  compared.path = path;
  compared.figures = std::move(baseline.value().figures);
  compared.config = std::move(baseline.value().config);
  return compared;
}

Outcome<Compared> read_summary(const std::string& text, const std::string& path,
                               const std::string& shown) {
  const Outcome<JsonValue> document = parse_json(text, path);
  if (!document) return document.error();
  if (is_baseline(document.value())) return read_baseline(text, path);
  Compared compared;
  compared.path = shown;
  compared.figures = figures_of(document.value());
  if (compared.figure("digest").empty()) return no_result(shown, "no result with a digest");
  return compared;
}

}  // namespace

std::string Compared::figure(std::string_view name) const {
  for (const ReportField& field : figures) {
    if (field.name == name) return field.text;
  }
  return {};
}

Outcome<Compared> read_compared(const std::string& path) {
  std::error_code failure;
  if (!fs::is_directory(path, failure)) {
    Outcome<std::string> text = read_file(path, kWanted);
    if (!text) return text.error();
    if (!JournalReader::recognises(text.value())) return read_summary(text.value(), path, path);
    Compared compared;
    compared.path = path;
    compared.journal = std::move(text.value());
    return compared;
  }
  const std::string summary = (fs::path(path) / "summary.json").string();
  const Outcome<std::string> text = read_file(summary, kWanted);
  if (!text) return no_result(path, "a directory without summary.json");
  Outcome<Compared> compared = read_summary(text.value(), summary, path);
  if (!compared) return compared;
  const std::string resolved = (fs::path(path) / "config.resolved.json").string();
  if (fs::exists(resolved, failure)) {
    Outcome<RunConfig> config = load_config(resolved, {});
    if (!config) return config.error();
    compared.value().config = std::move(config.value());
  }
  return compared;
}

}  // namespace pinfold::sim
