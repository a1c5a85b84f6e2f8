#pragma once
// What a position of the pool is at one instant: exactly one of these.

#include <array>
#include <cstddef>
#include <cstdint>

namespace pinfold::sim {

/// Strongest first: a position of a block with several owners is what its strongest owner makes of it.
enum class PositionClass : std::uint8_t {
  kCommitted,  // a row of a committed prefix
  kInFlight,   // a certain row of a dispatched step, or a committed row that a pending copy fills
  kDraftReserve,  // a draft row of a dispatched step
  kKnownReserve,  // a known token that is not computed yet
  kSurplus,       // in a block beyond the need of its table
  kTailSlack,     // the rest of a table's last needed block
  kParked,        // in a block that no table holds, kept by a fence
  kCachedIdle,    // in a block without an owner, kept for reuse
  kFree,
};

inline constexpr std::size_t kPositionClasses = 9;

/// As results name them.
inline constexpr std::array<const char*, kPositionClasses> kPositionClassNames{
    "committed",  "in_flight", "draft_reserve", "known_reserve", "surplus",
    "tail_slack", "parked",    "cached_idle",   "free"};

/// How many positions each class has. Signed, because differences are counted too.
struct PositionCounts {
  std::array<std::int64_t, kPositionClasses> of{};

  std::int64_t& operator[](PositionClass position) {
    return of[static_cast<std::size_t>(position)];
  }
  std::int64_t operator[](PositionClass position) const {
    return of[static_cast<std::size_t>(position)];
  }
  PositionCounts& operator+=(const PositionCounts& other) {
    for (std::size_t n = 0; n < kPositionClasses; ++n) of[n] += other.of[n];
    return *this;
  }
  PositionCounts& operator-=(const PositionCounts& other) {
    for (std::size_t n = 0; n < kPositionClasses; ++n) of[n] -= other.of[n];
    return *this;
  }
  std::int64_t sum() const {
    std::int64_t all = 0;
    for (const std::int64_t count : of) all += count;
    return all;
  }
  friend bool operator==(const PositionCounts&, const PositionCounts&) = default;
};

/// Positions times nanoseconds. A pool of 64 M positions over 292 years takes 90 bits.
__extension__ typedef unsigned __int128 PositionNs;

}  // namespace pinfold::sim
