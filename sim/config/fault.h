#pragma once
// What the device may do wrong at a given step.

#include <cstdint>

namespace pinfold::sim {

enum class FaultKind : std::uint8_t {
  kStepFailed,  // nothing of the step, or of the steps behind it, is committed (decision 9)
  kStepLost,    // the step's result never comes
  kCopyLost,    // nobody reports that the step's copies are done
  kCopyDelay,   // that report comes late
};

struct Fault {
  FaultKind kind = FaultKind::kStepFailed;
  std::uint64_t step = 0;     // number of the dispatched step, from 1
  std::int64_t delay_ns = 0;  // kCopyDelay only
};

}  // namespace pinfold::sim
