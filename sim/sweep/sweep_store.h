#pragma once
// A sweep's results in SQLite. While cells run, each finished one is committed to sweep.partial.sqlite;
// at the end everything is written anew in order into sweep.sqlite, so that equal sweeps are equal bytes,
// however many threads ran them and however often they were interrupted.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/sweep/sweep_result.h"

namespace pinfold::sim {

inline constexpr const char* kStoreName = "sweep.sqlite";
inline constexpr const char* kPartialStoreName = "sweep.partial.sqlite";

/// Whether this build has SQLite.
bool has_sweep_store();

class SweepStore {
 public:
  virtual ~SweepStore() = default;
  SweepStore() = default;
  SweepStore(const SweepStore&) = delete;
  SweepStore& operator=(const SweepStore&) = delete;

  /// Runs of this version that an earlier sweep left here.
  virtual const std::vector<RunRecord>& found() const = 0;
  /// Commits one run. An error is one of the disk.
  virtual std::optional<InputError> add(const RunRecord& record) = 0;
  /// Writes sweep.sqlite whole, under a temporary name that is renamed, and removes the partial file.
  virtual std::optional<InputError> finish(const SweepResult& result) = 0;
};

/// Opens the store of `directory`, which must exist. Results of an earlier sweep are an error unless they
/// are asked for with `resume`.
Outcome<std::unique_ptr<SweepStore>> open_sweep_store(const std::string& directory,
                                                      const std::string& version, bool resume);

/// The statements that make the tables of sweep.sqlite, as docs/sweeps.md shows them.
extern const char* const kStoreSchema;

}  // namespace pinfold::sim
