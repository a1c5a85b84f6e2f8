#pragma once
// What `pinfold trace info` prints.

#include <cstdint>
#include <string>

#include "sim/metrics/trace_survey.h"
#include "sim/trace/trace_format.h"
#include "sim/trace/trace_input.h"

namespace pinfold::sim {

struct TraceReport {
  std::string path;
  TraceFormat format;
  std::uint32_t id_block = 0;
  TraceSurvey& survey;  // its percentiles sort their samples when asked
  const TraceNotes& notes;
  std::string digest;
};

std::string trace_report_text(const TraceReport& report);
std::string trace_report_json(const TraceReport& report);

}  // namespace pinfold::sim
