// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "core/value.hpp"

namespace autopilot::api {

class JsonObject;

// A parsed text and the first problem of its readers.
class JsonDocument {
 public:
  // malformed: not JSON, not an object, too large, too deep, or an object with a duplicate member.
  [[nodiscard]] static Result<JsonDocument> parse(std::string_view text);
  JsonDocument(JsonDocument&& other) noexcept;
  JsonDocument& operator=(JsonDocument&& other) noexcept;
  JsonDocument(const JsonDocument&) = delete;
  JsonDocument& operator=(const JsonDocument&) = delete;
  ~JsonDocument();

  // `read_top` fills a T from the top object; its result is returned only without a problem.
  template <class T>
  [[nodiscard]] Result<T> read(T (*read_top)(const JsonObject&));

 private:
  friend class JsonObject;
  struct Root;
  JsonDocument();

  std::unique_ptr<Root> root_;
  std::optional<std::string> problem_;
};

// One object of a document. If a member is missing or of another type, a reader returns an empty value and
// records the document's problem, such as "results[3].findings[0].health: expected a string". The document
// and the enclosing object must outlive it.
class JsonObject {
 public:
  explicit JsonObject(JsonDocument& document);
  JsonObject(const JsonObject&) = delete;
  JsonObject& operator=(const JsonObject&) = delete;
  JsonObject(JsonObject&&) = delete;
  JsonObject& operator=(JsonObject&&) = delete;
  ~JsonObject() = default;

  // Required members.
  [[nodiscard]] std::string word(std::string_view name) const;
  [[nodiscard]] double number(std::string_view name) const;
  [[nodiscard]] int small_integer(std::string_view name) const;
  [[nodiscard]] std::uint64_t count(std::string_view name) const;
  [[nodiscard]] bool flag(std::string_view name) const;
  [[nodiscard]] WallTime time(std::string_view name) const;
  [[nodiscard]] Duration seconds(std::string_view name) const;
  [[nodiscard]] std::vector<std::string> words(std::string_view name) const;
  [[nodiscard]] std::vector<int> small_integers(std::string_view name) const;
  [[nodiscard]] std::vector<double> numbers(std::string_view name) const;
  template <class T>
  [[nodiscard]] T choice(std::string_view name, std::optional<T> (*parse)(std::string_view)) const;
  template <class T>
  [[nodiscard]] T object(std::string_view name, T (*read)(const JsonObject&)) const;
  template <class T>
  [[nodiscard]] std::vector<T> list(std::string_view name, T (*read)(const JsonObject&)) const;

  // Optional members: nullopt if absent or null.
  [[nodiscard]] bool has(std::string_view name) const;
  [[nodiscard]] std::string word_or_empty(std::string_view name) const;
  [[nodiscard]] bool flag_or_false(std::string_view name) const;
  [[nodiscard]] std::optional<WallTime> time_if_any(std::string_view name) const;
  [[nodiscard]] std::optional<double> number_if_any(std::string_view name) const;
  [[nodiscard]] std::optional<Value> value_if_any(std::string_view name) const;
  [[nodiscard]] Attributes attributes(std::string_view name) const;

  // Records a problem for a member of another name: otherwise a misspelled member would be silently ignored.
  void has_only(std::initializer_list<std::string_view> names) const;

 private:
  JsonObject(const JsonObject& parent, const void* members, std::string_view name,
             std::optional<std::size_t> index);

  void note(std::string_view name, std::string_view what) const;
  [[nodiscard]] std::string path() const;
  void visit_object(std::string_view name, const std::function<void(const JsonObject&)>& visit) const;
  void visit_list(std::string_view name, const std::function<void(const JsonObject&)>& visit) const;

  JsonDocument& document_;
  const void* members_;  // an object of the JSON library, visible only in the source
  const JsonObject* parent_ = nullptr;
  std::string_view name_;
  std::optional<std::size_t> index_;
};

template <class T>
Result<T> JsonDocument::read(T (*read_top)(const JsonObject&)) {
  T result = read_top(JsonObject(*this));
  if (problem_) return fail(Errc::malformed, *problem_);
  return result;
}

template <class T>
T JsonObject::choice(std::string_view name, std::optional<T> (*parse)(std::string_view)) const {
  const std::string text = word(name);
  if (const auto parsed = parse(text)) return *parsed;
  note(name, "'" + text.substr(0, 64) + "' is not a valid value");
  return T{};
}

template <class T>
T JsonObject::object(std::string_view name, T (*read)(const JsonObject&)) const {
  T result{};
  visit_object(name, [&](const JsonObject& object) { result = read(object); });
  return result;
}

template <class T>
std::vector<T> JsonObject::list(std::string_view name, T (*read)(const JsonObject&)) const {
  std::vector<T> items;
  visit_list(name, [&](const JsonObject& object) { items.push_back(read(object)); });
  return items;
}

// Writes one JSON document on one line. The caller is responsible for the structure: every member has a name,
// items have none. A member whose number is not finite is omitted. Control characters are escaped.
class JsonWriter {
 public:
  void begin_object();
  void begin_object(std::string_view name);
  void end_object();
  void begin_list(std::string_view name);
  void end_list();

  void word(std::string_view name, std::string_view text);
  // Omitted if empty.
  void word_if_any(std::string_view name, std::string_view text);
  void number(std::string_view name, double number);
  void integer(std::string_view name, std::int64_t number);
  void count(std::string_view name, std::uint64_t number);
  void flag(std::string_view name, bool flag);
  // Omitted if false.
  void flag_if_set(std::string_view name, bool flag);
  void null(std::string_view name);
  void time(std::string_view name, WallTime time);
  // Omitted for the epoch, which means never.
  void time_if_any(std::string_view name, WallTime time);
  void words(std::string_view name, const std::vector<std::string>& words);
  void integers(std::string_view name, const std::vector<int>& numbers);
  // All of them are finite.
  void numbers(std::string_view name, const std::vector<double>& numbers);
  void value(std::string_view name, const Value& value);
  void attributes(std::string_view name, const Attributes& attributes);

  // Returns the document with a line end; the writer is empty afterwards.
  [[nodiscard]] std::string take();

 private:
  void item();
  void name(std::string_view name);
  void text(std::string_view text);

  std::string out_;
  bool needs_comma_ = false;
};

}  // namespace autopilot::api
