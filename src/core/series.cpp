// SPDX-License-Identifier: Apache-2.0
#include "core/series.hpp"

#include <algorithm>
#include <type_traits>
#include <utility>

namespace autopilot {
namespace {

template <class... Ways>
struct Cases : Ways... {
  using Ways::operator()...;
};
template <class... Ways>
Cases(Ways...) -> Cases<Ways...>;

}  // namespace

std::optional<std::uint32_t> Words::number_of(std::string_view word) {
  const auto known = std::ranges::find(words_, word);
  if (known == words_.end()) {
    if (words_.size() >= kMax) return std::nullopt;
    words_.emplace_back(word);
    return static_cast<std::uint32_t>(words_.size() - 1);
  }
  return static_cast<std::uint32_t>(known - words_.begin());
}

bool Series::add(MonoTime time, const Value& value, Words& words) {
  if (!samples_.empty() && samples_.back().time >= time) return false;
  if (const auto* text = std::get_if<std::string>(&value)) {
    const auto number = words.number_of(*text);
    if (!number) return false;
    samples_.push_back({time, Word{*number}});
    return true;
  }
  std::visit(
      [&](const auto& number) {
        if constexpr (!std::is_same_v<std::decay_t<decltype(number)>, std::string>)
          samples_.push_back({time, number});
      },
      value);
  return true;
}

void Series::forget_before(MonoTime time) {
  const auto kept =
      std::ranges::find_if(samples_, [time](const Kept& sample) { return sample.time >= time; });
  samples_.erase(samples_.begin(), kept);
}

std::vector<Sample> Series::samples(const Words& words) const {
  std::vector<Sample> all;
  all.reserve(samples_.size());
  for (const Kept& kept : samples_)
    all.push_back({kept.time, std::visit(Cases{[&words](Word word) { return Value{words.word(word.number)}; },
                                               [](auto number) { return Value{number}; }},
                                         kept.value)});
  return all;
}

std::optional<Growth> Series::growth(MonoTime begin) const {
  Growth growth;
  const Kept* first = nullptr;
  const Kept* previous = nullptr;
  double old_value = 0;
  for (const Kept& sample : samples_) {
    if (sample.time < begin || std::holds_alternative<Word>(sample.value)) continue;
    const double value =
        std::visit(Cases{[](Word) { return 0.0; }, [](auto number) { return static_cast<double>(number); }},
                   sample.value);
    if (first == nullptr) {
      first = &sample;
    } else if (value < old_value) {
      ++growth.resets;
      growth.delta += value;
    } else {
      growth.delta += value - old_value;
    }
    old_value = value;
    previous = &sample;
  }
  if (first == nullptr || previous == first) return std::nullopt;
  growth.interval = previous->time - first->time;
  return growth;
}

}  // namespace autopilot
