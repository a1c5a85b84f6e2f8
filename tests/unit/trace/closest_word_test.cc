#include "sim/trace/closest_word.h"

#include <doctest/doctest.h>

#include <array>
#include <string>

#include "sim/trace/input_error.h"

namespace pinfold::sim {
namespace {

std::string closest(std::string_view word) {
  constexpr std::array<std::string_view, 5> kWords{"block_size", "num_blocks", "overlap", "run",
                                                   "on"};
  const auto found = closest_word(word, kWords);
  return found ? std::string(*found) : "none";
}

TEST_CASE("closest word: one letter dropped, added, replaced, or two swapped") {
  CHECK(closest("blok_size") == "block_size");
  CHECK(closest("block_sizes") == "block_size");
  CHECK(closest("block-size") == "block_size");
  CHECK(closest("blcok_size") == "block_size");
  CHECK(closest("rnu") == "run");
  CHECK(closest("OVERLAP") == "overlap");
}

TEST_CASE("closest word: nothing where more than a third differs") {
  CHECK(closest("sweep") == "none");
  CHECK(closest("") == "none");
  CHECK(closest("block_size_of_the_pool") == "none");
  CHECK(closest_word("run", {}) == std::nullopt);
}

TEST_CASE("closest word: the nearest wins, of equal ones the first") {
  constexpr std::array<std::string_view, 3> kWords{"fence", "hence", "pence"};
  CHECK(closest_word("pence", kWords) == "pence");
  CHECK(closest_word("tence", kWords) == "fence");
}

TEST_CASE("closest word: a beginning of four letters, with one wrong at most") {
  constexpr std::array<std::string_view, 3> kWords{"blo", "block_size", "blocks"};
  CHECK(closest_beginning("blok", kWords) == "block_size");
  CHECK(closest_beginning("block", kWords) == "block_size");
  CHECK(closest_beginning("blo", kWords) == std::nullopt);
  CHECK(closest_beginning("bolc", kWords) == "block_size");  // a swap is one
  CHECK(closest_beginning("bulk", kWords) == std::nullopt);
  CHECK(closest_beginning("blocks", std::span(kWords).last(1)) ==
        std::nullopt);  // that is the word
}

TEST_CASE("input error: the parts that are known") {
  InputError error;
  error.path = "a.csv";
  error.found = "X";
  CHECK(describe(error) == "a.csv: found X");
  error.line = 3;
  error.expected = "Y";
  CHECK(describe(error) == "a.csv:3: found X, expected Y");
  error.column = 7;
  error.key = "engine.overlap";
  error.hint = "leave it out";
  CHECK(describe(error) == "a.csv:3:7: engine.overlap: found X, expected Y (leave it out)");
}

TEST_CASE("in quotes: no byte reaches a terminal raw, long texts are cut") {
  CHECK(in_quotes("a\tb\r\n") == "\"a\\tb\\r\\n\"");
  CHECK(in_quotes("\x1b[31m") == "\"\\x1b[31m\"");
  CHECK(in_quotes("\xc3\xa4") == "\"\\xc3\\xa4\"");
  CHECK(in_quotes(std::string(61, 'x')) == "\"" + std::string(60, 'x') + "...\"");
  CHECK(in_quotes(std::string(60, 'x')) == "\"" + std::string(60, 'x') + "\"");
}

}  // namespace
}  // namespace pinfold::sim
