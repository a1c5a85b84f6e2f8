#include "sim/trace/serve_gen.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <utility>

#include "sim/trace/byte_stream.h"
#include "sim/trace/decimal_number.h"
#include "sim/trace/json_walk.h"
#include "sim/trace/line_window.h"
#include "sim/trace/variates.h"

namespace pinfold::sim {
namespace {

constexpr std::int64_t kNanoseconds = 1'000'000'000;
constexpr int kMicroPlaces = 6;

/// Ten minutes of one client, or however long until the next row.
struct Window {
  std::int64_t start_ns = 0;
  std::int64_t length_ns = 0;
  std::uint64_t requests = 0;
  bool weibull = false;
  Fixed shape = 0;
};

/// A law of lengths: each with the sum of the weights up to it, in 10^-18.
struct LengthLaw {
  struct Step {
    std::uint32_t tokens;
    std::uint64_t up_to;
  };
  std::vector<Step> steps;

  std::uint32_t draw(KeyedDraws& draws) const {
    if (steps.empty()) return 0;
    const std::uint64_t at = draws.below(steps.back().up_to);
    const auto step =
        std::upper_bound(steps.begin(), steps.end(), at,
                         [](std::uint64_t value, const Step& one) { return value < one.up_to; });
    return step->tokens;
  }
};

/// Six hours of one client: the laws whose sum is the prompt, and that of the output.
struct Lengths {
  std::int64_t start_ns = 0;
  std::vector<LengthLaw> prompt;
  LengthLaw output;
};

InputError mistake(const std::string& path, std::uint64_t line, std::uint64_t column,
                   std::string found, std::string expected) {
  InputError error;
  error.path = path;
  error.line = line;
  error.column = column;
  error.found = std::move(found);
  error.expected = std::move(expected);
  return error;
}

struct Client {
  std::vector<Window> windows;
  std::vector<Lengths> lengths;
};

Outcome<std::vector<Window>> read_windows(const std::string& path) {
  Outcome<std::unique_ptr<ByteStream>> bytes = open_bytes(path, "ServeGen client parameters");
  if (!bytes) return bytes.error();
  LineWindow lines(std::move(bytes.value()));
  std::vector<Window> windows;
  Line line;
  while (lines.next(line)) {
    std::array<std::string_view, 6> fields;
    std::string_view rest = line.text;
    std::size_t count = 0;
    for (;; ++count) {
      const std::size_t comma = std::min(rest.find(','), rest.size());
      if (count < fields.size()) fields[count] = rest.substr(0, comma);
      if (comma == rest.size()) break;
      rest.remove_prefix(comma + 1);
    }
    if (count + 1 != fields.size()) {
      return mistake(path, line.number, 0, fmt::format("{} fields", count + 1),
                     "6: time, rate, cv, law, shape, scale");
    }
    const auto column = [&](std::size_t field) {
      return static_cast<std::uint64_t>(fields[field].data() - line.text.data()) + 1;
    };
    Window window;
    const auto start = scaled_decimal(fields[0], 9);
    if (!start || *start < 0 || (!windows.empty() && *start <= windows.back().start_ns)) {
      return mistake(path, line.number, column(0), in_quotes(fields[0]),
                     "seconds, later than in the line before");
    }
    window.start_ns = *start;
    // Micro-requests a second; times a window's length that is a count again.
    const auto rate = scaled_decimal(fields[1], kMicroPlaces);
    if (!rate || *rate < 0 || *rate > 1'000'000'000'000) {
      return mistake(path, line.number, column(1), in_quotes(fields[1]), "requests a second");
    }
    window.requests = static_cast<std::uint64_t>(*rate);
    if (*rate > 0) {
      if (fields[3] != "Gamma" && fields[3] != "Weibull") {
        return mistake(path, line.number, column(3), in_quotes(fields[3]), "Gamma or Weibull");
      }
      window.weibull = fields[3] == "Weibull";
      const auto shape = scaled_decimal(fields[4], kMicroPlaces);
      if (!shape || *shape < 1 || *shape > 1'000'000'000) {
        return mistake(path, line.number, column(4), in_quotes(fields[4]),
                       "a shape from 0.000001 to 1000");
      }
      window.shape = std::max<Fixed>(fixed_ratio(static_cast<std::uint64_t>(*shape), 1'000'000),
                                     kFixedOne >> 10);
    }
    windows.push_back(window);
  }
  if (lines.error()) return *lines.error();
  if (windows.empty()) return mistake(path, 0, 0, "an empty file", "a row every 10 minutes");
  for (std::size_t i = 0; i < windows.size(); ++i) {
    Window& window = windows[i];
    if (i + 1 < windows.size()) {
      window.length_ns = windows[i + 1].start_ns - window.start_ns;
    } else {
      window.length_ns = i > 0 ? windows[i - 1].length_ns : 600 * kNanoseconds;
    }
    constexpr std::int64_t kNsPerMs = 1'000'000;
    const Fixed count = Fixed{window.requests} * (window.length_ns / kNsPerMs) + 500'000'000;
    window.requests = static_cast<std::uint64_t>(count / 1'000'000'000);
  }
  return windows;
}

/// `{45: 0.0096, 46: 1.5e-05}`: a Python dict, not JSON.
std::optional<LengthLaw> law_of(std::string_view text) {
  LengthLaw law;
  std::uint64_t sum = 0;
  if (text.size() < 2 || text.front() != '{' || text.back() != '}') return std::nullopt;
  text = text.substr(1, text.size() - 2);
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::string_view one = text.substr(0, comma);
    text.remove_prefix(std::min(comma + 1, text.size()));
    const std::size_t colon = one.find(':');
    if (colon == std::string_view::npos) return std::nullopt;
    const auto trimmed = [](std::string_view part) {
      while (part.starts_with(' ')) part.remove_prefix(1);
      while (part.ends_with(' ')) part.remove_suffix(1);
      return part;
    };
    const auto tokens = scaled_decimal(trimmed(one.substr(0, colon)), 0);
    const auto weight = scaled_decimal(trimmed(one.substr(colon + 1)), 18);
    if (!tokens || *tokens < 0 || *tokens > INT32_MAX || !weight || *weight < 0)
      return std::nullopt;
    sum += static_cast<std::uint64_t>(*weight);
    if (sum > std::uint64_t{4} * 1'000'000'000'000'000'000) return std::nullopt;
    if (*weight > 0) law.steps.push_back({static_cast<std::uint32_t>(*tokens), sum});
  }
  return law;
}

Outcome<std::vector<Lengths>> read_lengths(const std::string& path) {
  Outcome<std::unique_ptr<ByteStream>> bytes = open_bytes(path, "ServeGen's lengths (JSON)");
  if (!bytes) return bytes.error();
  LineWindow lines(std::move(bytes.value()));
  std::vector<Lengths> all;
  JsonWalk walk;
  const std::string_view text = lines.rest();
  if (lines.error()) return *lines.error();
  try {
    for (json::field window : walk.open(text)) {
      Lengths lengths;
      const std::string_view start(window.unescaped_key().value());
      const auto start_ns = scaled_decimal(start, 9);
      if (!start_ns || (!all.empty() && *start_ns <= all.back().start_ns)) {
        throw JsonTraceMistake{nullptr,
                               {},
                               "the window " + in_quotes(start),
                               "seconds, later than the window before",
                               {}};
      }
      lengths.start_ns = *start_ns;
      LengthLaw input;
      for (json::field field : window.value().get_object()) {
        const char* const raw = field.key().raw();
        const bool output = key_is(raw, "output_tokens");
        const bool total = key_is(raw, "input_tokens");
        const bool part = key_is(raw, "text_tokens") || key_is(raw, "image_tokens") ||
                          key_is(raw, "audio_tokens") || key_is(raw, "video_tokens");
        if (!output && !total && !part) continue;
        const std::string_view token = token_of(field.value());
        std::optional<LengthLaw> law;
        if (is_string(token)) law = law_of(unquoted(token));
        if (!law) {
          throw JsonTraceMistake{token.data(),
                                 {},
                                 in_quotes(token),
                                 "a Python dict of lengths and shares, in quotes",
                                 {}};
        }
        if (law->steps.empty()) continue;
        if (output) {
          lengths.output = std::move(*law);
        } else if (total) {
          input = std::move(*law);
        } else {
          lengths.prompt.push_back(std::move(*law));
        }
      }
      if (!input.steps.empty()) {
        lengths.prompt.clear();
        lengths.prompt.push_back(std::move(input));
      }
      if (!lengths.prompt.empty() && !lengths.output.steps.empty())
        all.push_back(std::move(lengths));
    }
    walk.close();
  } catch (const JsonTraceMistake& wrong) {
    return walk.placed(wrong, path, 1);
  } catch (const simdjson::simdjson_error& failure) {
    return walk.placed(walk.mistake(failure.error()), path, 1);
  }
  if (all.empty()) return mistake(path, 0, 0, "no window with lengths", "at least one");
  return all;
}

/// A client's requests, one after the other. The gaps of a window are drawn by its law and scaled to fill
/// it, as ServeGen does; they are drawn twice, once for their sum.
class ClientRequests {
 public:
  ClientRequests(Client client, std::uint64_t seed, std::uint64_t number)
      : client_(std::move(client)), seed_(mix64(seed ^ mix64(number))) {
    step();
  }

