#pragma once
// `pinfold run --record FILE`, `check --accept --events`: a run's ownership events in a file, whole or not at all.

#include <fstream>
#include <memory>
#include <optional>
#include <string>

#include "sim/config/run_config.h"
#include "sim/core/run_observer.h"
#include "sim/core/run_result.h"
#include "sim/record/journal_file.h"

namespace pinfold::sim {

/// Grows as FILE.partial and takes FILE's name when the run is over, violation or not: what led to one is
/// what is wanted then.
class RecordFile final : public RunObserver {
 public:
  /// An error, which names the flag that asked for the file, where it cannot be written. `made_by` and `workload` go into its first line.
  static Outcome<std::unique_ptr<RecordFile>> begin(const std::string& flag,
                                                    const std::string& path,
                                                    const RunConfig& config,
                                                    const std::string& made_by,
                                                    const std::string& workload);
  /// Removes what was not published.
  ~RecordFile() override;

  void on_records(std::span<const std::byte> records, std::int64_t now_ns) override;
  std::optional<InputError> publish(const RunResult& result);

 private:
  RecordFile(const std::string& flag, const std::string& path)
      : flag_(flag),
        path_(path),
        partial_(path + ".partial"),
        file_(partial_, std::ios::binary),
        writer_(file_) {}

  std::string flag_;
  std::string path_;
  std::string partial_;
  std::ofstream file_;
  JournalWriter writer_;
  bool published_ = false;
};

}  // namespace pinfold::sim
