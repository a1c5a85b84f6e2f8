#include "sim/record/digest.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace pinfold::sim {

struct Digest::State {
  XXH3_state_t hash;
};

Digest::Digest() : state_(std::make_unique<State>()) { XXH3_64bits_reset(&state_->hash); }
Digest::~Digest() = default;

void Digest::update(std::span<const std::byte> bytes) {
  XXH3_64bits_update(&state_->hash, bytes.data(), bytes.size());
}

std::uint64_t Digest::value() const { return XXH3_64bits_digest(&state_->hash); }

}  // namespace pinfold::sim
