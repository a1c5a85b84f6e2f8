#include "sim/cli/size_command.h"

#include <fmt/format.h>

#include "sim/report/size_report.h"

namespace pinfold::sim {
namespace {

std::optional<InputError> check_shape(const RequestShape& shape, const RunConfig& config) {
  const std::uint64_t positions =
      std::uint64_t{shape.prompt} + (shape.output > 0 ? shape.output - 1 : 0);
  if (positions <= config.engine.max_model_len) return std::nullopt;
  InputError error;
  error.path = "--prompt-tokens and --output-tokens";
  error.found = fmt::format("{} positions ({} + {} - 1)", positions, shape.prompt, shape.output);
  error.expected = fmt::format("at most engine.max_model_len = {}", config.engine.max_model_len);
  return error;
}

}  // namespace

ExitCode size_command(const SizeCommand& command, std::ostream& out, std::ostream& err) {
  const Outcome<LoadedConfig> loaded = load_config(command.config, err);
  if (!loaded) return fail(err, ExitCode::kUsageError, loaded.error());
  if (!loaded.value().pool_is_given) {
    return fail(
        err, ExitCode::kUsageError,
        "found no memory to size a pool from, expected --available-gib or --num-blocks as an "
        "engine logs them, or memory.device_gib (--config configs/engines/vllm_h100.json)");
  }
  const RunConfig& config = loaded.value().config;
  if (command.shape) {
    if (auto error = check_shape(*command.shape, config)) {
      return fail(err, ExitCode::kUsageError, *error);
    }
  }
  const SizeResult result = size_result(config, command.shape);
  out << (command.json ? size_json(result) : size_text(result));
  return ExitCode::kOk;
}

}  // namespace pinfold::sim
