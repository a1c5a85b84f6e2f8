#pragma once
// ServeGen (Alibaba): not requests but the parameters of a generator, one client a pair of files:
// `chunk-N-trace.csv` (no header: time, rate, cv, law, shape, scale, every 10 minutes) and
// `chunk-N-dataset.json` (every 6 hours the laws of the lengths).

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sim/trace/row_reader.h"

namespace pinfold::sim {

/// Requests drawn from the clients whose trace files are named, merged by arrival; ties go to the earlier
/// client. The draws depend on the seed, the client's place and the request's number only.
Outcome<std::unique_ptr<RowReader>> open_serve_gen(const std::vector<std::string>& trace_files,
                                                   std::uint64_t seed);

}  // namespace pinfold::sim
