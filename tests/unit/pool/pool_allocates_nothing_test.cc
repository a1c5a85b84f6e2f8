// The pool allocates all its memory at construction (rule O2's structure is free, its memory is not).
// A program of its own, because counting replaces the global operator new.
#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "pool/pool.h"
#include "tests/model/random_draws.h"
#include "tests/unit/counted_allocations.h"

namespace pinfold {
namespace {

using test::allocations;

/// Ids in a buffer made beforehand: the driver must not allocate either.
class IdStack {
 public:
  explicit IdStack(std::uint32_t most) { ids_.reserve(most); }

  std::uint32_t size() const { return static_cast<std::uint32_t>(ids_.size()); }
  std::span<BlockId> push(std::uint32_t count) {
    ids_.resize(ids_.size() + count);
    return std::span(ids_).last(count);
  }
  std::span<const BlockId> last(std::uint32_t count) const { return std::span(ids_).last(count); }
  void pop(std::uint32_t count) { ids_.resize(ids_.size() - count); }
  /// So that a later pop takes other ids than the newest.
  void swap_to_back(std::uint32_t place) { std::swap(ids_[place], ids_.back()); }

 private:
  std::vector<BlockId> ids_;
};

/// 200,000 operations on 1,000 ids: tables that are taken, pinned and released, holds that come and go.
/// Returns how many of them changed the pool.
std::uint64_t drive(Pool& pool, IdStack& owned, IdStack& held, model::RandomDraws& draws) {
  std::uint64_t changed = 0;
  for (int n = 0; n < 200'000; ++n) {
    if (owned.size() > 0) owned.swap_to_back(draws.below(owned.size()));
    if (held.size() > 0) held.swap_to_back(draws.below(held.size()));
    const std::uint32_t wanted = 1 + draws.below(8);
    switch (draws.below(5)) {
      case 0: {
        const std::uint32_t count = std::min(wanted, pool.available().value);
        pool.take(owned.push(count));
        changed += count;
        break;
      }
      case 1: {  // at most 3,000 entries, so that the stacks never grow
        const std::uint32_t count = owned.size() > 3'000 ? 0 : std::min(wanted, owned.size());
        pool.pin(owned.last(count));
        const std::span<const BlockId> pinned = owned.last(count);
        std::copy(pinned.begin(), pinned.end(), owned.push(count).begin());
        changed += count;
        break;
      }
      case 2: {
        const std::uint32_t count = std::min(wanted, owned.size());
        pool.release(owned.last(count));
        owned.pop(count);
        changed += count;
        break;
      }
      case 3: {
        const std::uint32_t count = std::min(wanted, owned.size());
        const std::span<const BlockId> parked = owned.last(count);
        pool.park(parked);
        std::copy(parked.begin(), parked.end(), held.push(count).begin());
        owned.pop(count);
        changed += count;
        break;
      }
      default: {
        const std::uint32_t count = std::min(wanted, held.size());
        pool.unpark(held.last(count));
        held.pop(count);
        changed += count;
        break;
      }
    }
  }
  return changed;
}

TEST_CASE("pool: allocates nothing after construction, in either order of issue") {
  for (const FreeOrder order : {FreeOrder::kFifo, FreeOrder::kLifo}) {
    Pool pool({.ids = 1001, .free_order = order});
    IdStack owned(5'000);
    IdStack held(200'000);
    model::RandomDraws draws(1);
    const std::uint64_t before = allocations();
    const std::uint64_t changed = drive(pool, owned, held, draws);
    const std::uint64_t after = allocations();
    CHECK(after - before == 0);
    CHECK(changed > 100'000);
    pool.audit();
  }
}

TEST_CASE("pool: construction allocates, and the counter sees it") {
  const std::uint64_t before = allocations();
  const Pool pool({.ids = 1001});
  CHECK(allocations() - before == 2);  // the owners and the ring
  CHECK(pool.usable() == BlockCount(1000));
}

TEST_CASE("pool: asking costs no allocation either") {
  Pool pool({.ids = 1001});
  std::vector<BlockId> ids(10);
  pool.take(ids);
  const std::uint64_t before = allocations();
  const bool right = pool.owners(ids[0]) == 1 && pool.holds(ids[0]) == 0 &&
                     pool.available() == BlockCount(990) && pool.parked() == BlockCount(0);
  const std::uint64_t after = allocations();
  CHECK(right);
  CHECK(after - before == 0);
}

}  // namespace
}  // namespace pinfold
