// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitset>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "api/job_checks.hpp"
#include "api/job_members.hpp"
#include "api/json_cursor.hpp"

namespace autopilot::api::job_format {

// A line that is being read: the cursor, and the path to the value with the problem, collected from its end.
class JobLineReader {
 public:
  explicit JobLineReader(std::string_view line) : json_(line) {}

  [[nodiscard]] JsonCursor& json() { return json_; }
  // Adds a part of the path to the problem; returns false.
  bool within(std::string_view member);
  bool within(std::size_t index);
  bool fail(std::string what) { return json_.fail(what); }
  // "gpu.power_w[3]: -1 is below 0"
  [[nodiscard]] std::string problem() const;

  bool read_name(std::string& name);
  bool read_text(std::string& text, std::size_t bytes);
  bool read_integer(std::int64_t& number, std::int64_t low, std::int64_t high);
  bool read_number(double& number, double low, double high);
  bool read_nanoseconds(std::int64_t& time, double low, double high);
  bool read_subject(std::string& subject);
  bool read_loss(std::optional<double>& loss);
  bool read_floats(std::vector<float>& values, double low, double high, std::size_t limit);
  // Calls read() for each item; it reports the path of an item's problem.
  template <class Read>
  bool read_list(std::size_t limit, Read read);
  bool read_table(jobs::Table table, jobs::WindowRecord& record);
  bool read_host(jobs::WindowRecord& record);
  template <class R>
  bool read_object(R& record);
  // The whole line.
  template <class R>
  bool read_line(R& record);
  // As read_object; `describe` takes the visitor.
  template <class Describe>
  bool read_members(const Describe& describe);

 private:
  template <class R>
  bool check(const R& record);
  bool read_keys(jobs::Table table, std::string_view name, jobs::WindowRecord& record, std::size_t& rows);
  bool read_column(jobs::Table table, std::string_view name, jobs::WindowRecord& record, bool is_single);
  bool check_keys(jobs::Table table, const jobs::WindowRecord& record);
  bool fail_length(std::size_t expected, std::size_t found, std::string_view member);

  JsonCursor json_;
  std::vector<std::string> path_;  // from its end
  std::size_t next_metric_ = 0;    // where the next column is likely to be in kMetrics
  std::bitset<jobs::kMetrics.size()> seen_metrics_;
};

// Visitor: reads the value of the member `key`, or finds required members that are missing.
class MemberReader {
 public:
  explicit MemberReader(JobLineReader& line) : line_(line) {}

  void select(std::string_view key) {
    key_ = key;
    is_found_ = false;
    index_ = 0;
  }
  void check_required() {
    is_checking_ = true;
    index_ = 0;
  }
  [[nodiscard]] bool is_found() const { return is_found_; }

