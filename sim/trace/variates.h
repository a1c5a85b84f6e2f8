#pragma once
// Random variates in fixed point, from keyed draws: a variate depends on its key only.

#include <cstdint>

#include "sim/core/draw.h"
#include "sim/trace/fixed_point.h"

namespace pinfold::sim {

/// Uniform 64-bit numbers for one item of one stream, as many as it needs.
class KeyedDraws {
 public:
  KeyedDraws(std::uint64_t seed, Stream stream, std::uint64_t item)
      : seed_(seed), stream_(stream), item_(item) {}
  std::uint64_t next() { return draw_below(seed_, stream_, item_, position_++, UINT64_MAX); }
  /// Uniform in [0, bound).
  std::uint64_t below(std::uint64_t bound) {
    return draw_below(seed_, stream_, item_, position_++, bound);
  }

 private:
  std::uint64_t seed_;
  Stream stream_;
  std::uint64_t item_;
  std::uint64_t position_ = 0;
};

/// Mean 1, by inversion.
Fixed exponential_variate(KeyedDraws& draws);
/// Mean 0 and variance 1, by Marsaglia's polar method.
Fixed normal_variate(KeyedDraws& draws);
/// Shape `shape` and scale 1 (mean `shape`), by Marsaglia and Tsang's method; shape from 2^-20 to 2^30.
Fixed gamma_variate(Fixed shape, KeyedDraws& draws);
/// Shape 1 / `inverse_shape` and scale 1 (mean Gamma(1 + inverse_shape)), by inversion.
Fixed weibull_variate(Fixed inverse_shape, KeyedDraws& draws);

}  // namespace pinfold::sim
