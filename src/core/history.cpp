// SPDX-License-Identifier: Apache-2.0

#include "core/history.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <type_traits>
#include <utility>

namespace autopilot {

namespace {

// The identity of an event.
std::pair<std::string, std::uint64_t> key_of(const Observation& event) {
  return {event.source, event.sequence.value_or(0)};
}

std::size_t kind_of(const Observation& event) {
  std::size_t kind = std::hash<std::string_view>{}(event.name);
  kind = kind * 31 + std::hash<std::string_view>{}(event.subject.key);
  return event.value ? kind * 31 + std::hash<Value>{}(*event.value) : kind;
}

}  // namespace

void History::append(const Observation& observation) {
  if (!observation.value) return;
  auto found = series_.find(SeriesView(observation.subject, observation.name));
  if (found == series_.end()) {
    if (series_.size() >= kMaxSeries) {
      ++dropped_;
      return;
    }
    SeriesKey key{observation.subject.kind, observation.subject.key, observation.name};
    found = series_.emplace(std::move(key), Series{}).first;
  }
  Series& series = found->second;
  if (!series.add(observation.time.mono, *observation.value, words_)) return;
  if (series.size() <= kMaxSamplesPerSeries) return;
  series.forget_oldest();
  ++dropped_;
}

void History::append_event(Observation event) {
  if (!event_keys_.insert(key_of(event)).second) return;
  // Two sources can report the same moments in turn; nearly always the position is the end.
  auto place = events_.end();
  while (place != events_.begin() && std::prev(place)->time.mono > event.time.mono)
    --place;
  event.attributes.shrink_to_fit();  // events are kept for hours
  ++alike_[kind_of(event)];
  events_.insert(place, std::move(event));
  if (events_.size() > kMaxEvents) drop_an_event();
}

void History::drop_an_event() {
  const auto by_count = [](const auto& one) { return one.second; };
  const std::size_t most = std::ranges::max_element(alike_, {}, by_count)->second;
  erase_event(std::ranges::find_if(
      events_, [&](const Observation& event) { return alike_.at(kind_of(event)) == most; }));
  ++dropped_;
}

void History::erase_event(const std::deque<Observation>::const_iterator& event) {
  event_keys_.erase(key_of(*event));
  if (const auto alike = alike_.find(kind_of(*event)); --alike->second == 0) alike_.erase(alike);
  events_.erase(event);
}

void History::add(Observations round, Duration window) {
  // A log record is read after it happened, with a clock that differs slightly from ours: only the other
  // observations of this run give the time of the run.
  std::optional<MonoTime> looked;
  for (const auto& observation : round)
    if (!observation.is_event() && (!looked || observation.time.mono > *looked))
      looked = observation.time.mono;
  if (looked && latest_time_ && *looked < *latest_time_) return;

  ++rounds_;
  const auto events = std::ranges::stable_partition(round, std::not_fn(&Observation::is_event));
  for (Observation& event : events)
    append_event(std::move(event));
  round.erase(events.begin(), events.end());
  round.shrink_to_fit();
  for (const Observation& observation : round)
    append(observation);
  latest_ = std::move(round);
  if (looked) latest_time_ = looked;
  if (latest_time_)
    forget_before(*latest_time_ - window);
  else if (!events_.empty())
    forget_before(events_.back().time.mono - window);
}

void History::restore(const Observation& sample) {
  append(sample);
}

void History::forget_before(MonoTime time) {
  for (auto entry = series_.begin(); entry != series_.end();) {
    entry->second.forget_before(time);
    entry = entry->second.empty() ? series_.erase(entry) : std::next(entry);
  }
  while (!events_.empty() && events_.front().time.mono < time)
    erase_event(events_.begin());
}

const Observation* History::find(const Subject& subject, std::string_view name) const {
  for (const auto& observation : latest_)
    if (observation.name == name && observation.subject == subject) return &observation;
  return nullptr;
}

std::optional<double> History::number(const Subject& subject, std::string_view name) const {
  const Observation* observation = find(subject, name);
  if (observation == nullptr || !observation->value) return std::nullopt;
  return as_number(*observation->value);
}

std::optional<std::string> History::word(const Subject& subject, std::string_view name) const {
  const Observation* observation = find(subject, name);
  if (observation == nullptr || !observation->value) return std::nullopt;
  const auto* text = std::get_if<std::string>(&*observation->value);
  return text == nullptr ? std::nullopt : std::optional<std::string>(*text);
}

std::vector<Subject> History::subjects(SubjectKind kind) const {
  std::vector<Subject> found;
  for (const auto& observation : latest_) {
    if (observation.subject.kind != kind) continue;
    const auto known = std::find(found.begin(), found.end(), observation.subject);
    if (known == found.end()) {
      found.push_back(observation.subject);
      continue;
    }
    if (!known->index) known->index = observation.subject.index;
    if (known->uuid.empty()) known->uuid = observation.subject.uuid;
    if (known->serial.empty()) known->serial = observation.subject.serial;
  }
  return found;
}

std::vector<Sample> History::samples(const Subject& subject, std::string_view name) const {
  const auto found = series_.find(SeriesView(subject, name));
  if (found == series_.end()) return {};
  return found->second.samples(words_);
}

std::optional<Growth> History::growth(const Subject& subject, std::string_view name, Instant now,
                                      Duration window) const {
  const auto found = series_.find(SeriesView(subject, name));
  if (found == series_.end()) return std::nullopt;
  return found->second.growth(now.mono - window);
}

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
