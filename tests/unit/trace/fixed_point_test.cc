#include "sim/trace/fixed_point.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>

#include "sim/trace/variates.h"

// The expected values were computed with Python's decimal module at 60 digits (ln, exp, sqrt; log gamma by
// Stirling's series beyond 200) and are written as their 64 bits before and behind the point.

namespace pinfold::sim {
namespace {

/// Within 2^-bits of each other, relative or absolute.
bool near(Fixed value, Fixed expected, int bits = 52) {
  const Fixed off = value > expected ? value - expected : expected - value;
  const Fixed size = expected < 0 ? -expected : expected;
  return off <= std::max(size >> bits, Fixed{1} << (64 - bits));
}

TEST_CASE("fixed point: products and quotients, of both signs") {
  CHECK(multiply(fixed_ratio(7, 2), fixed_of(4)) == fixed_of(14));
  CHECK(multiply(-fixed_ratio(7, 2), fixed_of(4)) == -fixed_of(14));
  CHECK(multiply(fixed_of(3'000'000'000), fixed_of(3'000'000'000)) ==
        fixed_of(9'000'000'000'000'000'000));
  CHECK(divide(fixed_of(14), -fixed_of(4)) == -fixed_ratio(7, 2));
  CHECK(divide(fixed_of(1), fixed_of(3)) == 0x5555555555555555u);
}

TEST_CASE("fixed point: -ln of a uniform number") {
  CHECK(near(minus_log_uniform(0x0u), (fixed_of(45) + 0x0DF815EC45ADE49Eu)));
  CHECK(near(minus_log_uniform(0x1u), (fixed_of(43) + 0xF4B96E41757D3B27u)));
  CHECK(near(minus_log_uniform(0x100000000u), (fixed_of(22) + 0x2E42FEF9B9EF3579u)));
  CHECK(near(minus_log_uniform(0x7FFFFFFFFFFFFFFFu), (fixed_of(0) + 0xB17217F7D1CF79ACu)));
  CHECK(near(minus_log_uniform(0x8000000000000000u), (fixed_of(0) + 0xB17217F7D1CF79AAu)));
  CHECK(near(minus_log_uniform(0xFFFFFFFFFFFFFFFEu), (fixed_of(0) + 0x0000000000000001u)));
  CHECK(near(minus_log_uniform(0xFFFFFFFFFFFFFFFFu), (fixed_of(0) + 0x0000000000000000u)));
  CHECK(near(minus_log_uniform(0x123456789ABCDEF0u), (fixed_of(2) + 0xA4BD2E740AC9DA87u)));
}

TEST_CASE("fixed point: logarithms, exponentials, roots and powers") {
  CHECK(near(natural_log(fixed_ratio(1, 1)), (fixed_of(0) + 0x0000000000000000u)));
  CHECK(near(natural_log(fixed_ratio(2, 1)), (fixed_of(0) + 0xB17217F7D1CF79ABu)));
  CHECK(near(natural_log(fixed_ratio(3, 2)), (fixed_of(0) + 0x67CC8FB2FE612FCAu)));
  CHECK(near(natural_log(fixed_ratio(1, 2)), -(fixed_of(0) + 0xB17217F7D1CF79ACu)));
  CHECK(near(natural_log(fixed_ratio(1000000007, 1)), (fixed_of(20) + 0xB927F34A104D07B8u)));
  CHECK(
      near(natural_log(fixed_ratio(999999999, 1000000000)), -(fixed_of(0) + 0x000000044B82FA13u)));
  CHECK(near(exponential(fixed_ratio(0, 1)), (fixed_of(1) + 0x0000000000000000u)));
  CHECK(near(exponential(fixed_ratio(1, 1)), (fixed_of(2) + 0xB7E151628AED2A6Au)));
  CHECK(near(exponential(-fixed_ratio(1, 1)), (fixed_of(0) + 0x5E2D58D8B3BCDF1Au)));
  CHECK(near(exponential(fixed_ratio(1, 2)), (fixed_of(1) + 0xA61298E1E069BC97u)));
  CHECK(
      near(exponential(fixed_ratio(85, 2)), (fixed_of(2867579591680571559) + 0x905DEA10D1734630u)));
  CHECK(near(exponential(-fixed_ratio(44, 1)), (fixed_of(0) + 0x0000000000000001u)));
  CHECK(near(exponential(-fixed_ratio(1, 1000000)), (fixed_of(0) + 0xFFFFEF3908EC06DBu)));
  CHECK(exponential(-fixed_of(46)) == 0);
  CHECK(near(square_root(fixed_ratio(0, 1)), (fixed_of(0) + 0x0000000000000000u)));
  CHECK(near(square_root(fixed_ratio(1, 1)), (fixed_of(1) + 0x0000000000000000u)));
  CHECK(near(square_root(fixed_ratio(2, 1)), (fixed_of(1) + 0x6A09E667F3BCC908u)));
  CHECK(near(square_root(fixed_ratio(1, 4)), (fixed_of(0) + 0x8000000000000000u)));
  CHECK(near(square_root(fixed_ratio(1, 3)), (fixed_of(0) + 0x93CD3A2C8198E269u)));
  CHECK(near(square_root(fixed_ratio(4000000000000000000, 1)),
             (fixed_of(2000000000) + 0x0000000000000000u)));
  CHECK(near(log_gamma(fixed_ratio(1, 1)), -(fixed_of(0) + 0x0000000000000001u), 48));
  CHECK(near(log_gamma(fixed_ratio(2, 1)), -(fixed_of(0) + 0x0000000000000001u), 48));
  CHECK(near(log_gamma(fixed_ratio(1, 2)), (fixed_of(0) + 0x928682473D0DE85Eu), 48));
  CHECK(near(log_gamma(fixed_ratio(5, 1)), (fixed_of(3) + 0x2D94EF92459F167Au), 48));
  CHECK(near(log_gamma(fixed_ratio(3, 10)), (fixed_of(1) + 0x188637A6C4195A04u), 48));
  CHECK(near(log_gamma(fixed_ratio(21, 1)), (fixed_of(42) + 0x55EAF5DAEF7BFDFFu), 48));
  CHECK(near(log_gamma(fixed_ratio(1000, 1)), (fixed_of(5905) + 0x386DA7CAB671A78Fu), 48));
  CHECK(near(log_gamma(fixed_ratio(521, 100)), (fixed_of(3) + 0x7FC7F9126CBCE1A0u), 48));
  CHECK(near(power(fixed_ratio(2, 1), fixed_ratio(1, 2)), (fixed_of(1) + 0x6A09E667F3BCC908u)));
  CHECK(near(power(fixed_ratio(3, 1), fixed_ratio(5, 1)), (fixed_of(242) + 0xFFFFFFFFFFFFFFFFu)));
  CHECK(near(power(fixed_ratio(1, 10), fixed_ratio(42, 10)), (fixed_of(0) + 0x000422921DB04C48u)));
  CHECK(near(power(fixed_ratio(7, 2), fixed_ratio(1, 3)), (fixed_of(1) + 0x84AEF28ACCD47A3Eu)));
  CHECK(power(0, fixed_of(2)) == 0);
}

/// The sum of n variates, and of their squares, over n.
struct Moments {
  Fixed mean = 0;
  Fixed square = 0;
};

template <class Draw>
Moments moments(Draw draw) {
  constexpr std::uint64_t kDraws = 20'000;
  Moments result;
  for (std::uint64_t i = 0; i < kDraws; ++i) {
    KeyedDraws draws(1, Stream::kArrival, i);
    const Fixed value = draw(draws);
    result.mean += value;
    result.square += multiply(value, value);
  }
  result.mean /= kDraws;
  result.square /= kDraws;
  return result;
}

/// In thousandths.
std::int64_t permille(Fixed value) { return static_cast<std::int64_t>(value * 1'000 >> 64); }

TEST_CASE("variates: means and mean squares are those of their laws") {
  // 20,000 draws: a mean is off by its deviation / 141; the bounds are about four times that.
  const Moments exponential = moments([](KeyedDraws& draws) { return exponential_variate(draws); });
  CHECK(std::abs(permille(exponential.mean) - 1'000) < 30);     // mean 1, deviation 1
  CHECK(std::abs(permille(exponential.square) - 2'000) < 130);  // E x^2 = 2, deviation sqrt(20)
  const Moments normal = moments([](KeyedDraws& draws) { return normal_variate(draws); });
  CHECK(std::abs(permille(normal.mean)) < 30);
  CHECK(std::abs(permille(normal.square) - 1'000) < 45);
  const Moments gamma =
      moments([](KeyedDraws& draws) { return gamma_variate(fixed_ratio(1, 4), draws); });
  CHECK(std::abs(permille(gamma.mean) - 250) < 16);    // k = 1/4, deviation 1/2
  CHECK(std::abs(permille(gamma.square) - 312) < 60);  // k + k^2 = 0.3125
  const Moments large =
      moments([](KeyedDraws& draws) { return gamma_variate(fixed_of(9), draws); });
  CHECK(std::abs(permille(large.mean) - 9'000) < 90);
  CHECK(std::abs(permille(large.square) - 90'000) < 1'800);
  // Shape 1/2: mean Gamma(3) = 2, mean square Gamma(5) = 24.
  const Moments weibull =
      moments([](KeyedDraws& draws) { return weibull_variate(fixed_of(2), draws); });
  CHECK(std::abs(permille(weibull.mean) - 2'000) < 130);
  CHECK(std::abs(permille(weibull.square) - 24'000) < 5'800);
}

}  // namespace
}  // namespace pinfold::sim
