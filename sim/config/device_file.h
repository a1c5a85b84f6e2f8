#pragma once
// Device files: what public measurements say about the time of a step on a GPU. `configs/devices/`
// holds those that are built into the program, README.md there describes the format.

#include <span>
#include <string>
#include <string_view>

#include "sim/config/device.h"
#include "sim/trace/input_error.h"

namespace pinfold::sim {

/// A file that is part of the program.
struct BuiltInDevice {
  std::string_view name;  // "llama-3.1-70b_h100_sxm_vllm"
  std::string_view text;
};
std::span<const BuiltInDevice> built_in_devices();

/// What of a device file a run uses.
struct DeviceChoice {
  std::uint32_t tensor_parallel_size = 1;
  std::string variant;
  Fit fit = Fit::kTable;
};

/// Why a choice cannot be had of a valid file: the option to blame, what there is instead.
struct ChoiceError {
  std::string option;  // "engine.tensor_parallel_size"
  std::string found;
  std::string expected;
};

/// The device, or a mistake in the file, or a choice that it does not offer.
using DeviceOutcome = std::variant<Device, InputError, ChoiceError>;

/// Checks the whole file, then picks. Unknown and missing keys, negative and too large numbers and values
/// of the wrong kind are mistakes, with line, column and the value's path in the document. `name` stands
/// for the file's path.
DeviceOutcome read_device(std::string_view text, const std::string& name,
                          const DeviceChoice& choice);

}  // namespace pinfold::sim
