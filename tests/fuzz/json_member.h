#pragma once
// Members of JSON text, found and changed without reading the rest of it: the text may be broken anywhere.

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace pinfold::fuzz {

/// Gives the member at `path` of the object whose brace stands at or behind `root` this value: changed where it
/// is there, added where it is not, with the objects above it. Of an array's objects (`name[]`), and there are
/// `n` of them, the one that `choose(n)` says. False, and nothing is changed, where something else is in the way.
bool set_member(std::string& text, std::size_t root, std::string_view path, std::string_view value,
                const std::function<std::size_t(std::size_t)>& choose);

}  // namespace pinfold::fuzz
