// SPDX-License-Identifier: Apache-2.0
#include "api/json_cursor.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <system_error>
#include <utility>

namespace autopilot::api {
namespace {

constexpr int kDeepestSkipped = 32;
// Powers of ten that a double holds exactly.
constexpr std::array<double, 23> kTens{1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                       1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
constexpr std::uint64_t kExactMantissa = std::uint64_t{1} << 53U;
constexpr std::uint64_t kLargestMantissa = std::numeric_limits<std::int64_t>::max();
constexpr int kMostDigits = 19;  // that always fit 64 bits
constexpr int kMostExponentDigits = 5;

bool is_digit(char letter) {
  return letter >= '0' && letter <= '9';
}

// mantissa * 10^exponent; nullopt if it is not an integer of 64 bits.
std::optional<std::int64_t> scaled(std::int64_t mantissa, int exponent) {
  if (mantissa == 0) return 0;
  for (; exponent < 0; ++exponent) {
    if (mantissa % 10 != 0) return std::nullopt;
    mantissa /= 10;
  }
  for (; exponent > 0; --exponent)
    if (__builtin_mul_overflow(mantissa, std::int64_t{10}, &mantissa)) return std::nullopt;
  return mantissa;
}

// Length of the character of UTF-8 that begins here; 0 if it is not valid.
std::size_t character_length(const char* at, const char* end) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(at[i]); };
  const auto follows = [&](std::size_t i) { return (byte(i) & 0xC0U) == 0x80U; };
  const auto left = static_cast<std::size_t>(end - at);
  if (byte(0) < 0x80) return 1;
  if (byte(0) >= 0xC2 && byte(0) <= 0xDF) return left >= 2 && follows(1) ? 2 : 0;
  if ((byte(0) & 0xF0U) == 0xE0) {
    if (left < 3 || !follows(1) || !follows(2)) return 0;
    const bool is_short = byte(0) == 0xE0 && byte(1) < 0xA0;
    const bool is_surrogate = byte(0) == 0xED && byte(1) > 0x9F;
    return is_short || is_surrogate ? 0 : 3;
  }
  if (byte(0) < 0xF0 || byte(0) > 0xF4 || left < 4 || !follows(1) || !follows(2) || !follows(3)) return 0;
  const bool is_outside = (byte(0) == 0xF0 && byte(1) < 0x90) || (byte(0) == 0xF4 && byte(1) > 0x8F);
  return is_outside ? 0 : 4;
}

void append_utf8(std::string& out, unsigned point) {
  const auto put = [&out](unsigned byte) { out += static_cast<char>(byte); };
  if (point < 0x80) return put(point);
  if (point < 0x800) {
    put(0xC0U | (point >> 6U));
  } else {
    if (point < 0x10000) {
      put(0xE0U | (point >> 12U));
    } else {
      put(0xF0U | (point >> 18U));
      put(0x80U | ((point >> 12U) & 0x3FU));
    }
    put(0x80U | ((point >> 6U) & 0x3FU));
  }
  put(0x80U | (point & 0x3FU));
}

}  // namespace

std::optional<std::int64_t> JsonNumber::integer() const {
  if (is_exact) return scaled(mantissa, exponent);
  constexpr double limit = 9.2e18;
  if (value != std::floor(value) || std::abs(value) > limit) return std::nullopt;
  return static_cast<std::int64_t>(value);
}

std::optional<std::int64_t> JsonNumber::nanoseconds() const {
  if (is_exact && exponent >= -9 && exponent <= 9)
    if (const auto exact = scaled(mantissa, exponent + 9)) return exact;
  constexpr double limit = 9.2e18;
  const double rounded = std::round(value * 1e9);
  if (!(std::abs(rounded) <= limit)) return std::nullopt;
  return static_cast<std::int64_t>(rounded);
}

JsonCursor::JsonCursor(std::string_view text)
    : begin_(text.data()), at_(text.data()), end_(text.data() + text.size()) {}

bool JsonCursor::fail(std::string_view what) {
  if (problem_.empty()) problem_ = what;
  at_ = end_;
  return false;
}

bool JsonCursor::refuse_syntax() {
  if (has_failed()) return false;
  if (at_ == end_) return fail("not JSON: the line ends within a value");
  return fail("not JSON at byte " + std::to_string(at_ - begin_ + 1));
}

