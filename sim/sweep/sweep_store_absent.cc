// In place of sweep_store.cc where SQLite was not found.
#include "sim/sweep/sweep_store.h"

namespace pinfold::sim {

const char* const kStoreSchema = "";

bool has_sweep_store() { return false; }

Outcome<std::unique_ptr<SweepStore>> open_sweep_store(const std::string& directory,
                                                      const std::string& /*version*/,
                                                      bool /*resume*/) {
  InputError error;
  error.path = directory;
  error.found = "a program that was built without SQLite";
  error.expected = "one built with it";
  error.hint = "install libsqlite3-dev and build again; without -o a sweep prints only";
  return error;
}

}  // namespace pinfold::sim
