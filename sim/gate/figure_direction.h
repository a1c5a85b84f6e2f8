#pragma once
// Which way each figure of a run is better.

#include <cstdint>
#include <string_view>

namespace pinfold::sim {

enum class Better : std::uint8_t {
  kLower,    // less is better, as of preemptions
  kHigher,   // more is better, as of throughput
  kSame,     // neither way: a change is a failure, unless a tolerance or a new baseline allows it
  kNeither,  // says what was run or how, and is shown only
};

/// Of a figure of requirement_figures(); kNeither for one that the table does not know.
Better better_of(std::string_view figure);

/// Whether the table knows the figure. Every one should be in it.
bool direction_is_known(std::string_view figure);

/// "lower", "higher", "same" or "-"
std::string_view name_of(Better better);

/// Place of a word among those a figure can be, lower is better: false before true, ok before stall and
/// violation. Every other word is in the last place.
int rank_of_word(std::string_view word);

/// Whether `text` matches `pattern`, in which each `*` stands for any characters.
bool matches(std::string_view pattern, std::string_view text);

}  // namespace pinfold::sim
