#include "sim/gate/figure_direction.h"

#include <array>

namespace pinfold::sim {
namespace {

struct Direction {
  std::string_view pattern;
  Better better;
};

// The first pattern that matches decides.
constexpr std::array kDirections{
    // The benchmark's figures.
    Direction{"requests", Better::kNeither},
    Direction{"completed", Better::kHigher},
    Direction{"rejected_never", Better::kLower},
    Direction{"aborted", Better::kLower},
    Direction{"unfinished", Better::kLower},
    Direction{"verdict", Better::kLower},
    Direction{"verdict_detail", Better::kNeither},
    Direction{"duration_s", Better::kLower},
    Direction{"total_input_tokens", Better::kHigher},
    Direction{"total_output_tokens", Better::kHigher},
    Direction{"*throughput", Better::kHigher},
    Direction{"request_goodput", Better::kHigher},
    Direction{"goodput.requests", Better::kHigher},
    Direction{"goodput.*", Better::kNeither},
    Direction{"measured*", Better::kNeither},
    Direction{"trace_requests", Better::kNeither},
    Direction{"*_ms", Better::kLower},
    Direction{"percentiles_exact", Better::kNeither},
    Direction{"saturated", Better::kLower},
    Direction{"queue_at_arrival.*", Better::kLower},
    // Pressure on the pool, and waiting. Which reason waits are booked on may shift.
    Direction{"preemptions", Better::kLower},
    Direction{"recomputed_tokens", Better::kLower},
    Direction{"sat_out", Better::kLower},
    Direction{"wait_ns_by_reason.*", Better::kNeither},
    Direction{"wait_ns_total", Better::kLower},
    Direction{"admission.ok", Better::kNeither},
    Direction{"admission.*", Better::kLower},
    Direction{"later_by_reason.*", Better::kNeither},
    // Sharing, copies, drafts.
    Direction{"forks", Better::kNeither},
    Direction{"forks_*", Better::kLower},
    Direction{"cow_copies", Better::kLower},
    Direction{"copies.*", Better::kLower},
    Direction{"drafts.proposed", Better::kNeither},
    Direction{"drafts.accepted", Better::kHigher},
    Direction{"prefix_cache.hits", Better::kHigher},
    Direction{"prefix_cache.hit_percent.*", Better::kHigher},
    Direction{"prefix_cache.*", Better::kNeither},
    Direction{"store.hits", Better::kHigher},
    Direction{"store.load_ns", Better::kLower},
    Direction{"store.loads_lost", Better::kLower},
    Direction{"store.saves_lost", Better::kLower},
    Direction{"store.*", Better::kNeither},
    // Where the memory went: the shares of one whole are shown, the whole is judged.
    Direction{"blocks.peak_owned", Better::kLower},
    Direction{"blocks.mean_owned", Better::kLower},
    Direction{"blocks.*", Better::kNeither},
    Direction{"slots.peak_owned", Better::kLower},
    Direction{"slots.*", Better::kNeither},
    Direction{"ledger_position_ns.*", Better::kNeither},
    Direction{"fragmentation_percent", Better::kLower},
    Direction{"fragmentation.*", Better::kNeither},
    Direction{"sharing.mean_positions_saved", Better::kHigher},
    Direction{"sharing.*", Better::kNeither},
    // Which blocks lie side by side is what the orders of release and reuse come to.
    Direction{"adjacency.*_ppm", Better::kSame},
    Direction{"adjacency.*", Better::kNeither},
    Direction{"state_slots*", Better::kNeither},
    Direction{"draft_slots*", Better::kNeither},
    // The device, the work done, and what repeats the run.
    Direction{"device.*", Better::kNeither},
    Direction{"steps_out_of_range.*", Better::kNeither},
    Direction{"steps", Better::kLower},
    Direction{"failed_steps", Better::kLower},
    Direction{"events", Better::kNeither},
    Direction{"digest*", Better::kNeither},
    Direction{"version", Better::kNeither},
    Direction{"trace*", Better::kNeither},
    Direction{"config_digest", Better::kNeither},
    Direction{"seed", Better::kNeither},
};

const Direction* find(std::string_view figure) {
  for (const Direction& direction : kDirections) {
    if (matches(direction.pattern, figure)) return &direction;
  }
  return nullptr;
}

}  // namespace

bool matches(std::string_view pattern, std::string_view text) {
  const std::size_t star = pattern.find('*');
  if (star == std::string_view::npos) return pattern == text;
  if (!text.starts_with(pattern.substr(0, star))) return false;
  const std::string_view rest = pattern.substr(star + 1);
  for (std::size_t at = star; at <= text.size(); ++at) {
    if (matches(rest, text.substr(at))) return true;
  }
  return false;
}

Better better_of(std::string_view figure) {
  const Direction* const found = find(figure);
  return found == nullptr ? Better::kNeither : found->better;
}

bool direction_is_known(std::string_view figure) { return find(figure) != nullptr; }

std::string_view name_of(Better better) {
  switch (better) {
    case Better::kLower: return "lower";
    case Better::kHigher: return "higher";
    case Better::kSame: return "same";
    case Better::kNeither: return "-";
  }
  return "?";
}

int rank_of_word(std::string_view word) {
  if (word == "false" || word == "ok") return 0;
  return word == "true" ? 1 : 2;
}

}  // namespace pinfold::sim
