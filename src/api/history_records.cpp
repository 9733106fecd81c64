// SPDX-License-Identifier: Apache-2.0
#include "api/history_records.hpp"

#include <cmath>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "api/json.hpp"
#include "api/json_cursor.hpp"
#include "core/action.hpp"
#include "core/text.hpp"
#include "learning/record_check.hpp"
#include "learning/record_members.hpp"

namespace autopilot::api {
namespace {

using learning::HistoryRecord;
using learning::Need;

// A line that is being read, and the path to the value with the problem.
struct HistoryLine {
  explicit HistoryLine(std::string_view line) : json(line) {}

  bool fail(const std::string& what) { return json.fail(what); }
  // Adds the part before the path; returns false.
  bool within(std::string_view part) {
    const bool needs_dot = !path.empty() && !path.starts_with('[');
    path.insert(0, std::string(part) + (needs_dot ? "." : ""));
    return false;
  }
  [[nodiscard]] std::string problem() const {
    return path.empty() ? json.problem() : path + ": " + json.problem();
  }

  JsonCursor json;
  std::string path;
};

bool read_limited(HistoryLine& line, std::string& text, std::size_t limit) {
  if (!line.json.read_text(text)) return false;
  return text.size() <= limit || line.fail("longer than " + std::to_string(limit) + " bytes");
}

bool read_exact_time(HistoryLine& line, WallTime& time) {
  std::string text;
  if (!line.json.read_text(text)) return false;
  const auto parsed = parse_time(text);
  if (!parsed)
    return line.fail("expected a time such as 2026-11-21T03:04:05Z, not '" + std::string(cut_utf8(text, 64)) +
                     "'");
  time = *parsed;
  return true;
}

bool refuse_word(HistoryLine& line, const std::string& word, const std::vector<std::string>& known) {
  std::string what = "'" + std::string(cut_utf8(word, 64)) + "' is not a valid value; expected one of ";
  for (std::size_t i = 0; i < known.size(); ++i)
    what += (i == 0 ? "" : ", ") + known[i];
  return line.fail(what);
}

// Visitor of one object: reads the value of the selected member, finds required members that are missing, or
// lists the names of all members.
class HistoryMembers {
 public:
  explicit HistoryMembers(HistoryLine& line) : line_(line) {}

  template <class R>
  bool read(R& record, bool is_line) {
    std::string_view name;
    if (!line_.json.enter_object()) return false;
    while (line_.json.next_member(name)) {
      select(name);
      if (is_line) member("type", Need::required, [this] { return line_.json.skip_value(); });
      members(*this, record);
      if (!is_found_) refuse(name, record);
      if (line_.json.has_failed()) return false;
    }
    if (line_.json.has_failed()) return false;
    step_ = Step::check;
    index_ = is_line ? 1 : 0;
    members(*this, record);
    return !line_.json.has_failed();
  }

