#pragma once
// BurstGPT: CSV of an Azure OpenAI service. Release 1 has 6 columns, release 2 adds `Session ID` and
// `Elapsed time`. Columns are found by name: the second is the model in one release and the session in
// the other. Seconds count from midnight of the first day, as integers in one release and with `.0` in
// the other. A response of 0 tokens is a failed request.

#include "sim/trace/table_schema.h"

namespace pinfold::sim {

/// A turn's delay is its arrival less the end of the session's turn before it (arrival and elapsed time),
/// at least 0: one record a session is kept. Rows without a session stand alone.
TableSchema burst_gpt();

}  // namespace pinfold::sim
