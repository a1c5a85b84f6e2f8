#pragma once
// The program's commands and flags as a manual page and as a completion for bash, from the same table that reads
// the command line.

#include <string>
#include <vector>

namespace pinfold::sim {

struct ManualFlag {
  std::vector<std::string> names;  // "-o", "--output"; of a positional its name alone
  std::string type;                // "FILE"; empty where it takes no value
  std::string description;
  bool positional = false;
};

struct ManualCommand {
  std::vector<std::string> words;  // "trace", "info"; empty: the program itself
  std::string description;
  std::vector<ManualFlag> flags;
  std::vector<std::string> commands;  // names of those below it
};

struct Manual {
  std::string version;
  std::vector<ManualCommand> commands;  // the program first
  std::string exit_codes;               // lines
};

/// troff with the man macros: what `man pinfold` shows.
std::string manual_page(const Manual& manual);

/// A script for bash: commands, flags, their words, options behind --set, files.
std::string bash_completion(const Manual& manual);

}  // namespace pinfold::sim
