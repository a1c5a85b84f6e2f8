// Exact counters of a slice of the Azure conversation trace in a pool that is much too small, for three
// engines. The numbers were written by the program once and are kept: any change of behaviour shows.
// What can be known without the program is checked beside them: the trace's own sums, conservation,
// and that both paths agree. PINFOLD_ACCEPT=1 writes the goldens anew.
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "sim/config/parse.h"
#include "sim/core/run_fields.h"
#include "sim/core/simulate.h"
#include "sim/trace/azure_csv.h"

namespace pinfold::sim {
namespace {

constexpr std::size_t kRequests = 3000;

std::filesystem::path source_root() {
  const char* root = std::getenv("PINFOLD_SOURCE_ROOT");
  return root == nullptr ? std::filesystem::current_path() : std::filesystem::path(root);
}

Trace slice() {
  const auto path = source_root() / "traces/azure/AzureLLMInferenceTrace_conv.csv";
  auto read = read_azure_csv(path.string());
  REQUIRE_MESSAGE(bool(read), (read ? "" : describe(read.error())));
  Trace trace = std::move(read.value());
  trace.requests.resize(kRequests);
  return trace;
}

std::string counters(const RunResult& result) {
  std::ostringstream text;
  for (const ReportField& field : run_fields(result, Provenance{})) {
    // Provenance is not the run's, and is empty here.
    if (field.kind == ReportField::Kind::kNumber || field.name.rfind("digest", 0) == 0) {
      text << field.name << " " << field.text << "\n";
    }
  }
  return text.str();
}

void check_golden(const std::string& name, const std::vector<std::string>& settings) {
  CAPTURE(name);
  const auto config = load_config(std::nullopt, settings);
  REQUIRE_MESSAGE(bool(config), (config ? "" : describe(config.error())));
  const Trace trace = slice();
  RunOptions options;
  // acquired == freed + owned, and every other law, at every 1,000th event.
  options.audit_every = 1000;
  const RunResult result = simulate(trace, config.value(), options);
  options.fast_path = false;
  const RunResult slow = simulate(trace, config.value(), options);
  CHECK(counters(slow) == counters(result));

  CHECK(result.verdict == Verdict::kOk);
  CHECK(result.verdict_detail == "");
  CHECK(result.completed == kRequests);
  std::uint64_t prompts = 0;
  std::uint64_t outputs = 0;
  for (const TraceRequest& request : trace.requests) {
    prompts += request.prompt;
    outputs += request.output;
  }
  CHECK(result.total_input_tokens == prompts);
  CHECK(result.total_output_tokens == outputs);
  CHECK(result.blocks_acquired == result.blocks_released);
  CHECK(result.preemptions > 0);
  CHECK(result.answers_later > 0);

  const auto path = source_root() / "tests/golden/counters" / (name + ".txt");
  if (std::getenv("PINFOLD_ACCEPT") != nullptr) {
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << counters(result);
  }
  std::ifstream file(path);
  REQUIRE_MESSAGE(file.good(), path.string());
  std::ostringstream golden;
  golden << file.rdbuf();
  CHECK(counters(result) == golden.str());
}

// 999 usable blocks hold any one request of the slice and few together; steps of 60 ms keep the queue
// full.
const std::vector<std::string> kTight = {"engine.num_blocks=1000", "cost.step_base_us=60000"};

std::vector<std::string> tight_and(const std::vector<std::string>& more) {
  std::vector<std::string> settings = kTight;
  settings.insert(settings.end(), more.begin(), more.end());
  return settings;
}

TEST_CASE("a tight pool, no overlap") {
  check_golden("tight_overlap_0", tight_and({"engine.overlap=0"}));
}

TEST_CASE("a tight pool, overlap 1, hidden stops") { check_golden("tight_overlap_1", kTight); }

TEST_CASE("a tight pool, overlap 2, known stops, three drafts and state slots") {
  check_golden("tight_overlap_2_drafts_slots",
               tight_and({"engine.overlap=2", "workload.stop=known", "workload.drafts=3",
                          "model.state_slots=true", "engine.max_num_seqs=24"}));
}

}  // namespace
}  // namespace pinfold::sim
