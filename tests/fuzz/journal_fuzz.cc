// Recorded journals: read, replayed where the pools are small, and written again. What is written says the
// same when it is read.

#include <algorithm>
#include <span>
#include <sstream>
#include <vector>

#include "sim/record/journal_file.h"
#include "sim/record/journal_replay.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/known_members.h"

namespace pinfold::fuzz {
namespace {

constexpr std::uint32_t kIdsMost = 1 << 12;

/// The journal as JournalWriter writes it; none if there is a mistake in it.
std::optional<std::string> rewritten(std::string_view text) {
  sim::JournalReader reader(text, "fuzz.jsonl");
  const auto header = reader.header();
  if (!header) return std::nullopt;
  const sim::JournalHeader& head = header.value();
  if (std::max({head.block_ids, head.state_ids, head.draft_ids}) > kIdsMost) return std::nullopt;
  std::ostringstream out;
  sim::JournalWriter writer(out);
  writer.header(head);
  sim::JournalEvent event;
  std::vector<std::byte> bytes;
  while (reader.next(event)) {
    const auto record = std::as_bytes(std::span(&event.record, 1));
    const auto ids = std::as_bytes(std::span(event.ids));
    bytes.assign(record.begin(), record.end());
    bytes.insert(bytes.end(), ids.begin(), ids.end());
    writer.records(bytes);
  }
  if (reader.error()) return std::nullopt;
  writer.end(reader.end());
  return out.str();
}

void run(std::string_view text) {
  const std::optional<std::string> first = rewritten(text);
  if (!first) return;
  const std::optional<std::string> second = rewritten(*first);
  require(second == first, "a journal that is read and written is the same afterwards");
  const auto outcome = sim::replay_journal(text, "fuzz.jsonl");
  require(static_cast<bool>(outcome), "a journal without a mistake can be performed or differs");
  require(!sim::journal_json(outcome.value()).empty(), "a replay has a result");
  require(!sim::journal_text(outcome.value()).empty(), "a replay has a text");
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
