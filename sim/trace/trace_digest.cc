#include "sim/trace/trace_digest.h"

#include <fmt/format.h>
#include <array>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace pinfold::sim {
namespace {

/// What every trace has, as it is hashed: no padding, little-endian.
struct Row {
  std::int64_t arrival_ns;
  std::uint32_t prompt;
  std::uint32_t output;
};
static_assert(sizeof(Row) == 16);

}  // namespace

struct TraceDigest::Hashes {
  XXH3_state_t rows;
  XXH3_state_t extras;  // what not every trace has
};

TraceDigest::TraceDigest() : hashes_(std::make_unique<Hashes>()) {
  XXH3_64bits_reset(&hashes_->rows);
  XXH3_64bits_reset(&hashes_->extras);
}

TraceDigest::~TraceDigest() = default;

void TraceDigest::add(const TraceRequest& request) {
  const Row row{request.arrival_ns, request.prompt, request.output};
  XXH3_64bits_update(&hashes_->rows, &row, sizeof row);
  const std::array<std::uint64_t, 10> extras{
      request.limit,
      request.samples,
      request.priority,
      static_cast<std::uint64_t>(request.abort_ns),
      request.fork_of,
      request.fork_at,
      request.session,
      static_cast<std::uint64_t>(request.delay_ns),
      request.prefix_ids.size(),
      request.accepted.size(),
  };
  static constexpr std::array<std::uint64_t, 10> kPlain{
      0, 1, 0, static_cast<std::uint64_t>(kNeverNs), kNoRequest, 0, kNoSession, 0, 0, 0};
  const bool own_drafts = request.drafts != kConfiguredDrafts;
  if (extras != kPlain || own_drafts) {
    XXH3_64bits_update(&hashes_->extras, &count_, sizeof count_);
    XXH3_64bits_update(&hashes_->extras, extras.data(), sizeof extras);
    XXH3_64bits_update(&hashes_->extras, request.prefix_ids.data(), request.prefix_ids.size() * 8);
    XXH3_64bits_update(&hashes_->extras, request.accepted.data(), request.accepted.size());
    if (own_drafts) XXH3_64bits_update(&hashes_->extras, &request.drafts, sizeof request.drafts);
    has_extras_ = true;
  }
  ++count_;
}

std::string TraceDigest::text() const {
  std::uint64_t digest = XXH3_64bits_digest(&hashes_->rows);
  if (has_extras_) digest ^= XXH3_64bits_digest(&hashes_->extras);
  return fmt::format("{:016x}", digest);
}

std::string trace_digest(const Trace& trace) {
  TraceDigest digest;
  for (const TraceRequest& request : trace.requests) digest.add(request);
  return digest.text();
}

}  // namespace pinfold::sim
