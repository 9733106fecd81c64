// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/observation.hpp"
#include "core/series.hpp"

namespace autopilot {

// Observations of one check: the latest run, the samples of every series within its window, and the events
// within it. Plain data without clock or lock. The runtime owns one per check; judge reads it.
class History {
 public:
  static constexpr std::size_t kMaxSamplesPerSeries = 720;
  static constexpr std::size_t kMaxSeries = 8192;
  static constexpr std::size_t kMaxEvents = 512;

  // Adds all observations of one run. An event that is already held (same source and sequence) is not added
  // again. A run whose observations (except events) are older than those of the latest run is ignored. Data
  // older than `window` before the latest run is dropped. At a limit, the oldest samples are dropped, and of
  // events the oldest of the most frequent kind (same name, subject and value), so that a storm does not
  // displace a rare event.
  void add(Observations round, Duration window);
  // Drops samples and events before that moment. For the owner, which knows the time: a run without
  // observations does not carry it.
  void forget_before(MonoTime time);
  // Adds an event that was not part of a run; an event that is already held is not added again.
  void add_event(Observation event) { append_event(std::move(event)); }
  // Adds a sample from before this process (from the journal), older than every run. It does not become part
  // of the latest run.
  void restore(const Observation& sample);

  [[nodiscard]] bool empty() const { return rounds_ == 0; }
  [[nodiscard]] std::size_t rounds() const { return rounds_; }
  // The last run without its events, in the order of observe.
  [[nodiscard]] const SharedObservations& latest() const { return latest_; }
  // The observation of that name and subject in the last run, with or without a value.
  [[nodiscard]] const Observation* find(const Subject& subject, std::string_view name) const;
  // Its value as a number; nullopt if it is missing or a string.
  [[nodiscard]] std::optional<double> number(const Subject& subject, std::string_view name) const;
  // Its value as a string; nullopt if it is missing or a number.
  [[nodiscard]] std::optional<std::string> word(const Subject& subject, std::string_view name) const;
  // Subjects of that kind in the last run, in order of first occurrence, each once, with index, uuid and
  // serial if any observation has them.
  [[nodiscard]] std::vector<Subject> subjects(SubjectKind kind) const;

  // Oldest first.
  [[nodiscard]] std::vector<Sample> samples(const Subject& subject, std::string_view name) const;
  // Growth over the samples not older than `window` before `now`; nullopt for fewer than two samples.
  [[nodiscard]] std::optional<Growth> growth(const Subject& subject, std::string_view name, Instant now,
                                             Duration window) const;
  // Oldest first.
  [[nodiscard]] const std::deque<Observation>& events() const { return events_; }
  // Events and samples dropped because a limit was reached.
  [[nodiscard]] std::size_t dropped() const { return dropped_; }

 private:
  void append(const Observation& observation);
  void append_event(Observation event);
  void drop_an_event();
  void erase_event(const std::deque<Observation>::const_iterator& event);

  std::map<SeriesKey, Series, SeriesOrder> series_;
  Words words_;
  std::deque<Observation> events_;
  std::set<std::pair<std::string, std::uint64_t>> event_keys_;
  std::unordered_map<std::size_t, std::size_t> alike_;  // number of events of each kind
  SharedObservations latest_;
  std::optional<MonoTime> latest_time_;
  std::size_t rounds_ = 0;
  std::size_t dropped_ = 0;
};

}  // namespace autopilot
