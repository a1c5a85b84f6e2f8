// Runs of rows beside a plain list of rows; readers beside a plain list of entries.

#include "sim/check/shadow_contents.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "sim/check/shadow_readers.h"
#include "tests/model/random_draws.h"

namespace pinfold::sim {
namespace {

RowTag data(std::uint32_t writer, std::uint32_t position) {
  return {RowKind::kData, writer, 0, position};
}

std::uint32_t runs_of(const BlockContents& contents, std::uint32_t block) {
  std::uint32_t runs = 0;
  contents.for_each_run(block, [&](std::uint32_t, std::uint32_t, const RowTag&) { runs += 1; });
  return runs;
}

TEST_CASE("a block that one sequence fills is one run, however it is written") {
  BlockContents contents(3, 8);
  CHECK(runs_of(contents, 1) == 0);
  CHECK(contents.at(1, 3) == WrittenRow{});
  contents.write(1, 0, 8, data(4, 16), {});
  CHECK(runs_of(contents, 1) == 1);
  CHECK(contents.at(1, 7).tag == data(4, 23));

  // Another tenant, row by row: its run grows and the last one's shrinks.
  const Release before{12, 4};
  for (std::uint32_t row = 0; row < 5; ++row) {
    contents.write(1, row, row + 1, data(7, 32 + row), before);
    CHECK(runs_of(contents, 1) == 2);
  }
  CHECK(contents.at(1, 4) == WrittenRow{data(7, 36), before});
  CHECK(contents.at(1, 5) == WrittenRow{data(4, 21), {}});
  CHECK(contents.first_other(1, 0, 8, data(7, 32)) == 5);
  CHECK(contents.first_other(1, 0, 5, data(7, 32)) == 5);
  CHECK(contents.first_other(1, 2, 5, data(7, 32)) == 2);
}

TEST_CASE("runs hold what a plain list of rows holds, over random writes and copies") {
  constexpr std::uint32_t kBlocks = 5;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    model::RandomDraws draws(seed);
    const std::uint32_t size = 1 + draws.below(9);
    BlockContents contents(kBlocks, size);
    std::vector<std::vector<WrittenRow>> rows(kBlocks, std::vector<WrittenRow>(size));
    for (std::uint32_t turn = 0; turn < 200; ++turn) {
      const std::uint32_t block = draws.below(kBlocks);
      const Release before{draws.below(3), draws.below(2)};
      if (draws.chance(20)) {
        const std::uint32_t from = draws.below(kBlocks);
        const std::uint32_t count = draws.below(size + 1);
        contents.copy(from, block, count, before);
        for (std::uint32_t row = 0; from != block && row < count; ++row) {
          rows[block][row] = {rows[from][row].tag, before};
        }
      } else {
        const std::uint32_t begin = draws.below(size);
        const std::uint32_t end = begin + draws.below(size - begin + 1);
        RowTag tag = data(draws.below(2), begin);  // neighbours often go on
        if (draws.chance(20)) tag.kind = RowKind::kDiscarded;
        contents.write(block, begin, end, tag, before);
        for (std::uint32_t row = begin; row < end; ++row) {
          rows[block][row] = {further(tag, row - begin), before};
        }
      }
      CAPTURE(seed);
      CAPTURE(turn);
      std::uint32_t expected_runs = 1;
      bool written = false;
      for (std::uint32_t row = 0; row < size; ++row) {
        REQUIRE(contents.at(block, row) == rows[block][row]);
        written = written || rows[block][row] != WrittenRow{};
        if (row == 0) continue;
        const WrittenRow& last = rows[block][row - 1];
        const bool goes_on =
            last.before == rows[block][row].before && further(last.tag, 1) == rows[block][row].tag;
        expected_runs += goes_on ? 0 : 1;
      }
      if (written) REQUIRE(runs_of(contents, block) == expected_runs);
      const RowTag wanted = data(draws.below(2), 0);
      std::uint32_t other = 0;
      while (other < size && rows[block][other].tag == further(wanted, other)) ++other;
      REQUIRE(contents.first_other(block, 0, size, wanted) == other);
    }
  }
}

TEST_CASE("readers of a block are the entries that were added and not removed") {
  model::RandomDraws draws(1);
  BlockReaders readers(4);
  std::vector<std::pair<std::uint32_t, std::uint32_t>> plain[4];  // (life, entry)
  for (std::uint32_t turn = 0; turn < 2'000; ++turn) {
    const std::uint32_t block = draws.below(4);
    auto& entries = plain[block];
    if (entries.empty() || draws.chance(50)) {
      entries.push_back({turn, draws.below(3)});
      readers.add(block, {entries.back().first, entries.back().second});
    } else {
      const std::size_t gone = draws.below(static_cast<std::uint32_t>(entries.size()));
      readers.remove(block, {entries[gone].first, entries[gone].second});
      entries.erase(entries.begin() + static_cast<std::ptrdiff_t>(gone));
    }
    std::vector<std::pair<std::uint32_t, std::uint32_t>> told;
    readers.for_each(block, [&](const BlockReader& reader) {
      told.push_back({reader.life, reader.entry});
    });
    std::sort(told.begin(), told.end());
    std::vector<std::pair<std::uint32_t, std::uint32_t>> wanted = entries;
    std::sort(wanted.begin(), wanted.end());
    REQUIRE(told == wanted);
  }
}

}  // namespace
}  // namespace pinfold::sim
