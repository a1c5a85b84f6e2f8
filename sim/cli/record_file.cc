#include "sim/cli/record_file.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "sim/core/engine_options.h"

namespace pinfold::sim {
namespace {

InputError cannot_write(const std::string& flag, const std::string& path, int reason) {
  InputError error;
  error.path = flag + " " + path;
  error.found = reason == 0 ? "a file that cannot be written" : std::strerror(reason);
  error.expected = "a file that can be written";
  return error;
}

}  // namespace

Outcome<std::unique_ptr<RecordFile>> RecordFile::begin(const std::string& flag,
                                                       const std::string& path,
                                                       const RunConfig& config,
                                                       const std::string& made_by,
                                                       const std::string& workload) {
  errno = 0;
  std::unique_ptr<RecordFile> file(new RecordFile(flag, path));
  if (!file->file_) return cannot_write(flag, path, errno);
  const SchedulerOptions engine = engine_options(config, true);
  JournalHeader header;
  header.block_size = engine.block_size.value;
  header.block_ids = engine.block_ids;
  header.state_ids = engine.state_ids;
  header.draft_ids = engine.draft_ids;
  header.release_order = engine.release_order;
  header.free_order = engine.free_order;
  header.fence = engine.fence;
  header.copy_lane = engine.copy_lane;
  header.reuse = engine.reuse == Switch::kOn;
  header.eviction = engine.eviction;
  header.host_block_ids = engine.host_block_ids;
  header.host_state_ids = engine.host_state_ids;
  header.made_by = made_by;
  header.workload = workload;
  file->writer_.header(header);
  return file;
}

RecordFile::~RecordFile() {
  if (published_) return;
  file_.close();
  std::remove(partial_.c_str());
}

void RecordFile::on_records(std::span<const std::byte> records, std::int64_t /*now_ns*/) {
  writer_.records(records);
}

std::optional<InputError> RecordFile::publish(const RunResult& result) {
  errno = 0;
  writer_.end({.events = result.events, .digest = fmt::format("{:016x}", result.digest)});
  file_.close();
  if (!file_) return cannot_write(flag_, path_, errno);
  if (std::rename(partial_.c_str(), path_.c_str()) != 0) return cannot_write(flag_, path_, errno);
  published_ = true;
  return std::nullopt;
}

}  // namespace pinfold::sim
