// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "core/clock.hpp"
#include "core/interned.hpp"
#include "core/observation.hpp"
#include "core/subject.hpp"
#include "core/value.hpp"

namespace autopilot {

// Identity of a series: the values of one name for one subject over time. A node has thousands, so the key
// keeps only the subject's identity.
struct SeriesKey {
  SubjectKind kind = SubjectKind::host;
  std::string subject;  // key of the subject
  Interned name;        // name of the observations
};

// Finds a SeriesKey in a map without constructing one.
struct SeriesView {
  SeriesView(const Subject& subject_of_it, std::string_view name_of_it)
      : kind(subject_of_it.kind), subject(subject_of_it.key), name(name_of_it) {}
  SeriesView(const SeriesKey& key) : kind(key.kind), subject(key.subject), name(key.name.text()) {}

  SubjectKind kind;
  std::string_view subject;
  std::string_view name;

  friend auto operator<=>(const SeriesView&, const SeriesView&) = default;
};

struct SeriesOrder {
  using is_transparent = void;
  bool operator()(const SeriesView& a, const SeriesView& b) const { return a < b; }
};

struct Sample {
  MonoTime time;
  Value value;
};

// Growth of a counter over the samples of a window.
struct Growth {
  double delta = 0;      // handles resets: if new < old, the new value counts as growth
  Duration interval{0};  // between the first and the last used sample, always > 0
  int resets = 0;
  [[nodiscard]] double per_second() const { return delta / to_seconds(interval); }
  [[nodiscard]] double per_minute() const { return per_second() * 60.0; }
};

// Table of repeated strings, each stored once.
class Words {
 public:
  static constexpr std::size_t kMax = 256;

  // nullopt: the table is full.
  [[nodiscard]] std::optional<std::uint32_t> number_of(std::string_view word);
  [[nodiscard]] const std::string& word(std::uint32_t number) const { return words_.at(number); }

 private:
  std::vector<std::string> words_;
};

// The samples of one series, oldest first, in 24 bytes each. String values are stored in the owner's Words.
class Series {
 public:
  // False: the sample is not later than the newest one, or it has a string and `words` is full.
  bool add(MonoTime time, const Value& value, Words& words);
  void forget_oldest() { samples_.erase(samples_.begin()); }
  void forget_before(MonoTime time);

  [[nodiscard]] bool empty() const { return samples_.empty(); }
  [[nodiscard]] std::size_t size() const { return samples_.size(); }
  [[nodiscard]] std::vector<Sample> samples(const Words& words) const;
  // Over the samples since `begin`; nullopt for fewer than two numbers.
  [[nodiscard]] std::optional<Growth> growth(MonoTime begin) const;

 private:
  struct Word {
    std::uint32_t number = 0;
  };
  struct Kept {
    MonoTime time;
    std::variant<std::int64_t, double, bool, Word> value;
  };

  std::vector<Kept> samples_;
};

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
