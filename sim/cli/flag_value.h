#pragma once
// What a flag's text says, and mistakes in it.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/trace/input_error.h"

namespace pinfold::sim {

/// A mistake on the command line; ends in exit code 2 and the name of the command whose help to read.
struct UsageError {
  std::string message;
};

/// "a, b, c".
std::string in_a_row(const std::vector<std::string>& words);

/// " (did you mean run?)", or nothing where no candidate is close.
std::string did_you_mean(const std::string& word, const std::vector<std::string>& candidates);

/// One of a flag's words, as the enumerator that stands beside it.
template <class Enum>
struct Word {
  std::string text;
  Enum value;
};

/// The mistake of a flag whose text is none of these words.
UsageError none_of(const std::string& flag, const std::string& text,
                   const std::vector<std::string>& known);

template <class Enum>
Enum one_of(const std::string& flag, const std::string& text,
            const std::vector<Word<Enum>>& words) {
  std::vector<std::string> known;
  for (const Word<Enum>& word : words) {
    if (word.text == text) return word.value;
    known.push_back(word.text);
  }
  throw none_of(flag, text, known);
}

inline bool on_or_off(const std::string& flag, const std::string& text) {
  return one_of<bool>(flag, text, {{"on", true}, {"off", false}});
}

/// A number of tokens from `least`, which may be 0.
std::uint32_t tokens_of(const std::string& flag, const std::string& text, std::uint32_t least,
                        std::uint32_t most = UINT32_MAX);

/// A number from 1; `expected` says what it counts.
std::uint64_t count_of(const std::string& flag, const std::string& text,
                       const std::string& expected);

/// From 0, in nanoseconds.
std::int64_t seconds_of(const std::string& flag, const std::string& text);

/// The value, or its error as one of ours.
template <class T>
T value_of(const Outcome<T>& outcome) {
  if (!outcome) throw UsageError{describe(outcome.error())};
  return outcome.value();
}

/// A positional that must be there.
std::string needed(const std::string& what, const std::string& text, const std::string& expected);

}  // namespace pinfold::sim
