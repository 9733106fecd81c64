// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/job_members.hpp"

namespace autopilot::api::job_format {

// Visitor: appends the members of a record that are known.
class JobLineWriter {
 public:
  explicit JobLineWriter(std::string& out) : out_(out) {}

  void begin(std::string_view type) {
    out_ += "{\"type\":";
    write_text(type);
  }
  void begin() {
    out_ += '{';
    is_first_ = true;
  }
  void end() { out_ += '}'; }

  void name(std::string_view name, const std::string& text, Need need) { this->text(name, text, 0, need); }
  void subject(std::string_view name, const std::string& text) { this->text(name, text, 0, Need::required); }
  void text(std::string_view name, const std::string& text, std::size_t /*limit*/, Need need) {
    if (text.empty() && need == Need::optional) return;
    write_name(name);
    write_text(text);
  }
  void integer(std::string_view name, std::int64_t number, std::int64_t /*low*/, std::int64_t /*high*/,
               Need /*need*/) {
    write_name(name);
    write_integer(number);
  }
  template <class T>
  void integer(std::string_view name, const std::optional<T>& number, std::int64_t low, std::int64_t high,
               Need need) {
    if (number) integer(name, std::int64_t{*number}, low, high, need);
  }
  void integer_if_positive(std::string_view name, std::int64_t number, std::int64_t high) {
    if (number > 0) integer(name, number, 1, high, Need::optional);
  }
  void number(std::string_view name, double number, double /*low*/, double /*high*/, Need /*need*/) {
    if (!std::isfinite(number)) return;
    write_name(name);
    write_number(number);
  }
  void number(std::string_view name, const std::optional<double>& number, double low, double high,
              Need need) {
    if (number) this->number(name, *number, low, high, need);
  }
  void seconds(std::string_view name, Duration duration, double /*low*/, double /*high*/, Need /*need*/) {
    write_name(name);
    write_seconds(duration);
  }
  void seconds(std::string_view name, const std::optional<Duration>& duration, double low, double high,
               Need need) {
    if (duration) seconds(name, *duration, low, high, need);
  }
  void time(std::string_view name, WallTime time, Need /*need*/) {
    write_name(name);
    write_seconds(time.time_since_epoch());
  }
  void time(std::string_view name, const std::optional<WallTime>& time, Need need) {
    if (time) this->time(name, *time, need);
  }
  template <class E, std::size_t N>
  void word(std::string_view name, E value, const WordTable<E, N>& table, Need /*need*/) {
    write_name(name);
    write_text(word_of(table, value));
  }
  void flag(std::string_view name, bool flag, bool if_missing = false) {
    if (flag == if_missing) return;
    write_name(name);
    out_ += flag ? "true" : "false";
  }
  void loss(std::string_view name, const std::optional<double>& loss) {
    if (!loss) return;
    write_name(name);
    if (std::isfinite(*loss))
      write_number(*loss);
    else
      out_ += "\"nan\"";
  }
  void integers(std::string_view name, const std::vector<int>& values, std::size_t /*limit*/, int /*high*/,
                Need need) {
    if (values.empty() && need == Need::optional) return;
    write_list(name, values, [this](int value) { write_integer(value); });
  }
  void counts(std::string_view name, const std::vector<std::optional<std::int64_t>>& values,
              std::size_t /*limit*/, Need need) {
    if (values.empty() && need == Need::optional) return;
    write_list(name, values, [this](const auto& value) {
      if (value)
        write_integer(*value);
      else
        out_ += "null";
    });
  }
  void powers(std::string_view name, const std::vector<float>& values) { write_floats(name, values); }
  template <class R>
  void list(std::string_view name, const std::vector<R>& records, std::size_t /*limit*/, Need need) {
    if (records.empty() && need == Need::optional) return;
    write_list(name, records, [this](const R& record) {
      begin();
      members(*this, const_cast<R&>(record));
      end();
      is_first_ = false;
    });
  }
  template <class Describe>
  void object(std::string_view name, bool is_known, const Describe& describe) {
    if (!is_known) return;
    write_name(name);
    begin();
    describe(*this);
    end();
    is_first_ = false;
  }
  void table(std::string_view name, jobs::Table table, const jobs::WindowRecord& record);
  void host(std::string_view name, const jobs::WindowRecord& record);

 private:
  template <class T, class Write>
  void write_list(std::string_view name, const std::vector<T>& items, const Write& write) {
    write_name(name);
    out_ += '[';
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (i > 0) out_ += ',';
      write(items[i]);
    }
    out_ += ']';
  }
  void write_name(std::string_view name);
  void write_text(std::string_view text);
  void write_integer(std::int64_t number);
  void write_number(double number);
  void write_float(float number);
  void write_floats(std::string_view name, const std::vector<float>& values);
  void write_seconds(Duration duration);
  void write_keys(jobs::Table table, const jobs::WindowRecord& record);

  std::string& out_;
  bool is_first_ = false;  // of its object; the type precedes the others of a line
};

}  // namespace autopilot::api::job_format
