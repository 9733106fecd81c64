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

// What one name says about one subject as time goes by. A node has thousands: only what identifies the
// subject is kept.
struct SeriesKey {
  SubjectKind kind = SubjectKind::host;
  std::string subject;  // its key
  Interned name;        // of the observations
};

// Finds a SeriesKey in a map without making one.
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
  double delta = 0;      // resets are bridged: after new < old the new value counts as growth
  Duration interval{0};  // between the first and the last sample used, always > 0
  int resets = 0;
  [[nodiscard]] double per_second() const { return delta / to_seconds(interval); }
  [[nodiscard]] double per_minute() const { return per_second() * 60.0; }
};

// Words that come again and again, each held once.
class Words {
 public:
  static constexpr std::size_t kMax = 256;

  // Nothing: there is no room for another.
  [[nodiscard]] std::optional<std::uint32_t> number_of(std::string_view word);
  [[nodiscard]] const std::string& word(std::uint32_t number) const { return words_.at(number); }

 private:
  std::vector<std::string> words_;
};

// The samples of one series, oldest first, in 24 bytes each. Words stand in the Words of the owner.
class Series {
 public:
  // False: not later than the newest, or a word for which there is no room.
  bool add(MonoTime time, const Value& value, Words& words);
  void forget_oldest() { samples_.erase(samples_.begin()); }
  void forget_before(MonoTime time);

  [[nodiscard]] bool empty() const { return samples_.empty(); }
  [[nodiscard]] std::size_t size() const { return samples_.size(); }
  [[nodiscard]] std::vector<Sample> samples(const Words& words) const;
  // Over the samples since `begin`; nothing with fewer than two numbers.
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
