#include "sim/cli/flag_value.h"

#include <charconv>
#include <optional>

#include "sim/trace/closest_word.h"
#include "sim/trace/decimal_number.h"

namespace pinfold::sim {

std::string in_a_row(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

std::string did_you_mean(const std::string& word, const std::vector<std::string>& candidates) {
  const std::vector<std::string_view> views(candidates.begin(), candidates.end());
  const std::optional<std::string_view> close = closest_word(word, views);
  return close ? " (did you mean " + std::string(*close) + "?)" : "";
}

UsageError none_of(const std::string& flag, const std::string& text,
                   const std::vector<std::string>& known) {
  return {flag + ": found " + in_quotes(text) + ", expected one of " + in_a_row(known) +
          did_you_mean(text, known)};
}

std::uint32_t tokens_of(const std::string& flag, const std::string& text, std::uint32_t least,
                        std::uint32_t most) {
  std::uint32_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, failure] = std::from_chars(text.data(), end, value);
  if (failure != std::errc() || stop != end || value < least || value > most) {
    throw UsageError{flag + ": found " + in_quotes(text) + ", expected a number of tokens from " +
                     std::to_string(least) +
                     (most == UINT32_MAX ? "" : " to " + std::to_string(most))};
  }
  return value;
}

std::uint64_t count_of(const std::string& flag, const std::string& text,
                       const std::string& expected) {
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, failure] = std::from_chars(text.data(), end, value);
  if (failure != std::errc() || stop != end || value == 0) {
    throw UsageError{flag + ": found " + in_quotes(text) + ", expected " + expected};
  }
  return value;
}

std::int64_t seconds_of(const std::string& flag, const std::string& text) {
  const auto ns = scaled_decimal(text, 9);
  if (ns && *ns >= 0) return *ns;
  throw UsageError{flag + ": found " + in_quotes(text) + ", expected seconds from 0"};
}

std::string needed(const std::string& what, const std::string& text, const std::string& expected) {
  if (text.empty()) throw UsageError{"found no " + what + ", expected " + expected};
  return text;
}

}  // namespace pinfold::sim
