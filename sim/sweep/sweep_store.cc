#include "sim/sweep/sweep_store.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <stdexcept>
#include <string_view>
#include <tuple>

namespace pinfold::sim {
namespace {

namespace fs = std::filesystem;

/// Caught before it leaves this file.
struct StoreFailure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Database {
 public:
  explicit Database(const std::string& path) {
    const int code = sqlite3_open(path.c_str(), &handle_);
    if (code != SQLITE_OK) {
      const std::string reason = sqlite3_errmsg(handle_);
      sqlite3_close(handle_);
      throw StoreFailure(reason);
    }
  }
  ~Database() { sqlite3_close(handle_); }
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  void execute(const char* sql) {
    if (sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr) != SQLITE_OK) fail();
  }
  [[noreturn]] void fail() const { throw StoreFailure(sqlite3_errmsg(handle_)); }
  sqlite3* handle() const { return handle_; }

 private:
  sqlite3* handle_ = nullptr;
};

/// A prepared statement, used over and over.
class Statement {
 public:
  Statement(Database& database, const char* sql) : database_(database) {
    if (sqlite3_prepare_v2(database.handle(), sql, -1, &handle_, nullptr) != SQLITE_OK) {
      database.fail();
    }
  }
  ~Statement() { sqlite3_finalize(handle_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  Statement& text(int place, std::string_view value) {
    // The statement runs before the text goes away.
    check(sqlite3_bind_text(handle_, place, value.data(), static_cast<int>(value.size()),
                            SQLITE_STATIC));
    return *this;
  }
  Statement& integer(int place, std::size_t value) {
    check(sqlite3_bind_int64(handle_, place, static_cast<sqlite3_int64>(value)));
    return *this;
  }
  Statement& null(int place) {
    check(sqlite3_bind_null(handle_, place));
    return *this;
  }
  void run() {
    if (sqlite3_step(handle_) != SQLITE_DONE) database_.fail();
    check(sqlite3_reset(handle_));
  }

  /// The next row of a query; false at its end.
  bool row() {
    const int code = sqlite3_step(handle_);
    if (code == SQLITE_ROW) return true;
    if (code != SQLITE_DONE) database_.fail();
    return false;
  }
  bool is_null(int column) const { return sqlite3_column_type(handle_, column) == SQLITE_NULL; }
  std::string text(int column) const {
    const unsigned char* const value = sqlite3_column_text(handle_, column);
    if (value == nullptr) return {};
    const auto size = static_cast<std::size_t>(sqlite3_column_bytes(handle_, column));
    std::string result(size, '\0');
    for (std::size_t i = 0; i < size; ++i) result[i] = static_cast<char>(value[i]);
    return result;
  }

 private:
  void check(int code) {
    if (code != SQLITE_OK) database_.fail();
  }
  Database& database_;
  sqlite3_stmt* handle_ = nullptr;
};

constexpr const char* kRunTables = R"(
CREATE TABLE IF NOT EXISTS runs (
  trace_digest TEXT NOT NULL, config_digest TEXT NOT NULL, version TEXT NOT NULL,
  status TEXT NOT NULL, reason TEXT NOT NULL,
  PRIMARY KEY (trace_digest, config_digest, version)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS figures (
  trace_digest TEXT NOT NULL, config_digest TEXT NOT NULL, version TEXT NOT NULL,
  place INTEGER NOT NULL, name TEXT NOT NULL, kind TEXT NOT NULL, value TEXT,
  PRIMARY KEY (trace_digest, config_digest, version, place)) WITHOUT ROWID;
)";

constexpr const char* kKinds[] = {"number", "text", "none"};

ReportField::Kind kind_of(const std::string& text) {
  for (std::size_t i = 0; i < std::size(kKinds); ++i) {
    if (text == kKinds[i]) return static_cast<ReportField::Kind>(i);
  }
  throw StoreFailure("a figure of unknown kind");
}

RunStatus status_of(const std::string& text) {
  for (const RunStatus status : {RunStatus::kOk, RunStatus::kFailed, RunStatus::kInvalid}) {
    if (text == name_of(status)) return status;
  }
  throw StoreFailure("a run of unknown status");
}

/// Writes runs and their figures.
class RunWriter {
 public:
  RunWriter(Database& database, const std::string& version)
      : run_(database, "INSERT OR REPLACE INTO runs VALUES (?, ?, ?, ?, ?)"),
        figure_(database, "INSERT OR REPLACE INTO figures VALUES (?, ?, ?, ?, ?, ?, ?)"),
        version_(version) {}

  void write(const RunRecord& record) {
    run_.text(1, record.trace_digest).text(2, record.config_digest).text(3, version_);
    run_.text(4, name_of(record.status)).text(5, record.reason).run();
    for (std::size_t place = 0; place < record.figures.size(); ++place) {
      const ReportField& field = record.figures[place];
      figure_.text(1, record.trace_digest).text(2, record.config_digest).text(3, version_);
      figure_.integer(4, place).text(5, field.name);
      figure_.text(6, kKinds[static_cast<std::size_t>(field.kind)]);
      field.kind == ReportField::Kind::kNone ? figure_.null(7) : figure_.text(7, field.text);
      figure_.run();
    }
  }

 private:
  Statement run_;
  Statement figure_;
  const std::string& version_;
};

std::vector<RunRecord> read_runs(Database& database, const std::string& version) {
  using Key = std::pair<std::string, std::string>;
  std::map<Key, RunRecord> records;
  Statement runs(database,
                 "SELECT trace_digest, config_digest, status, reason FROM runs WHERE version = ?");
  runs.text(1, version);
  while (runs.row()) {
    RunRecord record{runs.text(0), runs.text(1), status_of(runs.text(2)), runs.text(3), {}};
    records.emplace(Key(record.trace_digest, record.config_digest), std::move(record));
  }
  Statement figures(database,
                    "SELECT trace_digest, config_digest, name, kind, value FROM figures "
                    "WHERE version = ? ORDER BY trace_digest, config_digest, place");
  figures.text(1, version);
  while (figures.row()) {
    const auto at = records.find(Key(figures.text(0), figures.text(1)));
    if (at == records.end()) throw StoreFailure("figures without their run");
    at->second.figures.push_back({figures.text(2), kind_of(figures.text(3)), figures.text(4)});
  }
  std::vector<RunRecord> list;
  list.reserve(records.size());
  for (auto& [key, record] : records) list.push_back(std::move(record));
  return list;
}

void write_cells(Database& database, const SweepResult& result) {
  Statement about(database, "INSERT INTO about VALUES (?, ?)");
  about.text(1, "schema").text(2, "1").run();
  about.text(1, "version").text(2, result.version).run();
  if (!result.spec.learnt.empty()) about.text(1, "learnt").text(2, result.spec.learnt).run();

  Statement cell_row(database, "INSERT INTO cells VALUES (?, ?, ?, ?, ?, ?, ?)");
  Statement setting_row(database, "INSERT INTO settings VALUES (?, ?, ?)");
  Statement pool_row(database, "INSERT INTO pools VALUES (?, ?, ?)");
  Statement config_row(database, "INSERT OR IGNORE INTO configs VALUES (?, ?)");
  for (std::size_t cell = 0; cell < result.plan.cells.size(); ++cell) {
    const SweepConfig& config = result.config(cell);
    const std::size_t trace = result.plan.cells[cell].trace;
    cell_row.integer(1, cell).text(2, result.spec.traces[trace].name);
    cell_row.text(3, result.trace_digests[trace]).text(4, config.seed);
    config.digest.empty() ? cell_row.null(5) : cell_row.text(5, config.digest);
    cell_row.text(6, name_of(result.status(cell))).text(7, result.reason(cell)).run();
    for (const Setting& setting : config.settings) {
      setting_row.integer(1, cell).text(2, setting.path).text(3, setting.value).run();
    }
    for (const ReportField& field : config.pool) {
      pool_row.integer(1, cell).text(2, field.name);
      field.kind == ReportField::Kind::kNone ? pool_row.null(3) : pool_row.text(3, field.text);
      pool_row.run();
    }
    if (!config.digest.empty()) config_row.text(1, config.digest).text(2, config.json).run();
  }
}

class SqliteStore final : public SweepStore {
 public:
  SqliteStore(const std::string& directory, const std::string& version, bool resume)
      : final_path_((fs::path(directory) / kStoreName).string()),
        partial_path_((fs::path(directory) / kPartialStoreName).string()),
        version_(version) {
    const bool finished = fs::exists(final_path_);
    if (!resume && (finished || fs::exists(partial_path_))) {
      throw StoreFailure(
          "the results of another sweep: --resume continues it, another -o starts anew");
    }
    std::vector<RunRecord> earlier;
    if (finished) {
      Database database(final_path_);
      earlier = read_runs(database, version_);
    }
    partial_ = std::make_unique<Database>(partial_path_);
    // A commit survives the process at once; what is lost with the machine is run again.
    // Exclusive: a second sweep in this directory is refused.
    partial_->execute("PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL;");
    partial_->execute("PRAGMA synchronous = NORMAL;");
    partial_->execute(kRunTables);
    writer_ = std::make_unique<RunWriter>(*partial_, version_);
    partial_->execute("BEGIN");
    for (const RunRecord& record : earlier) writer_->write(record);
    partial_->execute("COMMIT");
    found_ = read_runs(*partial_, version_);
  }

  const std::vector<RunRecord>& found() const override { return found_; }

  std::optional<InputError> add(const RunRecord& record) override {
    try {
      partial_->execute("BEGIN");
      writer_->write(record);
      partial_->execute("COMMIT");
      return std::nullopt;
    } catch (const StoreFailure& failure) {
      return error_of(partial_path_, failure);
    }
  }

  std::optional<InputError> finish(const SweepResult& result) override {
    const std::string temporary = final_path_ + ".tmp";
    try {
      fs::remove(temporary);
      write(temporary, result);
      fs::rename(temporary, final_path_);
      writer_.reset();
      partial_.reset();
      for (const char* suffix : {"", "-wal", "-shm"}) fs::remove(partial_path_ + suffix);
      return std::nullopt;
    } catch (const StoreFailure& failure) {
      fs::remove(temporary);
      return error_of(final_path_, failure);
    } catch (const fs::filesystem_error& failure) {
      return error_of(final_path_, StoreFailure(failure.code().message()));
    }
  }

  static InputError error_of(const std::string& path, const StoreFailure& failure) {
    InputError error;
    error.path = path;
    error.found = failure.what();
    return error;
  }

 private:
  /// A new file written in one order has one form.
  void write(const std::string& path, const SweepResult& result) {
    Database database(path);
    database.execute("PRAGMA page_size = 4096; PRAGMA journal_mode = OFF;");
    database.execute(kStoreSchema);
    database.execute("BEGIN");
    {
      RunWriter runs(database, version_);
      for (const RunRecord& record : result.records) runs.write(record);
      write_cells(database, result);
    }
    database.execute("COMMIT");
  }

  std::string final_path_;
  std::string partial_path_;
  std::string version_;
  std::unique_ptr<Database> partial_;
  std::unique_ptr<RunWriter> writer_;
  std::vector<RunRecord> found_;
};

}  // namespace

const char* const kStoreSchema = R"(
CREATE TABLE about (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE cells (
  cell INTEGER PRIMARY KEY, trace TEXT NOT NULL, trace_digest TEXT NOT NULL, seed TEXT NOT NULL,
  config_digest TEXT, status TEXT NOT NULL, reason TEXT NOT NULL);
CREATE TABLE settings (
  cell INTEGER NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL,
  PRIMARY KEY (cell, key)) WITHOUT ROWID;
CREATE TABLE pools (
  cell INTEGER NOT NULL, name TEXT NOT NULL, value TEXT,
  PRIMARY KEY (cell, name)) WITHOUT ROWID;
CREATE TABLE configs (config_digest TEXT PRIMARY KEY, resolved TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE runs (
  trace_digest TEXT NOT NULL, config_digest TEXT NOT NULL, version TEXT NOT NULL,
  status TEXT NOT NULL, reason TEXT NOT NULL,
  PRIMARY KEY (trace_digest, config_digest, version)) WITHOUT ROWID;
CREATE TABLE figures (
  trace_digest TEXT NOT NULL, config_digest TEXT NOT NULL, version TEXT NOT NULL,
  place INTEGER NOT NULL, name TEXT NOT NULL, kind TEXT NOT NULL, value TEXT,
  PRIMARY KEY (trace_digest, config_digest, version, place)) WITHOUT ROWID;
)";

bool has_sweep_store() { return true; }

Outcome<std::unique_ptr<SweepStore>> open_sweep_store(const std::string& directory,
                                                      const std::string& version, bool resume) {
  try {
    return std::unique_ptr<SweepStore>(std::make_unique<SqliteStore>(directory, version, resume));
  } catch (const StoreFailure& failure) {
    return SqliteStore::error_of(directory, failure);
  } catch (const fs::filesystem_error& failure) {
    return SqliteStore::error_of(directory, StoreFailure(failure.code().message()));
  }
}

}  // namespace pinfold::sim
