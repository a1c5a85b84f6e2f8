#include "sim/core/digest.h"

#include <vector>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace pinfold::sim {

// Small updates are gathered first: hashing 16 KiB at once costs a small part of hashing 24 bytes many
// times.
struct Digest::State {
  XXH3_state_t hash;
  std::vector<std::byte> gathered;
};

namespace {
constexpr std::size_t kGatherBytes = 16 * 1024;
}

Digest::Digest() : state_(std::make_unique<State>()) {
  XXH3_64bits_reset(&state_->hash);
  state_->gathered.reserve(kGatherBytes);
}

Digest::~Digest() = default;

void Digest::update(std::span<const std::byte> bytes) {
  if (state_->gathered.size() + bytes.size() > kGatherBytes) {
    XXH3_64bits_update(&state_->hash, state_->gathered.data(), state_->gathered.size());
    state_->gathered.clear();
  }
  if (bytes.size() >= kGatherBytes) {
    XXH3_64bits_update(&state_->hash, bytes.data(), bytes.size());
  } else {
    state_->gathered.insert(state_->gathered.end(), bytes.begin(), bytes.end());
  }
}

std::uint64_t Digest::value() const {
  XXH3_64bits_update(&state_->hash, state_->gathered.data(), state_->gathered.size());
  state_->gathered.clear();
  return XXH3_64bits_digest(&state_->hash);
}

}  // namespace pinfold::sim
