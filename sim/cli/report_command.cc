#include "sim/cli/report_command.h"

#include <array>
#include <filesystem>
#include <optional>
#include <utility>

#include "sim/cli/output_directory.h"
#include "sim/report/run_page.h"
#include "sim/trace/read_file.h"

namespace pinfold::sim {

ExitCode report_command(const ReportCommand& command, std::ostream& out, std::ostream& err) {
  const auto path_of = [&](std::string_view name) {
    return (std::filesystem::path(command.directory) / name).string();
  };
  RunFileTexts texts;
  std::string requests;
  const std::array<std::pair<const char*, std::string*>, 7> files{
      {{"summary.json", &texts.summary},
       {"config.resolved.json", &texts.config},
       {"recording.json", &texts.recording},
       {"blockmap.json", &texts.block_map},
       {"timeline.csv", &texts.timeline},
       {"preemptions.csv", &texts.preemptions},
       {"requests.csv", &requests}}};
  for (const auto& [name, text] : files) {
    auto read = read_file(path_of(name), "a file that `pinfold run -o DIR` writes");
    if (!read) return fail(err, ExitCode::kDataError, read.error());
    *text = std::move(read.value());
  }
  const auto digest = requests_digest(requests, path_of("requests.csv"));
  if (!digest) return fail(err, ExitCode::kDataError, digest.error());
  std::optional<std::string> page = run_page(texts, digest.value());
  if (!page) {
    return fail(err, ExitCode::kDataError,
                "this build has no chart library, so it makes no page: install libjs-dygraphs, "
                "configure and build again");
  }
  const std::array<OutputFile, 1> written{OutputFile{"report.html", std::move(*page)}};
  if (auto error = write_output_files(command.directory, written)) {
    return fail(err, ExitCode::kDataError, *error);
  }
  out << path_of("report.html") << '\n';
  return ExitCode::kOk;
}

}  // namespace pinfold::sim
