#pragma once
// Where a command leaves its files.

#include <optional>
#include <span>
#include <string>

#include "sim/trace/input_error.h"

namespace pinfold::sim {

/// Whether files can be written into `directory`, which need not exist. Asked before the work starts, so
/// that it is not lost at the end; changes nothing.
std::optional<InputError> check_output_directory(const std::string& directory);

struct OutputFile {
  std::string name;
  std::string content;
};

/// Creates the directory where it is missing and writes all files, each under a temporary name that is
/// renamed once all are complete. After an error none of the temporary files is left. SIGINT waits.
std::optional<InputError> write_output_files(const std::string& directory,
                                             std::span<const OutputFile> files);

}  // namespace pinfold::sim
