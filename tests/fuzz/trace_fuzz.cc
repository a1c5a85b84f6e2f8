// Traces of every format, packed ones too: read with and without skipping over mistakes. Where there is none,
// the same requests in our own format read as the same.

#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

#include <memory>

#include "sim/trace/trace_input.h"
#include "sim/trace/trace_source.h"
#include "sim/trace/trace_writer.h"
#include "tests/fuzz/fuzz_target.h"

namespace pinfold::fuzz {
namespace {

// A format that is parameters of a generator goes on for as long as it is asked.
constexpr std::uint64_t kRequestsMost = 2000;

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

}  // namespace
}  // namespace pinfold::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  pinfold::fuzz::run(pinfold::fuzz::text_of(data, size));
  return 0;
}
