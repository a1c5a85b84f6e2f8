#include "sim/trace/trace_format.h"

#include <dirent.h>

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "sim/trace/azure_csv.h"
#include "sim/trace/burst_gpt.h"
#include "sim/trace/byte_stream.h"
#include "sim/trace/closest_word.h"
#include "sim/trace/csv_rows.h"
#include "sim/trace/dynamo.h"
#include "sim/trace/files_in_turn.h"
#include "sim/trace/foreign_content.h"
#include "sim/trace/json_rows.h"
#include "sim/trace/json_walk.h"
#include "sim/trace/mooncake.h"
#include "sim/trace/qwen_bailian.h"
#include "sim/trace/serve_gen.h"
#include "sim/trace/simulator_traces.h"
#include "sim/trace/trace_lab.h"
#include "sim/trace/weka.h"

namespace pinfold::sim {
namespace {

constexpr const char* kExpected = "a CSV header or JSON of a trace format";

enum class Container : std::uint8_t { kCsv, kLines, kOther };

struct Entry {
  TraceFormat format;
  Container container;
  TableSchema (*schema)();
  // JSON: a line with all of these keys is of this format.
  std::vector<std::string_view> keys;
};

const std::vector<Entry>& entries() {
  static const std::vector<Entry> kEntries{
      {{"azure", "Azure LLM inference 2023, 2024, multimodal (CSV)", Unordered::kError},
       Container::kCsv,
       azure_csv,
       {}},
      {{"burstgpt", "BurstGPT, 6 or 8 columns (CSV)", Unordered::kError},
       Container::kCsv,
       burst_gpt,
       {}},
      {{"tracelab_replay", "TraceLab replay (CSV)", Unordered::kSort},
       Container::kCsv,
       trace_lab_replay,
       {}},
      {{"vidur", "Vidur (CSV)", Unordered::kError}, Container::kCsv, vidur_csv, {}},
      {{"splitwise", "splitwise-sim (CSV)", Unordered::kError}, Container::kCsv, splitwise_csv, {}},
      {{"qwen", "Qwen-Bailian (JSON Lines)", Unordered::kError},
       Container::kLines,
       qwen_bailian,
       {"chat_id", "parent_chat_id", "hash_ids"}},
      {{"ragpulse", "RAGPulse (JSON Lines)", Unordered::kSort},
       Container::kLines,
       rag_pulse,
       {"timestamp", "input_length", "sys_prompt"}},
      {{"llmservingsim", "LLMServingSim (JSON Lines)", Unordered::kError},
       Container::kLines,
       llm_serving_sim,
       {"input_toks", "output_toks"}},
      {{"mooncake", "Mooncake, AIPerf (JSON Lines)", Unordered::kError},
       Container::kLines,
       mooncake,
       {"input_length"}},
      {{"vllm_timed", "vLLM timed trace (JSON Lines; to be named, it looks like Mooncake)",
        Unordered::kError},
       Container::kLines,
       vllm_timed,
       {}},
      {{"dynamo", "dynamo.request.trace.v1 (JSON Lines)", Unordered::kSort},
       Container::kOther,
       nullptr,
       {"event_type"}},
      {{"tracelab", "TraceLab rounds (JSON Lines)", Unordered::kSort},
       Container::kOther,
       nullptr,
       {"timing_events", "input_tokens_total"}},
      {{"weka", "Weka agentic sessions (JSON, or a directory of them)", Unordered::kSort},
       Container::kOther,
       nullptr,
       {"requests", "block_size"}},
      {{"servegen", "ServeGen client parameters (chunk-N-trace.csv, or their directory)",
        Unordered::kError},
       Container::kOther,
       nullptr,
       {}},
      {{"plain", "our own (CSV or JSON Lines); --columns", Unordered::kError},
       Container::kOther,
       nullptr,
       {"prompt", "output"}},
  };
  return kEntries;
}

const Entry* entry_of(std::string_view name) {
  for (const Entry& entry : entries()) {
    if (entry.format.name == name) return &entry;
  }
  return nullptr;
}

InputError unknown(const std::string& path, std::string found) {
  InputError error;
  error.path = path;
  error.line = 1;
  error.found = std::move(found);
  error.expected = kExpected;
  error.hint = "--columns says what your own columns mean; docs/traces.md lists the formats";
  return error;
}

std::vector<std::string_view> header_of(std::string_view line) {
  if (line.starts_with("\xEF\xBB\xBF")) line.remove_prefix(3);
  if (line.ends_with('\r')) line.remove_suffix(1);
  std::vector<std::string_view> names;
  for (;;) {
    const std::size_t comma = std::min(line.find(','), line.size());
    names.push_back(line.substr(0, comma));
    if (comma == line.size()) return names;
    line.remove_prefix(comma + 1);
  }
}

/// The keys of the line's object and of the object "event" or "hash_ids" in it. Names only need to be found,
/// so this looks at the text and leaves mistakes to the reader.
std::vector<std::string_view> keys_of(std::string_view line) {
  std::vector<std::string_view> keys;
  std::size_t depth = 0;
  std::string_view last;
  bool wanted = true;  // whether keys at this depth count
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char letter = line[i];
    if (letter == '"') {
      const std::size_t start = i + 1;
      for (++i; i < line.size() && line[i] != '"'; ++i) {
        if (line[i] == '\\') ++i;
      }
      const std::string_view text = line.substr(start, std::min(i, line.size()) - start);
      const std::size_t colon = line.find_first_not_of(" \t", std::min(i + 1, line.size()));
      if (colon == std::string_view::npos || line[colon] != ':') continue;
      if (depth == 1 || (depth == 2 && wanted)) keys.push_back(text);
      if (depth == 1) last = text;
    } else if (letter == '{' || letter == '[') {
      ++depth;
      if (depth == 2) wanted = letter == '{' && (last == "event" || last == "hash_ids");
    } else if ((letter == '}' || letter == ']') && depth > 0) {
      --depth;
    }
  }
  return keys;
}

bool has(const std::vector<std::string_view>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool is_serve_gen_row(std::string_view line) {
  // No header: `600,0,0,,0,0` or `3000,0.45,1.89,Gamma,0.27,0.02`.
  const std::vector<std::string_view> fields = header_of(line);
  return fields.size() == 6 && !fields[0].empty() && fields[0][0] >= '0' && fields[0][0] <= '9' &&
         (fields[3].empty() || fields[3] == "Gamma" || fields[3] == "Weibull");
}

bool is_plain(const std::vector<std::string_view>& header) {
  return has(header, "prompt") && has(header, "output");
}

Outcome<const Entry*> find_csv(std::string_view line, const std::string& path) {
  const std::vector<std::string_view> header = header_of(line);
  const Entry* best = nullptr;
  std::size_t best_score = 0;
  for (const Entry& entry : entries()) {
    if (entry.container != Container::kCsv) continue;
    std::size_t found = 0;
    std::size_t close = 0;
    std::size_t wanted = 0;
    for (const TraceColumn& column : entry.schema().columns) {
      if (!column.required) continue;
      ++wanted;
      if (has(header, column.name)) {
        ++found;
      } else if (closest_word(column.name, header)) {
        ++close;
      }
    }
    if (found == wanted) return &entry;
    const std::size_t score = 3 * found + 2 * close;
    if (score > best_score) {
      best = &entry;
      best_score = score;
    }
  }
  if (is_plain(header)) return entry_of("plain");
  if (is_serve_gen_row(line)) return entry_of("servegen");
  // One likeness is an accident.
  if (best != nullptr && best_score >= 4) return best;
  return unknown(path, "the header " + in_quotes(line));
}

Outcome<const Entry*> find_json(std::string_view line, const std::string& path) {
  const std::vector<std::string_view> keys = keys_of(line);
  for (const Entry& entry : entries()) {
    if (entry.keys.empty()) continue;
    const bool all = std::all_of(entry.keys.begin(), entry.keys.end(),
                                 [&](std::string_view key) { return has(keys, key); });
    if (all) return &entry;
  }
  std::string found = "JSON without the keys of a known format";
  if (!keys.empty()) found += ", beginning with " + in_quotes(keys.front());
  if (line.starts_with('[')) found = "a JSON array";
  InputError error = unknown(path, found);
  if (has(keys, "conversations") || has(keys, "messages") || has(keys, "prompt") ||
      has(keys, "input")) {
    error.hint = "texts are not counted here: run the model's tokenizer over the trace first";
  }
  return error;
}

/// What the first bytes say.
Outcome<const Entry*> detect(std::string_view start, const std::string& path,
                             const ReaderOptions& options) {
  if (start.empty()) {
    InputError error;
    error.path = path;
    error.found = "an empty file";
    error.expected = kExpected;
    return error;
  }
  if (auto error = foreign_content(start, path, kExpected)) return *error;
  if (!options.format.empty()) {
    if (const Entry* entry = entry_of(options.format)) return entry;
    std::vector<std::string_view> names;
    InputError error;
    error.path = "--trace-format";
    error.found = in_quotes(options.format);
    for (const Entry& entry : entries()) {
      names.push_back(entry.format.name);
      error.expected += error.expected.empty() ? "one of " : ", ";
      error.expected += entry.format.name;
    }
    if (const auto close = closest_word(options.format, names)) {
      error.hint = fmt::format("did you mean {}?", *close);
    }
    return error;
  }
  if (!options.columns.empty()) return entry_of("plain");
  const std::size_t first = start.find_first_not_of(" \t\r\n");
  if (first != std::string_view::npos && (start[first] == '{' || start[first] == '[')) {
    std::string_view line = start.substr(first);
    // A document may begin with a line that holds only its bracket.
    const std::size_t end = std::min(line.find('\n'), line.size());
    if (line.substr(0, end).find('"') != std::string_view::npos) line = line.substr(0, end);
    return find_json(line, path);
  }
  return find_csv(start.substr(0, std::min(start.find('\n'), start.size())), path);
}

Outcome<TableSchema> schema_of(const Entry& entry, std::string_view start, const std::string& path,
                               const ReaderOptions& options) {
  if (entry.schema != nullptr) {
    TableSchema schema = entry.schema();
    for (const ColumnName& name : options.columns) {
      const auto column =
          std::find_if(schema.columns.begin(), schema.columns.end(),
                       [&](const TraceColumn& one) { return one.name == name.name; });
      if (column == schema.columns.end()) {
        InputError error;
        error.path = "--columns";
        error.found = "the unknown field " + in_quotes(name.name);
        error.expected = fmt::format("a column of the format {}: {}", entry.format.name,
                                     required_columns(schema));
        return error;
      }
      column->name = name.column;
    }
    return schema;
  }
  if (!options.columns.empty()) return plain_trace(std::span<const ColumnName>(options.columns));
  const std::string_view line = start.substr(0, std::min(start.find('\n'), start.size()));
  const bool json = line.starts_with('{');
  const std::vector<std::string_view> header = json ? keys_of(line) : header_of(line);
  Outcome<TableSchema> schema = plain_trace(std::span<const std::string_view>(header));
  if (schema) return schema;
  InputError error = schema.error();
  error.path = path;
  error.line = 1;
  return error;
}

Outcome<OpenedTrace> open_lines(LineWindow lines, const std::string& path,
                                const ReaderOptions& options, std::uint64_t file) {
  const std::string_view start = lines.peek();
  if (lines.error()) return *lines.error();
  const Outcome<const Entry*> found = detect(start, path, options);
  if (!found) return found.error();
  const Entry& entry = *found.value();
  OpenedTrace opened;
  opened.format = &entry.format;
  if (entry.format.name == "dynamo") {
    opened.rows = std::make_unique<DynamoRows>(std::move(lines), path);
  } else if (entry.format.name == "tracelab") {
    opened.rows = std::make_unique<TraceLabRows>(std::move(lines), path);
  } else if (entry.format.name == "weka") {
    opened.rows = std::make_unique<WekaRows>(std::move(lines), path, file, options.id_block);
  } else if (entry.format.name == "servegen") {
    Outcome<std::unique_ptr<RowReader>> rows = open_serve_gen({path}, options.seed);
    if (!rows) return rows.error();
    opened.rows = std::move(rows.value());
  } else {
    Outcome<TableSchema> schema = schema_of(entry, start, path, options);
    if (!schema) return schema.error();
    if (options.id_block != 0) schema.value().id_block = options.id_block;
    const std::size_t first = start.find_first_not_of(" \t\r\n");
    const bool json = entry.container == Container::kLines ||
                      (entry.container == Container::kOther && start[first] == '{');
    if (json) {
      opened.rows = std::make_unique<JsonRows>(std::move(lines), std::move(schema.value()), path);
    } else {
      opened.rows = std::make_unique<CsvRows>(std::move(lines), std::move(schema.value()), path);
    }
  }
  return opened;
}

/// The directory's files with this ending, numbers in their names in order of value.
std::vector<std::string> files_of(const std::string& path, std::string_view ending) {
  std::vector<std::string> names;
  DIR* const directory = ::opendir(path.c_str());
  if (directory == nullptr) return names;
  while (const dirent* entry = ::readdir(directory)) {
    const std::string_view name = entry->d_name;
    if (name.ends_with(ending)) names.push_back(path + "/" + std::string(name));
  }
  ::closedir(directory);
  std::sort(names.begin(), names.end(), numbers_in_order);
  return names;
}

Outcome<OpenedTrace> open_directory(const std::string& path, const ReaderOptions& options) {
  std::vector<std::string> files = files_of(path, "-trace.csv");
  if (!files.empty()) {
    Outcome<std::unique_ptr<RowReader>> rows = open_serve_gen(files, options.seed);
    if (!rows) return rows.error();
    OpenedTrace opened;
    opened.format = &entry_of("servegen")->format;
    opened.rows = std::move(rows.value());
    return opened;
  }
  files = files_of(path, ".json");
  if (files.empty()) {
    InputError error;
    error.path = path;
    error.found = "a directory";
    error.expected = "a request trace or a directory of Weka sessions or ServeGen clients";
    return error;
  }
  ReaderOptions one = options;
  one.format = "weka";
  OpenedTrace opened;
  opened.format = &entry_of("weka")->format;
  opened.rows = std::make_unique<FilesInTurn>(
      std::move(files),
      [one](const std::string& file, std::uint64_t number) -> Outcome<std::unique_ptr<RowReader>> {
        Outcome<std::unique_ptr<ByteStream>> bytes = open_bytes(file, "a Weka session (JSON)");
        if (!bytes) return bytes.error();
        Outcome<OpenedTrace> trace =
            open_lines(LineWindow(std::move(bytes.value())), file, one, number);
        if (!trace) return trace.error();
        return std::move(trace.value().rows);
      },
      options.id_block == 0 ? 64 : options.id_block);
  return opened;
}

bool is_directory(const std::string& path) {
  DIR* const directory = ::opendir(path.c_str());
  if (directory != nullptr) ::closedir(directory);
  return directory != nullptr;
}

}  // namespace

std::span<const TraceFormat> trace_formats() {
  static const std::vector<TraceFormat> kFormats = [] {
    std::vector<TraceFormat> formats;
    for (const Entry& entry : entries()) formats.push_back(entry.format);
    return formats;
  }();
  return kFormats;
}

Outcome<OpenedTrace> open_rows(const std::string& path, const ReaderOptions& options) {
  if (path != "-" && is_directory(path)) return open_directory(path, options);
  Outcome<std::unique_ptr<ByteStream>> bytes = open_bytes(path, "a request trace");
  if (!bytes) return bytes.error();
  return open_lines(LineWindow(std::move(bytes.value())), path, options, 0);
}

Outcome<OpenedTrace> open_rows_of(std::string_view text, const std::string& name,
                                  const ReaderOptions& options) {
  return open_lines(LineWindow(bytes_of(text)), name, options, 0);
}

}  // namespace pinfold::sim
