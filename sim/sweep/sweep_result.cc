#include "sim/sweep/sweep_result.h"

namespace pinfold::sim {
namespace {

std::optional<std::string> value_in(const std::vector<ReportField>& fields,
                                    const std::string& name) {
  for (const ReportField& field : fields) {
    if (field.name == name && field.kind != ReportField::Kind::kNone) return field.text;
  }
  return std::nullopt;
}

}  // namespace

RunStatus SweepResult::status(std::size_t cell) const {
  return record_of[cell] ? records[*record_of[cell]].status : RunStatus::kInvalid;
}

const std::string& SweepResult::reason(std::size_t cell) const {
  return record_of[cell] ? records[*record_of[cell]].reason : config(cell).invalid;
}

std::optional<std::string> SweepResult::figure(std::size_t cell, const std::string& name) const {
  if (auto value = value_in(config(cell).pool, name)) return value;
  if (!record_of[cell]) return std::nullopt;
  return value_in(records[*record_of[cell]].figures, name);
}

}  // namespace pinfold::sim
