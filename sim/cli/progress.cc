#include "sim/cli/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace pinfold::sim {

Progress::Progress(std::ostream& err, std::uint64_t total, std::string ended, std::uint64_t stride)
    : err_(err),
      total_(total),
      ended_(std::move(ended)),
      stride_(total == 0 ? stride : total / 1'000 + 1),
      start_(Clock::now()) {}

Progress::~Progress() {
  if (shown_ > 0) err_ << '\r' << std::string(shown_, ' ') << '\r' << std::flush;
}

void Progress::show(std::uint64_t ended) {
  if (ended < next_) return;
  next_ = ended + stride_;
  std::string text = total_ == 0 ? fmt::format("{} {}", ended, ended_)
                                 : fmt::format("{} of {} {}", ended, total_, ended_);
  const auto elapsed = std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - start_);
  // In the first second there is no pace yet, and most runs are over.
  if (total_ > 0 && elapsed.count() > 0 && ended > 0) {
    const std::uint64_t left =
        static_cast<std::uint64_t>(elapsed.count()) * (total_ - ended) / ended;
    text += fmt::format(", {} s left", left);
  }
  text.resize(std::max(text.size(), shown_), ' ');
  err_ << '\r' << text << std::flush;
  shown_ = text.size();
}

}  // namespace pinfold::sim
