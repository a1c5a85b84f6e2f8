#include "sim/report/size_report.h"

#include <string_view>

#include "sim/config/decimal.h"
#include "sim/config/json_writer.h"
#include "sim/config/resolved_config.h"
#include "sim/report/text_page.h"
#include "sim/report/version.h"

namespace pinfold::sim {
namespace {

constexpr std::uint64_t kGib = std::uint64_t{1} << 30;

RequestShape longest_request(const RunConfig& config) {
  return {.prompt = config.engine.max_model_len, .output = 1};
}

std::uint64_t tokens_in(const SizeResult& result, std::uint64_t block_ids) {
  return block_ids * result.config.engine.block_size;
}

/// The concurrency that one more percent of memory adds to: of the lengths asked about, else of the
/// longest request.
const Concurrency& asked(const SizeResult& result) {
  return result.of_shape ? *result.of_shape : result.longest;
}

Concurrency with_more(const SizeResult& result) {
  const RequestShape shape = result.shape ? *result.shape : longest_request(result.config);
  return concurrency_of(result.config, result.more.split, shape);
}

const char* word_of(Binding binding) {
  switch (binding) {
    case Binding::kBlocks: return "blocks";
    case Binding::kStateSlots: return "state slots";
    case Binding::kRunLimit: return "run limit (max_num_seqs)";
  }
  return "?";
}

const char* name_of(Binding binding) {
  switch (binding) {
    case Binding::kBlocks: return "blocks";
    case Binding::kStateSlots: return "state_slots";
    case Binding::kRunLimit: return "run_limit";
  }
  return "?";
}

const char* name_of(PoolSource source) {
  switch (source) {
    case PoolSource::kNumBlocks: return "engine.num_blocks";
    case PoolSource::kAvailable: return "memory.available_gib";
    case PoolSource::kDevice: return "memory.device_gib";
  }
  return "?";
}

// --- Text ----------------------------------------------------------------------------------------

void add_memory(TextPage& page, const SizeResult& result) {
  const MemorySplit& split = result.split;
  const auto gib = [&](std::string_view label, ByteCount bytes) {
    page.line(label, decimal(bytes.value, kGib, 3));
  };
  page.title(" Memory of One GPU ");
  switch (split.source) {
    case PoolSource::kNumBlocks:
      page.line("Sized from:", "the engine's block count");
      if (split.block.value > 0) gib("Blocks (GiB):", split.sizing.blocks);
      if (split.sizing.state_ids > 1) {
        gib("State slots, twice (GiB):", split.sizing.state_reserved);
      }
      return;
    case PoolSource::kAvailable: gib("Available for caches (GiB):", split.budget); break;
    case PoolSource::kDevice:
      gib("Device (GiB):", split.device);
      gib("The engine may use (GiB):", split.budget);
      gib("  weights:", split.weights);
      gib("  activations at their peak:", split.activation_peak);
      gib("  other memory:", split.non_torch);
      break;
  }
  gib("  state slots, twice:", split.sizing.state_reserved);
  gib("  blocks:", split.sizing.blocks);
  gib("  left over:", split.sizing.remainder);
}

void add_pools(TextPage& page, const SizeResult& result) {
  const MemorySplit& split = result.split;
  page.section("Pools");
  page.line("Block size (positions):", result.config.engine.block_size);
  if (split.block.value > 0) page.line("Bytes of a block:", split.block.value);
  page.line("Block ids, block 0 counted:", split.sizing.block_ids);
  page.line("Tokens in them, as engines log it:", tokens_in(result, split.sizing.block_ids));
  page.line("Usable blocks:", split.sizing.block_ids - 1);
  page.line("Tokens in them:", tokens_in(result, split.sizing.block_ids - 1));
  if (!result.config.model.state_slots) return;
  page.line("Bytes of a state slot:", split.slot.value);
  page.line("State ids, slot 0 counted:", split.sizing.state_ids);
  page.line("Usable state slots:", split.sizing.state_ids - 1);
}

void add_concurrency(TextPage& page, std::string_view title, const RequestShape& shape,
                     const Concurrency& found) {
  page.section(title);
  page.line("Prompt tokens:", shape.prompt);
  page.line("Output tokens:", shape.output);
  page.line("Blocks of one at its largest:", found.need);
  page.line("Run at once, all at their largest:", found.largest);
  page.line("  blocks allow:", found.by_blocks);
  if (found.by_slots) page.line("  state slots allow:", *found.by_slots);
  page.line("  the run limit allows:", found.run_limit);
  page.line("Bound by:", word_of(found.binds));
}

void add_one_percent(TextPage& page, const SizeResult& result) {
  const std::uint64_t more_ids = result.more.split.sizing.block_ids - result.split.sizing.block_ids;
  page.section("One More Percent of Memory");
  if (result.split.source != PoolSource::kNumBlocks) {
    page.line("More memory (GiB):", decimal(result.more.bytes.value, kGib, 3));
  }
  page.line("More blocks:", more_ids);
  page.line("More tokens:", tokens_in(result, more_ids));
  page.line("More requests at once:", with_more(result).largest - asked(result).largest);
}

// --- JSON ----------------------------------------------------------------------------------------

void write_memory(JsonWriter& json, const SizeResult& result) {
  const MemorySplit& split = result.split;
  const auto bytes = [&](std::string_view name, ByteCount count, bool known) {
    json.key(name);
    known ? json.integer(count.value) : json.null();
  };
  const bool from_device = split.source == PoolSource::kDevice;
  const bool from_memory = split.source != PoolSource::kNumBlocks;
  const bool shape = split.block.value > 0;
  json.key("memory_bytes").open_object();
  bytes("device", split.device, from_device);
  bytes("budget", split.budget, from_memory);
  bytes("weights", split.weights, from_device);
  bytes("activation_peak", split.activation_peak, from_device);
  bytes("non_torch", split.non_torch, from_device);
  bytes("state_reserved", split.sizing.state_reserved, true);
  bytes("blocks", split.sizing.blocks, shape);
  bytes("remainder", split.sizing.remainder, from_memory);
  json.close();
}

void write_pools(JsonWriter& json, const SizeResult& result) {
  const MemorySplit& split = result.split;
  json.key("blocks").open_object();
  json.key("block_size").integer(result.config.engine.block_size);
  json.key("block_bytes");
  split.block.value > 0 ? json.integer(split.block.value) : json.null();
  json.key("ids").integer(split.sizing.block_ids);
  json.key("usable").integer(split.sizing.block_ids - 1);
  json.key("tokens").integer(tokens_in(result, split.sizing.block_ids));
  json.key("usable_tokens").integer(tokens_in(result, split.sizing.block_ids - 1));
  json.close();
  json.key("state_slots").open_object();
  json.key("slot_bytes").integer(split.slot.value);
  json.key("ids").integer(result.config.model.state_slots ? split.sizing.state_ids : 0);
  json.key("usable").integer(split.sizing.state_ids - 1);
  json.close();
}

void write_concurrency(JsonWriter& json, std::string_view name, const RequestShape& shape,
                       const Concurrency& found) {
  json.key(name).open_object();
  json.key("prompt_tokens").integer(shape.prompt);
  json.key("output_tokens").integer(shape.output);
  json.key("blocks_needed").integer(found.need);
  json.key("concurrency").integer(found.largest);
  json.key("binds").string(name_of(found.binds));
  json.key("by_blocks").integer(found.by_blocks);
  json.key("by_state_slots");
  found.by_slots ? json.integer(*found.by_slots) : json.null();
  json.key("by_run_limit").integer(found.run_limit);
  json.close();
}

void write_one_percent(JsonWriter& json, const SizeResult& result) {
  const std::uint64_t more_ids = result.more.split.sizing.block_ids - result.split.sizing.block_ids;
  json.key("one_percent_more").open_object();
  json.key("bytes");
  result.split.source == PoolSource::kNumBlocks ? json.null()
                                                : json.integer(result.more.bytes.value);
  json.key("blocks").integer(more_ids);
  json.key("tokens").integer(tokens_in(result, more_ids));
  json.key("concurrency").integer(with_more(result).largest - asked(result).largest);
  json.close();
}

}  // namespace

SizeResult size_result(const RunConfig& config, const std::optional<RequestShape>& shape) {
  SizeResult result;
  result.config = config;
  result.split = split_memory(config);
  result.longest = concurrency_of(config, result.split, longest_request(config));
  result.shape = shape;
  if (shape) result.of_shape = concurrency_of(config, result.split, *shape);
  result.more = one_percent_more(config);
  result.config_digest = config_digest(config);
  return result;
}

std::string size_text(const SizeResult& result) {
  TextPage page;
  add_memory(page, result);
  add_pools(page, result);
  add_concurrency(page, "Longest Requests", longest_request(result.config), result.longest);
  if (result.shape) add_concurrency(page, "Such Requests", *result.shape, *result.of_shape);
  add_one_percent(page, result);
  page.section("Provenance");
  page.line("Version:", kVersion);
  page.line("Configuration digest:", result.config_digest);
  page.end();
  return page.take();
}

std::string size_json(const SizeResult& result) {
  JsonWriter json;
  json.open_object();
  json.key("sized_from").string(name_of(result.split.source));
  write_memory(json, result);
  write_pools(json, result);
  write_concurrency(json, "longest_request", longest_request(result.config), result.longest);
  if (result.shape) write_concurrency(json, "request", *result.shape, *result.of_shape);
  write_one_percent(json, result);
  json.key("version").string(kVersion);
  json.key("config_digest").string(result.config_digest);
  json.close();
  return json.finish();
}

}  // namespace pinfold::sim
