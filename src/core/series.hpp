// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/clock.hpp"
#include "core/interned.hpp"
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

}  // namespace autopilot
