#include "sim/trace/trace_lab.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "sim/trace/decimal_number.h"
#include "sim/trace/json_walk.h"
#include "sim/trace/table_schema.h"
#include "sim/trace/timestamp.h"

namespace pinfold::sim {
namespace {

std::uint32_t count(json::value value, const char* key, std::uint32_t least) {
  const std::string_view token = token_of(value);
  const auto number = unsigned_integer(token);
  if (number && *number >= least && *number <= UINT32_MAX) {
    return static_cast<std::uint32_t>(*number);
  }
  throw JsonTraceMistake{
      token.data(), key, in_quotes(token), "a number of tokens from " + std::to_string(least), {}};
}

/// When things happened in a round.
struct Events {
  std::optional<std::int64_t> first_ns;
  std::optional<std::int64_t> last_ns;
  std::optional<std::int64_t> input_ns;
  const char* at = nullptr;

  void read(json::value value) {
    at = token_of(value).data();
    for (json::value element : value.get_array()) {
      bool input = false;
      std::optional<std::int64_t> ns;
      for (json::field field : element.get_object()) {
        const char* const raw = field.key().raw();
        if (key_is(raw, "event_type")) {
          const std::string_view type = token_of(field.value());
          input = type == "\"user_message\"" || type == "\"tool_result\"";
        } else if (key_is(raw, "timestamp")) {
          const std::string_view token = token_of(field.value());
          if (!is_string(token)) {
            throw JsonTraceMistake{
                token.data(), "timing_events.timestamp", in_quotes(token), "a date in quotes", {}};
          }
          const Outcome<Timestamp> time = parse_timestamp(unquoted(token));
          if (!time) {
            throw JsonTraceMistake{token.data() + time.error().column,
                                   "timing_events.timestamp",
                                   time.error().found,
                                   time.error().expected,
                                   {}};
          }
          ns = time.value().unix_ns;
        }
      }
      if (!ns) continue;
      first_ns = std::min(first_ns.value_or(*ns), *ns);
      last_ns = std::max(last_ns.value_or(*ns), *ns);
      if (input) input_ns = std::max(input_ns.value_or(*ns), *ns);
    }
  }
};

}  // namespace

TraceLabRows::TraceLabRows(LineWindow lines, std::string path)
    : lines_(std::move(lines)), path_(std::move(path)), walk_(std::make_unique<JsonWalk>()) {
  place_.name = "timing_events";
}

TraceLabRows::~TraceLabRows() = default;

RowReader::Step TraceLabRows::next(TraceRequest& request) {
  Line line;
  do {
    if (!lines_.next(line)) {
      if (lines_.error()) return break_off(*lines_.error());
      return Step::kEnd;
    }
    if (!line.text.empty()) break;
    ++blank_lines_;
  } while (true);
  clear(request);
  place_.line = line.number;
  try {
    read(line, request);
    return Step::kRow;
  } catch (const JsonTraceMistake& mistake) {
    return bad(walk_->placed(mistake, path_, line.number));
  } catch (const simdjson::simdjson_error& failure) {
    return bad(walk_->placed(walk_->mistake(failure.error()), path_, line.number));
  }
}

void TraceLabRows::read(const Line& line, TraceRequest& request) {
  Events events;
  bool has_output = false;
  for (json::field field : walk_->open(line.text)) {
    const char* const raw = field.key().raw();
    json::value value = field.value();
    if (key_is(raw, "session_id")) {
      const std::string_view token = token_of(value);
      request.session = session_number(is_string(token) ? unquoted(token) : token);
    } else if (key_is(raw, "input_tokens_total")) {
      request.prompt = count(value, "input_tokens_total", 1);
    } else if (key_is(raw, "output_tokens")) {
      request.output = count(value, "output_tokens", 0);
      has_output = true;
    } else if (key_is(raw, "timing_events")) {
      events.read(value);
    }
  }
  walk_->close();
  const auto needed = [](bool there, const char* key) {
    if (!there) throw JsonTraceMistake{nullptr, key, "nothing", "a value, as every round has", {}};
  };
  needed(request.prompt > 0, "input_tokens_total");
  needed(has_output, "output_tokens");
  needed(events.first_ns.has_value(), "timing_events");
  request.arrival_ns = events.input_ns ? *events.input_ns : *events.first_ns;
  place_.column = static_cast<std::uint64_t>(events.at - line.text.data()) + 1;
  place_.text = {};
  RowExtras extras;
  extras.has_prompt = true;
  const TableSchema rules{.format = "tracelab", .columns = {}};
  if (auto error = check_row(rules, 0, request, extras)) {
    throw JsonTraceMistake{nullptr, {}, error->found, error->expected, {}};
  }
  if (request.session == kNoSession) return;
  const auto before = ends_.find(request.session);
  if (before != ends_.end()) {
    request.delay_ns = std::max<std::int64_t>(0, request.arrival_ns - before->second);
  }
  ends_[request.session] = *events.last_ns;
}

}  // namespace pinfold::sim
