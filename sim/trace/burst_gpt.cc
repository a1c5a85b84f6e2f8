#include "sim/trace/burst_gpt.h"

#include <algorithm>
#include <map>
#include <memory>

#include "sim/trace/time_sum.h"

namespace pinfold::sim {

TableSchema burst_gpt() {
  auto ends = std::make_shared<std::map<std::uint64_t, std::int64_t>>();
  return {
      .format = "burstgpt",
      .columns = {{"Timestamp", Field::kArrival, true, Clock::kSeconds},
                  {"Request tokens", Field::kPrompt, true},
                  {"Response tokens", Field::kOutput, true},
                  {"Session ID", Field::kSession},
                  {"Elapsed time", Field::kElapsed, false, Clock::kSeconds}},
      .rule = [ends](TraceRequest& request, const RowExtras& extras) -> std::optional<InputError> {
        if (request.session == kNoSession) return std::nullopt;
        const std::int64_t end =
            time_sum(request.arrival_ns, extras.elapsed_ns.value_or(0)).value_or(kNeverNs);
        const auto [place, first] = ends->try_emplace(request.session, end);
        if (!first) {
          request.delay_ns = std::max<std::int64_t>(0, request.arrival_ns - place->second);
          place->second = end;
        }
        return std::nullopt;
      }};
}

}  // namespace pinfold::sim
