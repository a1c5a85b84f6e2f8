#include "sim/trace/weka.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "sim/trace/decimal_number.h"
#include "sim/trace/json_walk.h"
#include "sim/trace/table_schema.h"
#include "sim/trace/time_sum.h"

namespace pinfold::sim {
namespace {

constexpr int kFileBits = 40;

std::int64_t seconds_of(json::value value, std::string_view key) {
  const std::string_view token = token_of(value);
  const auto ns = scaled_decimal(token, static_cast<int>(Clock::kSeconds));
  if (ns && *ns >= 0) return *ns;
  throw JsonTraceMistake{
      token.data(), std::string(key), in_quotes(token), "seconds, from 0 to 292 years", {}};
}

std::uint32_t tokens_of(json::value value, std::string_view key, std::uint32_t least) {
  const std::string_view token = token_of(value);
  const auto count = unsigned_integer(token);
  if (count && *count >= least && *count <= UINT32_MAX) return static_cast<std::uint32_t>(*count);
  throw JsonTraceMistake{token.data(),
                         std::string(key),
                         in_quotes(token),
                         fmt::format("a number of tokens from {} to 4294967295", least),
                         {}};
}

bool is_null(json::value value) { return token_of(value) == "null"; }

/// A turn as the file has it.
struct Turn {
  TraceRequest request;
  ArrivalPlace place;
  std::optional<std::int64_t> think_ns;
  std::optional<std::int64_t> api_ns;
};

/// Delays between the turns of one session, in the order of the file.
class TurnDelays {
 public:
  void next(Turn& turn) {
    if (any_) {
      const std::int64_t gap = turn.request.arrival_ns - end_ns_;
      turn.request.delay_ns = std::max<std::int64_t>(0, turn.think_ns.value_or(gap));
    }
    any_ = true;
    end_ns_ = time_sum(turn.request.arrival_ns, turn.api_ns.value_or(0)).value_or(kNeverNs);
  }

 private:
  bool any_ = false;
  std::int64_t end_ns_ = 0;  // of the turn before
};

}  // namespace

struct WekaRows::Walker {
  WekaRows& reader;
  JsonWalk& walk;
  std::string_view text;
  std::string name;  // of the file's session
  TableSchema rules{.format = "weka", .columns = {}, .id_block = 64, .id_rule = IdRule::kFloor};

  std::uint64_t met =
      0;  // requests so far: the file has one line, so they are told apart by number

  void file(std::vector<Row>& rows) {
    bool any = false;
    for (json::field field : walk.open(text)) {
      const char* const raw = field.key().raw();
      if (key_is(raw, "id")) {
        const std::string_view token = token_of(field.value());
        name = is_string(token) ? unquoted(token) : token;
      } else if (key_is(raw, "block_size")) {
        const std::uint32_t block = tokens_of(field.value(), "block_size", 1);
        if (block != rules.id_block) {
          throw JsonTraceMistake{raw, "block_size", fmt::format("blocks of {} tokens", block),
                                 fmt::format("{}", rules.id_block),
                                 "--id-block says another block size"};
        }
      } else if (key_is(raw, "requests")) {
        any = true;
        TurnDelays delays;
        requests(field.value(), "requests", session_number(name), delays, rows);
      }
    }
    walk.close();
    if (!any)
      throw JsonTraceMistake{text.data(), {}, "no key \"requests\"", "a session's requests", {}};
  }

  void requests(json::value value, const std::string& path, std::uint64_t session,
                TurnDelays& delays, std::vector<Row>& rows) {
    json::array array;
    if (value.get_array().get(array) != simdjson::SUCCESS) {
      const std::string_view token = token_of(value);
      throw JsonTraceMistake{token.data(), path, in_quotes(token), "an array of requests", {}};
    }
    std::size_t number = 0;
    for (json::value element : array) {
      one(element, fmt::format("{}[{}]", path, number++), session, delays, rows);
    }
  }

