#include "sim/report/run_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <vector>

#include "sim/config/decimal.h"
#include "sim/config/json_writer.h"
#include "sim/core/wait_reason.h"
#include "sim/metrics/latency.h"
#include "sim/report/run_recorder.h"

namespace pinfold::sim {
namespace {

constexpr std::int64_t kNone = -1;
constexpr std::size_t kLongest = 30;  // requests in the waterfall
constexpr std::size_t kVictims = 12;
constexpr std::size_t kPreemptionsMost = 20'000;
constexpr std::size_t kBins = 80;  // of arrivals, for waiting over time

/// One row of requests.csv; times in ns, kNone where the field is empty.
struct RequestRow {
  std::uint64_t request = 0;
  std::int64_t arrival_ns = 0;
  std::uint64_t prompt = 0;
  std::uint64_t output = 0;
  std::uint64_t samples = 0;
  std::string_view end;
  std::int64_t end_ns = kNone;
  std::int64_t ttft_ns = kNone;
  std::int64_t tpot_ns = kNone;
  std::int64_t e2el_ns = kNone;
  std::int64_t queue_ns = 0;
  std::array<std::int64_t, kWaits> waits_ns{};
  std::uint64_t preemptions = 0;
  std::int64_t preempted_ns = 0;
  std::uint64_t recomputed = 0;
  std::uint64_t blocks_most = 0;
  std::uint64_t loads = 0;
  std::uint64_t loads_lost = 0;
  std::int64_t loading_ns = 0;
  std::uint64_t loaded_tokens = 0;
  std::uint64_t loaded_blocks = 0;
  std::uint64_t loaded_states = 0;
};

/// Takes the fields of one line from the left. After a field that is not what it should be, ok() is
/// false.
class Fields {
 public:
  explicit Fields(std::string_view line) : rest_(line) {}

  bool ok() const { return ok_; }
  bool at_end() const { return done_; }
  std::size_t number() const { return number_; }

  std::string_view word() {
    ok_ = ok_ && !done_;
    ++number_;
    const std::size_t comma = std::min(rest_.find(','), rest_.size());
    const std::string_view field = rest_.substr(0, comma);
    done_ = comma == rest_.size();
    rest_.remove_prefix(done_ ? comma : comma + 1);
    return field;
  }
  std::uint64_t count() {
    const std::string_view field = word();
    return whole(field);
  }
  /// A decimal with `places` digits behind its point, in units of the last; kNone for an empty field.
  std::int64_t decimal(std::size_t places) {
    const std::string_view field = word();
    if (field.empty()) return kNone;
    const std::size_t point = field.find('.');
    if (point == std::string_view::npos || field.size() - point - 1 != places) {
      ok_ = false;
      return kNone;
    }
    std::uint64_t scale = 1;
    for (std::size_t i = 0; i < places; ++i) scale *= 10;
    return static_cast<std::int64_t>(whole(field.substr(0, point)) * scale +
                                     whole(field.substr(point + 1)));
  }
  std::int64_t seconds() { return decimal(9); }
  std::int64_t milliseconds() { return decimal(6); }

 private:
  std::uint64_t whole(std::string_view digits) {
    std::uint64_t value = 0;
    const char* const end = digits.data() + digits.size();
    const auto [stop, failure] = std::from_chars(digits.data(), end, value);
    ok_ = ok_ && failure == std::errc() && stop == end;
    return value;
  }

