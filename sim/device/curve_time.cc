#include "sim/device/curve_time.h"

#include <algorithm>

#include "base/check.h"

namespace pinfold::sim {
namespace {

constexpr std::uint64_t kPsPerNs = 1000;

}  // namespace

Wide curve_ps(const Curve& curve, Wide numerator, Wide denominator) {
  PINFOLD_CHECK(!curve.rows.empty(), "cost", "a curve without nodes");
  if (numerator == 0) return 0;
  if (numerator <= curve.rows.front() * denominator) return Wide{curve.ns.front()} * kPsPerNs;
  const std::uint32_t last = curve.rows.back();
  if (numerator >= last * denominator) {
    return Wide{curve.ns.back()} * kPsPerNs * numerator / (last * denominator);
  }
  // The first node above; there is one, and one at or below.
  const auto above =
      std::upper_bound(curve.rows.begin(), curve.rows.end(), numerator,
                       [&](Wide rows, std::uint32_t node) { return rows < node * denominator; });
  const auto at = static_cast<std::size_t>(above - curve.rows.begin());
  const Wide low = curve.rows[at - 1] * denominator;
  const Wide high = curve.rows[at] * denominator;
  const Wide weighted =
      Wide{curve.ns[at - 1]} * (high - numerator) + Wide{curve.ns[at]} * (numerator - low);
  return weighted * kPsPerNs / (high - low);
}

}  // namespace pinfold::sim
