#include "sim/record/row_store.h"

#include <doctest/doctest.h>

#include "tests/unit/broken_rule.h"

namespace pinfold::sim {
namespace {

using test::broken_rule;

constexpr BlockId kOne{1};
constexpr BlockId kTwo{2};

TEST_CASE("row store: a row that was never written has no value") {
  RowStore rows(TokenCount(2));
  CHECK_FALSE(rows.read(kOne, TokenCount(0)).has_value());
  rows.write(kOne, TokenCount(0), 7);
  CHECK(rows.read(kOne, TokenCount(0)) == 7u);
  CHECK_FALSE(rows.read(kOne, TokenCount(1)).has_value());
}

TEST_CASE("row store: a copy moves every row, unwritten ones included, and is no link") {
  RowStore rows(TokenCount(2));
  rows.write(kOne, TokenCount(0), 7);
  rows.write(kTwo, TokenCount(0), 8);
  rows.write(kTwo, TokenCount(1), 9);
  rows.copy(kOne, kTwo);
  CHECK(rows.read(kTwo, TokenCount(0)) == 7u);
  CHECK_FALSE(rows.read(kTwo, TokenCount(1)).has_value());
  rows.write(kOne, TokenCount(0), 10);
  CHECK(rows.read(kTwo, TokenCount(0)) == 7u);
  rows.copy(BlockId{3}, kTwo);
  CHECK_FALSE(rows.read(kTwo, TokenCount(0)).has_value());
}

TEST_CASE("row store (O1): block 0 and rows behind the block are refused") {
  RowStore rows(TokenCount(2));
  CHECK(broken_rule([&] { rows.write(kNoBlock, TokenCount(0), 1); }) == "O1");
  CHECK(broken_rule([&] { rows.write(kOne, TokenCount(2), 1); }) == "O1");
  CHECK(broken_rule([&] { (void)rows.read(kNoBlock, TokenCount(0)); }) == "O1");
  CHECK(broken_rule([&] { (void)rows.read(kOne, TokenCount(2)); }) == "O1");
  CHECK(broken_rule([&] { rows.copy(kOne, kOne); }) == "O8");
  CHECK(broken_rule([] { RowStore none(TokenCount(0)); }) == "O1");
}

}  // namespace
}  // namespace pinfold::sim