  std::string_view rest_;
  bool ok_ = true;
  bool done_ = false;
  std::size_t number_ = 0;
};

/// Moves the first line of `text` out of it.
std::string_view take_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

Outcome<std::vector<RequestRow>> rows_of(std::string_view csv, const std::string& path) {
  const auto wrong = [&](std::uint64_t line, std::string_view found) {
    InputError error;
    error.path = path;
    error.line = line;
    error.found = in_quotes(found);
    error.expected = "what `pinfold run -o` of this version writes";
    return error;
  };
  const std::string_view header = take_line(csv);
  if (header != requests_header()) return wrong(1, header);
  std::vector<RequestRow> rows;
  for (std::uint64_t number = 2; !csv.empty(); ++number) {
    const std::string_view line = take_line(csv);
    Fields fields(line);
    RequestRow row;
    row.request = fields.count();
    row.arrival_ns = fields.seconds();
    row.prompt = fields.count();
    row.output = fields.count();
    row.samples = fields.count();
    row.end = fields.word();
    row.end_ns = fields.seconds();
    row.ttft_ns = fields.milliseconds();
    row.tpot_ns = fields.milliseconds();
    row.e2el_ns = fields.milliseconds();
    row.queue_ns = fields.milliseconds();
    for (std::int64_t& wait_ns : row.waits_ns) wait_ns = fields.milliseconds();
    row.preemptions = fields.count();
    row.preempted_ns = fields.milliseconds();
    row.recomputed = fields.count();
    row.blocks_most = fields.count();
    row.loads = fields.count();
    row.loads_lost = fields.count();
    row.loading_ns = fields.milliseconds();
    row.loaded_tokens = fields.count();
    row.loaded_blocks = fields.count();
    row.loaded_states = fields.count();
    if (!fields.ok() || !fields.at_end()) return wrong(number, line);
    rows.push_back(row);
  }
  return rows;
}

/// The values at 0, 1/200, ... 1 of the order.
void write_distribution(JsonWriter& json, std::string_view name,
                        const std::vector<RequestRow>& rows, std::int64_t RequestRow::*field) {
  std::vector<std::int64_t> values;
  for (const RequestRow& row : rows) {
    if (row.*field != kNone && row.end_ns != kNone) values.push_back(row.*field);
  }
  std::sort(values.begin(), values.end());
  json.key(name).open_object();
  json.key("samples").integer(values.size());
  json.key("ms").open_array();
  for (std::size_t i = 0; !values.empty() && i <= LatencyStats::kSteps; ++i) {
    json.number(milliseconds(values[(values.size() - 1) * i / LatencyStats::kSteps], 3));
  }
  json.close();
  json.close();
}

void write_row(JsonWriter& json, const RequestRow& row) {
  const auto ms = [&](std::string_view name, std::int64_t ns) {
    json.key(name);
    ns == kNone ? json.null() : json.number(milliseconds(ns, 3));
  };
  json.open_object();
  json.key("request").integer(row.request);
  json.key("arrival_s").number(seconds(row.arrival_ns, 6));
  json.key("prompt_tokens").integer(row.prompt);
  json.key("output_tokens").integer(row.output);
  json.key("end").string(row.end);
  ms("ttft_ms", row.ttft_ns);
  ms("e2el_ms", row.e2el_ns);
  ms("queue_ms", row.queue_ns);
  json.key("waits_ms").open_array();
  for (const std::int64_t wait_ns : row.waits_ns) json.number(milliseconds(wait_ns, 3));
  json.close();
  json.key("preemptions").integer(row.preemptions);
  ms("preempted_ms", row.preempted_ns);
  json.key("recomputed_tokens").integer(row.recomputed);
  json.key("blocks_most").integer(row.blocks_most);
  json.close();
}

/// The first `count` rows by `before`; ties go to the lower request.
template <class Before>
std::vector<RequestRow> first_rows(std::vector<RequestRow> rows, std::size_t count,
                                   const Before& before) {
  const std::size_t kept = std::min(count, rows.size());
  std::partial_sort(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(kept), rows.end(),
                    [&](const RequestRow& a, const RequestRow& b) {
                      if (before(a, b)) return true;
                      return !before(b, a) && a.request < b.request;
                    });
  rows.resize(kept);
  return rows;
}

void write_waits(JsonWriter& json, const std::vector<RequestRow>& rows) {
  std::int64_t from_ns = 0;
  std::int64_t to_ns = 1;
  if (!rows.empty()) {
    const auto earlier = [](const RequestRow& a, const RequestRow& b) {
      return a.arrival_ns < b.arrival_ns;
    };
    const auto [first, last] = std::minmax_element(rows.begin(), rows.end(), earlier);
    from_ns = first->arrival_ns;
    to_ns = last->arrival_ns + 1;
  }
  const std::int64_t bin_ns =
      (to_ns - from_ns + static_cast<std::int64_t>(kBins) - 1) / static_cast<std::int64_t>(kBins);
  std::vector<std::array<std::int64_t, kWaits>> bins(kBins);
  for (const RequestRow& row : rows) {
    auto& bin = bins[static_cast<std::size_t>((row.arrival_ns - from_ns) / bin_ns)];
    for (std::size_t i = 0; i < kWaits; ++i) bin[i] += row.waits_ns[i];
  }
  json.key("waits").open_object();
  json.key("from_s").number(seconds(from_ns, 6));
  json.key("bin_s").number(seconds(bin_ns, 9));
  for (std::size_t i = 0; i < kWaits; ++i) {
    json.key(name_of(static_cast<Wait>(i))).open_array();
    for (const auto& bin : bins) json.number(seconds(bin[i], 3));
    json.close();
  }
  json.close();
}

/// `<` cannot end a script element early. In JSON it stands inside strings only.
std::string escaped_json(std::string_view text) {
  std::string escaped;
  for (const char letter : text) {
    if (letter == '<') {
      escaped += "\\u003c";
    } else {
      escaped += letter;
    }
  }
  return escaped;
}

/// The header and at most kPreemptionsMost lines, evenly spread.
std::string thinned(std::string_view csv) {
  const auto lines = static_cast<std::size_t>(std::count(csv.begin(), csv.end(), '\n'));
  const std::size_t every = lines / kPreemptionsMost + 1;
  std::string text;
  for (std::size_t n = 0; !csv.empty(); ++n) {
    const std::string_view line = take_line(csv);
    if (n == 0 || n % every == 0) text += fmt::format("{}\n", line);
  }
  return text;
}

/// In our tables it does not occur.
std::string escaped_csv(std::string text) {
  std::replace(text.begin(), text.end(), '<', '?');
  return text;
}

}  // namespace

Outcome<std::string> requests_digest(std::string_view csv, const std::string& path) {
  const auto read = rows_of(csv, path);
  if (!read) return read.error();
  const std::vector<RequestRow>& rows = read.value();
  JsonWriter json;
  json.open_object();
  json.key("requests").integer(rows.size());
  json.key("distributions").open_object();
  write_distribution(json, "ttft", rows, &RequestRow::ttft_ns);
  write_distribution(json, "tpot", rows, &RequestRow::tpot_ns);
  write_distribution(json, "e2el", rows, &RequestRow::e2el_ns);
  write_distribution(json, "queue", rows, &RequestRow::queue_ns);
  json.close();
  json.key("longest").open_array();
  for (const RequestRow& row :
       first_rows(rows, kLongest,
                  [](const RequestRow&a, const RequestRow&b) { return a.queue_ns > b.queue_ns; })) {
    if (row.queue_ns > 0) write_row(json, row);
  }
  json.close();
  json.key("victims").open_array();
  for (const RequestRow& row :
       first_rows(rows, kVictims, [](const RequestRow&a, const RequestRow&b) {
         return a.recomputed != b.recomputed ? a.recomputed > b.recomputed
                                             : a.preemptions > b.preemptions;
       })) {
    if (row.preemptions > 0) write_row(json, row);
  }
  json.close();
  write_waits(json, rows);
  json.close();
  return json.finish();
}

std::optional<std::string> run_page(const RunFileTexts& texts, const std::string& requests_digest) {
  if (page_before_data().empty()) return std::nullopt;
  std::string page(page_before_data());
  const auto add = [&page](std::string_view id, std::string_view type, const std::string& text) {
    page += fmt::format("<script type=\"{}\" id=\"data-{}\">\n{}</script>\n", type, id, text);
  };
  add("summary", "application/json", escaped_json(texts.summary));
  add("config", "application/json", escaped_json(texts.config));
  add("recording", "application/json", escaped_json(texts.recording));
  add("requests", "application/json", escaped_json(requests_digest));
  add("blockmap", "application/json", escaped_json(texts.block_map));
  add("timeline", "text/csv", escaped_csv(texts.timeline));
  add("preemptions", "text/csv", escaped_csv(thinned(texts.preemptions)));
  page += page_after_data();
  return page;
}

}  // namespace pinfold::sim