void JsonCursor::skip_space() {
  while (at_ != end_ && (*at_ == ' ' || *at_ == '\t' || *at_ == '\r' || *at_ == '\n'))
    ++at_;
}

bool JsonCursor::enter(char bracket, std::string_view expected) {
  skip_space();
  if (at_ == end_) return refuse_syntax();
  if (*at_ != bracket) return fail(expected);
  ++at_;
  is_fresh_ = true;
  return true;
}

bool JsonCursor::enter_object() {
  return enter('{', "expected an object");
}

bool JsonCursor::enter_list() {
  return enter('[', "expected a list");
}

bool JsonCursor::next(char bracket) {
  skip_space();
  if (at_ == end_) return refuse_syntax();
  const bool is_first = is_fresh_;
  is_fresh_ = false;
  if (*at_ == bracket) {
    ++at_;
    return false;
  }
  if (is_first) return true;
  if (*at_ != ',') return refuse_syntax();
  ++at_;
  return true;
}

bool JsonCursor::next_item() {
  return next(']');
}

bool JsonCursor::next_member(std::string_view& name) {
  if (!next('}')) return false;
  skip_space();
  if (at_ == end_ || *at_ != '"') return refuse_syntax();
  std::string decoded;
  if (!scan_text(name, decoded)) return false;
  if (!decoded.empty()) name = names_.emplace_back(std::move(decoded));
  skip_space();
  if (at_ == end_ || *at_ != ':') return refuse_syntax();
  ++at_;
  return true;
}

bool JsonCursor::read_number(JsonNumber& number) {
  skip_space();
  const char* const first = at_;
  const char* at = at_;
  const bool is_negative = at != end_ && *at == '-';
  if (is_negative) ++at;
  if (at == end_ || !is_digit(*at)) return at == end_ ? refuse_syntax() : fail("expected a number");
  std::uint64_t mantissa = 0;
  int digits = 0;
  int exponent = 0;
  const auto take_digits = [&](int shift) {
    for (; at != end_ && is_digit(*at); ++at) {
      if (digits < kMostDigits) mantissa = mantissa * 10 + static_cast<std::uint64_t>(*at - '0');
      if (mantissa != 0) ++digits;
      exponent += shift;
    }
  };
  if (*at == '0' && at + 1 != end_ && is_digit(at[1])) return refuse_syntax();
  take_digits(0);
  if (at != end_ && *at == '.') {
    ++at;
    if (at == end_ || !is_digit(*at)) return refuse_syntax();
    take_digits(-1);
  }
  if (at != end_ && (*at == 'e' || *at == 'E')) {
    ++at;
    const bool is_small = at != end_ && *at == '-';
    if (at != end_ && (*at == '-' || *at == '+')) ++at;
    if (at == end_ || !is_digit(*at)) return refuse_syntax();
    int written = 0;
    for (int count = 0; at != end_ && is_digit(*at); ++at, ++count)
      if (count < kMostExponentDigits) written = written * 10 + (*at - '0');
    exponent += is_small ? -written : written;
  }
  at_ = at;
  number.is_exact = digits <= kMostDigits && mantissa <= kLargestMantissa;
  number.mantissa = is_negative ? -static_cast<std::int64_t>(mantissa) : static_cast<std::int64_t>(mantissa);
  number.exponent = exponent;
  if (number.is_exact && mantissa <= kExactMantissa && exponent >= -22 && exponent <= 22) {
    const auto whole = static_cast<double>(mantissa);
    const double size = exponent < 0 ? whole / kTens[static_cast<std::size_t>(-exponent)]
                                     : whole * kTens[static_cast<std::size_t>(exponent)];
    number.value = is_negative ? -size : size;
    return true;
  }
  const auto [end, error] = std::from_chars(first, at, number.value);
  const bool is_tiny = error == std::errc::result_out_of_range && digits + exponent < 0;
  if (is_tiny) number.value = 0;
  return is_tiny || (error == std::errc{} && end == at) || fail("the number is too large");
}

bool JsonCursor::expect_word(std::string_view word) {
  if (static_cast<std::size_t>(end_ - at_) < word.size() || std::memcmp(at_, word.data(), word.size()) != 0)
    return false;
  at_ += word.size();
  return true;
}

bool JsonCursor::take_null() {
  skip_space();
  return at_ != end_ && *at_ == 'n' && expect_word("null");
}