  void text(std::string_view name, std::string& text, std::size_t limit, Need need) {
    member(name, need, [&] {
      if (!read_limited(line_, text, limit)) return false;
      return need == Need::optional || !text.empty() || line_.fail("empty");
    });
  }
  void time(std::string_view name, WallTime& time, Need need) {
    member(name, need, [&] { return read_exact_time(line_, time); });
  }
  void time(std::string_view name, std::optional<WallTime>& time, Need need) {
    member(name, need, [&] { return read_exact_time(line_, time.emplace()); });
  }
  template <class E, std::size_t N>
  void word(std::string_view name, E& value, const WordTable<E, N>& table, Need need) {
    member(name, need, [&] {
      std::string text;
      if (!line_.json.read_text(text)) return false;
      if (const auto known = value_of(table, text)) {
        value = *known;
        return true;
      }
      std::vector<std::string> words;
      for (const auto& [known, word] : table)
        words.emplace_back(word);
      return refuse_word(line_, text, words);
    });
  }
  void action(std::string_view name, std::optional<Action>& action) {
    member(name, Need::optional, [&] {
      std::string text;
      if (!line_.json.read_text(text)) return false;
      action = parse_action(text);
      return action.has_value() || line_.fail("'" + std::string(cut_utf8(text, 64)) + "' is not an action");
    });
  }
  void integer(std::string_view name, int& number, int low, int high) {
    member(name, Need::optional, [&] {
      JsonNumber read;
      if (!line_.json.read_number(read)) return false;
      const auto integer = read.integer();
      if (!integer || *integer < low || *integer > high)
        return line_.fail("expected an integer from " + std::to_string(low) + " to " + std::to_string(high));
      number = static_cast<int>(*integer);
      return true;
    });
  }
  void number(std::string_view name, double& number, double low, double high) {
    member(name, Need::optional, [&] { return read_in_range(number, low, high); });
  }
  void texts(std::string_view name, std::vector<std::string>& texts, std::size_t most, std::size_t longest) {
    items(name, Need::optional, most, [&] {
      if (!read_limited(line_, texts.emplace_back(), longest)) return false;
      return !texts.back().empty() || line_.fail("empty");
    });
  }
  void numbers(std::string_view name, std::vector<double>& values, std::size_t most, double largest) {
    items(name, Need::required, most,
          [&] { return read_in_range(values.emplace_back(), -largest, largest); });
  }
  template <class R>
  void list(std::string_view name, std::vector<R>& records, std::size_t most) {
    items(name, Need::optional, most,
          [&] { return HistoryMembers(line_).read(records.emplace_back(), false); });
  }

 private:
  enum class Step : std::uint8_t { read, check, list };

  void select(std::string_view name) {
    key_ = name;
    is_found_ = false;
    index_ = 0;
  }

  bool read_in_range(double& number, double low, double high) {
    JsonNumber read;
    if (!line_.json.read_number(read)) return false;
    number = read.value;
    return (number >= low && number <= high) || line_.fail("out of range");
  }

  template <class ReadItem>
  void items(std::string_view name, Need need, std::size_t most, const ReadItem& read_item) {
    member(name, need, [&] {
      if (!line_.json.enter_list()) return false;
      for (std::size_t index = 0; line_.json.next_item(); ++index) {
        if (index == most) return line_.fail("more than " + std::to_string(most) + " items");
        if (!read_item()) return line_.within("[" + std::to_string(index) + "]");
      }
      return !line_.json.has_failed();
    });
  }

  // A member that is null is absent.
  template <class Read>
  void member(std::string_view name, Need need, const Read& read) {
    const std::uint32_t bit = std::uint32_t{1} << index_++;
    if (step_ == Step::list) return names_.emplace_back(name), void();
    if (step_ == Step::check) {
      if (need == Need::required && (given_ & bit) == 0 && !line_.json.has_failed()) note(name, "missing");
      return;
    }
    if (is_found_ || name != key_) return;
    is_found_ = true;
    if ((seen_ & bit) != 0) return note(name, "appears twice");
    seen_ |= bit;
    if (line_.json.take_null()) return;
    if (read())
      given_ |= bit;
    else
      line_.within(name);
  }

  void note(std::string_view name, const std::string& what) {
    line_.fail(what);
    line_.within(name);
  }

  template <class R>
  void refuse(std::string_view name, R& record) {
    step_ = Step::list;
    members(*this, record);
    const std::string shown(cut_utf8(name, 64));
    const auto near = nearest_word(shown, names_);
    note(shown, near ? "unknown member; did you mean " + *near + "?" : "unknown member");
  }

  HistoryLine& line_;
  Step step_ = Step::read;
  std::string_view key_;
  bool is_found_ = false;
  unsigned index_ = 0;
  std::uint32_t seen_ = 0;
  std::uint32_t given_ = 0;
  std::vector<std::string> names_;
};

// Visitor: writes what is known.
class HistoryMemberWriter {
 public:
  explicit HistoryMemberWriter(JsonWriter& json) : json_(json) {}

