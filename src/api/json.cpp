// SPDX-License-Identifier: Apache-2.0
#include "api/json.hpp"

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <type_traits>
#include <utility>
#include <variant>

#include "api/v1.hpp"

namespace autopilot::api {

namespace json = boost::json;

namespace {

std::string to_std(const json::string& text) {
  return {text.data(), text.size()};
}

// Numbers, strings and booleans; nullopt for other types.
std::optional<Value> to_value(const json::value& value) {
  if (value.is_string()) return to_std(value.get_string());
  if (value.is_bool()) return value.get_bool();
  if (value.is_int64()) return value.get_int64();
  if (value.is_double()) return value.get_double();
  if (value.is_uint64()) return static_cast<double>(value.get_uint64());
  return std::nullopt;
}

// Null if the member is missing or null.
const json::value* find(const void* members, std::string_view name) {
  const auto* value =
      static_cast<const json::object*>(members)->if_contains(json::string_view(name.data(), name.size()));
  return value == nullptr || value->is_null() ? nullptr : value;
}

// Number of members in the objects of a valid JSON text: each has a colon outside strings.
std::size_t written_members(std::string_view text) {
  std::size_t count = 0;
  bool is_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') is_string = !is_string;
    if (is_string && text[i] == '\\') ++i;
    if (!is_string && text[i] == ':') ++count;
  }
  return count;
}

// Number of members that the parser kept: of equal names only the last.
std::size_t members_of(const json::value& value) {
  std::size_t count = 0;
  if (const auto* list = value.if_array())
    for (const auto& item : *list)
      count += members_of(item);
  if (const auto* object = value.if_object())
    for (const auto& member : *object)
      count += 1 + members_of(member.value());
  return count;
}

}  // namespace

struct JsonDocument::Root {
  json::value value;
};

JsonDocument::JsonDocument() = default;
JsonDocument::JsonDocument(JsonDocument&& other) noexcept = default;
JsonDocument& JsonDocument::operator=(JsonDocument&& other) noexcept = default;
JsonDocument::~JsonDocument() = default;

Result<JsonDocument> JsonDocument::parse(std::string_view text) {
  if (text.size() > kMaxBytes)
    return fail(Errc::malformed, "the JSON text is larger than " + std::to_string(kMaxBytes) + " bytes");
  json::parse_options options;
  options.max_depth = kMaxDepth;
  boost::system::error_code error;
  auto value = json::parse(json::string_view(text.data(), text.size()), error, {}, options);
  if (error) return fail(Errc::malformed, "not JSON: " + error.message());
  if (!value.is_object()) return fail(Errc::malformed, "expected a JSON object");
  if (written_members(text) != members_of(value))
    return fail(Errc::malformed, "an object of the JSON text has a duplicate member");
  JsonDocument document;
  document.root_ = std::make_unique<Root>(Root{std::move(value)});
  return document;
}

JsonObject::JsonObject(JsonDocument& document)
    : document_(document), members_(&document.root_->value.get_object()) {}

JsonObject::JsonObject(const JsonObject& parent, const void* members, std::string_view name,
                       std::optional<std::size_t> index)
    : document_(parent.document_), members_(members), parent_(&parent), name_(name), index_(index) {}

std::string JsonObject::path() const {
  if (parent_ == nullptr) return "";
  std::string text = parent_->path();
  text += name_;
  if (index_) text += "[" + std::to_string(*index_) + "]";
  return text + ".";
}

void JsonObject::note(std::string_view name, std::string_view what) const {
  if (!document_.problem_) document_.problem_ = path() + std::string(name) + ": " + std::string(what);
}

bool JsonObject::has(std::string_view name) const {
  return find(members_, name) != nullptr;
}

std::string JsonObject::word(std::string_view name) const {
  const auto* value = find(members_, name);
  if (value != nullptr && value->is_string()) return to_std(value->get_string());
  note(name, "expected a string");
  return {};
}

std::string JsonObject::word_or_empty(std::string_view name) const {
  return has(name) ? word(name) : std::string();
}

double JsonObject::number(std::string_view name) const {
  const auto* value = find(members_, name);
  if (value != nullptr && value->is_number()) return value->to_number<double>();
  note(name, "expected a number");
  return 0;
}

int JsonObject::small_integer(std::string_view name) const {
  const auto* value = find(members_, name);
  if (value != nullptr && value->is_int64() && std::in_range<int>(value->get_int64()))
    return static_cast<int>(value->get_int64());
  note(name, "expected a small integer");
  return 0;
}

std::uint64_t JsonObject::count(std::string_view name) const {
  const auto* value = find(members_, name);
  if (value != nullptr && value->is_uint64()) return value->get_uint64();
  if (value != nullptr && value->is_int64() && value->get_int64() >= 0)
    return static_cast<std::uint64_t>(value->get_int64());
  note(name, "expected a count");
  return 0;
}

bool JsonObject::flag(std::string_view name) const {
  const auto* value = find(members_, name);
  if (value != nullptr && value->is_bool()) return value->get_bool();
  note(name, "expected true or false");
  return false;
}

bool JsonObject::flag_or_false(std::string_view name) const {
  return has(name) && flag(name);
}

