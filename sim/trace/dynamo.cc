#include "sim/trace/dynamo.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "sim/trace/decimal_number.h"
#include "sim/trace/json_walk.h"
#include "sim/trace/table_schema.h"
#include "sim/trace/time_sum.h"

namespace pinfold::sim {

/// What an event says of a request.
struct DynamoRows::Event {
  bool request_end = false;
  bool known = false;
  std::optional<std::int64_t> received_ns;
  std::optional<std::int64_t> total_ns;
  std::optional<std::uint32_t> prompt;
  std::optional<std::uint32_t> replay_prompt;
  std::optional<std::uint32_t> output;
  std::uint32_t block = 0;
  std::string_view received;

  static std::uint32_t count(json::value value, const char* key) {
    const std::string_view token = token_of(value);
    const auto number = unsigned_integer(token);
    if (number && *number <= UINT32_MAX) return static_cast<std::uint32_t>(*number);
    throw JsonTraceMistake{
        token.data(), key, in_quotes(token), "an integer from 0 to 4294967295", {}};
  }

  static std::int64_t milliseconds(json::value value, const char* key) {
    const std::string_view token = token_of(value);
    const auto ns = scaled_decimal(token, static_cast<int>(Clock::kMs));
    if (ns && *ns >= 0) return *ns;
    throw JsonTraceMistake{token.data(), key, in_quotes(token), "milliseconds from 0", {}};
  }

  void event(json::object object, TraceRequest& request) {
    for (json::field field : object) {
      const char* const raw = field.key().raw();
      json::value value = field.value();
      if (key_is(raw, "event")) {
        event(value.get_object(), request);
      } else if (key_is(raw, "event_type")) {
        known = true;
        request_end = token_of(value) == "\"request_end\"";
      } else if (key_is(raw, "agent_context")) {
        if (token_of(value) == "null") continue;
        for (json::field part : value.get_object()) {
          if (!key_is(part.key().raw(), "session_id")) continue;
          const std::string_view token = token_of(part.value());
          if (is_string(token)) request.session = session_number(unquoted(token));
        }
      } else if (key_is(raw, "request")) {
        if (token_of(value) != "null") end(value.get_object(), request);
      }
    }
  }

  void end(json::object object, TraceRequest& request) {
    for (json::field field : object) {
      const char* const raw = field.key().raw();
      json::value value = field.value();
      if (token_of(value) == "null") continue;
      if (key_is(raw, "request_received_ms")) {
        received = token_of(value);
        received_ns = milliseconds(value, "request.request_received_ms");
      } else if (key_is(raw, "input_tokens")) {
        prompt = count(value, "request.input_tokens");
      } else if (key_is(raw, "output_tokens")) {
        output = count(value, "request.output_tokens");
      } else if (key_is(raw, "total_time_ms")) {
        total_ns = milliseconds(value, "request.total_time_ms");
      } else if (key_is(raw, "replay")) {
        for (json::field part : value.get_object()) {
          const char* const name = part.key().raw();
          if (key_is(name, "trace_block_size")) {
            block = count(part.value(), "request.replay.trace_block_size");
          } else if (key_is(name, "input_length")) {
            replay_prompt = count(part.value(), "request.replay.input_length");
          } else if (key_is(name, "input_sequence_hashes")) {
            append_integers(part.value(), "request.replay.input_sequence_hashes",
                            request.prefix_ids);
          }
        }
      }
    }
  }
};

DynamoRows::DynamoRows(LineWindow lines, std::string path)
    : lines_(std::move(lines)), path_(std::move(path)), walk_(std::make_unique<JsonWalk>()) {}

DynamoRows::~DynamoRows() = default;

RowReader::Step DynamoRows::next(TraceRequest& request) {
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
  try {
    return read(line, request);
  } catch (const JsonTraceMistake& mistake) {
    return bad(walk_->placed(mistake, path_, line.number));
  } catch (const simdjson::simdjson_error& failure) {
    return bad(walk_->placed(walk_->mistake(failure.error()), path_, line.number));
  }
}

RowReader::Step DynamoRows::read(const Line& line, TraceRequest& request) {
  Event event;
  event.event(walk_->open(line.text), request);
  walk_->close();
  if (!event.known) throw JsonTraceMistake{nullptr, {}, "no key \"event_type\"", "an event", {}};
  if (!event.request_end) return Step::kOther;

  const auto needed = [](bool there, const char* key) {
    if (!there)
      throw JsonTraceMistake{nullptr, key, "nothing", "a value, as every request_end has", {}};
  };
  needed(event.received_ns.has_value(), "request.request_received_ms");
  needed(event.prompt.has_value() || event.replay_prompt.has_value(), "request.input_tokens");
  needed(event.output.has_value(), "request.output_tokens");
  request.arrival_ns = *event.received_ns;
  request.prompt = event.replay_prompt ? *event.replay_prompt : *event.prompt;
  request.output = *event.output;
  if (request.prompt == 0) {
    throw JsonTraceMistake{nullptr, "request.input_tokens", "0 tokens", "at least 1", {}};
  }
  if (!request.prefix_ids.empty()) {
    if (event.block == 0 || event.block > kIdBlockMost ||
        (id_block_ != 0 && event.block != id_block_)) {
      throw JsonTraceMistake{nullptr,
                             "request.replay.trace_block_size",
                             fmt::format("blocks of {} tokens", event.block),
                             id_block_ == 0 ? fmt::format("from 1 to {} tokens", kIdBlockMost)
                                            : fmt::format("{} as in the lines before", id_block_),
                             {}};
    }
    id_block_ = event.block;
  }
  const TableSchema rules{
      .format = "dynamo", .columns = {}, .id_block = id_block_, .id_rule = IdRule::kCeil};
  RowExtras extras;
  extras.has_prompt = true;
  if (auto error = check_row(rules, 0, request, extras)) {
    throw JsonTraceMistake{nullptr, {}, error->found, error->expected, {}};
  }
  if (request.session != kNoSession) {
    const std::int64_t end =
        time_sum(request.arrival_ns, event.total_ns.value_or(0)).value_or(kNeverNs);
    const auto [before, first] = ends_.try_emplace(request.session, end);
    if (!first) {
      request.delay_ns = std::max<std::int64_t>(0, request.arrival_ns - before->second);
      before->second = end;
    }
  }
  place_.line = line.number;
  place_.column = static_cast<std::uint64_t>(event.received.data() - line.text.data()) + 1;
  place_.text = event.received;
  place_.name = "request_received_ms";
  return Step::kRow;
}

}  // namespace pinfold::sim
