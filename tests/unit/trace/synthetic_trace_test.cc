#include "sim/trace/synthetic_trace.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>

#include "sim/metrics/trace_survey.h"
#include "sim/trace/azure_csv.h"
#include "sim/trace/timestamp.h"
#include "sim/trace/trace_writer.h"

namespace pinfold::sim {
namespace {

std::string text_of(const SyntheticTrace& made_up) {
  SyntheticSource source(made_up);
  const TraceWriter writer(WrittenFormat::kAzure, 0, {});
  std::string text = writer.header();
  TraceRequest request;
  while (source.next(request)) writer.append(request, text);
  CHECK_FALSE(source.error());
  return text;
}

Trace read(const SyntheticTrace& made_up) {
  auto trace = parse_azure_csv(text_of(made_up), "synthetic");
  REQUIRE_MESSAGE(bool(trace), (trace ? "" : describe(trace.error())));
  return std::move(trace.value());
}

TEST_CASE("synthetic trace: reads back as asked, at the ends of the ranges too") {
  SyntheticTrace made_up;
  made_up.requests = 4'000;
  made_up.prompt = {820, 1'024};
  made_up.output = {0, 4};
  const Trace trace = read(made_up);
  REQUIRE(trace.requests.size() == 4'000);
  std::uint64_t prompts = 0;
  std::array<std::uint64_t, 5> outputs{};
  std::uint32_t least = UINT32_MAX;
  std::uint32_t most = 0;
  for (const TraceRequest& request : trace.requests) {
    CHECK(request.arrival_ns == 0);
    prompts += request.prompt;
    least = std::min(least, request.prompt);
    most = std::max(most, request.prompt);
    REQUIRE(request.output <= 4);
    ++outputs[request.output];
  }
  CHECK(least == 820);
  CHECK(most == 1'024);
  // The mean of 4,000 uniform draws from 205 lengths lies within 1 of 922 (its deviation is 0.94), and
  // each of five lengths comes 800 times with a deviation of 25; the seed is fixed.
  CHECK(prompts / 4'000 >= 920);
  CHECK(prompts / 4'000 <= 924);
  for (const std::uint64_t times : outputs) {
    CHECK(times > 700);
    CHECK(times < 900);
  }
}

TEST_CASE(
    "synthetic trace: a longer one begins with the shorter one, another seed is another trace") {
  SyntheticTrace made_up;
  made_up.requests = 50;
  made_up.prompt = {1, 1'000'000};
  made_up.output = {5, 5};
  const std::string shorter = text_of(made_up);
  made_up.requests = 60;
  CHECK(text_of(made_up).starts_with(shorter));
  made_up.seed = 1;
  CHECK_FALSE(text_of(made_up).starts_with(shorter));
}

TEST_CASE("synthetic trace: evenly spaced arrivals, across days, months and a leap day") {
  SyntheticTrace made_up;
  made_up.requests = 100;
  made_up.rate_numerator = 1;
  made_up.rate_denominator = 86'400;  // one a day
  const Trace days = read(made_up);
  CHECK(days.requests[99].arrival_ns == 99LL * 86'400 * 1'000'000'000);
  made_up.rate_numerator = 3;
  made_up.rate_denominator = 1;
  const Trace thirds = read(made_up);
  CHECK(thirds.requests[1].arrival_ns == 333'333'333);
  CHECK(thirds.requests[2].arrival_ns == 666'666'666);
  CHECK(thirds.requests[3].arrival_ns == 1'000'000'000);
}

TEST_CASE("timestamp text: parses back, from 1970 to 2261") {
  constexpr std::int64_t kDay = 86'400LL * 1'000'000'000;
  CHECK(timestamp_text(0) == "1970-01-01 00:00:00.000000000");
  CHECK(timestamp_text(11'016 * kDay - 1) == "2000-02-28 23:59:59.999999999");
  for (std::int64_t day = 0; day < 106'000; day += 13) {
    const std::int64_t ns = day * kDay + day % 86'400 * 1'000'000'000 + day;
    const auto parsed = parse_timestamp(timestamp_text(ns));
    REQUIRE(bool(parsed));
    CHECK(parsed.value().unix_ns == ns);
  }
}

/// What 20,000 requests at 10 a second are like.
void survey(const ArrivalLaw& law, TraceSurvey& result) {
  SyntheticTrace made_up;
  made_up.requests = 20'000;
  made_up.prompt = {1, 100};
  made_up.output = {1, 1};
  made_up.rate_numerator = 10;
  made_up.arrivals = law;
  SyntheticSource source(made_up);
  TraceRequest request;
  std::int64_t last_ns = 0;
  while (source.next(request)) {
    REQUIRE(request.arrival_ns >= last_ns);
    last_ns = request.arrival_ns;
    result.add(request);
  }
  CHECK(result.requests == 20'000);
}

TEST_CASE("synthetic trace: arrivals by law have the rate and the burstiness that were asked for") {
  using Kind = ArrivalLaw::Kind;
  struct Asked {
    ArrivalLaw law;
    std::uint64_t cv_permille;
    std::uint64_t slack_permille;
  };
  // The cv of a Weibull law of shape 1/2 is sqrt(24 / 4 - 1) = 2.236. On for a second of every four at four
  // times the rate: 39 of 40 gaps are 1/40 s long and one is 3 s longer, with a cv of about 4.8.
  const Asked all[] = {
      {{.kind = Kind::kPoisson}, 1'000, 30},
      {{.kind = Kind::kGamma, .parameter = fixed_of(3)}, 3'000, 250},
      {{.kind = Kind::kGamma, .parameter = fixed_ratio(1, 4)}, 250, 10},
      {{.kind = Kind::kWeibull, .parameter = fixed_ratio(1, 2)}, 2'236, 150},
      {{.kind = Kind::kOnOff, .on_ns = 1'000'000'000, .off_ns = 3'000'000'000}, 4'800, 200},
  };
  for (const Asked& asked : all) {
    TraceSurvey result;
    survey(asked.law, result);
    // 2,000 s, off by cv / sqrt(20,000) in one deviation: 1 to 3 %.
    CHECK(result.span_ns() > 1'900'000'000'000);
    CHECK(result.span_ns() < 2'100'000'000'000);
    const TraceSurvey::Ratio cv = result.gap_variation();
    const std::uint64_t permille = cv.numerator * 1'000 / cv.denominator;
    CHECK(permille > asked.cv_permille - asked.slack_permille);
    CHECK(permille < asked.cv_permille + asked.slack_permille);
  }
}

TEST_CASE("synthetic trace: a diurnal rate peaks in the first half of its period") {
  SyntheticTrace made_up;
  made_up.requests = 20'000;
  made_up.rate_numerator = 10;
  made_up.arrivals = {
      .kind = ArrivalLaw::Kind::kDiurnal, .parameter = fixed_of(5), .period_ns = 200'000'000'000};
  SyntheticSource source(made_up);
  TraceRequest request;
  std::uint64_t first_half = 0;
  std::int64_t last_ns = 0;
  while (source.next(request)) {
    first_half += request.arrival_ns % 200'000'000'000 < 100'000'000'000 ? 1 : 0;
    last_ns = request.arrival_ns;
  }
  // Five times the trough at the peak, so 5/3 and 1/3 of the mean; two thirds of that swing on average:
  // 1 + 4/9 of the mean in the first half, 14,444 requests.
  CHECK(first_half > 14'200);
  CHECK(first_half < 14'700);
  CHECK(last_ns > 1'940'000'000'000);
  CHECK(last_ns < 2'060'000'000'000);
}

TEST_CASE("synthetic trace: lengths by law, and like those of a trace") {
  SyntheticTrace made_up;
  made_up.requests = 20'000;
  made_up.prompt = {1, 1'000'000, LengthRange::Law::kLogNormal, 1'000, fixed_of(1)};
  made_up.output = {0, 1'000'000, LengthRange::Law::kExponential, 200, 0};
  TraceSurvey result;
  SyntheticSource source(made_up);
  TraceRequest request;
  while (source.next(request)) result.add(request);
  // Median 1,000 (a deviation of 9), 90th percentile 1,000 e^1.2816 = 3,602; mean 200 (1.4).
  CHECK(result.prompt.tokens.at_percent(50) > 960);
  CHECK(result.prompt.tokens.at_percent(50) < 1'040);
  CHECK(result.prompt.tokens.at_percent(90) > 3'450);
  CHECK(result.prompt.tokens.at_percent(90) < 3'750);
  CHECK(result.output.tokens.total() / 20'000 >= 195);
  CHECK(result.output.tokens.total() / 20'000 <= 205);

  made_up.like = {{5, 50}, {7, 70}, {9, 90}};
  SyntheticSource like(made_up);
  std::array<std::uint64_t, 10> seen{};
  while (like.next(request)) {
    REQUIRE(request.prompt <= 9);
    REQUIRE(request.output == 10 * request.prompt);
    ++seen[request.prompt];
  }
  for (const std::size_t prompt : {5u, 7u, 9u}) {
    CHECK(seen[prompt] > 6'400);
    CHECK(seen[prompt] < 6'930);
  }
}

TEST_CASE(
    "synthetic trace: a turn's prompt holds all before it, and its ids those of the turn before") {
  SyntheticTrace made_up;
  made_up.requests = 400;
  made_up.prompt = {10, 100};
  made_up.output = {1, 50};
  made_up.rate_numerator = 1;
  made_up.arrivals.kind = ArrivalLaw::Kind::kPoisson;
  made_up.turns = 4;
  made_up.think_ns = 5'000'000'000;
  made_up.id_block = 16;
  made_up.fanout = 2;
  made_up.depth = 2;
  made_up.level_blocks = 3;
  made_up.forks = 100;
  made_up.aborts = 200;
  made_up.patience_ns = 1'000'000'000;
  SyntheticSource source(made_up);
  std::vector<TraceRequest> all;
  TraceRequest one;
  while (source.next(one)) all.push_back(one);
  REQUIRE(all.size() == 400);
  std::vector<const TraceRequest*> last(400, nullptr);
  std::vector<std::uint64_t> roots;
  std::uint64_t turns = 0;
  std::uint64_t forks = 0;
  std::uint64_t aborts = 0;
  for (const TraceRequest& request : all) {
    CHECK(request.prefix_ids.size() == (request.prompt + 15) / 16);
    roots.push_back(request.prefix_ids[0]);
    if (request.fork_of != kNoRequest) ++forks;
    if (request.abort_ns != kNeverNs) {
      ++aborts;
      CHECK(request.abort_ns >= request.arrival_ns);
    }
    const TraceRequest*& before = last[request.session];
    if (before != nullptr) {
      ++turns;
      CHECK(request.prompt >= before->prompt + before->output + 10);
      CHECK(request.arrival_ns == before->arrival_ns + request.delay_ns);
      for (std::size_t i = 0; i < before->prompt / 16; ++i) {
        CHECK(request.prefix_ids[i] == before->prefix_ids[i]);
      }
    } else {
      CHECK(request.prompt >= 2 * 3 * 16 + 10);
    }
    before = &request;
  }
  std::sort(roots.begin(), roots.end());
  CHECK(std::unique(roots.begin(), roots.end()) - roots.begin() == 2);  // the children of the root
  CHECK(turns > 250);
  CHECK(forks > 15);
  CHECK(forks < 70);
  CHECK(aborts > 45);
  CHECK(aborts < 120);
}

}  // namespace
}  // namespace pinfold::sim
