#pragma once
// A run that later ones are held against.

#include <string>
#include <string_view>
#include <vector>

#include "sim/config/json_reader.h"
#include "sim/config/run_config.h"
#include "sim/core/run_fields.h"
#include "sim/trace/input_error.h"

namespace pinfold::sim {

struct Baseline {
  std::string version;  // of the program that made it
  std::string trace_digest;
  RunConfig config;
  std::vector<ReportField> figures;  // as run_fields names them
};

/// The file of a run (docs/ci.md): JSON with the version, the trace's digest, the resolved configuration and
/// all figures.
std::string baseline_json(const RunConfig& config, const Provenance& provenance,
                          std::vector<ReportField> figures);

/// Reads such a file. Options that it does not hold have their defaults, so that a baseline outlives new
/// ones; figures that it does not hold are simply not there.
Outcome<Baseline> parse_baseline(std::string_view text, const std::string& path);

/// Whether a document is one, right or wrong.
bool is_baseline(const JsonValue& document);

/// The figures in an object of the kind that `run --format json` prints: member "usable" of "blocks" becomes
/// "blocks.usable". Lists (the graph of a stall) are left out.
std::vector<ReportField> figures_of(const JsonValue& object);

}  // namespace pinfold::sim