  void text(std::string_view name, const std::string& text, std::size_t /*limit*/, Need /*need*/) {
    json_.word_if_any(name, text);
  }
  void time(std::string_view name, WallTime time, Need /*need*/) {
    json_.word(name, format_exact_time(time));
  }
  void time(std::string_view name, const std::optional<WallTime>& time, Need need) {
    if (time) this->time(name, *time, need);
  }
  template <class E, std::size_t N>
  void word(std::string_view name, E value, const WordTable<E, N>& table, Need /*need*/) {
    json_.word(name, word_of(table, value));
  }
  void action(std::string_view name, const std::optional<Action>& action) {
    if (action) json_.word(name, to_string(*action));
  }
  void integer(std::string_view name, int number, int /*low*/, int /*high*/) {
    if (number != 0) json_.integer(name, number);
  }
  void number(std::string_view name, double number, double /*low*/, double /*high*/) {
    if (number != 0) json_.number(name, number);
  }
  void texts(std::string_view name, const std::vector<std::string>& texts, std::size_t /*most*/,
             std::size_t /*longest*/) {
    if (!texts.empty()) json_.words(name, texts);
  }
  void numbers(std::string_view name, const std::vector<double>& values, std::size_t /*most*/,
               double /*largest*/) {
    json_.numbers(name, values);
  }
  template <class R>
  void list(std::string_view name, std::vector<R>& records, std::size_t /*most*/) {
    if (records.empty()) return;
    json_.begin_list(name);
    for (R& record : records) {
      json_.begin_object();
      members(*this, record);
      json_.end_object();
    }
    json_.end_list();
  }

 private:
  JsonWriter& json_;
};

std::string known_types() {
  std::string types;
  for (const std::string_view type : learning::kRecordTypes)
    types += (types.empty() ? "" : ", ") + std::string(type);
  return types;
}

Result<std::string> history_type_of(std::string_view line) {
  JsonCursor json(line);
  std::string_view name;
  std::string type;
  json.enter_object();
  while (json.next_member(name)) {
    if (name != "type") {
      json.skip_value();
    } else if (json.read_text(type)) {
      return type;
    }
  }
  if (json.has_failed()) return fail(Errc::malformed, json.problem());
  return fail(Errc::malformed, "type: missing; expected one of " + known_types());
}

template <class T>
Result<HistoryRecord> parse_history_as(std::string_view text) {
  HistoryLine line(text);
  T record{};
  const bool is_read = HistoryMembers(line).read(record, true) && line.json.expect_end();
  if (!is_read) return fail(Errc::malformed, line.problem());
  HistoryRecord parsed(std::move(record));
  TRY_STATUS(learning::check(parsed));
  return parsed;
}

}  // namespace

Result<HistoryRecord> parse_history_line(std::string_view line) {
  if (line.size() > kLongestHistoryLine)
    return fail(Errc::malformed, "longer than " + std::to_string(kLongestHistoryLine) + " bytes");
  const std::string type = TRY(history_type_of(line));
  Result<HistoryRecord> result =
      fail(Errc::malformed, "type: '" + std::string(cut_utf8(type, 64)) +
                                "' is not a type of record; expected one of " + known_types());
  learning::for_each_record_type([&]<class T>(std::string_view known) {
    if (known == type) result = parse_history_as<T>(line);
  });
  return result;
}

std::string to_history_line(const HistoryRecord& record) {
  JsonWriter json;
  json.begin_object();
  json.word("type", learning::type_of(record));
  HistoryMemberWriter writer(json);
  // The descriptions also serve the reader, which changes the record.
  std::visit([&](const auto& r) { members(writer, const_cast<std::remove_cvref_t<decltype(r)>&>(r)); },
             record);
  json.end_object();
  return json.take();
}

std::string format_exact_time(WallTime time) {
  std::string text = format_time(time);
  const auto below_ms =
      static_cast<unsigned>((time.time_since_epoch() % std::chrono::milliseconds{1}).count());
  if (below_ms == 0) return text;
  std::string digits = std::to_string(below_ms);
  digits.insert(0, 6 - digits.size(), '0');
  text.insert(text.size() - 1, digits);
  return text;
}

}  // namespace autopilot::api
