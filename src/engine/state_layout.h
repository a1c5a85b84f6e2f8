#pragma once
// Rule O14: what lies in a block and in a state slot, and which bytes of a slot are stored.
//
// A block holds B / ratio rows of each compressed cache.
//
// A state slot, front to back:
//   stored region    one ring per stored layer: the windows that must survive across requests
//   dropped region   one ring per dropped layer (prefill recomputes it), then the compression state
// so that cutting the slot after `to_store` bytes leaves out all that need not be stored.
//
// With extra prefill state on, the slot's rings are longer than the inference ring, and the stored
// window must first be reordered into the inference ring: position q moves from row q mod long ring
// to row q mod ring. With it off, the front of the slot is stored as it is.

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "base/bytes.h"
#include "base/counts.h"

namespace pinfold {

/// Stored totals are padded to a multiple of this: the padding is on the total, not on each layer.
inline constexpr std::uint64_t kStateAlignment = 32;

/// A cache with one row per `ratio` positions, in each of `layers` layers.
struct CompressedCache {
  std::uint32_t ratio = 1;
  std::uint32_t layers = 1;
  ByteCount row_bytes;
};

/// Bytes of one block over all its caches: the sum of B / ratio x layers x row_bytes. An ordinary
/// key-value cache is one of ratio 1. B must be a multiple of every ratio (rule O1).
ByteCount block_bytes(TokenCount block_size, std::span<const CompressedCache> caches);

/// The state of one request, as the model defines it.
struct StateModel {
  std::uint32_t stored_layers = 0;
  std::uint32_t dropped_layers = 0;
  ByteCount row_bytes;  // one row of one layer
  TokenCount window;    // rows a query may read, its own included
  TokenCount ring_len;  // rows of the inference ring: at least window + drafts (rule O1)
  std::optional<TokenCount> long_ring_len{};  // extra prefill state on: at least ring_len
  ByteCount compression_state;                // rolling state of all layers

  /// Rows of a ring as it lies in the slot.
  TokenCount slot_ring_len() const { return long_ring_len.value_or(ring_len); }
};

/// Sizes of one slot. `stored` and `dropped` are padded, so the slot is: it is their sum.
struct StateLayout {
  ByteCount stored;    // the front region
  ByteCount dropped;   // the region behind it
  ByteCount slot;      // both
  ByteCount to_store;  // padded stored total with the inference ring; at most `stored`
  friend bool operator==(const StateLayout&, const StateLayout&) = default;
};

/// Throws InvariantViolation if the rings are shorter than the window, or the long one shorter than
/// the inference ring.
StateLayout layout_of(const StateModel& model);

/// `rows` rows from row `from` of a layer's ring in the slot to row `to` of its ring in the image.
struct RowRun {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  std::uint32_t rows = 0;
  friend bool operator==(const RowRun&, const RowRun&) = default;
};

/// How the stored image is cut. kDirect: the first `bytes` bytes of the slot. kReordered: the runs, in
/// each stored layer; the image's other bytes hold nothing, so start from zeros.
enum class SliceKind : std::uint8_t { kDirect, kReordered };

struct StateSlice {
  SliceKind kind = SliceKind::kDirect;
  ByteCount bytes;  // of the image, on either branch: StateLayout::to_store
  // Rows are consecutive and at most a ring long, so each of the two rings wraps at most once.
  std::array<RowRun, 3> runs{};
  std::uint32_t run_count = 0;

  std::span<const RowRun> row_runs() const& { return std::span(runs).first(run_count); }
  void row_runs() const&& = delete;  // the span would outlive its slice
};

/// True if no row of the window that ends before position `end` has been replaced in a ring whose
/// rows have been written up to, not including, position `written` (rules O1 and O12).
bool window_is_whole(TokenCount end, TokenCount written, TokenCount window, TokenCount ring_len);

/// The slice that stores the state after `processed` positions: with reordering, the rows of positions
/// [processed - min(processed, window), processed). `written`: positions written to the slot so far,
/// rejected drafts and rows in flight included. Throws InvariantViolation if the window is no longer
/// whole.
StateSlice select_state_slice(const StateModel& model, TokenCount processed, TokenCount written);

/// A move in bytes: from the slot's first byte, to the image's.
struct ByteMove {
  ByteCount from;
  ByteCount to;
  ByteCount bytes;
  friend bool operator==(const ByteMove&, const ByteMove&) = default;
};

/// One run in one stored layer, in bytes.
ByteMove byte_move(const StateModel& model, std::uint32_t stored_layer, const RowRun& run);

}  // namespace pinfold
