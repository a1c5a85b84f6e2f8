// Prefix ids of a trace: the keys of an engine's blocks, whatever the sizes, and what a run makes of them.
// Expected values are worked out by hand; those of the Mooncake trace are what tests/oracle/prefix_classes.py
// counts in the file.
#include <doctest/doctest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "sim/config/parse.h"
#include "sim/core/prefix_keys.h"
#include "sim/core/simulate.h"

namespace pinfold::sim {
namespace {

TraceRequest request_of(std::uint32_t prompt, std::vector<std::uint64_t> ids,
                        std::uint32_t output = 1, std::int64_t arrival_ns = 0) {
  TraceRequest request;
  request.arrival_ns = arrival_ns;
  request.prompt = prompt;
  request.output = output;
  request.prefix_ids = std::move(ids);
  return request;
}

struct Keys {
  std::vector<std::uint64_t> blocks;
  std::uint32_t tail_end = 0;
  std::uint64_t tail = 0;
};

Keys keys_of(std::uint32_t id_block, std::uint32_t block_size, const TraceRequest& request) {
  PrefixKeys made(id_block, block_size);
  const PromptKeys keys = made.of(request);
  return {{keys.blocks.begin(), keys.blocks.end()}, keys.tail_end.value, keys.tail};
}

/// Tokens at the beginning that two prompts are known to have in common, as far as a block size shows it:
/// whole blocks, then an equal tail.
std::uint32_t common(std::uint32_t id_block, std::uint32_t block_size, const TraceRequest& a,
                     const TraceRequest& b) {
  const Keys one = keys_of(id_block, block_size, a);
  const Keys two = keys_of(id_block, block_size, b);
  std::uint32_t blocks = 0;
  while (blocks < one.blocks.size() && blocks < two.blocks.size() &&
         one.blocks[blocks] == two.blocks[blocks]) {
    ++blocks;
  }
  const bool tails = one.tail_end > 0 && one.tail_end == two.tail_end && one.tail == two.tail &&
                     one.tail_end / block_size == blocks;
  return tails ? one.tail_end : blocks * block_size;
}

TEST_CASE("prefix keys: where the sizes are equal, a whole id is the block's key") {
  const Keys keys = keys_of(512, 512, request_of(1300, {7, 8, 9}));
  CHECK(keys.blocks == std::vector<std::uint64_t>{7, 8});
  CHECK(keys.tail_end == 1300);
  CHECK(keys.tail != 9);  // 276 tokens, which an id of 512 is not
  CHECK(keys_of(512, 512, request_of(1536, {7, 8, 9})).blocks ==
        std::vector<std::uint64_t>{7, 8, 9});
  CHECK(keys_of(512, 512, request_of(1536, {7, 8, 9})).tail_end == 0);
}

TEST_CASE("prefix keys: small blocks in large ids share whole ids") {
  const TraceRequest a = request_of(1300, {7, 8, 9});
  CHECK(keys_of(512, 16, a).blocks.size() == 81);  // 1296 tokens; 4 in the tail
  CHECK(common(512, 16, a, a) == 1300);
  CHECK(common(512, 16, a, request_of(1300, {7, 8, 10})) == 1024);
  CHECK(common(512, 16, a, request_of(1300, {7, 11, 9})) == 512);
  // The same id for fewer tokens is another content, in all its blocks.
  CHECK(common(512, 16, a, request_of(1310, {7, 8, 9})) == 1024);
}

TEST_CASE("prefix keys: large blocks need every id that they overlap") {
  const TraceRequest a = request_of(100, {1, 2, 3, 4, 5, 6, 7});  // 16 tokens an id, the last 4
  CHECK(keys_of(16, 32, a).blocks.size() == 3);
  CHECK(keys_of(16, 32, a).tail_end == 100);
  CHECK(common(16, 32, a, a) == 100);
  CHECK(common(16, 32, a, request_of(100, {1, 2, 3, 4, 5, 6, 8})) == 96);
  CHECK(common(16, 32, a, request_of(100, {1, 2, 3, 4, 5, 9, 7})) == 64);
  CHECK(common(16, 32, a, request_of(100, {1, 2, 3, 9, 5, 6, 7})) == 32);  // half a block is none
  CHECK(common(16, 32, a, request_of(100, {9, 2, 3, 4, 5, 6, 7})) == 0);
}

TEST_CASE("prefix keys: sizes that do not divide each other") {
  const TraceRequest a = request_of(100, {1, 2, 3, 4});  // 24 a block; ids end at 30, 60, 90, 100
  CHECK(keys_of(30, 24, a).blocks.size() == 4);
  CHECK(common(30, 24, a, a) == 100);
  // Tokens are known to be equal up to 60: blocks end at 24, 48, and the third needs an id that differs.
  CHECK(common(30, 24, a, request_of(100, {1, 2, 5, 4})) == 48);
  CHECK(common(30, 24, a, request_of(100, {1, 5, 3, 4})) == 24);
  CHECK(common(30, 24, a, request_of(100, {1, 2, 3, 5})) == 72);
}

TEST_CASE("prefix keys: a trace that names whole blocks only leaves the rest without a key") {
  const Keys keys = keys_of(64, 16, request_of(150, {1, 2}));
  CHECK(keys.blocks.size() == 8);
  CHECK(keys.tail_end == 0);
  CHECK(keys_of(64, 48, request_of(150, {1, 2})).tail_end == 128);
  CHECK(keys_of(0, 16, request_of(150, {})).blocks.empty());
}

RunConfig config_of(std::vector<std::string> settings) {
  const auto config = load_config(std::nullopt, settings);
  REQUIRE_MESSAGE(bool(config), (config ? "" : describe(config.error())));
  return config.value();
}

RunResult run(const Trace& trace, const RunConfig& config) {
  RunOptions options;
  options.audit_every = 50;
  const RunResult result = simulate(trace, config, options);
  CHECK(result.verdict == Verdict::kOk);
  options.fast_path = false;
  const RunResult slow = simulate(trace, config, options);
  CHECK(slow.digest == result.digest);
  CHECK(slow.digest_timed == result.digest_timed);
  CHECK(slow.prefix_ids == result.prefix_ids);
  return result;
}

std::vector<std::string> reuse(std::vector<std::string> more) {
  more.insert(more.end(), {"prefix.reuse=on", "cost.step_base_us=1000", "cost.row_us=0",
                           "cost.prompt_token_us=0"});
  return more;
}

constexpr std::int64_t kSecond = 1'000'000'000;

TEST_CASE("prefix run: each id is in one class") {
  Trace trace;
  trace.id_block = 16;
  // Two at once: the second one's are not written yet. Then one that finds two ids and the tail's first
  // rows; one that finds all of a prompt that ends with a block; one whose third id is another's second.
  trace.requests = {request_of(40, {1, 2, 3}, 2), request_of(40, {1, 2, 3}, 2),
                    request_of(40, {1, 2, 3}, 2, kSecond), request_of(32, {1, 2}, 2, 2 * kSecond),
                    request_of(48, {4, 2, 3}, 2, 3 * kSecond)};
  const RunResult result = run(trace, config_of(reuse({"engine.block_size=16"})));
  const PrefixCounts& ids = result.prefix_ids;
  CHECK(ids.ids == 14);
  CHECK(ids.fresh == 3 + 3);  // behind another id, 2 and 3 are new
  CHECK(ids.tail == 2);
  CHECK(ids.unfinished == 2);
  CHECK(ids.hit == 4);
  CHECK(ids.behind_miss + ids.evicted + ids.cut == 0);
  CHECK(ids.leading == 3 + 3 + 2);
  CHECK(result.prefix_queries == 40 + 40 + 40 + 32 + 48);
  CHECK(result.prefix_hits == 39 + 31);
  CHECK(result.prefix_block_hits == 2 + 1);
  CHECK(result.prefix_tail_copies == 2);
  CHECK(result.blocks_idle == 3 + 3);
}

TEST_CASE("prefix run: what was evicted, and what no block boundary shows, has its own class") {
  Trace trace;
  trace.id_block = 16;
  trace.requests = {request_of(64, {1, 2, 3, 4}), request_of(64, {5, 6, 7, 8}, 1, kSecond),
                    request_of(64, {1, 2, 3, 4}, 1, 2 * kSecond)};
  // Six blocks: the second request takes the last two of the first one's.
  const RunResult tight = run(trace, config_of(reuse({"engine.block_size=16", "engine.num_blocks=7",
                                                      "engine.overlap=0", "workload.stop=known"})));
  CHECK(tight.prefix_ids.hit == 2);
  CHECK(tight.prefix_ids.evicted == 1);
  CHECK(tight.prefix_ids.behind_miss == 1);
  CHECK(tight.blocks_evicted == 4);
  trace.requests = {request_of(64, {1, 2, 3, 4}), request_of(64, {1, 2, 3, 9}, 1, kSecond)};
  const RunResult wide = run(trace, config_of(reuse({"engine.block_size=32"})));
  CHECK(wide.prefix_ids.hit == 2);
  CHECK(wide.prefix_ids.cut == 1);
  CHECK(wide.prefix_ids.fresh == 5);
}

TEST_CASE("prefix run: reuse off says nothing and changes no byte, ids or not") {
  Trace trace;
  trace.id_block = 16;
  trace.requests = {request_of(40, {1, 2, 3}, 9), request_of(40, {1, 2, 3}, 9)};
  const RunConfig config = config_of({});
  const RunResult with = run(trace, config);
  trace.requests = {request_of(40, {}, 9), request_of(40, {}, 9)};
  const RunResult without = run(trace, config);
  CHECK(with.digest == without.digest);
  CHECK(with.prefix_queries == 0);
  CHECK(with.prefix_ids == PrefixCounts{});
}

TEST_CASE("prefix run: state slots and reuse exclude each other") {
  const auto refused = load_config(
      std::nullopt, std::vector<std::string>{"model.state_slots=true", "prefix.reuse=on"});
  REQUIRE(!refused);
  CHECK(describe(refused.error()).find("without effect") != std::string::npos);
}

// ---- the Mooncake conversation trace ---------------------------------------------------------------

std::uint64_t number_after(const std::string& line, const char* key) {
  const std::size_t at = line.find(key);
  REQUIRE(at != std::string::npos);
  return std::strtoull(line.c_str() + line.find(':', at) + 1, nullptr, 10);
}

TEST_CASE("prefix run: every id of the Mooncake conversation trace is in its class") {
  const char* folder = std::getenv("PINFOLD_TRACES");
  const std::filesystem::path path =
      std::filesystem::path(folder == nullptr ? "" : folder) / "mooncake/conversation_trace.jsonl";
  if (folder == nullptr || !std::filesystem::exists(path)) {
    std::printf("skipped: PINFOLD_TRACES names no folder with mooncake/conversation_trace.jsonl\n");
    return;
  }
  Trace trace;
  trace.id_block = 512;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    TraceRequest request =
        request_of(static_cast<std::uint32_t>(number_after(line, "\"input_length\"")), {},
                   static_cast<std::uint32_t>(number_after(line, "\"output_length\"")),
                   static_cast<std::int64_t>(number_after(line, "\"timestamp\"")) * 1'000'000);
    const char* at = line.c_str() + line.find('[') + 1;
    while (*at != ']') {
      char* end = nullptr;
      request.prefix_ids.push_back(std::strtoull(at, &end, 10));
      at = *end == ',' ? end + 1 : end;
    }
    trace.requests.push_back(request);
  }
  REQUIRE(trace.requests.size() == 12031);
  for (const std::uint32_t block_size : {512u, 768u}) {
    CAPTURE(block_size);
    const RunConfig config =
        config_of({"prefix.reuse=on", "engine.block_size=" + std::to_string(block_size),
                   "engine.num_blocks=400000", "engine.max_num_batched_tokens=16384"});
    const RunResult result = simulate(trace, config, {});
    CHECK(result.verdict == Verdict::kOk);
    const PrefixCounts& ids = result.prefix_ids;
    std::printf(
        "block %u: hit %llu, writer not finished %llu, behind a miss %llu, cut %llu, tails %llu, "
        "hit tokens %llu of %llu, copies %llu\n",
        block_size, static_cast<unsigned long long>(ids.hit),
        static_cast<unsigned long long>(ids.unfinished),
        static_cast<unsigned long long>(ids.behind_miss), static_cast<unsigned long long>(ids.cut),
        static_cast<unsigned long long>(ids.tail),
        static_cast<unsigned long long>(result.prefix_hits),
        static_cast<unsigned long long>(result.prefix_queries),
        static_cast<unsigned long long>(result.prefix_tail_copies));
    CHECK(ids.ids == 288'500);
    CHECK(ids.fresh == 182'790);
    CHECK(ids.tail == 118);
    CHECK(ids.hit + ids.unfinished + ids.behind_miss + ids.cut == 105'592);
    CHECK(ids.evicted == 0);
    CHECK(ids.leading == 105'592 + 118);
    // An id that was seen is found but for the last ones of blocks of one id and a half.
    CHECK((ids.cut > 0) == (block_size == 768));
    CHECK(ids.hit + ids.cut > 100'000);
  }
}

}  // namespace
}  // namespace pinfold::sim
