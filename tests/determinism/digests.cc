// The digests of a few runs, as text: what another processor must print as well.
//   pinfold-digests REPOSITORY
// Reads no JSON Lines and nothing packed, so that it can be built where libraries are missing
// (tests/determinism/cross.py).

#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <vector>

#include "sim/config/parse.h"
#include "sim/core/simulate.h"
#include "sim/trace/azure_csv.h"
#include "sim/trace/synthetic_trace.h"

namespace pinfold::sim {
namespace {

struct Case {
  const char* title;
  const char* trace;   // below traces/azure; null: made up, with prefixes, forks and aborts
  const char* config;  // below configs/runs; null: the defaults
  std::vector<std::string> overrides;
  bool shadow = false;
};

const std::vector<Case>& cases() {
  static constexpr const char* kConversation = "AzureLLMInferenceTrace_conv.csv";
  static constexpr const char* kCode = "AzureLLMInferenceTrace_code.csv";
  static const std::vector<Case> kCases{
      {"defaults", kConversation, nullptr, {}},
      {"small pool", kConversation, nullptr, {"engine.num_blocks=1200"}},
      {"four H100, knots", kConversation, "llama_3_1_70b_4xh100.json", {"cost.fit=knots"}},
      {"four H100, roofline", kCode, "llama_3_1_70b_4xh100.json", {"cost.fit=roofline"}},
      {"everything", kConversation, "everything.json", {}},
      {"everything, overlap 2", kCode, "everything.json", {"engine.overlap=2"}},
      {"made up, everything, shadow memory", nullptr, "everything.json", {}, true},
      {"made up, prefixes reused",
       nullptr,
       "everything_reuse.json",
       {"engine.num_blocks=400"},
       true},
  };
  return kCases;
}

/// Every law that draws a length or a gap, so that integer logarithms and roots are compared too.
SyntheticTrace made_up() {
  SyntheticTrace trace;
  trace.requests = 4000;
  trace.prompt = {1, 900, LengthRange::Law::kLogNormal, 120, fixed_ratio(8, 10)};
  trace.output = {1, 300, LengthRange::Law::kExponential, 60, 0};
  trace.rate_numerator = 40;
  trace.arrivals.kind = ArrivalLaw::Kind::kGamma;
  trace.arrivals.parameter = fixed_ratio(3, 2);
  trace.id_block = 16;
  trace.fanout = 3;
  trace.depth = 3;
  trace.level_blocks = 5;
  trace.forks = 50;
  trace.aborts = 30;
  trace.patience_ns = 2'000'000'000;
  trace.seed = 11;
  return trace;
}

int fail(const InputError& error) {
  fmt::print(stderr, "{}\n", describe(error));
  return 1;
}

int print(const std::string& root) {
  for (const Case& one : cases()) {
    std::optional<std::string> path;
    if (one.config != nullptr) path = root + "/configs/runs/" + one.config;
    const auto config = load_config(path, one.overrides);
    if (!config) return fail(config.error());
    RunOptions options;
    options.shadow = one.shadow;
    options.audit_every = one.shadow ? 1000 : 0;
    RunResult result;
    if (one.trace != nullptr) {
      const auto trace = read_azure_csv(root + "/traces/azure/" + one.trace);
      if (!trace) return fail(trace.error());
      result = simulate(trace.value(), config.value(), options);
    } else {
      SyntheticSource source(made_up());
      result = simulate(source, config.value(), options);
    }
    if (result.verdict != Verdict::kOk) {
      fmt::print(stderr, "{}: {}\n", one.title, result.verdict_detail);
      return 1;
    }
    fmt::print("{}: {:016x} {:016x}\n", one.title, result.digest, result.digest_timed);
  }
  return 0;
}

}  // namespace
}  // namespace pinfold::sim

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: pinfold-digests REPOSITORY\n");
    return 2;
  }
  return pinfold::sim::print(argv[1]);
}
