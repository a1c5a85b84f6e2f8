#include "engine/state_layout.h"

#include <algorithm>

#include "engine/cache_geometry.h"

namespace pinfold {
namespace {

ByteCount ring_bytes(const StateModel& model, TokenCount ring_len) {
  return model.row_bytes * ring_len.value;
}

void check_rings(const StateModel& model) {
  PINFOLD_CHECK(model.ring_len >= model.window, "O14",
                "a ring of " + std::to_string(model.ring_len.value) + " rows for a window of " +
                    std::to_string(model.window.value));
  PINFOLD_CHECK(model.slot_ring_len() >= model.ring_len, "O14",
                "extra prefill state in a ring of " + std::to_string(model.slot_ring_len().value) +
                    " rows, shorter than the inference ring");
}

}  // namespace

ByteCount block_bytes(TokenCount block_size, std::span<const CompressedCache> caches) {
  ByteCount total;
  for (const CompressedCache& cache : caches) {
    total += cache.row_bytes * cache.layers * compressed_rows_in_block(block_size, cache.ratio);
  }
  return total;
}

StateLayout layout_of(const StateModel& model) {
  check_rings(model);
  const ByteCount slot_ring = ring_bytes(model, model.slot_ring_len());
  StateLayout layout;
  layout.stored = padded(slot_ring * model.stored_layers, kStateAlignment);
  layout.dropped =
      padded(slot_ring * model.dropped_layers + model.compression_state, kStateAlignment);
  layout.slot = layout.stored + layout.dropped;
  layout.to_store =
      padded(ring_bytes(model, model.ring_len) * model.stored_layers, kStateAlignment);
  PINFOLD_CHECK(layout.to_store <= layout.stored, "O14",
                "the stored image is longer than the region it is cut from");
  return layout;
}

bool window_is_whole(TokenCount end, TokenCount written, TokenCount window, TokenCount ring_len) {
  if (written < end) return false;
  const TokenCount first = end - std::min(end, window);
  if (first == end) return true;       // no row in it
  return written - first <= ring_len;  // position q is replaced by q + ring_len
}

StateSlice select_state_slice(const StateModel& model, TokenCount processed, TokenCount written) {
  check_rings(model);
  PINFOLD_CHECK(window_is_whole(processed, written, model.window, model.slot_ring_len()), "O14",
                "the window before position " + std::to_string(processed.value) +
                    " is not whole: positions below " + std::to_string(written.value) +
                    " are written to a ring of " + std::to_string(model.slot_ring_len().value));
  StateSlice slice;
  slice.bytes = layout_of(model).to_store;
  if (!model.long_ring_len.has_value()) return slice;

  slice.kind = SliceKind::kReordered;
  const std::uint32_t from_ring = model.slot_ring_len().value;
  const std::uint32_t to_ring = model.ring_len.value;
  std::uint32_t position = (processed - std::min(processed, model.window)).value;
  while (position < processed.value) {
    RowRun run{position % from_ring, position % to_ring, 0};
    run.rows = std::min({processed.value - position, from_ring - run.from, to_ring - run.to});
    PINFOLD_CHECK(slice.run_count < slice.runs.size(), "O14", "a window of more than three runs");
    slice.runs[slice.run_count++] = run;
    position += run.rows;
  }
  return slice;
}

ByteMove byte_move(const StateModel& model, std::uint32_t stored_layer, const RowRun& run) {
  PINFOLD_CHECK(stored_layer < model.stored_layers, "O14",
                "layer " + std::to_string(stored_layer) + " is not stored");
  return {ring_bytes(model, model.slot_ring_len()) * stored_layer + model.row_bytes * run.from,
          ring_bytes(model, model.ring_len) * stored_layer + model.row_bytes * run.to,
          model.row_bytes * run.rows};
}

}  // namespace pinfold
