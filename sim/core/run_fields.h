#pragma once
// The result's figures by name, in the order in which every machine-readable format lists them.

#include <string>
#include <vector>

#include "sim/core/provenance.h"
#include "sim/core/run_result.h"

namespace pinfold::sim {

/// One figure. `name` has at most one point: "blocks.usable" is member "usable" of "blocks".
struct ReportField {
  enum class Kind : std::uint8_t { kNumber, kText, kNone };
  std::string name;
  Kind kind;
  std::string text;  // empty where there is no value
};

/// All figures of a run; those of a group stand together.
std::vector<ReportField> run_fields(const RunResult& result, const Provenance& provenance);

/// "ok", "stall" or "violation".
const char* name_of(Verdict verdict);

/// A digest as 16 hexadecimal digits.
std::string hexadecimal(std::uint64_t digest);

}  // namespace pinfold::sim
