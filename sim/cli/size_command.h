#pragma once
// `pinfold size`: blocks, tokens and concurrency of an engine before it runs.

#include <optional>
#include <ostream>

#include "sim/cli/config_flags.h"
#include "sim/cli/exit_code.h"
#include "sim/config/pool_size.h"

namespace pinfold::sim {

struct SizeCommand {
  ConfigFlags config;
  std::optional<RequestShape> shape{};
  bool json = false;
};

ExitCode size_command(const SizeCommand& command, std::ostream& out, std::ostream& err);

}  // namespace pinfold::sim
