#pragma once
// The report for people.

#include <string>

#include "sim/core/run_result.h"
#include "sim/report/run_report.h"

namespace pinfold::sim {

/// What a saturated run's figures are worth, in sentences. `queue` must be saturated.
std::string describe(const ArrivalQueue& queue);

/// See run_report(), kText.
std::string text_report(const RunResult& result, const Provenance& provenance);

}  // namespace pinfold::sim