  void one(json::value value, const std::string& path, std::uint64_t session, TurnDelays& delays,
           std::vector<Row>& rows) {
    json::object object;
    const std::string_view start = token_of(value);
    if (value.get_object().get(object) != simdjson::SUCCESS) {
      throw JsonTraceMistake{start.data(), path, in_quotes(start), "a request", {}};
    }
    Turn turn;
    bool has_t = false;
    bool has_in = false;
    bool has_out = false;
    bool subagent = false;
    std::string agent;
    std::vector<Row> inner;
    std::optional<JsonTraceMistake> wrong;  // the rest of the request is still passed over
    for (json::field field : object) {
      const char* const raw = field.key().raw();
      json::value part = field.value();
      try {
        if (key_is(raw, "t")) {
          const std::string_view token = token_of(part);
          turn.place = {.line = ++met, .column = 0, .text = token, .name = "t"};
          turn.request.arrival_ns = seconds_of(part, path + ".t");
          has_t = true;
        } else if (key_is(raw, "in")) {
          turn.request.prompt = tokens_of(part, path + ".in", 1);
          has_in = true;
        } else if (key_is(raw, "out")) {
          turn.request.output = tokens_of(part, path + ".out", 0);
          has_out = true;
        } else if (key_is(raw, "hash_ids")) {
          append_integers(part, path + ".hash_ids", turn.request.prefix_ids);
        } else if (key_is(raw, "think_time") && !is_null(part)) {
          turn.think_ns = seconds_of(part, path + ".think_time");
        } else if (key_is(raw, "api_time") && !is_null(part)) {
          turn.api_ns = seconds_of(part, path + ".api_time");
        } else if (key_is(raw, "type")) {
          subagent = token_of(part) == "\"subagent\"";
        } else if (key_is(raw, "agent_id")) {
          agent = token_of(part);
        } else if (key_is(raw, "requests")) {
          TurnDelays own;
          requests(part, path + ".requests", 0, own, inner);
        }
      } catch (const JsonTraceMistake& mistake) {
        if (!wrong) wrong = mistake;
      }
    }
    if (!wrong && !has_t)
      wrong = JsonTraceMistake{start.data(), path, "no key \"t\"", "a request's time", {}};
    if (subagent || !inner.empty()) {
      if (wrong) {
        rows.push_back({walk.placed(*wrong, reader.path_, 1), turn.place});
        return;
      }
      adopt(inner, turn, session_number(name + "/" + agent), rows);
      return;
    }
    if (!wrong && (!has_in || !has_out)) {
      wrong = JsonTraceMistake{start.data(),
                               path,
                               fmt::format("no key \"{}\"", has_in ? "out" : "in"),
                               "a request's \"in\" and \"out\"",
                               {}};
    }
    if (!wrong) {
      RowExtras extras;
      extras.has_prompt = true;
      if (auto error = check_row(rules, 0, turn.request, extras)) {
        wrong = JsonTraceMistake{start.data(), path, error->found, error->expected, error->hint};
      }
    }
    if (!wrong) local_ids(turn.request.prefix_ids, path, start, wrong);
    if (wrong) {
      rows.push_back({walk.placed(*wrong, reader.path_, 1), turn.place});
      return;
    }
    turn.request.session = session;
    delays.next(turn);
    rows.push_back({std::move(turn.request), turn.place});
  }

  /// A sub-agent's requests: relative to the marker unless the first of them is not before it.
  void adopt(std::vector<Row>& inner, const Turn& marker, std::uint64_t session,
             std::vector<Row>& rows) const {
    std::int64_t offset_ns = marker.request.arrival_ns;
    for (const Row& row : inner) {
      const auto* request = std::get_if<TraceRequest>(&row.content);
      if (request == nullptr) continue;
      if (request->arrival_ns >= marker.request.arrival_ns) offset_ns = 0;
      break;
    }
    for (Row& row : inner) {
      if (auto* request = std::get_if<TraceRequest>(&row.content)) {
        const auto arrival_ns = time_sum(request->arrival_ns, offset_ns);
        if (!arrival_ns) {
          const InputError error = too_late();
          const JsonTraceMistake late{row.place.text.data(), "t", error.found, error.expected, {}};
          rows.push_back({walk.placed(late, reader.path_, 1), row.place});
          continue;
        }
        request->arrival_ns = *arrival_ns;
        request->session = session;
      }
      rows.push_back(std::move(row));
    }
  }

  void local_ids(std::vector<std::uint64_t>& ids, const std::string& path, std::string_view start,
                 std::optional<JsonTraceMistake>& wrong) const {
    for (std::uint64_t& id : ids) {
      if (id >> kFileBits != 0) {
        wrong = JsonTraceMistake{start.data(),
                                 path + ".hash_ids",
                                 fmt::format("the id {}", id),
                                 "ids below 2^40, since they are local to the file",
                                 {}};
        return;
      }
      id += reader.file_ << kFileBits;
    }
  }
};

WekaRows::WekaRows(LineWindow lines, std::string path, std::uint64_t file, std::uint32_t id_block)
    : lines_(std::move(lines)), path_(std::move(path)), file_(file) {
  id_block_ = id_block == 0 ? 64 : id_block;
}

RowReader::Step WekaRows::next(TraceRequest& request) {
  if (!read_) {
    read_ = true;
    const std::string_view text = lines_.rest();
    if (lines_.error()) return break_off(*lines_.error());
    JsonWalk walk;
    Walker walker{*this, walk, text, {}};
    walker.rules.id_block = id_block_;
    try {
      walker.file(rows_);
    } catch (const JsonTraceMistake& mistake) {
      rows_.clear();
      return break_off(walk.placed(mistake, path_, 1));
    } catch (const simdjson::simdjson_error& failure) {
      rows_.clear();
      return break_off(walk.placed(walk.mistake(failure.error()), path_, 1));
    }
  }
  if (at_ == rows_.size()) return Step::kEnd;
  Row& row = rows_[at_++];
  place_ = row.place;
  if (auto* error = std::get_if<InputError>(&row.content)) return bad(std::move(*error));
  request = std::get<TraceRequest>(row.content);
  return Step::kRow;
}

}  // namespace pinfold::sim