WallTime JsonObject::time(std::string_view name) const {
  const auto* value = find(members_, name);
  if (value != nullptr && value->is_string())
    if (const auto time = parse_time(to_std(value->get_string()))) return *time;
  note(name, "expected a time such as 2026-01-31T12:00:00.000Z");
  return {};
}

std::optional<WallTime> JsonObject::time_if_any(std::string_view name) const {
  if (!has(name)) return std::nullopt;
  return time(name);
}

Duration JsonObject::seconds(std::string_view name) const {
  // The limit of nanoseconds: 292 years.
  constexpr double kMax = 9.2e9;
  const auto* value = find(members_, name);
  const double seconds = value != nullptr && value->is_number() ? value->to_number<double>() : -1;
  if (seconds >= 0 && seconds <= kMax) return Duration(static_cast<Duration::rep>(std::round(seconds * 1e9)));
  note(name, "expected a number of seconds");
  return {};
}

std::vector<std::string> JsonObject::words(std::string_view name) const {
  std::vector<std::string> words;
  const auto* value = find(members_, name);
  if (value == nullptr || !value->is_array()) {
    note(name, "expected a list");
    return words;
  }
  for (const auto& item : value->get_array()) {
    if (item.is_string())
      words.push_back(to_std(item.get_string()));
    else
      note(std::string(name) + "[" + std::to_string(words.size()) + "]", "expected a string");
  }
  return words;
}

std::vector<int> JsonObject::small_integers(std::string_view name) const {
  std::vector<int> numbers;
  const auto* value = find(members_, name);
  if (value == nullptr || !value->is_array()) {
    note(name, "expected a list");
    return numbers;
  }
  for (const auto& item : value->get_array()) {
    if (item.is_int64() && std::in_range<int>(item.get_int64()))
      numbers.push_back(static_cast<int>(item.get_int64()));
    else
      note(std::string(name) + "[" + std::to_string(numbers.size()) + "]", "expected a small integer");
  }
  return numbers;
}

std::vector<double> JsonObject::numbers(std::string_view name) const {
  std::vector<double> numbers;
  const auto* value = find(members_, name);
  if (value == nullptr || !value->is_array()) {
    note(name, "expected a list");
    return numbers;
  }
  for (const auto& item : value->get_array()) {
    if (item.is_number())
      numbers.push_back(item.to_number<double>());
    else
      note(std::string(name) + "[" + std::to_string(numbers.size()) + "]", "expected a number");
  }
  return numbers;
}

std::optional<double> JsonObject::number_if_any(std::string_view name) const {
  return has(name) ? std::optional(number(name)) : std::nullopt;
}

std::optional<Value> JsonObject::value_if_any(std::string_view name) const {
  const auto* value = find(members_, name);
  if (value == nullptr) return std::nullopt;
  auto converted = to_value(*value);
  if (!converted) note(name, "expected a number, a string, true or false");
  return converted;
}

Attributes JsonObject::attributes(std::string_view name) const {
  Attributes attributes;
  const auto* value = find(members_, name);
  if (value == nullptr) return attributes;
  if (!value->is_object()) {
    note(name, "expected an object");
    return attributes;
  }
  for (const auto& member : value->get_object()) {
    const std::string key(member.key().data(), member.key().size());
    if (auto converted = to_value(member.value()))
      attributes.emplace_back(key, *std::move(converted));
    else
      note(std::string(name) + "." + key, "expected a number, a string, true or false");
  }
  return attributes;
}

void JsonObject::has_only(std::initializer_list<std::string_view> names) const {
  std::string all;
  for (const std::string_view name : names)
    all.append(all.empty() ? "" : ", ").append(name);
  for (const auto& member : *static_cast<const json::object*>(members_)) {
    const std::string_view key(member.key().data(), member.key().size());
    if (std::ranges::find(names, key) == names.end())
      note(key.substr(0, 64), "unknown member; known members: " + all);
  }
}

void JsonObject::visit_object(std::string_view name,
                              const std::function<void(const JsonObject&)>& visit) const {
  const auto* value = find(members_, name);
  if (value == nullptr || !value->is_object()) {
    note(name, "expected an object");
    return;
  }
  visit(JsonObject(*this, &value->get_object(), name, std::nullopt));
}

void JsonObject::visit_list(std::string_view name,
                            const std::function<void(const JsonObject&)>& visit) const {
  const auto* value = find(members_, name);
  if (value == nullptr || !value->is_array()) {
    note(name, "expected a list");
    return;
  }
  std::size_t index = 0;
  for (const auto& item : value->get_array()) {
    if (!item.is_object()) {
      note(std::string(name) + "[" + std::to_string(index) + "]", "expected an object");
      return;
    }
    visit(JsonObject(*this, &item.get_object(), name, index++));
  }
}

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

void JsonWriter::integers(std::string_view name, const std::vector<int>& numbers) {
  begin_list(name);
  for (const int number : numbers) {
    item();
    append_number(out_, number);
  }
  end_list();
}

void JsonWriter::numbers(std::string_view name, const std::vector<double>& numbers) {
  begin_list(name);
  for (const double number : numbers) {
    item();
    append_number(out_, number);
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
