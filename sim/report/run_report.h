#pragma once
// A run's result as text. Every number is printed from integers by integer arithmetic, so equal results
// are equal bytes.

#include <cstdint>
#include <string>

#include "sim/core/provenance.h"
#include "sim/core/run_result.h"

namespace pinfold::sim {

enum class ReportFormat : std::uint8_t { kText, kJson, kCsv, kMarkdown };

/// The whole report, ending in a newline.
/// kText: the block that vLLM's serving benchmark prints, then what the memory did, then what repeats
/// the run. kJson: one object. kCsv: a header row and a data row, nested names joined by points.
/// kMarkdown: a table with a row a value.
/// A figure that has no samples (a rate over no time, a latency of no request) is null in JSON, empty in
/// CSV and "-" elsewhere.
std::string run_report(const RunResult& result, const Provenance& provenance, ReportFormat format);

}  // namespace pinfold::sim
