#include "sim/cli/run_trace.h"

#include <filesystem>
#include <system_error>

#include "sim/core/trace_span.h"

namespace pinfold::sim {

bool StreamedTrace::next(TraceRequest& request) {
  if (error_ || !source_->next(request)) return false;
  error_ = check_span(request, name_, config_);
  if (error_) return false;
  digest_.add(request);
  return true;
}

bool is_streamed(const std::string& path) {
  constexpr std::uintmax_t kWhole = 64U << 20;
  std::error_code failure;
  if (path == "-" || !std::filesystem::is_regular_file(path, failure)) return path == "-";
  const std::uintmax_t size = std::filesystem::file_size(path, failure);
  return !failure && size > kWhole;
}

}  // namespace pinfold::sim