  bool ended() const { return ended_; }
  std::int64_t arrival_ns() const { return arrival_ns_; }

  void take(TraceRequest& request) {
    clear(request);
    request.arrival_ns = arrival_ns_;
    while (next_lengths_ < client_.lengths.size() &&
           client_.lengths[next_lengths_].start_ns <= arrival_ns_) {
      ++next_lengths_;
    }
    const Lengths& lengths = client_.lengths[next_lengths_ == 0 ? 0 : next_lengths_ - 1];
    KeyedDraws prompts(seed_, Stream::kPromptLength, drawn_);
    for (const LengthLaw& law : lengths.prompt) request.prompt += law.draw(prompts);
    request.prompt = std::max(request.prompt, 1u);
    KeyedDraws outputs(seed_, Stream::kOutputLength, drawn_);
    request.output = lengths.output.draw(outputs);
    ++drawn_;
    step();
  }

 private:
  Fixed gap(std::uint64_t number) const {
    KeyedDraws draws(seed_, Stream::kArrival, number);
    const Window& window = client_.windows[window_];
    return window.weibull ? weibull_variate(inverse_shape_, draws)
                          : gamma_variate(window.shape, draws);
  }

  void step() {
    while (left_ == 0) {
      if (started_) ++window_;
      started_ = true;
      if (window_ == client_.windows.size()) {
        ended_ = true;
        return;
      }
      const Window& window = client_.windows[window_];
      left_ = window.requests;
      if (left_ == 0) continue;
      if (window.weibull) inverse_shape_ = divide(kFixedOne, window.shape);
      sum_ = 0;
      so_far_ = 0;
      for (std::uint64_t i = 0; i < left_; ++i) sum_ += gap(drawn_ + i) >> 24;
      sum_ = std::max<Fixed>(sum_, 1);
    }
    so_far_ += gap(drawn_) >> 24;
    --left_;
    const Window& window = client_.windows[window_];
    // A share of the window in 40 bits behind the point.
    Fixed whole = so_far_;
    Fixed all = sum_;
    while (all >= Fixed{1} << 80) {
      all >>= 1;
      whole >>= 1;
    }
    const auto share = static_cast<std::int64_t>((whole << 40) / all);
    arrival_ns_ =
        window.start_ns + static_cast<std::int64_t>(Fixed{window.length_ns} * share >> 40);
  }

