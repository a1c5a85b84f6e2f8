#include "sim/check/shadow_report.h"

namespace pinfold::sim {
namespace {

std::string read_text(const ShadowFinding& finding) {
  return ": expected " + name_of_row(finding.expected) + ", found " +
         name_of_row(finding.found.tag) +
         name_of_release(finding.found.before, name_of_id(finding.pool, finding.id));
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
  if (release.event == 0) return "; nobody had released " + what + " before";
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
