#pragma once
// The page of `pinfold report`: one HTML file that shows what `pinfold run -o` wrote.

#include <optional>
#include <string>
#include <string_view>

#include "sim/trace/input_error.h"

namespace pinfold::sim {

/// What the page shows, file by file.
struct RunFileTexts {
  std::string summary;      // summary.json
  std::string config;       // config.resolved.json
  std::string recording;    // recording.json
  std::string block_map;    // blockmap.json
  std::string timeline;     // timeline.csv
  std::string preemptions;  // preemptions.csv
};

/// requests.csv in few numbers, as JSON: distributions, the longest waits, the worst victims, waiting by
/// reason over time. `path` stands in errors, for a file that no run wrote.
Outcome<std::string> requests_digest(std::string_view csv, const std::string& path);

/// The page: self-contained, with a Content-Security-Policy that lets nothing in but its own scripts and
/// styles. Nothing where this build has no chart library.
std::optional<std::string> run_page(const RunFileTexts& texts, const std::string& requests_digest);

// The page around the data; empty without a chart library. Written by sim/report/html/embed.py.
std::string_view page_before_data();
std::string_view page_after_data();

}  // namespace pinfold::sim