  void type(std::string_view name) {
    member(name, Need::required, [&] { return line_.json().skip_value(); });
  }
  void name(std::string_view name, std::string& text, Need need) {
    member(name, need, [&] { return line_.read_name(text); });
  }
  void text(std::string_view name, std::string& text, std::size_t bytes, Need need) {
    member(name, need, [&] { return line_.read_text(text, bytes); });
  }
  template <class T>
  void integer(std::string_view name, T& number, std::int64_t low, std::int64_t high, Need need) {
    member(name, need, [&] {
      std::int64_t value = 0;
      if (!line_.read_integer(value, low, high)) return false;
      if constexpr (std::is_integral_v<T>)
        number = static_cast<T>(value);
      else
        number = static_cast<typename T::value_type>(value);
      return true;
    });
  }
  template <class T>
  void integer_if_positive(std::string_view name, T& number, std::int64_t high) {
    integer(name, number, 1, high, Need::optional);
  }
  template <class T>
  void number(std::string_view name, T& number, double low, double high, Need need) {
    member(name, need, [&] {
      double value = 0;
      if (!line_.read_number(value, low, high)) return false;
      number = value;
      return true;
    });
  }
  template <class T>
  void seconds(std::string_view name, T& duration, double low, double high, Need need) {
    member(name, need, [&] {
      std::int64_t value = 0;
      if (!line_.read_nanoseconds(value, low, high)) return false;
      duration = Duration{value};
      return true;
    });
  }
  template <class T>
  void time(std::string_view name, T& time, Need need) {
    member(name, need, [&] {
      std::int64_t value = 0;
      if (!line_.read_nanoseconds(value, 0, kLatestTime)) return false;
      time = WallTime{Duration{value}};
      return true;
    });
  }
  template <class E, std::size_t N>
  void word(std::string_view name, E& value, const WordTable<E, N>& table, Need need) {
    member(name, need, [&] {
      std::string text;
      if (!line_.json().read_text(text)) return false;
      const auto known = value_of(table, text);
      if (!known) return line_.fail("'" + text.substr(0, 64) + "' is not a valid value");
      value = *known;
      return true;
    });
  }
  void flag(std::string_view name, bool& flag, bool /*if_missing*/ = false) {
    member(name, Need::optional, [&] { return line_.json().read_flag(flag); });
  }
  void loss(std::string_view name, std::optional<double>& loss) {
    member(name, Need::optional, [&] { return line_.read_loss(loss); });
  }
  void subject(std::string_view name, std::string& subject) {
    member(name, Need::required, [&] { return line_.read_subject(subject); });
  }
  void integers(std::string_view name, std::vector<int>& values, std::size_t limit, int high, Need need) {
    member(name, need, [&] {
      return line_.read_list(limit, [&] {
        std::int64_t value = 0;
        if (!line_.read_integer(value, 0, high)) return false;
        values.push_back(static_cast<int>(value));
        return true;
      });
    });
  }
  void counts(std::string_view name, std::vector<std::optional<std::int64_t>>& values, std::size_t limit,
              Need need) {
    member(name, need, [&] {
      return line_.read_list(limit, [&] {
        std::int64_t value = 0;
        const bool is_unknown = line_.json().take_null();
        if (!is_unknown && !line_.read_integer(value, 0, kMostInteger)) return false;
        values.push_back(is_unknown ? std::nullopt : std::optional(value));
        return true;
      });
    });
  }
  void powers(std::string_view name, std::vector<float>& values) {
    constexpr std::size_t longest_window = 60;
    member(name, Need::required, [&] { return line_.read_floats(values, 0, kMostWatts, longest_window); });
  }
  template <class R>
  void list(std::string_view name, std::vector<R>& records, std::size_t limit, Need need) {
    member(name, need,
           [&] { return line_.read_list(limit, [&] { return line_.read_object(records.emplace_back()); }); });
  }
  template <class Describe>
  void object(std::string_view name, bool /*is_known*/, const Describe& describe) {
    member(name, Need::optional, [&] { return line_.read_members(describe); });
  }
  void table(std::string_view name, jobs::Table table, jobs::WindowRecord& record) {
    member(name, Need::optional, [&] { return line_.read_table(table, record); });
  }
  void host(std::string_view name, jobs::WindowRecord& record) {
    member(name, Need::optional, [&] { return line_.read_host(record); });
  }

 private:
  static constexpr double kLatestTime = 9e9;  // s: the year 2255, within 64 bits of nanoseconds

  template <class Read>
  void member(std::string_view name, Need need, const Read& read) {
    const std::uint32_t bit = std::uint32_t{1} << index_++;
    if (is_checking_) {
      if (need == Need::required && (given_ & bit) == 0 && !line_.json().has_failed()) {
        line_.fail("missing");
        line_.within(name);
      }
      return;
    }
    if (is_found_ || name != key_) return;
    is_found_ = true;
    bool is_read = false;
    if ((seen_ & bit) != 0)
      line_.fail("appears twice");
    else if (line_.json().take_null())
      is_read = true;
    else if (read()) {
      given_ |= bit;
      is_read = true;
    }
    seen_ |= bit;
    if (!is_read) line_.within(name);
  }

  JobLineReader& line_;
  std::string_view key_;
  bool is_found_ = false;
  bool is_checking_ = false;
  unsigned index_ = 0;
  std::uint32_t seen_ = 0;
  std::uint32_t given_ = 0;
};

template <class Read>
bool JobLineReader::read_list(std::size_t limit, Read read) {
  if (!json_.enter_list()) return false;
  for (std::size_t index = 0; json_.next_item(); ++index) {
    if (index == limit) return fail("more than " + std::to_string(limit) + " items");
    if (!read()) return within(index);
  }
  return !json_.has_failed();
}

template <class Describe>
bool JobLineReader::read_members(const Describe& describe) {
  MemberReader members(*this);
  std::string_view name;
  if (!json_.enter_object()) return false;
  while (json_.next_member(name)) {
    members.select(name);
    describe(members);
    if (members.is_found()) continue;
    if (!name.starts_with("x_")) fail("unknown member");
    if (json_.has_failed() || !json_.skip_value()) return within(name.substr(0, kLongestName));
  }
  if (json_.has_failed()) return false;
  members.check_required();
  describe(members);
  return !json_.has_failed();
}

template <class R>
bool JobLineReader::read_object(R& record) {
  return read_members([&](auto& visitor) { members(visitor, record); }) && check(record);
}

template <class R>
bool JobLineReader::read_line(R& record) {
  const auto describe = [&](auto& visitor) {
    visitor.type("type");
    members(visitor, record);
  };
  return read_members(describe) && json_.expect_end() && check(record);
}

template <class R>
bool JobLineReader::check(const R& record) {
  auto problem = find_problem(record);
  if (!problem) return true;
  fail(std::move(problem->what));
  return within(problem->member);
}

}  // namespace autopilot::api::job_format
