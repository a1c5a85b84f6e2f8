// How fast traces are read: bytes of text a second on one core, from memory, through the policies to
// requests. Aim: 1,000 MB/s for CSV and for JSON Lines.

#include <benchmark/benchmark.h>

#include <cstdio>
#include <string>
#include <utility>

#include "sim/trace/read_file.h"
#include "sim/trace/trace_source.h"

namespace {

namespace sim = pinfold::sim;

/// The rows `times` times in one text. Their times go back at each seam, which is another recording.
std::string many(const std::string& path, bool header, int times) {
  sim::Outcome<std::string> file = sim::read_file(path, "a trace");
  if (!file) {
    std::puts(sim::describe(file.error()).c_str());
    return {};
  }
  std::string rows = std::move(file.value());
  if (!rows.ends_with('\n')) rows += '\n';
  const std::size_t start = header ? rows.find('\n') + 1 : 0;
  std::string text = rows.substr(0, start);
  for (int i = 0; i < times; ++i) text.append(rows, start);
  return text;
}

void read(benchmark::State& state, const std::string& text) {
  std::uint64_t requests = 0;
  for (auto _ : state) {
    auto opened = sim::open_rows_of(text, "memory", {});
    if (!opened) return state.SkipWithError(sim::describe(opened.error()).c_str());
    sim::TraceInput input("memory", std::move(opened.value().rows),
                          {.unordered = sim::Unordered::kSegments});
    sim::TraceRequest request;
    while (input.next(request)) ++requests;
    if (input.error()) return state.SkipWithError(sim::describe(*input.error()).c_str());
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(text.size()) * state.iterations());
  state.counters["requests/s"] =
      benchmark::Counter(static_cast<double>(requests), benchmark::Counter::kIsRate);
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (argc != 3) {
    std::puts("usage: trace_bench AZURE.csv MOONCAKE.jsonl");
    return 2;
  }
  const std::string csv = many(argv[1], true, 50);
  const std::string lines = many(argv[2], false, 400);
  if (csv.empty() || lines.empty()) return 1;
  benchmark::RegisterBenchmark("azure csv", [&](benchmark::State& state) { read(state, csv); });
  benchmark::RegisterBenchmark("mooncake json lines",
                               [&](benchmark::State& state) { read(state, lines); });
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
