#pragma once
// How many drafts the target model accepts.

#include <cstdint>

#include "sim/config/run_config.h"
#include "sim/core/live_request.h"

namespace pinfold::sim {

/// Drafts of one verify row that the target accepts, as the trace says or as drawn from the seed for their
/// token positions; at most `most`, because the output may stop inside the row. Counts the row.
std::uint32_t accepted_drafts(const RunConfig& config, const TraceRequest& asked, Member& member,
                              std::uint32_t drafts, std::uint32_t most);

}  // namespace pinfold::sim
