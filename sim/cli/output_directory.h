#pragma once
// Where a command leaves its files: all of them at once, or none.

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "sim/trace/input_error.h"

namespace pinfold::sim {

/// Whether files can be written into `directory`, which need not exist. Asked before the work starts, so
/// that it is not lost at the end; changes nothing.
std::optional<InputError> check_output_directory(const std::string& directory);

struct OutputFile {
  std::string name;
  std::string content;
};

/// Files on their way into a directory. They are written under a temporary name and appear together:
///   the directory does not exist   they grow in NAME.partial beside its topmost missing part, which is
///                                  renamed as one
///   it exists                      they grow in .pinfold.partial inside it, and are moved out one after
///                                  the other; should one fail to move, the others move back
/// What a program that was killed left under these names is removed by the next one. Files of other names
/// stay.
class StagedFiles {
 public:
  /// An error where the place cannot be written, or another program is writing there now.
  static Outcome<std::unique_ptr<StagedFiles>> begin(const std::string& directory);
  /// Removes what was not published.
  ~StagedFiles();
  StagedFiles(const StagedFiles&) = delete;
  StagedFiles& operator=(const StagedFiles&) = delete;

  /// Where to write the file that will be `name`.
  std::string path_of(std::string_view name) const;
  /// Writes one of them.
  std::optional<InputError> write(const OutputFile& file) const;
  /// Moves every file in place. Interrupts wait meanwhile. After an error the directory is as before.
  std::optional<InputError> publish();

 private:
  StagedFiles() = default;

  std::string directory_;  // the final place, as the user named it
  std::string staging_;    // what is removed again in the end
  std::string files_;      // where the files grow: staging_ or below it
  std::string rename_to_;  // what staging_ becomes; empty: the files move one by one
  int lock_ = -1;          // staging_, open and locked
};

/// Writes all files whole, or leaves everything as it was.
std::optional<InputError> write_output_files(const std::string& directory,
                                             std::span<const OutputFile> files);

/// "DIR/NAME: found ...": a file that could not be written, and the reason as an errno.
InputError unwritable(const std::string& directory, std::string_view name, int reason);

}  // namespace pinfold::sim
