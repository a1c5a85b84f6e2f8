#include "sim/gate/exact_decimal.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/sweep/requirement.h"

namespace pinfold::sim {
namespace {

/// digits[0] is the last digit; the value is the digits as an integer over 10^places.
struct Digits {
  std::vector<std::uint8_t> digits;
  std::size_t places = 0;
  bool negative = false;
};

Digits digits_of(std::string_view text) {
  Digits value;
  value.negative = text.starts_with('-');
  const std::size_t point = text.find('.');
  if (point != std::string_view::npos) value.places = text.size() - point - 1;
  for (std::size_t i = text.size(); i-- > 0;) {
    if (text[i] < '0' || text[i] > '9') continue;
    value.digits.push_back(static_cast<std::uint8_t>(text[i] - '0'));
  }
  return value;
}

/// The same value with more places.
void widen(Digits& value, std::size_t places) {
  value.digits.insert(value.digits.begin(), places - value.places, 0);
  value.places = places;
}

void drop_leading_zeros(std::vector<std::uint8_t>& digits) {
  while (!digits.empty() && digits.back() == 0) digits.pop_back();
}

std::string text_of(Digits value) {
  while (value.digits.size() <= value.places) value.digits.push_back(0);
  while (value.digits.size() > value.places + 1 && value.digits.back() == 0) {
    value.digits.pop_back();
  }
  std::string text = value.negative ? "-" : "";
  for (std::size_t i = value.digits.size(); i-- > 0;) {
    text += static_cast<char>('0' + value.digits[i]);
    if (i == value.places && i > 0) text += '.';
  }
  if (value.places > 0) {
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
  }
  return text == "-0" ? "0" : text;
}

/// Sum of the magnitudes, which have the same places.
std::vector<std::uint8_t> sum(const std::vector<std::uint8_t>& a,
                              const std::vector<std::uint8_t>& b) {
  std::vector<std::uint8_t> result;
  unsigned carry = 0;
  for (std::size_t i = 0; i < std::max(a.size(), b.size()) || carry > 0; ++i) {
    const unsigned digit = (i < a.size() ? a[i] : 0U) + (i < b.size() ? b[i] : 0U) + carry;
    result.push_back(static_cast<std::uint8_t>(digit % 10));
    carry = digit / 10;
  }
  return result;
}

bool less(const std::vector<std::uint8_t>& a, const std::vector<std::uint8_t>& b) {
  if (a.size() != b.size()) return a.size() < b.size();
  return std::lexicographical_compare(a.rbegin(), a.rend(), b.rbegin(), b.rend());
}

/// a - b where b <= a.
std::vector<std::uint8_t> difference(const std::vector<std::uint8_t>& a,
                                     const std::vector<std::uint8_t>& b) {
  std::vector<std::uint8_t> result;
  int borrow = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    int digit = a[i] - (i < b.size() ? b[i] : 0) - borrow;
    borrow = digit < 0 ? 1 : 0;
    if (digit < 0) digit += 10;
    result.push_back(static_cast<std::uint8_t>(digit));
  }
  drop_leading_zeros(result);
  return result;
}

std::vector<std::uint8_t> product(const std::vector<std::uint8_t>& a,
                                  const std::vector<std::uint8_t>& b) {
  std::vector<unsigned> columns(a.size() + b.size() + 1, 0);
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t j = 0; j < b.size(); ++j) columns[i + j] += unsigned{a[i]} * b[j];
  }
  std::vector<std::uint8_t> result;
  unsigned carry = 0;
  for (const unsigned column : columns) {
    result.push_back(static_cast<std::uint8_t>((column + carry) % 10));
    carry = (column + carry) / 10;
  }
  drop_leading_zeros(result);
  return result;
}

/// floor(a / b), digit by digit.
std::vector<std::uint8_t> quotient(const std::vector<std::uint8_t>& a,
                                   const std::vector<std::uint8_t>& b) {
  std::vector<std::uint8_t> rest;
  std::vector<std::uint8_t> result(a.size(), 0);
  for (std::size_t i = a.size(); i-- > 0;) {
    rest.insert(rest.begin(), a[i]);
    drop_leading_zeros(rest);
    while (!less(rest, b)) {
      rest = difference(rest, b);
      ++result[i];
    }
  }
  drop_leading_zeros(result);
  return result;
}

}  // namespace

std::string distance(std::string_view a, std::string_view b) {
  Digits left = digits_of(a);
  Digits right = digits_of(b);
  const std::size_t places = std::max(left.places, right.places);
  widen(left, places);
  widen(right, places);
  drop_leading_zeros(left.digits);
  drop_leading_zeros(right.digits);
  Digits result;
  result.places = places;
  if (left.negative != right.negative) {
    result.digits = sum(left.digits, right.digits);
  } else if (less(left.digits, right.digits)) {
    result.digits = difference(right.digits, left.digits);
  } else {
    result.digits = difference(left.digits, right.digits);
  }
  return text_of(std::move(result));
}

std::string product_of_magnitudes(std::string_view a, std::string_view b) {
  const Digits left = digits_of(a);
  const Digits right = digits_of(b);
  return text_of({product(left.digits, right.digits), left.places + right.places, false});
}

std::string change_in_percent(std::string_view old, std::string_view now) {
  Digits base = digits_of(old);
  Digits change = digits_of(distance(old, now));
  const std::size_t places = std::max(base.places, change.places);
  widen(base, places);
  widen(change, places);
  drop_leading_zeros(base.digits);
  drop_leading_zeros(change.digits);
  if (base.digits.empty()) return {};
  // In tenths of a percent, rounded: floor((2000 * change + base) / (2 * base)).
  std::vector<std::uint8_t> numerator = product(change.digits, {0, 0, 0, 2});
  const std::vector<std::uint8_t> tenths =
      quotient(sum(numerator, base.digits), sum(base.digits, base.digits));
  const int order = compare_decimals(now, old);
  const std::string sign = order < 0 ? "-" : "+";
  Digits percent{tenths, 1, false};
  std::string text = text_of(std::move(percent));
  if (text.find('.') == std::string::npos) text += ".0";
  return sign + text + "%";
}

}  // namespace pinfold::sim
