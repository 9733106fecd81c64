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

// What one check has seen: the latest round, the samples of every series within its window, and the events
// within it. Plain data without clock or lock; the runtime owns one per check, judge reads it.
class History {
 public:
  static constexpr std::size_t kMaxSamplesPerSeries = 720;
  static constexpr std::size_t kMaxSeries = 8192;
  static constexpr std::size_t kMaxEvents = 512;

  // A whole round of observe. An event already held (same source and sequence) is not added again. A round
  // whose observations (events apart) are earlier than the latest round is ignored. What lies further back
  // than `window` from the latest round is forgotten; beyond the limits the oldest goes first, of events the
  // oldest of those that most are like (same name, subject and value): a storm does not push out what is told
  // once.
  void add(Observations round, Duration window);
  // Forgets samples and events before that moment. For the owner, who knows the time: rounds without any
  // observation do not tell it.
  void forget_before(MonoTime time);
  // An event that was not part of a round; not added again either.
  void add_event(Observation event) { append_event(std::move(event)); }
  // A sample from before this process (the journal's), older than every round. Does not become part of the
  // latest round.
  void restore(const Observation& sample);

  [[nodiscard]] bool empty() const { return rounds_ == 0; }
  [[nodiscard]] std::size_t rounds() const { return rounds_; }
  // The last round without its events; in the order observe gave.
  [[nodiscard]] const SharedObservations& latest() const { return latest_; }
  // The observation of that name and subject in the last round, answered or missing.
  [[nodiscard]] const Observation* find(const Subject& subject, std::string_view name) const;
  // Its value as a number; nothing when missing or a word.
  [[nodiscard]] std::optional<double> number(const Subject& subject, std::string_view name) const;
  // Its value as a word; nothing when missing or a number.
  [[nodiscard]] std::optional<std::string> word(const Subject& subject, std::string_view name) const;
  // Subjects of that kind in the last round, in order of first mention, each once, with index, uuid and
  // serial where any observation gave them.
  [[nodiscard]] std::vector<Subject> subjects(SubjectKind kind) const;

  // Oldest first.
  [[nodiscard]] std::vector<Sample> samples(const Subject& subject, std::string_view name) const;
  // Growth over the samples not older than `window` before `now`; nothing with fewer than two samples.
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
  std::unordered_map<std::size_t, std::size_t> alike_;  // how many events are of a kind
  SharedObservations latest_;
  std::optional<MonoTime> latest_time_;
  std::size_t rounds_ = 0;
  std::size_t dropped_ = 0;
};

}  // namespace autopilot
