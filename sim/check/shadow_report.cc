#include "sim/check/shadow_report.h"

namespace pinfold::sim {
namespace {

// What allowed it is a release before the write, if the block was taken from under its reader, or after
// it, if the reader got the block and never wrote the row.
std::string read_text(const ShadowFinding& finding) {
  const std::string what = name_of_id(finding.pool, finding.id);
  const bool written = finding.found.tag.kind != RowKind::kNothing;
  const bool before = finding.found.before.event != 0;
  std::string text =
      ": expected " + name_of_row(finding.expected) + ", found " + name_of_row(finding.found.tag);
  if (before) text += name_of_release(finding.found.before, what) + ", before that was written";
  if (finding.since.event != 0 || !before) text += name_of_release(finding.since, what);
  if (finding.since.event != 0 && written) text += ", after that was written";
  return text;
}

}  // namespace

std::string name_of_life(std::uint32_t sequence, std::uint32_t epoch) {
  std::string name = "sequence " + std::to_string(sequence);
  if (epoch > 0) name += " in epoch " + std::to_string(epoch);
  return name;
}

std::string name_of_id(PoolKind pool, std::uint32_t id) {
  return std::string(name_of(pool)) + " " + std::to_string(id);
}

std::string name_of_row(const RowTag& tag) {
  const std::string writer = name_of_life(tag.writer, tag.epoch);
  const std::string position = "position " + std::to_string(tag.position);
  switch (tag.kind) {
    case RowKind::kNothing: return "nothing that anybody wrote";
    case RowKind::kData: return position + " of " + writer;
    case RowKind::kDiscarded: return "a row that " + writer + " wrote and that was not accepted";
    case RowKind::kLost: return "what a lost copy for " + writer + " left behind";
  }
  return "?";
}

std::string name_of_release(const Release& release, const std::string& what) {
  if (release.event == 0) return "; nobody had released " + what;
  return "; sequence " + std::to_string(release.sequence) + " had released " + what + " at event " +
         std::to_string(release.event);
}

std::string wrong_row_text(const ShadowFinding& finding, std::uint32_t epoch, std::uint64_t step,
                           std::uint32_t row) {
  return name_of_life(finding.sequence, epoch) + " reads position " +
         std::to_string(finding.position) + " in step " + std::to_string(step) + ", row " +
         std::to_string(row) + " of " + name_of_id(finding.pool, finding.id) + read_text(finding);
}

std::string wrong_state_text(const ShadowFinding& finding, std::uint32_t epoch,
                             std::uint64_t step) {
  return name_of_life(finding.sequence, epoch) + " goes on at position " +
         std::to_string(finding.position) + " in step " + std::to_string(step) + " from " +
         name_of_id(finding.pool, finding.id) + read_text(finding);
}

}  // namespace pinfold::sim
