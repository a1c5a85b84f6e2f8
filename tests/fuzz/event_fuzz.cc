// Ownership-event files: read, and replayed where they are small. Replaying audits the pools after each event.

#include "sim/record/event_file.h"
#include "sim/record/replay.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/known_members.h"

namespace pinfold::fuzz {
namespace {

constexpr std::uint64_t kPositionsMost = 1 << 16;
constexpr std::uint32_t kSlotsMost = 1 << 10;

bool small(const OwnershipOptions& pool) {
  return std::uint64_t{pool.num_blocks} * pool.block_size.value <= kPositionsMost &&
         pool.num_state_slots.value_or(0) <= kSlotsMost;
}

void run(std::string_view text) {
  const auto file = sim::parse_event_file(text, "fuzz.jsonl");
  if (!file || !small(file.value().pool)) return;
  const auto output = sim::replay(file.value());
  if (!output) return;
  const auto again = sim::replay(file.value());
  require(again && again.value().lines == output.value().lines, "a second replay says the same");
  require(!sim::replay_json(file.value(), output.value(), true).empty(), "a replay has a result");
}

}  // namespace

const std::vector<KnownMember>& known_members() {
  static const std::vector<KnownMember> kNone;
  return kNone;
}

}  // namespace pinfold::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  pinfold::fuzz::run(pinfold::fuzz::text_of(data, size));
  return 0;
}
