#pragma once
// How a person or a program reads what `replay --verify` found.

#include <span>
#include <string>

#include "sim/config/json_writer.h"
#include "sim/record/broken_rule.h"
#include "sim/record/journal_verify.h"

namespace pinfold::sim {

/// "FILE:57: I2 owners: ...", the history behind it indented.
std::string broken_text(const std::string& path, std::span<const BrokenRule> broken);
/// An array of objects with `rule`, `line`, `text` and `history`.
void write_broken(JsonWriter& json, std::span<const BrokenRule> broken);

std::string verdict_text(const std::string& path, const JournalVerdict& verdict);
std::string verdict_json(const JournalVerdict& verdict);

}  // namespace pinfold::sim
