#pragma once
// Request traces made up from a few figures: arrivals and lengths by law, or lengths like those of a trace;
// sessions, shared prefixes, forks and aborts. A draw depends on the seed and the request's number only, so
// that a longer trace begins with the shorter one, and uses integers only (sim/trace/fixed_point.h).

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "sim/core/draw.h"
#include "sim/trace/fixed_point.h"
#include "sim/trace/request.h"

namespace pinfold::sim {

/// Token counts, always from `least` to `most`.
struct LengthRange {
  enum class Law : std::uint8_t {
    kUniform,      // all equally likely
    kExponential,  // mean `middle`
    kLogNormal,    // median `middle`, `sigma` of the logarithm
  };
  std::uint32_t least = 1;
  std::uint32_t most = 1;
  Law law = Law::kUniform;
  std::uint32_t middle = 0;
  Fixed sigma = 0;
};

struct ArrivalLaw {
  enum class Kind : std::uint8_t {
    kEven,     // request i arrives at i / rate, rounded down to a nanosecond
    kPoisson,  // exponential gaps
    kGamma,    // gaps with this coefficient of variation
    kWeibull,  // gaps with this shape
    kOnOff,  // Poisson for `on_ns`, nothing for `off_ns`, in turn; the rate is that of both together
    kDiurnal,  // Poisson whose rate goes up and down once in `period_ns`, in two parabolas, by `parameter`
               // from trough to peak; the rate is the mean
  };
  Kind kind = Kind::kEven;
  Fixed parameter = 0;
  std::int64_t on_ns = 0;
  std::int64_t off_ns = 0;
  std::int64_t period_ns = 0;
};

/// A share of the requests, in thousandths.
using Permille = std::uint32_t;

struct SyntheticTrace {
  std::uint64_t requests = 1;
  LengthRange prompt;
  LengthRange output;
  // Prompt and output of real requests: each made-up request has those of one of them, all equally likely.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> like;

  // Requests (with sessions: first turns) a second as a fraction; 0: all at once.
  std::uint64_t rate_numerator = 0;
  std::uint64_t rate_denominator = 1;
  ArrivalLaw arrivals;

  // Sessions of so many turns, 0 for none. A turn's prompt is all before it and its own prompt; it comes
  // an exponential time of this mean after the one before it arrived.
  std::uint32_t turns = 0;
  std::int64_t think_ns = 0;

  // Prefixes in a tree: each session or request stands below one of `fanout` children at each of `depth`
  // levels, each of them `level_blocks` blocks of `id_block` tokens that come before its own prompt.
  std::uint32_t id_block = 0;  // 0: no ids
  std::uint32_t fanout = 1;
  std::uint32_t depth = 0;
  std::uint32_t level_blocks = 0;

  Permille forks = 0;   // forks of the request before them, where both prompts begin
  Permille aborts = 0;  // give up, an exponential time of mean `patience_ns` after their arrival
  std::int64_t patience_ns = 0;
  std::uint64_t seed = 0;
};

/// The requests of a made-up trace. Its error is an arrival more than 200 years after the first.
class SyntheticSource final : public RequestSource {
 public:
  explicit SyntheticSource(SyntheticTrace trace);
  bool next(TraceRequest& request) override;
  const std::optional<InputError>& error() const override { return error_; }
  std::uint32_t id_block() const override { return trace_.id_block; }

 private:
  /// A turn that is still to come.
  struct Turn {
    std::int64_t arrival_ns;
    std::uint64_t session;
    std::uint32_t number;
    std::uint32_t history;  // tokens before its own prompt
    std::int64_t delay_ns;
  };
  static bool later(const Turn& a, const Turn& b);

  void draw_arrival();
  bool kept_by_the_hour(std::uint64_t candidate) const;
  std::uint32_t length(const LengthRange& range, Stream stream, std::uint64_t item) const;
  void lengths(std::uint64_t item, std::uint32_t& prompt, std::uint32_t& output) const;
  void add_ids(const Turn& turn, TraceRequest& request) const;
  void add_fork_and_abort(TraceRequest& request);
  bool too_late(std::int64_t ns);

  SyntheticTrace trace_;
  std::optional<InputError> error_;
  Fixed gap_ns_ = 0;            // mean gap times what the law's variates need to have mean 1
  std::uint64_t arrivals_ = 0;  // drawn so far
  std::uint64_t candidates_ = 0;
  std::int64_t clock_ns_ = 0;  // of the law: without the times off
  std::int64_t arrival_ns_ = 0;
  std::vector<Turn> turns_;  // a heap
  std::uint64_t given_ = 0;
  std::uint32_t last_prompt_ = 0;
};

}  // namespace pinfold::sim
