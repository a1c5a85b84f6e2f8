#include "sim/core/draft_acceptance.h"

#include <algorithm>

#include "sim/core/draw.h"

namespace pinfold::sim {
namespace {

bool accepts(const RunConfig& config, const Member& member, std::uint32_t token,
             std::uint32_t position) {
  const WorkloadConfig& workload = config.workload;
  const std::vector<std::uint32_t>& table = workload.draft_acceptance_by_position;
  const std::uint32_t permille = table.empty()
                                     ? workload.draft_acceptance_permille
                                     : table[std::min<std::size_t>(position, table.size() - 1)];
  const std::uint64_t key = member.request | std::uint64_t{member.sample} << 48;
  return draw_permille(config.seed, Stream::kDraftAcceptance, key, token) < permille;
}

}  // namespace

std::uint32_t accepted_drafts(const RunConfig& config, const TraceRequest& asked, Member& member,
                              std::uint32_t drafts, std::uint32_t most) {
  const std::uint32_t row = member.verify_rows++;
  if (!asked.accepted.empty()) {
    const std::uint32_t given = row < asked.accepted.size() ? asked.accepted[row] : 0;
    return std::min({given, drafts, most});
  }
  std::uint32_t accepted = 0;
  while (accepted < std::min(drafts, most) &&
         accepts(config, member, member.emitted + 1 + accepted, accepted)) {
    ++accepted;
  }
  return accepted;
}

}  // namespace pinfold::sim
