#pragma once
// "Did you mean": the word that a typing error most likely meant.

#include <optional>
#include <span>
#include <string_view>

namespace pinfold::sim {

/// The candidate with the fewest inserted, dropped, replaced or swapped letters (upper and lower case
/// count as equal; ties go to the earlier candidate), or nothing if even that one differs in more than
/// a third of its letters.
std::optional<std::string_view> closest_word(std::string_view word,
                                             std::span<const std::string_view> candidates);

/// The first candidate that begins as `word` of four letters or more does, with one letter wrong at most:
/// block_size for "blok".
std::optional<std::string_view> closest_beginning(std::string_view word,
                                                  std::span<const std::string_view> candidates);

}  // namespace pinfold::sim
