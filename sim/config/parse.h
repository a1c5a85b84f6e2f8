#pragma once
// A configuration from text: strict JSON (sim/config/json_reader.h) and overrides, checked against the
// option table and across options. What comes out is complete and valid.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/json_reader.h"
#include "sim/config/run_config.h"
#include "sim/trace/input_error.h"

namespace pinfold::sim {

/// An option's value from a flag.
struct FlagValue {
  std::string path;   // "engine.num_blocks"
  std::string value;  // as behind `--set PATH=`
  std::string flag;   // as the user gave it: "--num-blocks 2000"
};

/// A configuration that stands inside another document.
struct ConfigDocument {
  std::string file;  // the document's path: in errors, and where includes are looked for
  JsonValue value;
};

/// Where a configuration comes from. What comes later beats what comes earlier; within a file, what it
/// says itself beats the files it includes.
struct ConfigSources {
  std::vector<std::string> files;
  std::vector<ConfigDocument> documents{};  // behind the files
  std::vector<FlagValue> imported{};  // from an engine's own flags; no effect is a note, no error
  std::vector<FlagValue> flags{};     // of ours, in one layer with the overrides
  std::vector<std::string> overrides{};  // engine.block_size=64
};

struct LoadedConfig {
  RunConfig config;
  std::vector<std::string> notes;  // what was said and changes nothing, and why
  bool pool_is_given = false;      // one of the three figures that size it was
};

/// Reads the files (the defaults where there is none), then the flags and overrides, in order. Unknown
/// keys, values of the wrong kind or outside their range, options without effect and options that
/// contradict each other are errors: with line and column in a file, with the flag otherwise. An option
/// that a later source switches off keeps its details in the earlier one. Whichever of
/// engine.num_blocks, memory.available_gib and memory.device_gib came last sizes the pool.
/// The error is the first one; `mistakes`, where given, gets all of them, of the sources in order. What
/// needs all options is asked once each one is what it may be.
Outcome<LoadedConfig> load_config(const ConfigSources& sources,
                                  std::vector<InputError>* mistakes = nullptr);

/// One file, or the defaults, and overrides.
Outcome<RunConfig> load_config(const std::optional<std::string>& path,
                               std::span<const std::string> overrides);

/// The same from memory; `name` stands for the path.
Outcome<RunConfig> parse_config(std::string_view json, const std::string& name,
                                std::span<const std::string> overrides = {});

/// The text that says an option's value behind `--set KEY=`, the same for equal values ("1.20" is "1.2"), if
/// the option can have it. Whether it goes with the other options is not asked; `file` stands in errors.
Outcome<std::string> option_text(const std::string& path, const JsonValue& value,
                                 const TextPosition& key_position, const std::string& file);

/// The same of a value from a flag.
Outcome<std::string> option_text(const FlagValue& flag);
/// One object of a larger document, which `name` stands for.
Outcome<RunConfig> parse_config(const JsonValue& object, const std::string& name,
                                std::span<const std::string> overrides);

}  // namespace pinfold::sim
