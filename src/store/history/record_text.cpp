// SPDX-License-Identifier: Apache-2.0
#include "store/history/record_text.hpp"

#include <boost/json.hpp>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/action.hpp"
#include "learning/record_members.hpp"

namespace autopilot::store {
namespace {

namespace json = boost::json;
using learning::Need;

// Visitor: appends what differs from the default.
class RecordToJson {
 public:
  void text(std::string_view name, const std::string& text, std::size_t /*limit*/, Need /*need*/) {
    if (!text.empty()) object[name] = text;
  }
  void time(std::string_view name, WallTime time, Need /*need*/) {
    object[name] = time.time_since_epoch().count();
  }
  void time(std::string_view name, const std::optional<WallTime>& time, Need need) {
    if (time) this->time(name, *time, need);
  }
  template <class E, std::size_t N>
  void word(std::string_view name, E value, const WordTable<E, N>& table, Need /*need*/) {
    object[name] = word_of(table, value);
  }
  void action(std::string_view name, const std::optional<Action>& action) {
    if (action) object[name] = to_string(*action);
  }
  void integer(std::string_view name, int number, int /*low*/, int /*high*/) { object[name] = number; }
  void number(std::string_view name, double number, double /*low*/, double /*high*/) {
    object[name] = number;
  }
  void texts(std::string_view name, const std::vector<std::string>& texts, std::size_t /*most*/,
             std::size_t /*longest*/) {
    if (!texts.empty()) object[name] = json::array(texts.begin(), texts.end());
  }
  void numbers(std::string_view name, const std::vector<double>& values, std::size_t /*most*/,
               double /*largest*/) {
    object[name] = json::array(values.begin(), values.end());
  }
  template <class R>
  void list(std::string_view name, std::vector<R>& items, std::size_t /*most*/) {
    if (items.empty()) return;
    json::array list;
    for (R& item : items) {
      RecordToJson inner;
      members(inner, item);
      list.push_back(std::move(inner.object));
    }
    object[name] = std::move(list);
  }

  json::object object;
};

// Visitor: reads what is there, and keeps the first member of another type.
class RecordFromJson {
 public:
  RecordFromJson(const json::object& object, std::string& problem) : object_(object), problem_(problem) {}

  void text(std::string_view name, std::string& text, std::size_t /*limit*/, Need /*need*/) {
    if (const auto* value = find(name)) read(name, *value, text);
  }
  void time(std::string_view name, WallTime& time, Need /*need*/) {
    std::int64_t since = time.time_since_epoch().count();
    if (const auto* value = find(name)) read(name, *value, since);
    time = WallTime{Duration{since}};
  }
  void time(std::string_view name, std::optional<WallTime>& time, Need need) {
    if (find(name) != nullptr) this->time(name, time.emplace(), need);
  }
  template <class E, std::size_t N>
  void word(std::string_view name, E& into, const WordTable<E, N>& table, Need /*need*/) {
    std::string word;
    if (const auto* value = find(name)) read(name, *value, word);
    if (word.empty()) return;
    const auto known = value_of(table, word);
    if (!known) return note(name);
    into = *known;
  }
  void action(std::string_view name, std::optional<Action>& action) {
    std::string word;
    if (const auto* value = find(name)) read(name, *value, word);
    if (word.empty()) return;
    action = parse_action(word);
    if (!action) note(name);
  }
  void integer(std::string_view name, int& number, int /*low*/, int /*high*/) {
    if (const auto* value = find(name)) read(name, *value, number);
  }
  void number(std::string_view name, double& number, double /*low*/, double /*high*/) {
    if (const auto* value = find(name)) read(name, *value, number);
  }
  void texts(std::string_view name, std::vector<std::string>& texts, std::size_t /*most*/,
             std::size_t /*longest*/) {
    each(name, [&](const json::value& item) { read(name, item, texts.emplace_back()); });
  }
  void numbers(std::string_view name, std::vector<double>& values, std::size_t /*most*/, double /*largest*/) {
    each(name, [&](const json::value& item) { read(name, item, values.emplace_back()); });
  }
  template <class R>
  void list(std::string_view name, std::vector<R>& items, std::size_t /*most*/) {
    each(name, [&](const json::value& item) {
      if (!item.is_object()) return note(name);
      RecordFromJson inner(item.get_object(), problem_);
      members(inner, items.emplace_back());
    });
  }

 private:
  [[nodiscard]] const json::value* find(std::string_view name) const { return object_.if_contains(name); }
  void note(std::string_view name) {
    if (problem_.empty()) problem_ = name;
  }
  void read(std::string_view name, const json::value& value, std::string& into) {
    if (!value.is_string()) return note(name);
    into.assign(value.get_string().data(), value.get_string().size());
  }
  template <class Number>
    requires std::is_arithmetic_v<Number>
  void read(std::string_view name, const json::value& value, Number& into) {
    json::error_code error;
    const auto number = value.is_number() ? value.to_number<Number>(error) : Number{};
    if (!value.is_number() || error) return note(name);
    into = number;
  }
  template <class Take>
  void each(std::string_view name, const Take& take) {
    const auto* value = find(name);
    if (value == nullptr) return;
    if (!value->is_array()) return note(name);
    for (const auto& item : value->get_array())
      take(item);
  }

  const json::object& object_;
  std::string& problem_;
};

template <class T>
Result<learning::HistoryRecord> record_in(const json::object& object) {
  T record{};
  std::string problem;
  RecordFromJson reader(object, problem);
  members(reader, record);
  if (!problem.empty()) return fail(Errc::malformed, problem + ": of an invalid type or value");
  return learning::HistoryRecord(std::move(record));
}

}  // namespace

std::string to_text(const learning::HistoryRecord& record) {
  RecordToJson writer;
  // The descriptions also serve the reader, which changes the record.
  std::visit([&](const auto& r) { members(writer, const_cast<std::remove_cvref_t<decltype(r)>&>(r)); },
             record);
  return json::serialize(writer.object);
}

Result<learning::HistoryRecord> parse_record(std::string_view type, std::string_view text) {
  json::error_code error;
  const auto value = json::parse(text, error);
  if (error || !value.is_object()) return fail(Errc::malformed, "not a JSON object");
  Result<learning::HistoryRecord> result =
      fail(Errc::malformed, "'" + std::string(type) + "' is not a type of record");
  learning::for_each_record_type([&]<class T>(std::string_view known) {
    if (known == type) result = record_in<T>(value.get_object());
  });
  return result;
}

}  // namespace autopilot::store
