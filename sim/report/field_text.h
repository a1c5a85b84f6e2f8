#pragma once
// A run's figures inside other formats.

#include <span>
#include <string>

#include "sim/config/json_writer.h"
#include "sim/core/run_fields.h"

namespace pinfold::sim {

/// Writes the figures as members of the object that is open; "blocks.usable" becomes member "usable" of
/// "blocks".
void write_fields(JsonWriter& json, std::span<const ReportField> fields);

/// RFC 4180: quotes around a text that needs them, a quote inside doubled.
std::string csv_field(const std::string& text);

}  // namespace pinfold::sim
