#pragma once
// What every fuzz target has: libFuzzer calls it with bytes, and so does corpus_main.cc with each file of
// the corpus. A target throws what it finds; libFuzzer takes that for a crash.

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

// The name is libFuzzer's. Returns 0.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace pinfold::fuzz {

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

/// What must hold for every input.
inline void require(bool holds, const std::string& sentence) {
  if (!holds) throw std::logic_error("does not hold: " + sentence);
}

}  // namespace pinfold::fuzz
