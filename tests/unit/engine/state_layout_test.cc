// Rule O14. Sizes are the chapter's (section 4.4) or worked out in the comment beside them; the reordered
// slice is compared byte by byte with a twin that writes tagged rows as a model would.
#include "engine/state_layout.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "tests/unit/broken_rule.h"

namespace pinfold {
namespace {

using test::broken_rule;
using test::violation_text;

/// Section 4.4: 20 stored layers, a ring of 134 positions of 528 bytes.
StateModel chapter() {
  StateModel model;
  model.stored_layers = 20;
  model.row_bytes = ByteCount(528);
  model.window = TokenCount(128);
  model.ring_len = TokenCount(134);
  return model;
}

TEST_CASE("state layout (O14): one stored layer of the chapter takes 134 x 528 = 70,752 bytes") {
  StateModel model = chapter();
  model.stored_layers = 1;
  CHECK(layout_of(model).to_store == ByteCount(70'752));  // = 32 x 2211: no padding
}

TEST_CASE("state layout (O14): the chapter stores 20 x 70,752 = 1,415,040 bytes") {
  CHECK(layout_of(chapter()).to_store == ByteCount(1'415'040));
}

TEST_CASE("state layout (O14): the stored total is padded to 32 bytes, not each layer") {
  StateModel model = chapter();
  model.stored_layers = 3;
  model.row_bytes = ByteCount(5);
  model.window = TokenCount(7);
  model.ring_len = TokenCount(7);
  // 3 x 7 x 5 = 105, padded 128. (Layer by layer it would be 3 x 64 = 192.)
  CHECK(layout_of(model).to_store == ByteCount(128));
  model.row_bytes = ByteCount(32);
  CHECK(layout_of(model).to_store == ByteCount(672));  // 3 x 7 x 32: none needed
}

TEST_CASE("state layout (O14): the dropped region lies behind the stored one and is not stored") {
  StateModel model = chapter();
  model.stored_layers = 1;
  model.dropped_layers = 2;
  model.row_bytes = ByteCount(3);
  model.window = TokenCount(5);
  model.ring_len = TokenCount(6);
  model.compression_state = ByteCount(10);
  // stored 1 x 6 x 3 = 18, padded 32; dropped 2 x 6 x 3 + 10 = 46, padded 64.
  CHECK(layout_of(model) ==
        StateLayout{ByteCount(32), ByteCount(64), ByteCount(96), ByteCount(32)});
}

TEST_CASE("state layout (O14): extra prefill state lengthens the slot, not what is stored") {
  StateModel model = chapter();
  model.stored_layers = 2;
  model.row_bytes = ByteCount(4);
  model.window = TokenCount(8);
  model.ring_len = TokenCount(10);
  model.long_ring_len = TokenCount(24);
  // In the slot 2 x 24 x 4 = 192; stored 2 x 10 x 4 = 80, padded 96.
  CHECK(layout_of(model) ==
        StateLayout{ByteCount(192), ByteCount(0), ByteCount(192), ByteCount(96)});
}

TEST_CASE("state layout (O14): a model without stored layers stores nothing") {
  StateModel model = chapter();
  model.stored_layers = 0;
  CHECK(layout_of(model).to_store == ByteCount(0));
  CHECK(layout_of(model).slot == ByteCount(0));
}

TEST_CASE(
    "state layout (O14): rings shorter than the window, or than the inference ring, are refused") {
  StateModel model = chapter();
  model.ring_len = TokenCount(127);
  CHECK(broken_rule([&] { layout_of(model); }) == "O14");
  model = chapter();
  model.long_ring_len = TokenCount(133);
  CHECK(broken_rule([&] { layout_of(model); }) == "O14");
  model.long_ring_len = TokenCount(134);
  CHECK(broken_rule([&] { layout_of(model); }) == "none");
}

TEST_CASE("block bytes (O14): each cache has B / ratio rows a block in each of its layers") {
  const std::vector<CompressedCache> caches{{4, 2, ByteCount(10)}, {128, 1, ByteCount(7)}};
  // 128 / 4 x 2 x 10 + 128 / 128 x 1 x 7 = 647
  CHECK(block_bytes(TokenCount(128), caches) == ByteCount(647));
  CHECK(block_bytes(TokenCount(128), {}) == ByteCount(0));
  CHECK(broken_rule([&] { block_bytes(TokenCount(64), caches); }) == "O1");
}

TEST_CASE("block bytes (O14): an ordinary cache is one of ratio 1") {
  // Llama-3.1-8B in 16 bits: 32 layers, 8 key and 8 value heads of 128: 16 x 32 x 2 x 8 x 128 x 2.
  const std::vector<CompressedCache> caches{{1, 32, ByteCount(2 * 8 * 128 * 2)}};
  CHECK(block_bytes(TokenCount(16), caches) == ByteCount(2'097'152));
}

TEST_CASE("window (O12): is whole until its first row is replaced") {
  // Window 4 before position 10: rows 6..9. In a ring of 6, position 12 replaces row 6.
  const TokenCount end(10), window(4), ring(6);
  CHECK_FALSE(window_is_whole(end, TokenCount(9), window, ring));  // row 9 is not written
  CHECK(window_is_whole(end, TokenCount(10), window, ring));
  CHECK(window_is_whole(end, TokenCount(12), window, ring));  // written: positions 0..11
  CHECK_FALSE(window_is_whole(end, TokenCount(13), window, ring));
}

TEST_CASE("window (O12): of a short sequence begins at position 0") {
  CHECK(window_is_whole(TokenCount(2), TokenCount(6), TokenCount(4), TokenCount(6)));
  CHECK_FALSE(window_is_whole(TokenCount(2), TokenCount(7), TokenCount(4), TokenCount(6)));
  // Before position 0 there is no row that could be replaced.
  CHECK(window_is_whole(TokenCount(0), TokenCount(99), TokenCount(4), TokenCount(6)));
}

TEST_CASE("state slice (O14): without extra prefill state the front of the slot is cut directly") {
  const StateSlice slice = select_state_slice(chapter(), TokenCount(1000), TokenCount(1005));
  CHECK(slice.kind == SliceKind::kDirect);
  CHECK(slice.bytes == ByteCount(1'415'040));
  CHECK(slice.row_runs().empty());
}

TEST_CASE("state slice (O14): a window that has been replaced is not stored") {
  // Ring 134, window 128: six rows more may have been written, the seventh replaces the oldest.
  CHECK(broken_rule([] { select_state_slice(chapter(), TokenCount(256), TokenCount(262)); }) ==
        "none");
  const auto replaced = [] { select_state_slice(chapter(), TokenCount(256), TokenCount(263)); };
  CHECK(broken_rule(replaced) == "O14");
  CHECK(violation_text(replaced).find("position 256") != std::string::npos);
  // The longer ring still has it.
  StateModel model = chapter();
  model.long_ring_len = TokenCount(512);
  CHECK(broken_rule([&] { select_state_slice(model, TokenCount(256), TokenCount(263)); }) ==
        "none");
}

TEST_CASE("state slice (O14): the longer ring is reordered into the window, run by run") {
  StateModel model = chapter();
  model.window = TokenCount(5);
  model.ring_len = TokenCount(6);
  model.long_ring_len = TokenCount(8);
  // Positions 7..11: source rows 7 0 1 2 3, destination rows 1 2 3 4 5.
  const StateSlice slice = select_state_slice(model, TokenCount(12), TokenCount(12));
  CHECK(slice.kind == SliceKind::kReordered);
  REQUIRE(slice.run_count == 2);
  CHECK(slice.runs[0] == RowRun{7, 1, 1});
  CHECK(slice.runs[1] == RowRun{0, 2, 4});
}

TEST_CASE("state slice (O14): a short sequence moves the rows it has") {
  StateModel model = chapter();
  model.window = TokenCount(5);
  model.ring_len = TokenCount(6);
  model.long_ring_len = TokenCount(8);
  const StateSlice two = select_state_slice(model, TokenCount(2), TokenCount(2));
  REQUIRE(two.run_count == 1);
  CHECK(two.runs[0] == RowRun{0, 0, 2});
  CHECK(select_state_slice(model, TokenCount(0), TokenCount(0)).run_count == 0);
}

TEST_CASE("state slice (O14): runs become bytes layer by layer, each ring in its own stride") {
  StateModel model = chapter();
  model.stored_layers = 3;
  model.row_bytes = ByteCount(10);
  model.window = TokenCount(5);
  model.ring_len = TokenCount(6);
  model.long_ring_len = TokenCount(8);
  // Layer 2 begins at 2 x 8 x 10 in the slot and at 2 x 6 x 10 in the image.
  CHECK(byte_move(model, 2, {7, 1, 1}) == ByteMove{ByteCount(230), ByteCount(130), ByteCount(10)});
  CHECK(broken_rule([&] { byte_move(model, 3, {7, 1, 1}); }) == "O14");
}

// --- The twin -------------------------------------------------------------------------------------

/// A slot as the model writes it: each byte of position q's row in layer l has a tag of (l, q, byte).
std::uint8_t tag(std::uint32_t layer, std::uint32_t position, std::uint64_t byte) {
  return static_cast<std::uint8_t>(1 + (layer * 101 + position * 7 + byte * 13) % 251);
}

/// Writes positions [0, written) in order into rings of `ring` rows, whatever they replace.
std::vector<std::uint8_t> written_rings(const StateModel& model, std::uint64_t size,
                                        std::uint32_t ring, std::uint32_t written) {
  std::vector<std::uint8_t> bytes(size, 0);
  const std::uint64_t row = model.row_bytes.value;
  for (std::uint32_t position = 0; position < written; ++position) {
    for (std::uint32_t layer = 0; layer < model.stored_layers; ++layer) {
      for (std::uint64_t byte = 0; byte < row; ++byte) {
        bytes[(std::uint64_t{layer} * ring + position % ring) * row + byte] =
            tag(layer, position, byte);
      }
    }
  }
  return bytes;
}

std::vector<std::uint8_t> cut(const StateModel& model, const StateSlice& slice,
                              const std::vector<std::uint8_t>& slot) {
  const auto at = [](ByteCount bytes) { return static_cast<std::ptrdiff_t>(bytes.value); };
  std::vector<std::uint8_t> image(slice.bytes.value, 0);
  if (slice.kind == SliceKind::kDirect) {
    std::copy_n(slot.begin(), at(slice.bytes), image.begin());
    return image;
  }
  for (std::uint32_t layer = 0; layer < model.stored_layers; ++layer) {
    for (const RowRun& run : slice.row_runs()) {
      const ByteMove move = byte_move(model, layer, run);
      REQUIRE(move.from + move.bytes <= layout_of(model).stored);
      REQUIRE(move.to + move.bytes <= slice.bytes);
      std::copy_n(slot.begin() + at(move.from), at(move.bytes), image.begin() + at(move.to));
    }
  }
  return image;
}

/// True if the image, read as inference rings, has the window before `processed` in its rows.
bool image_has_window(const StateModel& model, const std::vector<std::uint8_t>& image,
                      std::uint32_t processed) {
  const std::uint32_t ring = model.ring_len.value;
  const std::uint64_t row = model.row_bytes.value;
  for (std::uint32_t n = 1; n <= std::min(processed, model.window.value); ++n) {
    const std::uint32_t position = processed - n;
    for (std::uint32_t layer = 0; layer < model.stored_layers; ++layer) {
      for (std::uint64_t byte = 0; byte < row; ++byte) {
        const std::uint64_t at = (std::uint64_t{layer} * ring + position % ring) * row + byte;
        if (image[at] != tag(layer, position, byte)) return false;
      }
    }
  }
  return true;
}

/// Bytes of the image that are not 0.
std::uint64_t filled(const std::vector<std::uint8_t>& image) {
  return static_cast<std::uint64_t>(
      std::count_if(image.begin(), image.end(), [](std::uint8_t byte) { return byte != 0; }));
}

TEST_CASE("state slice (O14): both branches give the window that the model wrote, byte by byte") {
  std::uint64_t slices = 0, most_runs = 0;
  for (std::uint32_t window = 1; window <= 6; ++window) {
    for (std::uint32_t ring = window; ring <= window + 3; ++ring) {
      for (std::uint32_t longer = ring; longer <= ring + 9; ++longer) {
        StateModel model;
        model.stored_layers = 2;
        model.dropped_layers = 1;
        model.row_bytes = ByteCount(3);
        model.window = TokenCount(window);
        model.ring_len = TokenCount(ring);
        model.compression_state = ByteCount(5);
        if (longer > ring) model.long_ring_len = TokenCount(longer);
        const StateLayout layout = layout_of(model);
        for (std::uint32_t processed = 0; processed <= 3 * longer; ++processed) {
          // As far ahead as the slot's ring allows: drafts, rows in flight, the rest of a chunk.
          const std::uint32_t first = processed - std::min(processed, window);
          for (std::uint32_t written = processed; written <= first + longer; ++written) {
            std::vector<std::uint8_t> slot =
                written_rings(model, layout.stored.value, longer, written);
            slot.resize(layout.slot.value, 0xFF);  // the dropped region must not be stored
            const StateSlice slice =
                select_state_slice(model, TokenCount(processed), TokenCount(written));
            const std::vector<std::uint8_t> image = cut(model, slice, slot);
            REQUIRE(image.size() == layout.to_store.value);
            REQUIRE(std::find(image.begin(), image.end(), 0xFF) == image.end());
            REQUIRE(image_has_window(model, image, processed));
            if (slice.kind == SliceKind::kReordered) {
              // Nothing but the window: 2 layers of 3 bytes a row.
              REQUIRE(filled(image) == std::uint64_t{std::min(processed, window)} * 2 * 3);
            }
            most_runs = std::max<std::uint64_t>(most_runs, slice.run_count);
            ++slices;
          }
          if (processed == 0) continue;  // an empty window is whole for ever
          // One position further the oldest row of the window is gone.
          const TokenCount too_far(first + longer + 1);
          REQUIRE(broken_rule([&] { select_state_slice(model, TokenCount(processed), too_far); }) ==
                  "O14");
        }
      }
    }
  }
  CHECK(slices > 10'000);
  CHECK(most_runs == 3);  // both rings wrap inside one window
}

}  // namespace
}  // namespace pinfold
