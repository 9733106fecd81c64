// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/clock.hpp"

namespace autopilot::runtime {

// When each entry runs next. Pure: the caller passes the time. All entries are due at the start; later each
// period varies by up to a tenth, so that entries and nodes spread. An entry does not run twice at a time.
class Schedule {
 public:
  // `seed` differs from node to node.
  explicit Schedule(std::uint64_t seed) : seed_(seed) {}

  void set(std::size_t entry, Duration period, bool enabled, MonoTime now);
  // Runs the entry as soon as it is not running; a trigger during a run causes one more run.
  void trigger(std::size_t entry);
  // The same for events of any frequency: the first kNewsAtOnce runs are immediate, then one every
  // kNewsSpacing, and never before the rest that finished() sets.
  void trigger_by_news(std::size_t entry);
  static constexpr int kNewsAtOnce = 20;
  static constexpr Duration kNewsSpacing = std::chrono::milliseconds{50};

  // Entries to start now; marks each as running. Counts late ones (by more than half a period).
  [[nodiscard]] std::vector<std::size_t> take_due(MonoTime now);
  void finished(std::size_t entry, MonoTime now, Duration rest = Duration{0});
  // The next time at which take_due may return entries; nullopt while all are running or disabled.
  [[nodiscard]] std::optional<MonoTime> next() const;
  [[nodiscard]] std::uint64_t late() const { return late_; }

 private:
  struct Entry {
    Duration period{0};
    MonoTime due{};
    std::uint64_t runs = 0;
    bool enabled = false;
    bool running = false;
    bool triggered = false;
    bool has_news = false;
    MonoTime rested{};
    MonoTime news_paid{};  // time at which the runs by trigger_by_news so far are used up
  };
  [[nodiscard]] static MonoTime due_of(const Entry& entry);
  [[nodiscard]] Duration varied(std::size_t entry) const;

  std::uint64_t seed_;
  std::vector<Entry> entries_;
  std::uint64_t late_ = 0;
};

}  // namespace autopilot::runtime
