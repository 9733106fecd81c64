// SPDX-License-Identifier: Apache-2.0
#include "learning/record_check.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/parse.hpp"
#include "core/text.hpp"
#include "learning/record_members.hpp"

namespace autopilot::learning {
namespace {

template <class T>
constexpr bool is_span = requires(T t) { t.end; };

// Visitor: finds the first member outside its limits.
class RecordProblem {
 public:
  void text(std::string_view name, const std::string& text, std::size_t limit, Need need) {
    if (need == Need::required && text.empty()) return note(name, "missing");
    if (text.size() > limit) return note(name, "longer than " + std::to_string(limit) + " bytes");
    // Databases do not store U+0000 in a text.
    if (text.find('\0') != std::string::npos) return note(name, "contains U+0000");
    if (to_utf8(text) != text) note(name, "not valid UTF-8");
  }
  void time(std::string_view name, WallTime time, Need need) {
    if (need == Need::required && time == WallTime{}) return note(name, "missing");
    if (time < WallTime{} || time > kLatestTime) note(name, "outside 1970 to 2255");
  }
  void time(std::string_view name, const std::optional<WallTime>& time, Need /*need*/) {
    if (time) this->time(name, *time, Need::optional);
  }
  template <class E, std::size_t N>
  void word(std::string_view name, E value, const WordTable<E, N>& table, Need /*need*/) {
    if (word_of(table, value).empty()) note(name, "not a value of the enumeration");
  }
  void action(std::string_view name, const std::optional<Action>& action) {
    if (action && to_string(*action).empty()) note(name, "not a value of the enumeration");
  }
  void integer(std::string_view name, int number, int low, int high) {
    if (number < low || number > high)
      note(name, "expected " + std::to_string(low) + " to " + std::to_string(high));
  }
  void number(std::string_view name, double number, double low, double high) {
    if (!(number >= low && number <= high)) note(name, "out of range");
  }
  void texts(std::string_view name, const std::vector<std::string>& texts, std::size_t most,
             std::size_t longest) {
    if (texts.size() > most) return note(name, "more than " + std::to_string(most) + " items");
    for (const std::string& item : texts)
      text(name, item, longest, Need::required);
  }
  void numbers(std::string_view name, const std::vector<double>& values, std::size_t most, double largest) {
    if (values.empty()) return note(name, "missing");
    if (values.size() > most) return note(name, "more than " + std::to_string(most) + " items");
    for (const double value : values)
      number(name, value, -largest, largest);
  }
  template <class R>
  void list(std::string_view name, const std::vector<R>& items, std::size_t most) {
    if (items.size() > most) return note(name, "more than " + std::to_string(most) + " items");
    for (std::size_t i = 0; i < items.size() && what_.empty(); ++i) {
      members(*this, const_cast<R&>(items[i]));
      if (!what_.empty()) what_.insert(0, std::string(name) + '[' + std::to_string(i) + "].");
    }
  }
  void note(std::string_view name, std::string what) {
    if (what_.empty()) what_ = std::string(name) + ": " + std::move(what);
  }
  [[nodiscard]] const std::string& what() const { return what_; }

 private:
  std::string what_;
};

// Visitor: shortens what is too long.
class RecordFitter {
 public:
  void text(std::string_view name, std::string& text, std::size_t limit, Need /*need*/) {
    if (name == "id") return;
    std::ranges::replace(text, '\0', ' ');
    text = cut_utf8(to_utf8(text), limit);
  }
  template <class T>
  void time(std::string_view /*name*/, T& /*time*/, Need /*need*/) {}
  template <class E, std::size_t N>
  void word(std::string_view /*name*/, E /*value*/, const WordTable<E, N>& /*table*/, Need /*need*/) {}
  void action(std::string_view /*name*/, const std::optional<Action>& /*action*/) {}
  void integer(std::string_view /*name*/, int /*number*/, int /*low*/, int /*high*/) {}
  void number(std::string_view /*name*/, double& number, double low, double high) {
    number = std::isfinite(number) ? std::clamp(number, low, high) : low;
  }
  void texts(std::string_view name, std::vector<std::string>& texts, std::size_t most, std::size_t longest) {
    std::erase(texts, std::string());
    if (texts.size() > most) texts.resize(most);
    for (std::string& item : texts)
      text(name, item, longest, Need::required);
  }
  void numbers(std::string_view /*name*/, std::vector<double>& values, std::size_t most, double largest) {
    std::erase_if(values, [largest](double value) { return !(std::abs(value) <= largest); });
    if (values.size() > most) values.resize(most);
  }
  template <class R>
  void list(std::string_view /*name*/, std::vector<R>& items, std::size_t most) {
    if (items.size() > most) items.resize(most);
    for (R& item : items)
      members(*this, item);
  }
};

template <class T>
WallTime begin_in(const T& record) {
  if constexpr (requires { record.begin; })
    return record.begin;
  else if constexpr (requires { record.start; })
    return record.start;
  else
    return record.time;
}

template <class T>
std::optional<WallTime> end_in(const T& record) {
  if constexpr (is_span<T>)
    return record.end;
  else
    return record.time;
}

}  // namespace

std::string_view type_of(const HistoryRecord& record) {
  return kRecordTypes.at(record.index());
}

const std::string& id_of(const HistoryRecord& record) {
  return std::visit([](const auto& r) -> const std::string& { return r.id; }, record);
}

const Place& place_of(const HistoryRecord& record) {
  return std::visit([](const auto& r) -> const Place& { return r.place; }, record);
}

std::string_view job_of(const HistoryRecord& record) {
  return std::visit(
      [](const auto& r) -> std::string_view {
        if constexpr (requires { r.job; })
          return r.job;
        else
          return {};
      },
      record);
}

std::string_view outcome_of(const HistoryRecord& record) {
  if (const auto* job = std::get_if<NodeJob>(&record)) return word_of(words::kOutcomes, job->outcome);
  if (const auto* fault = std::get_if<Fault>(&record)) return word_of(words::kFaultClasses, fault->kind);
  if (const auto* label = std::get_if<Label>(&record)) return word_of(words::kLabelAnswers, label->answer);
  if (const auto* validation = std::get_if<Validation>(&record))
    return word_of(words::kVerdicts, validation->verdict);
  return {};
}

WallTime begin_of(const HistoryRecord& record) {
  return std::visit([](const auto& r) { return begin_in(r); }, record);
}

std::optional<WallTime> end_of(const HistoryRecord& record) {
  return std::visit([](const auto& r) { return end_in(r); }, record);
}

Status check(const HistoryRecord& record) {
  RecordProblem problem;
  std::visit([&](const auto& r) { members(problem, const_cast<std::remove_cvref_t<decltype(r)>&>(r)); },
             record);
  if (const auto end = end_of(record); end && *end < begin_of(record))
    problem.note("end", "before the begin");
  if (std::holds_alternative<NodeJob>(record) && !place_of(record).gpu.empty())
    problem.note("gpu", "a job is on a node; its GPUs are in `gpus`");
  if (!problem.what().empty()) return fail(Errc::malformed, problem.what());
  return {};
}

void fit(HistoryRecord& record) {
  RecordFitter fitter;
  std::visit([&](auto& r) { members(fitter, r); }, record);
}

}  // namespace autopilot::learning