bool JsonCursor::is_text() {
  skip_space();
  return at_ != end_ && *at_ == '"';
}

bool JsonCursor::read_flag(bool& flag) {
  skip_space();
  if (expect_word("true")) {
    flag = true;
    return true;
  }
  flag = false;
  return expect_word("false") || fail("expected true or false");
}

bool JsonCursor::read_text(std::string& text) {
  if (!is_text()) return at_ == end_ ? refuse_syntax() : fail("expected a text");
  std::string_view seen;
  text.clear();
  if (!scan_text(seen, text)) return false;
  if (seen.data() != text.data()) text.assign(seen);
  return true;
}

// `text` refers to the line if nothing needs decoding, else to `decoded`.
bool JsonCursor::scan_text(std::string_view& text, std::string& decoded) {
  const char* const first = ++at_;
  while (at_ != end_) {
    const auto byte = static_cast<unsigned char>(*at_);
    if (byte == '"') {
      text = {first, static_cast<std::size_t>(at_ - first)};
      ++at_;
      return true;
    }
    if (byte == '\\' || byte < 0x20 || byte >= 0x80) break;
    ++at_;
  }
  decoded.assign(first, at_);
  if (!decode_rest(decoded)) return false;
  text = decoded;
  return true;
}

bool JsonCursor::decode_rest(std::string& decoded) {
  while (at_ != end_ && *at_ != '"') {
    if (static_cast<unsigned char>(*at_) < 0x20) return fail("a control character in a text");
    if (*at_ == '\\') {
      if (!read_escape(decoded)) return false;
      continue;
    }
    const std::size_t length = character_length(at_, end_);
    if (length == 0) return fail("not UTF-8 at byte " + std::to_string(at_ - begin_ + 1));
    decoded.append(at_, length);
    at_ += length;
  }
  if (at_ == end_) return refuse_syntax();
  ++at_;
  return true;
}

bool JsonCursor::read_unit(unsigned& unit) {
  constexpr std::size_t digits = 4;
  if (static_cast<std::size_t>(end_ - at_) < digits) return false;
  const auto [end, error] = std::from_chars(at_, at_ + digits, unit, 16);
  if (error != std::errc{} || end != at_ + digits) return false;
  at_ = end;
  return true;
}

bool JsonCursor::read_escape(std::string& decoded) {
  constexpr std::string_view letters = "\"\\/bfnrt";
  constexpr std::string_view meanings = "\"\\/\b\f\n\r\t";
  ++at_;
  if (at_ == end_) return refuse_syntax();
  const char letter = *at_++;
  if (const auto found = letters.find(letter); found != std::string_view::npos) {
    decoded += meanings[found];
    return true;
  }
  unsigned unit = 0;
  if (letter != 'u' || !read_unit(unit)) return refuse_syntax();
  if (unit >= 0xD800 && unit <= 0xDFFF) {
    unsigned second = 0;
    const bool is_pair =
        unit < 0xDC00 && expect_word("\\u") && read_unit(second) && second >= 0xDC00 && second <= 0xDFFF;
    if (!is_pair) return fail("half of a surrogate pair in a text");
    unit = 0x10000 + ((unit - 0xD800) << 10U) + (second - 0xDC00);
  }
  append_utf8(decoded, unit);
  return true;
}

bool JsonCursor::skip_value() {
  return skip_nested(0);
}

bool JsonCursor::skip_nested(int depth) {
  skip_space();
  if (at_ == end_) return refuse_syntax();
  if (depth > kDeepestSkipped) return fail("nested too deep");
  std::string_view unused;
  switch (*at_) {
    case '"':
      return scan_text(unused, skipped_);
    case '{':
      enter_object();
      while (next_member(unused))
        skip_nested(depth + 1);
      return !has_failed();
    case '[':
      enter_list();
      while (next_item())
        skip_nested(depth + 1);
      return !has_failed();
    case 't':
    case 'f':
    case 'n':
      return expect_word("true") || expect_word("false") || expect_word("null") || refuse_syntax();
    default:
      break;
  }
  JsonNumber number;
  if (*at_ != '-' && !is_digit(*at_)) return refuse_syntax();
  return read_number(number);
}

bool JsonCursor::expect_end() {
  if (has_failed()) return false;
  skip_space();
  return at_ == end_ || refuse_syntax();
}

}  // namespace autopilot::api
