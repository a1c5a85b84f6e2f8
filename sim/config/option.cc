#include "sim/config/option.h"

#include <fmt/format.h>

#include <array>

#include "base/check.h"
#include "sim/config/decimal_text.h"
#include "sim/config/json_writer.h"

namespace pinfold::sim {
namespace {

// Accessors made from pointers to members: `integer<&RunConfig::engine, &EngineConfig::block_size>`.

template <auto Section, auto Field>
constexpr IntegerOption integer(std::uint64_t least, std::uint64_t most) {
  return {least, most,
          [](const RunConfig& config) -> std::uint64_t { return (config.*Section).*Field; },
          [](RunConfig& config, std::uint64_t value) {
            (config.*Section).*Field = static_cast<std::uint32_t>(value);
          }};
}

template <auto Section, auto Field>
constexpr DecimalOption decimal(std::uint64_t least, std::uint64_t most, std::uint32_t decimals) {
  return {least, most, decimals,
          [](const RunConfig& config) -> Rational { return (config.*Section).*Field; },
          [](RunConfig& config, Rational value) { (config.*Section).*Field = value; }};
}

template <auto Section, auto Field>
constexpr MicrosecondOption microseconds() {
  return {1'000'000'000,
          [](const RunConfig& config) -> std::uint64_t { return (config.*Section).*Field; },
          [](RunConfig& config, std::uint64_t value_ps) { (config.*Section).*Field = value_ps; }};
}

template <auto Section, auto Field>
constexpr ListOption list(std::uint32_t least, std::uint32_t most) {
  return {least, most,
          [](const RunConfig& config) -> const std::vector<std::uint32_t>& {
            return (config.*Section).*Field;
          },
          [](RunConfig& config, std::vector<std::uint32_t> values) {
            ((config.*Section).*Field).swap(values);
          }};
}

template <auto Field>
constexpr TextOption text(std::string_view expected) {
  return {expected,
          [](const RunConfig& config) -> const std::string& { return config.cost.*Field; },
          [](RunConfig& config, std::string value) { (config.cost.*Field).swap(value); }};
}

/// An enum whose enumerators count from 0 in the order of `words`.
template <auto Section, auto Field, class Enum>
constexpr ChoiceOption choice(std::span<const std::string_view> words) {
  return {
      words,
      [](const RunConfig& config) { return static_cast<std::size_t>((config.*Section).*Field); },
      [](RunConfig& config, std::size_t index) {
        (config.*Section).*Field = static_cast<Enum>(index);
      }};
}

constexpr std::array<std::string_view, 1> kProfiles{"deepinfer"};
constexpr std::array<std::string_view, 1> kVictims{"newest"};
constexpr std::array<std::string_view, 1> kPreemptions{"recompute"};
constexpr std::array<std::string_view, 2> kReleaseOrders{"reverse", "forward"};
constexpr std::array<std::string_view, 2> kFreeOrders{"fifo", "lifo"};
constexpr std::array<std::string_view, 2> kFences{"always", "unordered_writers"};
constexpr std::array<std::string_view, 2> kGrowthChecks{"shortfall", "one_free"};
constexpr std::array<std::string_view, 2> kStops{"hidden", "known"};
constexpr std::array<std::string_view, 2> kOffOn{"off", "on"};
constexpr std::array<std::string_view, 2> kEvictions{"lru", "fifo"};
constexpr std::array<std::string_view, 2> kSoleOwners{"copy", "adopt"};
constexpr std::array<std::string_view, 2> kCopyLanes{"compute", "separate"};
constexpr std::array<std::string_view, 2> kFenceWaits{"block", "poll"};
constexpr std::array<std::string_view, 2> kDuplexes{"full", "half"};
constexpr std::array<std::string_view, 2> kSessions{"open", "closed"};

/// A field that holds its word as text.
template <auto Field, const auto& Words>
constexpr ChoiceOption word() {
  return {Words,
          [](const RunConfig& config) -> std::size_t {
            std::size_t index = 0;
            while (index < Words.size() && Words[index] != config.engine.*Field) ++index;
            PINFOLD_CHECK(index < Words.size(), "configuration", "a word outside its table");
            return index;
          },
          [](RunConfig& config, std::size_t index) { config.engine.*Field = Words[index]; }};
}

constexpr std::array<std::string_view, 1> kNeedsDevice{"cost.device"};
constexpr std::array<std::string_view, 1> kNeedsDrafts{"workload.drafts"};
constexpr std::array<std::string_view, 1> kNeedsOpenLoop{"workload.concurrency"};
constexpr std::array<std::string_view, 1> kNeedsState{"model.state_slots"};
constexpr std::array<std::string_view, 1> kNeedsReuse{"prefix.reuse"};
constexpr std::array<std::string_view, 2> kNeedsStore{"store.host_blocks", "prefix.reuse"};
constexpr std::array<std::string_view, 3> kNeedsStates{"store.host_blocks", "prefix.reuse",
                                                       "model.state_slots"};
constexpr std::array<std::string_view, 2> kNeedsNoState{"model.state_slots", "store.host_blocks"};
constexpr std::array<std::string_view, 1> kNeedsLayers{"model.layers"};
constexpr std::array<std::string_view, 1> kNeedsRatios{"model.compression_ratios"};
constexpr std::array<std::string_view, 3> kPoolSources{"engine.num_blocks", "memory.available_gib",
                                                       "memory.device_gib"};
constexpr std::array<std::string_view, 2> kNeedsSlots{"model.state_slots", "workload.drafts"};
constexpr std::array<std::string_view, 2> kNeedsWindow{"model.window_tokens", "model.state_slots"};

constexpr Condition kWithDrafts{[](const RunConfig& config) { return config.workload.drafts > 0; },
                                "workload.drafts is at least 1", kNeedsDrafts};
constexpr std::array<std::string_view, 2> kNeedsNoTable{"workload.drafts",
                                                        "workload.draft_acceptance_by_position"};
constexpr std::array<std::string_view, 1> kNeedsSamples{"workload.samples"};
constexpr std::array<std::string_view, 1> kNeedsAborts{"workload.abort_permille"};
constexpr std::array<std::string_view, 1> kNeedsStorms{"fault.abort_storm_permille"};
constexpr Condition kWithoutTable{
    [](const RunConfig& config) {
      return config.workload.drafts > 0 && config.workload.draft_acceptance_by_position.empty();
    },
    "workload.drafts is at least 1 and workload.draft_acceptance_by_position is empty",
    kNeedsNoTable};
constexpr Condition kWithSamples{
    [](const RunConfig& config) { return config.workload.samples > 1; },
    "workload.samples is at least 2", kNeedsSamples};
constexpr Condition kWithAborts{
    [](const RunConfig& config) { return config.workload.abort_permille > 0; },
    "workload.abort_permille is at least 1", kNeedsAborts};
constexpr Condition kWithStorms{
    [](const RunConfig& config) { return config.fault.abort_storm_permille > 0; },
    "fault.abort_storm_permille is at least 1", kNeedsStorms};
constexpr Condition kOpenLoop{
    [](const RunConfig& config) { return config.workload.concurrency == 0; },
    "workload.concurrency is 0", kNeedsOpenLoop};
constexpr Condition kWithState{[](const RunConfig& config) { return config.model.state_slots; },
                               "model.state_slots is true", kNeedsState};
constexpr Condition kReusable{[](const RunConfig& config) {
                                return !config.model.state_slots || config.store.host_blocks > 0;
                              },
                              "model.state_slots is false or store.host_blocks is at least 1",
                              kNeedsNoState};
constexpr Condition kWithStore{
    [](const RunConfig& config) { return config.prefix.reuse && config.store.host_blocks > 0; },
    "prefix.reuse is \"on\" and store.host_blocks is at least 1", kNeedsStore};
constexpr Condition kWithStates{
    [](const RunConfig& config) {
      return config.prefix.reuse && config.store.host_blocks > 0 && config.model.state_slots;
    },
    "prefix.reuse is \"on\", store.host_blocks is at least 1 and model.state_slots is true",
    kNeedsStates};
constexpr Condition kWithReuse{[](const RunConfig& config) { return config.prefix.reuse; },
                               "prefix.reuse is \"on\"", kNeedsReuse};
constexpr Condition kWithSlots{
    [](const RunConfig& config) { return config.model.state_slots || config.workload.drafts > 0; },
    "model.state_slots is true or workload.drafts is at least 1", kNeedsSlots};
constexpr Condition kWithWindow{[](const RunConfig& config) {
                                  return config.model.state_slots && config.model.window_tokens > 0;
                                },
                                "model.window_tokens is at least 1", kNeedsWindow};

constexpr Condition kWithLayers{[](const RunConfig& config) { return config.model.layers > 0; },
                                "model.layers is at least 1", kNeedsLayers};
constexpr Condition kWithRatios{
    [](const RunConfig& config) { return !config.model.compression_ratios.empty(); },
    "model.compression_ratios names a cache", kNeedsRatios};
constexpr Condition kFromBlocks{
    [](const RunConfig& config) { return config.memory.source == PoolSource::kNumBlocks; },
    "engine.num_blocks sizes the pool", kPoolSources};
constexpr Condition kFromAvailable{
    [](const RunConfig& config) { return config.memory.source == PoolSource::kAvailable; },
    "memory.available_gib sizes the pool", kPoolSources};
constexpr Condition kFromDevice{
    [](const RunConfig& config) { return config.memory.source == PoolSource::kDevice; },
    "memory.device_gib sizes the pool", kPoolSources};

constexpr Condition kWithDevice{
    [](const RunConfig& config) { return config.cost.device_name != "none"; },
    "cost.device names a device", kNeedsDevice};
constexpr Condition kWithoutDevice{
    [](const RunConfig& config) { return config.cost.device_name == "none"; },
    "cost.device is \"none\"", kNeedsDevice};

// The upper bounds keep every derived quantity in range: positions and ids fit 32 bits, and a pool of
// 2^26 ids is some sixteen times the largest that an engine logs today.
constexpr std::uint64_t kMostBlocks = 1U << 26;
constexpr std::uint64_t kMostTokens = 1U << 30;
constexpr std::uint64_t kMostPerBlock = 1U << 16;
constexpr std::uint64_t kMostSequences = 1U << 20;
constexpr std::uint64_t kMostLayers = 1U << 12;
constexpr std::uint64_t kMostRowBytes = 1U << 24;
constexpr std::uint64_t kMostSlotBytes = UINT32_MAX;
constexpr std::uint64_t kMostGib = 1'000'000;

using E = EngineConfig;
using M = ModelConfig;
using W = WorkloadConfig;
using C = CostConfig;
using P = PrefixConfig;
using T = StoreConfig;
using F = ForkConfig;
using X = FaultConfig;
using Memory = MemoryConfig;
constexpr auto kEngine = &RunConfig::engine;
constexpr auto kModel = &RunConfig::model;
constexpr auto kMemory = &RunConfig::memory;
constexpr auto kWorkload = &RunConfig::workload;
constexpr auto kCost = &RunConfig::cost;
constexpr auto kPrefix = &RunConfig::prefix;
constexpr auto kStore = &RunConfig::store;
constexpr auto kFork = &RunConfig::fork;
constexpr auto kFault = &RunConfig::fault;

constexpr std::string_view kDeviceExpected =
    "a built-in device, the path of a device file (.json), or \"none\"";
constexpr std::string_view kASlotEach = "every running sequence needs one";

const Option kOptions[] = {
    {"engine.profile", "", "Whose scheduling rules the engine follows.",
     word<&E::profile, kProfiles>(), "no other profile is built yet"},
    {"engine.block_size", "token positions", "Positions a block holds.",
     integer<kEngine, &E::block_size>(1, kMostPerBlock)},
    {"engine.num_blocks", "block ids",
     "Ids of the block pool as engines log it: block 0, which is never issued, is counted.",
     integer<kEngine, &E::num_blocks>(2, kMostBlocks), "block 0 is never issued and takes one id",
     kFromBlocks},
    {"engine.overlap", "steps", "Step k+1 is planned once the result of step k-overlap is known.",
     integer<kEngine, &E::overlap>(0, 2)},
    {"engine.max_num_seqs", "sequences", "Sequences that may run at once.",
     integer<kEngine, &E::max_num_seqs>(1, kMostSequences)},
    {"engine.slot_factor", "slots a sequence",
     "State slots (and draft slots) for each of max_num_seqs, rounded down in all.",
     decimal<kEngine, &E::slot_factor>(1, 16, 6), kASlotEach, kWithSlots},
    {"engine.max_num_batched_tokens", "tokens", "Token budget of one step; at least max_num_seqs.",
     integer<kEngine, &E::max_num_batched_tokens>(1, kMostTokens)},
    {"engine.max_model_len", "token positions", "Longest sequence, prompt and output.",
     integer<kEngine, &E::max_model_len>(1, kMostTokens - 1)},
    {"engine.release_order", "", "In which order a sequence's blocks go back to the pool.",
     choice<kEngine, &E::release_order, ReleaseOrder>(kReleaseOrders)},
    {"engine.free_order", "",
     "Which free block is issued next: the one free for longest, or the latest.",
     choice<kEngine, &E::free_order, FreeOrder>(kFreeOrders)},
    {"engine.victim", "", "Which running sequence is preempted.", word<&E::victim, kVictims>(),
     "no other victim policy is built yet"},
    {"engine.preemption", "", "What happens to a preempted sequence's rows.",
     word<&E::preemption, kPreemptions>(), "no other kind of preemption is built yet"},
    {"engine.watermark", "blocks", "Blocks that admission leaves free.",
     integer<kEngine, &E::watermark>(0, 0), "a watermark is not built yet"},
    {"engine.fence", "",
     "What a release waits for: every step that may still touch the storage, or nothing but "
     "copies.",
     choice<kEngine, &E::fence, FenceMode>(kFences)},
    {"engine.growth_check", "",
     "When a running sequence goes on: its shortfall is available, or one block is free.",
     choice<kEngine, &E::growth_check, GrowthCheck>(kGrowthChecks)},

    {"engine.tensor_parallel_size", "GPUs",
     "GPUs that share each layer: weights and key-value heads are split among them.",
     integer<kEngine, &E::tensor_parallel_size>(1, 1024)},

    {"model.layers", "layers",
     "Layers with an ordinary key-value cache, one row a position; 0: none, or not known.",
     integer<kModel, &M::layers>(0, kMostLayers)},
    {"model.kv_heads", "heads", "Key-value heads of a layer, on all GPUs together.",
     integer<kModel, &M::kv_heads>(1, 4096), "", kWithLayers},
    {"model.head_dim", "elements", "Elements of one head's key, and of its value.",
     integer<kModel, &M::head_dim>(1, kMostPerBlock), "", kWithLayers},
    {"model.kv_bytes_per_element", "bytes", "2: bf16 or fp16; 1: fp8.",
     integer<kModel, &M::kv_bytes_per_element>(1, 8), "", kWithLayers},
    {"model.weights_gib", "GiB",
     "Weights of the whole model: what an engine logs for one GPU, times tensor_parallel_size.",
     decimal<kModel, &M::weights_gib>(0, kMostGib, 6)},
    {"model.state_slots", "", "Whether every running sequence owns a state slot.",
     BooleanOption{[](const RunConfig& config) { return config.model.state_slots; },
                   [](RunConfig& config, bool value) { config.model.state_slots = value; }}},
    {"model.window_tokens", "token positions", "Length of the sliding window; 0: none.",
     integer<kModel, &M::window_tokens>(0, kMostTokens), "", kWithState},
    {"model.ring_tokens", "token positions",
     "Rows of the window's ring; at least window_tokens + workload.drafts.",
     integer<kModel, &M::ring_tokens>(0, kMostTokens), "", kWithWindow},
    {"model.compression_ratios", "positions a row",
     "Ratios of the compressed caches; engine.block_size is a multiple of each.",
     list<kModel, &M::compression_ratios>(1, kMostPerBlock)},
    {"model.compression_layers", "layers", "Beside each ratio: the layers with that cache.",
     list<kModel, &M::compression_layers>(1, kMostLayers), "", kWithRatios},
    {"model.compression_row_bytes", "bytes", "Beside each ratio: one row of that cache.",
     list<kModel, &M::compression_row_bytes>(1, kMostRowBytes), "", kWithRatios},
    {"model.ring_stored_layers", "layers",
     "Layers whose ring lies in a slot's front, which is stored.",
     integer<kModel, &M::ring_stored_layers>(0, kMostLayers), "", kWithState},
    {"model.ring_dropped_layers", "layers", "Layers whose ring prefill recomputes instead.",
     integer<kModel, &M::ring_dropped_layers>(0, kMostLayers), "", kWithState},
    {"model.ring_row_bytes", "bytes", "One row of one layer's ring.",
     integer<kModel, &M::ring_row_bytes>(0, kMostRowBytes), "", kWithState},
    {"model.compression_state_bytes", "bytes",
     "State of a slot that is no ring, of all layers together.",
     integer<kModel, &M::compression_state_bytes>(0, kMostSlotBytes), "", kWithState},

    {"memory.device_gib", "GiB",
     "Memory of one GPU. The pool gets what the engine may use of it, less weights, what follows "
     "and twice the state slots.",
     decimal<kMemory, &Memory::device_gib>(0, kMostGib, 6), "", kFromDevice},
    {"memory.utilization", "of device_gib", "What the engine may use (gpu_memory_utilization).",
     decimal<kMemory, &Memory::utilization>(0, 1, 6), "", kFromDevice},
    {"memory.activation_peak_gib", "GiB", "Activations at their peak, on one GPU.",
     decimal<kMemory, &Memory::activation_peak_gib>(0, kMostGib, 6), "", kFromDevice},
    {"memory.non_torch_gib", "GiB", "What the driver and libraries hold, on one GPU.",
     decimal<kMemory, &Memory::non_torch_gib>(0, kMostGib, 6), "", kFromDevice},
    {"memory.collectives_gib", "GiB",
     "What they hold beside that where tensor_parallel_size is at least 2.",
     decimal<kMemory, &Memory::collectives_gib>(0, kMostGib, 6), "", kFromDevice},
    {"memory.available_gib", "GiB",
     "Memory left for caches on one GPU, as the engine logs it. The pool gets it, less twice the "
     "state slots.",
     decimal<kMemory, &Memory::available_gib>(0, kMostGib, 6), "", kFromAvailable},

    {"workload.stop", "",
     "Whether the scheduler knows a request's output length, or learns of the stop with the "
     "result.",
     choice<kWorkload, &W::stop, StopMode>(kStops)},
    {"workload.time_scale", "times", "Arrival times are multiplied by it; 0: all at once.",
     decimal<kWorkload, &W::time_scale>(0, 1'000, 9), "", kOpenLoop},
    {"workload.concurrency", "requests",
     "Closed loop: a request arrives when another has ended, so that this many are live; 0: "
     "arrivals "
     "as in the trace.",
     integer<kWorkload, &W::concurrency>(0, kMostSequences)},
    {"workload.drafts", "tokens a step", "Draft tokens proposed for each running sequence.",
     integer<kWorkload, &W::drafts>(0, 8)},
    {"workload.draft_acceptance_permille", "of 1000", "Chance that one more draft is accepted.",
     integer<kWorkload, &W::draft_acceptance_permille>(0, 1'000), "", kWithoutTable},
    {"workload.draft_acceptance_by_position", "of 1000",
     "The same for each draft position of a row in turn, the last one for those behind it.",
     list<kWorkload, &W::draft_acceptance_by_position>(0, 1'000), "", kWithDrafts},
    {"workload.samples", "completions",
     "Completions of one prompt, where the trace does not say: the others are forks of the first.",
     integer<kWorkload, &W::samples>(1, 64)},
    {"workload.samples_permille", "of 1000", "Of the requests, those that have workload.samples.",
     integer<kWorkload, &W::samples_permille>(0, 1'000), "", kWithSamples},
    {"workload.abort_permille", "of 1000", "Of the requests, those whose client gives up.",
     integer<kWorkload, &W::abort_permille>(0, 1'000)},
    {"workload.abort_within_us", "microseconds",
     "Such a client gives up at any time within this after the arrival.",
     microseconds<kWorkload, &W::abort_within_ps>(), "", kWithAborts},
    {"workload.sessions", "",
     "When a conversation's next turn arrives: as in the trace, or its delay after the last one's "
     "end.",
     choice<kWorkload, &W::sessions, Sessions>(kSessions), "", kOpenLoop},

    {"prefix.reuse", "",
     "Blocks of equal prefixes, by the trace's prefix ids, are shared and kept while nobody owns "
     "them.",
     ChoiceOption{
         kOffOn, [](const RunConfig& config) -> std::size_t { return config.prefix.reuse ? 1 : 0; },
         [](RunConfig& config, std::size_t index) { config.prefix.reuse = index == 1; }},
     "", kReusable},
    {"prefix.eviction", "",
     "Which kept block makes room first: the one unowned for longest, a prompt's last ones first, "
     "or the one kept first.",
     choice<kPrefix, &P::eviction, Eviction>(kEvictions), "", kWithReuse},

    {"store.host_blocks", "blocks",
     "Places for blocks on the host: committed prefixes are saved there and loaded on a hit; 0: no "
     "store.",
     integer<kStore, &T::host_blocks>(0, kMostBlocks), "", kWithReuse},
    {"store.host_states", "states",
     "Places for states on the host: with state slots a prefix is found up to a boundary whose "
     "state lies there.",
     integer<kStore, &T::host_states>(1, kMostBlocks), "", kWithStates},
    {"store.interval", "token positions",
     "Prefixes are saved and loaded up to multiples of it; a multiple of engine.block_size.",
     integer<kStore, &T::interval>(1, kMostTokens), "", kWithStore},
    {"store.recover_tokens", "token positions",
     "Rows computed again behind a loaded state, for the layers whose state no store keeps.",
     integer<kStore, &T::recover_tokens>(0, kMostTokens), "", kWithStates},
    {"store.bandwidth_gb_s", "10^9 bytes/s",
     "Bandwidth between device and host, in each direction; 0: a transfer takes its latency alone, "
     "as it does where the model does not say what a block takes.",
     decimal<kStore, &T::bandwidth_gb_s>(0, 100'000, 6), "", kWithStore},
    {"store.latency_us", "microseconds", "Time of each transfer whatever its size.",
     microseconds<kStore, &T::latency_ps>(), "", kWithStore},
    {"store.duplex", "", "Whether saves and loads each have the bandwidth, or share it.",
     choice<kStore, &T::duplex, Duplex>(kDuplexes), "", kWithStore},
    {"store.lease_us", "microseconds",
     "A load or save that has not passed so long after it was queued is given up; who waited for a "
     "load computes its rows. 0: it is waited for.",
     microseconds<kStore, &T::lease_ps>(), "", kWithStore},

    {"fork.demote", "", "Before a stall, requeue the youngest waiting fork with its whole prompt.",
     ChoiceOption{kOffOn,
                  [](const RunConfig& config) -> std::size_t { return config.fork.demote ? 1 : 0; },
                  [](RunConfig& config, std::size_t index) { config.fork.demote = index == 1; }}},
    {"fork.sole_owner", "", "What a fork does that is the only owner left: copy, or keep the rows.",
     choice<kFork, &F::sole_owner, SoleOwner>(kSoleOwners)},
    {"fork.copy_lane", "",
     "Where a fork's copies run: in the compute lane ahead of the forward, or in a lane of their "
     "own that the forward waits for.",
     choice<kFork, &F::copy_lane, CopyLane>(kCopyLanes)},
    {"fork.wait", "",
     "How the host learns that a step's copies are done: it stands still, or looks when it next "
     "plans.",
     choice<kFork, &F::wait, FenceWait>(kFenceWaits)},

    {"fault.step_failed_permille", "of 1000", "Chance that a step fails.",
     integer<kFault, &X::step_failed_permille>(0, 900)},
    {"fault.failed_steps", "", "Steps that fail, by number, counted from 1 in order of dispatch.",
     list<kFault, &X::failed_steps>(1, UINT32_MAX)},
    {"fault.copy_delay_us", "microseconds", "The copies of every step take so much longer.",
     microseconds<kFault, &X::copy_delay_ps>()},
    {"fault.copy_lost", "",
     "The host never learns that the copies of the n-th step that has any are done; 0: it does.",
     integer<kFault, &X::copy_lost>(0, UINT32_MAX)},
    {"fault.load_lost", "", "The host never learns that the n-th load is done; 0: it does.",
     integer<kFault, &X::load_lost>(0, UINT32_MAX), "", kWithStore},
    {"fault.save_lost", "", "The host never learns that the n-th save is done; 0: it does.",
     integer<kFault, &X::save_lost>(0, UINT32_MAX), "", kWithStore},
    {"fault.abort_storm_permille", "of 1000",
     "Of the live requests, those that are aborted in an abort storm.",
     integer<kFault, &X::abort_storm_permille>(0, 1'000)},
    {"fault.abort_storm_steps", "steps", "There is an abort storm every so many steps.",
     integer<kFault, &X::abort_storm_steps>(1, UINT32_MAX), "", kWithStorms},

    {"cost.device", "",
     "Whose step times are simulated: the name of a built-in device (configs/devices), the path of "
     "a "
     "device file (.json) from the current directory, or none: then the coefficients below.",
     text<&C::device_name>(kDeviceExpected)},
    {"cost.device_digest", "",
     "XXH3 of the device file in 16 hexadecimal digits; another file is refused. Empty: not "
     "checked, and filled in.",
     text<&C::device_digest>("the digest of a device file"), "", kWithDevice},
    {"cost.variant", "", "The device's variant: weights and key-value cache.",
     text<&C::variant>("a variant of the device"), "", kWithDevice},
    {"cost.fit", "", "Which of the device's models gives a step's time.",
     choice<kCost, &C::fit, Fit>(kFitNames), "", kWithDevice},
    {"cost.scale", "times", "The device's step times are multiplied by it.",
     decimal<kCost, &C::scale>(0, 1'000, 6), "", kWithDevice},
    {"cost.host_us", "microseconds",
     "Time that the host adds to each step: scheduling, launches, sampling.",
     microseconds<kCost, &C::host_ps>(), "", kWithDevice},
    {"cost.table_entry_us", "microseconds",
     "Time of each block-table entry that a step's attention reads; 0: block size changes no "
     "forward time.",
     microseconds<kCost, &C::table_entry_ps>()},
    {"cost.plan_us", "microseconds",
     "Time in which the host plans a step; with overlap it hides behind the running one.",
     microseconds<kCost, &C::plan_ps>()},
    {"cost.copy_launch_us", "microseconds", "Time of launching a step's copies, all together.",
     microseconds<kCost, &C::copy_launch_ps>()},
    {"cost.step_base_us", "microseconds", "Time of a step, whatever is in it.",
     microseconds<kCost, &C::step_base_ps>(), "", kWithoutDevice},
    {"cost.row_us", "microseconds", "Time of each row of a step.",
     microseconds<kCost, &C::row_ps>(), "", kWithoutDevice},
    {"cost.prompt_token_us", "microseconds", "Further time of each prompt token of a step.",
     microseconds<kCost, &C::prompt_token_ps>(), "", kWithoutDevice},
    {"cost.context_token_us", "microseconds", "Time of each key position that a decode row reads.",
     microseconds<kCost, &C::context_token_ps>(), "", kWithoutDevice},
    {"cost.block_copy_us", "microseconds", "Time of copying one block.",
     microseconds<kCost, &C::block_copy_ps>(), "", kWithoutDevice},
    {"cost.state_copy_us", "microseconds", "Time of copying one state slot.",
     microseconds<kCost, &C::state_copy_ps>(), "", kWithState},

    {"seed", "", "Seed of every random draw.",
     IntegerOption{0, UINT64_MAX, [](const RunConfig& config) { return config.seed; },
                   [](RunConfig& config, std::uint64_t value) { config.seed = value; }}},
};

constexpr std::uint64_t kPicosecondsPerMicrosecond = 1'000'000;

std::string with_unit(std::string text, std::string_view unit) {
  return unit.empty() ? text : fmt::format("{} {}", text, unit);
}

std::string words_of(const ChoiceOption& choice) {
  std::string text;
  for (std::size_t i = 0; i < choice.words.size(); ++i) {
    if (i > 0) text += i + 1 == choice.words.size() ? " or " : ", ";
    text += fmt::format("\"{}\"", choice.words[i]);
  }
  return text;
}

/// `std::visit` with one lambda a kind.
template <class... Functions>
struct Overloaded : Functions... {
  using Functions::operator()...;
};
template <class... Functions>
Overloaded(Functions...) -> Overloaded<Functions...>;

}  // namespace

std::string_view Option::section() const {
  const std::size_t dot = path.find('.');
  return dot == std::string_view::npos ? std::string_view() : path.substr(0, dot);
}

std::string_view Option::name() const {
  const std::size_t dot = path.find('.');
  return dot == std::string_view::npos ? path : path.substr(dot + 1);
}

std::span<const Option> all_options() { return kOptions; }

const Option* find_option(std::string_view path) {
  for (const Option& option : kOptions) {
    if (option.path == path) return &option;
  }
  return nullptr;
}

std::string expected_value(const Option& option) {
  const auto range = [&](std::string_view kind, std::uint64_t least, std::uint64_t most) {
    if (least == most) return with_unit(fmt::format("{}", least), option.unit);
    return with_unit(fmt::format("{} from {} to {}", kind, least, most), option.unit);
  };
  return std::visit(
      Overloaded{
          [&](const IntegerOption& kind) { return range("an integer", kind.least, kind.most); },
          [&](const DecimalOption& kind) {
            return range("a decimal", kind.least, kind.most) +
                   fmt::format(" with at most {} digits behind the point", kind.decimals);
          },
          [&](const MicrosecondOption& kind) {
            return range("a decimal", 0, kind.most_us) +
                   " with at most 6 digits behind the point (picoseconds)";
          },
          [&](const ChoiceOption& kind) { return words_of(kind); },
          [&](const BooleanOption&) { return std::string("true or false"); },
          [&](const ListOption& kind) {
            return "an array of integers" +
                   with_unit(fmt::format(" from {} to {}", kind.least, kind.most), option.unit);
          },
          [&](const TextOption& kind) { return std::string(kind.expected); },
      },
      option.kind);
}

std::string value_text(const Option& option, const RunConfig& config) {
  return std::visit(
      Overloaded{
          [&](const IntegerOption& kind) { return fmt::format("{}", kind.get(config)); },
          [&](const DecimalOption& kind) { return decimal_text(kind.get(config)); },
          [&](const MicrosecondOption& kind) {
            return decimal_text(Rational{kind.get_ps(config), kPicosecondsPerMicrosecond});
          },
          [&](const ChoiceOption& kind) {
            return fmt::format("\"{}\"", kind.words[kind.get(config)]);
          },
          [&](const BooleanOption& kind) {
            return std::string(kind.get(config) ? "true" : "false");
          },
          [&](const ListOption& kind) {
            return fmt::format("[{}]", fmt::join(kind.get(config), ", "));
          },
          [&](const TextOption& kind) { return json_string(kind.get(config)); },
      },
      option.kind);
}

}  // namespace pinfold::sim