  Client client_;
  std::uint64_t seed_;
  std::size_t window_ = 0;
  std::size_t next_lengths_ = 0;
  std::uint64_t left_ = 0;
  std::uint64_t drawn_ = 0;
  Fixed inverse_shape_ = 0;
  Fixed sum_ = 0;
  Fixed so_far_ = 0;
  std::int64_t arrival_ns_ = 0;
  bool started_ = false;
  bool ended_ = false;
};

class ServeGenRows final : public RowReader {
  /// The order of a heap whose top is the earliest.
  auto later() const {
    return [this](std::size_t a, std::size_t b) {
      const std::int64_t x = clients_[a].arrival_ns();
      const std::int64_t y = clients_[b].arrival_ns();
      return x != y ? x > y : a > b;
    };
  }

 public:
  explicit ServeGenRows(std::vector<ClientRequests> clients) : clients_(std::move(clients)) {
    for (std::size_t i = 0; i < clients_.size(); ++i) {
      if (!clients_[i].ended()) heap_.push_back(i);
    }
    std::make_heap(heap_.begin(), heap_.end(), later());
  }

  Step next(TraceRequest& request) override {
    if (heap_.empty()) return Step::kEnd;
    std::pop_heap(heap_.begin(), heap_.end(), later());
    ClientRequests& client = clients_[heap_.back()];
    client.take(request);
    if (client.ended()) {
      heap_.pop_back();
    } else {
      std::push_heap(heap_.begin(), heap_.end(), later());
    }
    place_.line = ++number_;
    return Step::kRow;
  }

 private:
  std::vector<ClientRequests> clients_;
  std::vector<std::size_t> heap_;
  std::uint64_t number_ = 0;
};

}  // namespace

Outcome<std::unique_ptr<RowReader>> open_serve_gen(const std::vector<std::string>& trace_files,
                                                   std::uint64_t seed) {
  constexpr std::string_view kEnding = "-trace.csv";
  std::vector<ClientRequests> clients;
  for (const std::string& path : trace_files) {
    if (!path.ends_with(kEnding)) {
      return mistake(path, 0, 0, "ServeGen parameters in a file of this name",
                     "chunk-N-trace.csv beside chunk-N-dataset.json");
    }
    Client client;
    Outcome<std::vector<Window>> windows = read_windows(path);
    if (!windows) return windows.error();
    client.windows = std::move(windows.value());
    const bool any = std::any_of(client.windows.begin(), client.windows.end(),
                                 [](const Window& window) { return window.requests > 0; });
    if (any) {
      Outcome<std::vector<Lengths>> lengths =
          read_lengths(path.substr(0, path.size() - kEnding.size()) + "-dataset.json");
      if (!lengths) return lengths.error();
      client.lengths = std::move(lengths.value());
    }
    clients.emplace_back(std::move(client), seed, clients.size());
  }
  std::unique_ptr<RowReader> rows = std::make_unique<ServeGenRows>(std::move(clients));
  return rows;
}

}  // namespace pinfold::sim
