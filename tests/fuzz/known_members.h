#pragma once
// What a reader knows by name, so that inputs get members that no input of the corpus had.

#include <string>
#include <vector>

namespace pinfold::fuzz {

/// A member of an object in an input.
struct KnownMember {
  /// `engine.block_size`; `requests[].prompt`: in one of the array's objects. In a file of lines: in one of them.
  std::string path;
  std::vector<std::string> values;   // JSON, good ones and such as are just outside
  std::vector<std::string> needs{};  // paths of the members that decide whether it may be there
};

/// The target's; empty where inputs themselves show all there is.
const std::vector<KnownMember>& known_members();

}  // namespace pinfold::fuzz
