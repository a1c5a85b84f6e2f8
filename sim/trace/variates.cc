#include "sim/trace/variates.h"

namespace pinfold::sim {

Fixed exponential_variate(KeyedDraws& draws) { return minus_log_uniform(draws.next()); }

Fixed normal_variate(KeyedDraws& draws) {
  for (;;) {
    // A point in the square from -1 to 1.
    const Fixed x = 2 * Fixed{draws.next()} - kFixedOne;
    const Fixed y = 2 * Fixed{draws.next()} - kFixedOne;
    const Fixed square = multiply(x, x) + multiply(y, y);
    if (square >= kFixedOne || square < kFixedOne >> 40) continue;
    return multiply(x, square_root(divide(-2 * natural_log(square), square)));
  }
}

Fixed gamma_variate(Fixed shape, KeyedDraws& draws) {
  if (shape < kFixedOne) {
    // Gamma(a) = Gamma(a + 1) * U^(1 / a).
    const Fixed larger = gamma_variate(shape + kFixedOne, draws);
    const Fixed log = divide(exponential_variate(draws), shape);
    return multiply(larger, exponential(-log));
  }
  const Fixed d = shape - kFixedOne / 3;
  const Fixed c = divide(kFixedOne, square_root(9 * d));
  for (;;) {
    const Fixed x = normal_variate(draws);
    const Fixed root = kFixedOne + multiply(c, x);
    if (root <= 0) continue;
    const Fixed v = multiply(root, multiply(root, root));
    const Fixed log_u = -exponential_variate(draws);
    if (v == 0) continue;
    const Fixed bound = multiply(x, x) / 2 + multiply(d, kFixedOne - v + natural_log(v));
    if (log_u < bound) return multiply(d, v);
  }
}

Fixed weibull_variate(Fixed inverse_shape, KeyedDraws& draws) {
  return power(exponential_variate(draws), inverse_shape);
}

}  // namespace pinfold::sim
