// Traces of every format, packed ones too: read with and without skipping over mistakes. Where there is none,
// the same requests in our own format read as the same.

#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

#include <memory>

#include "sim/trace/azure_csv.h"
#include "sim/trace/burst_gpt.h"
#include "sim/trace/mooncake.h"
#include "sim/trace/plain_trace.h"
#include "sim/trace/qwen_bailian.h"
#include "sim/trace/simulator_traces.h"
#include "sim/trace/trace_input.h"
#include "sim/trace/trace_lab.h"
#include "sim/trace/trace_source.h"
#include "sim/trace/trace_writer.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/known_members.h"

namespace pinfold::fuzz {
namespace {

// A format that is parameters of a generator goes on for as long as it is asked.
constexpr std::uint64_t kRequestsMost = 100;

/// A file in memory under a name, so that reading takes the way it takes for a user's file.
class MemoryFile {
 public:
  MemoryFile() : descriptor_(::memfd_create("trace", MFD_CLOEXEC)) {
    require(descriptor_ >= 0, "the system has files in memory");
  }
  void fill(std::string_view text) {
    require(::ftruncate(descriptor_, 0) == 0, "a file in memory can be cut");
    require(
        ::pwrite(descriptor_, text.data(), text.size(), 0) == static_cast<::ssize_t>(text.size()),
        "a file in memory takes the input");
  }
  std::string name() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

std::string written(const sim::Trace& trace) {
  const sim::TraceWriter writer(sim::WrittenFormat::kJsonLines, trace.id_block,
                                sim::UsedFields::all());
  std::string text = writer.header();
  for (const sim::TraceRequest& request : trace.requests) writer.append(request, text);
  return text;
}

void run(std::string_view text) {
  static MemoryFile file;
  file.fill(text);
  sim::TraceOptions options;
  options.limit = kRequestsMost;
  const auto strict = sim::read_trace(file.name(), options);
  options.on_error = sim::OnError::kSkip;
  const auto lenient = sim::read_trace(file.name(), options);
  if (!strict) {
    require(!describe(strict.error()).empty(), "a mistake is described");
    return;
  }
  const std::string ours = written(strict.value());
  require(lenient && written(lenient.value()) == ours, "without a mistake nothing is skipped");

  sim::ReaderOptions reader;
  reader.format = "plain";
  reader.id_block = strict.value().id_block;
  auto rows = sim::open_rows_of(ours, "ours.jsonl", reader);
  require(static_cast<bool>(rows), "our own format is recognised");
  sim::TraceInput input("ours.jsonl", std::move(rows.value().rows), {});
  const auto again = sim::read_all(input, "ours.jsonl");
  require(static_cast<bool>(again),
          "what was written is read: " + (again ? "" : describe(again.error())));
  require(written(again.value()) == ours, "what is read is what was written");
}

std::vector<std::string> values_of(const sim::TraceColumn& column) {
  if (column.clock == sim::Clock::kDate) {
    return {"\"2023-11-16 18:15:46.6805900\"", "\"2023-11-16 18:15:46.6805900+00:00\"",
            "\"2262-04-11 23:47:16\"", "\"\""};
  }
  switch (column.field) {
    case sim::Field::kArrival:
    case sim::Field::kDelay:
    case sim::Field::kAbort:
    case sim::Field::kElapsed:
      return {"0", "1", "1000", "2.5", "\"3\"", "9223372036", "9223372036854", "null"};
    case sim::Field::kPrefixIds:
    case sim::Field::kAccepted: return {"[]", "[0]", "[1, 2]", "[1, 2, 3, 4]", "null"};
    case sim::Field::kSession:
    case sim::Field::kText: return {"1", "\"a\"", "\"b\"", "null"};
    default:
      return {"0", "1", "2", "3", "64", "1000", "4294967295", "18446744073709551615", "-1", "null"};
  }
}

}  // namespace

const std::vector<KnownMember>& known_members() {
  static const std::vector<KnownMember> kMembers = [] {
    std::vector<KnownMember> members;
    const std::vector<std::string_view> ids{"prefix_ids_16"};
    for (const sim::TableSchema& schema :
         {sim::azure_csv(), sim::burst_gpt(), sim::trace_lab_replay(), sim::vidur_csv(),
          sim::splitwise_csv(), sim::qwen_bailian(), sim::rag_pulse(), sim::llm_serving_sim(),
          sim::mooncake(), sim::plain_trace(std::span<const std::string_view>(ids)).value()}) {
      for (const sim::TraceColumn& column : schema.columns) {
        members.push_back({column.name, values_of(column)});
      }
    }
    return members;
  }();
  return kMembers;
}

}  // namespace pinfold::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  pinfold::fuzz::run(pinfold::fuzz::text_of(data, size));
  return 0;
}
