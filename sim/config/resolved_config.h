#pragma once
// A configuration written out: the canonical dump, its digest, and the schema of all configurations.

#include <string>

#include "sim/config/run_config.h"

namespace pinfold::sim {

/// Every option that has an effect, in the option table's order, as JSON that load_config accepts: what
/// `-o DIR` stores as config.resolved.json. Equal dumps run alike. A pool sized from memory is dumped as
/// that memory and not as the block count that follows, so that `--set engine.block_size=64` on top of a
/// dump asks for the same bytes.
std::string resolved_json(const RunConfig& config);

/// XXH3 (64 bits) of the dump as 16 hexadecimal digits: `xxhsum -H3 config.resolved.json` prints it too.
std::string config_digest(const RunConfig& config);

/// JSON Schema (draft-07) of the configuration, with units and defaults.
std::string config_schema();

}  // namespace pinfold::sim
