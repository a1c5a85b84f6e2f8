// A pool of output records allocates all its memory at construction (rule O11). A program of its own,
// because counting replaces the global operator new.
#include <doctest/doctest.h>

#include "engine/output_records.h"
#include "tests/unit/counted_allocations.h"

namespace pinfold {
namespace {

using test::allocations;

constexpr std::uint32_t kCapacity = 64;

/// Fills the pool, hands half of it to a fence, releases the other half, and passes the fence. Returns
/// how many records it made.
std::uint64_t fill_and_empty(OutputRecords& records, std::uint64_t round,
                             std::array<RecordHandle, kCapacity>& handles) {
  std::uint64_t made = 0;
  while (const std::optional<RecordHandle> handle = records.make(SequenceId{1}, 0u)) {
    RequestOutput& output = records.at(*handle);
    for (std::uint32_t n = 0; n < kOutputTokensMax; ++n) output.push(n);
    handles[made++] = *handle;
  }
  const std::span<const RecordHandle> all(handles);
  records.release_after(fence_on(Lane::kCompute, Ticket{round}), all.first(kCapacity / 2));
  for (const RecordHandle handle : all.subspan(kCapacity / 2)) records.release(handle);
  Passed passed;
  passed.upto[index_of(Lane::kCompute)] = Ticket{round};
  records.sync(passed);
  return made;
}

TEST_CASE("output records (O11): nothing is allocated after construction, up to the capacity") {
  OutputRecords records(kCapacity);
  std::array<RecordHandle, kCapacity> handles{};
  std::uint64_t made = 0;
  const std::uint64_t before = allocations();
  for (std::uint64_t round = 1; round <= 1'000; ++round) {
    made += fill_and_empty(records, round, handles);
  }
  const std::uint64_t after = allocations();
  CHECK(after - before == 0);
  CHECK(made == 1'000 * kCapacity);
  CHECK(records.free() == kCapacity);
}

TEST_CASE("output records: construction allocates, and the counter sees it") {
  const std::uint64_t before = allocations();
  const OutputRecords records(kCapacity);
  const std::uint64_t after = allocations();
  CHECK(after - before == 4);  // storage, places, the free list and the release list
  CHECK(records.free() == kCapacity);
}

}  // namespace
}  // namespace pinfold
