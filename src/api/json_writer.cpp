// SPDX-License-Identifier: Apache-2.0
#include "api/json_writer.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <type_traits>
#include <utility>
#include <variant>

namespace autopilot::api {

namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";  // U+FFFD

// Length of the UTF-8 sequence at the beginning of `text`; 0 if it is invalid. Rejects overlong forms,
// surrogates and values above U+10FFFF.
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  const auto is_tail = [&](std::size_t i) { return (byte(i) & 0xc0U) == 0x80U; };
  const auto first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first <= 0xdf) return is_tail(1) ? 2 : 0;
  if (first >= 0xe0 && first <= 0xef) {
    const bool is_bad = (first == 0xe0 && byte(1) < 0xa0) || (first == 0xed && byte(1) > 0x9f);
    return !is_bad && is_tail(1) && is_tail(2) ? 3 : 0;
  }
  if (first >= 0xf0 && first <= 0xf4) {
    const bool is_bad = (first == 0xf0 && byte(1) < 0x90) || (first == 0xf4 && byte(1) > 0x8f);
    return !is_bad && is_tail(1) && is_tail(2) && is_tail(3) ? 4 : 0;
  }
  return 0;
}

void append_control(std::string& out, char c) {
  static constexpr std::string_view kHex = "0123456789abcdef";
  switch (c) {
    case '\n':
      out += "\\n";
      break;
    case '\t':
      out += "\\t";
      break;
    case '\r':
      out += "\\r";
      break;
    default: {
      const auto byte = static_cast<unsigned char>(c);
      out += "\\u00";
      out += kHex[byte >> 4U];
      out += kHex[byte & 0xfU];
    }
  }
}

template <class Number>
void append_number(std::string& out, Number number) {
  std::array<char, 40> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  const std::string_view text(digits.data(), static_cast<std::size_t>(end - digits.data()));
  out += text;
  // A measured 5.0 must be read back as a floating-point number, not as an integer.
  if (std::is_floating_point_v<Number> && text.find_first_of(".e") == std::string_view::npos) out += ".0";
}

}  // namespace

void JsonWriter::item() {
  if (needs_comma_) out_ += ',';
  needs_comma_ = true;
}

void JsonWriter::text(std::string_view text) {
  out_ += '"';
  while (!text.empty()) {
    const char c = text.front();
    const std::size_t length = utf8_length(text);
    if (length == 0) {
      out_ += kReplacement;
    } else if (c == '"' || c == '\\') {
      out_ += '\\';
      out_ += c;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      append_control(out_, c);
    } else if (c == '\xc2' && static_cast<unsigned char>(text[1]) < 0xa0) {
      append_control(out_, text[1]);  // U+0080 to U+009F, which terminals interpret as control characters
    } else {
      out_ += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  out_ += '"';
}

void JsonWriter::name(std::string_view name) {
  item();
  text(name);
  out_ += ':';
}

void JsonWriter::begin_object() {
  item();
  out_ += '{';
  needs_comma_ = false;
}

void JsonWriter::begin_object(std::string_view name) {
  this->name(name);
  out_ += '{';
  needs_comma_ = false;
}

void JsonWriter::end_object() {
  out_ += '}';
  needs_comma_ = true;
}

void JsonWriter::begin_list(std::string_view name) {
  this->name(name);
  out_ += '[';
  needs_comma_ = false;
}

void JsonWriter::end_list() {
  out_ += ']';
  needs_comma_ = true;
}

void JsonWriter::word(std::string_view name, std::string_view text) {
  this->name(name);
  this->text(text);
}

void JsonWriter::word_if_any(std::string_view name, std::string_view text) {
  if (!text.empty()) word(name, text);
}

void JsonWriter::number(std::string_view name, double number) {
  if (!std::isfinite(number)) return;
  this->name(name);
  append_number(out_, number);
}

void JsonWriter::integer(std::string_view name, std::int64_t number) {
  this->name(name);
  append_number(out_, number);
}

void JsonWriter::count(std::string_view name, std::uint64_t number) {
  this->name(name);
  append_number(out_, number);
}

void JsonWriter::flag(std::string_view name, bool flag) {
  this->name(name);
  out_ += flag ? "true" : "false";
}

void JsonWriter::flag_if_set(std::string_view name, bool flag) {
  if (flag) this->flag(name, flag);
}

void JsonWriter::null(std::string_view name) {
  this->name(name);
  out_ += "null";
}

void JsonWriter::time(std::string_view name, WallTime time) {
  word(name, format_time(time));
}

void JsonWriter::time_if_any(std::string_view name, WallTime time) {
  if (time != WallTime{}) this->time(name, time);
}

void JsonWriter::words(std::string_view name, const std::vector<std::string>& words) {
  begin_list(name);
  for (const auto& word : words) {
    item();
    text(word);
  }
  end_list();
}

void JsonWriter::value(std::string_view name, const Value& value) {
  std::visit(
      [&](const auto& held) {
        using Held = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<Held, std::string>)
          word(name, held);
        else if constexpr (std::is_same_v<Held, bool>)
          flag(name, held);
        else if constexpr (std::is_same_v<Held, double>)
          number(name, held);
        else
          integer(name, held);
      },
      value);
}

void JsonWriter::attributes(std::string_view name, const Attributes& attributes) {
  begin_object(name);
  for (const auto& [key, held] : attributes)
    value(key, held);
  end_object();
}

std::string JsonWriter::take() {
  needs_comma_ = false;
  out_ += '\n';
  return std::exchange(out_, {});
}

}  // namespace autopilot::api
