#pragma once
// Flags that several commands take, each declared once.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "sim/cli/command.h"
#include "sim/cli/config_flags.h"
#include "sim/cli/trace_options.h"

namespace pinfold::sim {

/// What --config says where nothing is configured.
inline constexpr const char* kBuiltInConfig =
    "the one in configs/runs/default.json, which is built in.";

/// The flags that say a configuration.
class ConfigurationFlags {
 public:
  /// `without`: what holds without them.
  void declare(Command& command, const std::string& without);
  ConfigFlags take() const;

 private:
  const Command* command_ = nullptr;
  std::vector<std::string> files_;
  std::vector<std::string> overrides_;
  std::string vllm_args_;
};

/// The trace itself, a positional.
class TraceArgument {
 public:
  /// `more`: sentences behind the usual ones.
  void declare(Command& command, const std::string& more = "");
  /// Throws UsageError where none was given.
  std::string take() const;

 private:
  std::string path_;
};

/// The flags that say how a trace is read and how much of it.
class TraceFlags {
 public:
  void declare(Command& command);
  /// Throws UsageError.
  TraceOptions take() const;

  /// Their heading in the help.
  static constexpr const char* kGroup = "Trace";

 private:
  TraceOptionTexts texts_;
};

/// --format of a command that prints text or JSON.
class JsonFlag {
 public:
  void declare(Command& command);
  /// True: JSON. Throws UsageError.
  bool take() const;

 private:
  std::string format_ = "text";
};

/// -q of a command that tells how far it is.
class QuietFlag {
 public:
  void declare(Command& command);
  /// Whether to tell: where stderr is a terminal.
  bool progress() const;

 private:
  bool quiet_ = false;
};

/// --seed of draws.
class SeedFlag {
 public:
  /// `of`: what is drawn.
  void declare(Command& command, const std::string& of);
  /// Throws UsageError.
  std::uint64_t take() const;

 private:
  std::string seed_ = "0";
};

/// --jobs of a command that runs many times.
class JobsFlag {
 public:
  void declare(Command& command);
  /// Throws UsageError.
  std::size_t take() const;

 private:
  std::string jobs_ = "1";
};

}  // namespace pinfold::sim
