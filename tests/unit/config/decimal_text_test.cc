#include "sim/config/decimal_text.h"

#include <doctest/doctest.h>

#include <string>

namespace pinfold::sim {
namespace {

/// "numerator/denominator", or "none".
std::string fraction(std::string_view text) {
  const std::optional<Rational> value = parse_decimal(text);
  if (!value) return "none";
  return std::to_string(value->numerator) + "/" + std::to_string(value->denominator);
}

TEST_CASE("decimals: exact, reduced, however they are written") {
  CHECK(fraction("1.2") == "6/5");
  CHECK(fraction("1.20") == "6/5");
  CHECK(fraction("12e-1") == "6/5");
  CHECK(fraction("0.12E+1") == "6/5");
  CHECK(fraction("0.5") == "1/2");
  CHECK(fraction("0") == "0/1");
  CHECK(fraction("0.000") == "0/1");
  CHECK(fraction("0e300") == "0/1");
  CHECK(fraction("1e3") == "1000/1");
  CHECK(fraction("100") == "100/1");
  CHECK(fraction("0.1") == "1/10");  // which no double is
  CHECK(fraction("0.000001") == "1/1000000");
}

TEST_CASE("decimals: 18 digits before or behind the point, no more") {
  CHECK(fraction("0.000000000000000001") == "1/1000000000000000000");
  CHECK(fraction("0.0000000000000000001") == "none");
  CHECK(fraction("999999999999999999") == "999999999999999999/1");
  CHECK(fraction("1000000000000000000") == "none");
  CHECK(fraction("1e18") == "1000000000000000000/1");
  CHECK(fraction("1e19") == "none");
  CHECK(fraction("9e18") == "none");
  CHECK(fraction("99999999999999999999999999") == "none");
}

TEST_CASE("decimals: what JSON calls no number, and what is negative") {
  for (const char* text : {"", "-1", "-0", "+1", ".5", "5.", "01", "1.2.3", "1e", "1e+", "1e2.5",
                           "0x10", "1,5", " 1", "1 ", "nan", "inf", "1e9999"}) {
    CAPTURE(text);
    CHECK(fraction(text) == "none");
  }
}

TEST_CASE("decimals: the shortest text, which reads back as the same fraction") {
  CHECK(decimal_text({12, 10}) == "1.2");
  CHECK(decimal_text({6, 5}) == "1.2");
  CHECK(decimal_text({1, 1}) == "1");
  CHECK(decimal_text({0, 1}) == "0");
  CHECK(decimal_text({1, 1'000'000'000'000'000'000}) == "0.000000000000000001");
  CHECK(decimal_text({20'000'000, 1'000'000}) == "20");
  CHECK(decimal_text({1, 1'000'000}) == "0.000001");
  for (const char* text : {"3.125", "0.7", "1000", "0.000000001", "16.999999"}) {
    CAPTURE(text);
    CHECK(decimal_text(*parse_decimal(text)) == text);
  }
}

}  // namespace
}  // namespace pinfold::sim
