// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/clock.hpp"

namespace autopilot::runtime {

// When each entry runs next. Pure: time comes in with every call. Everything is due at once at the start;
// later each period varies by up to a tenth, so that entries and nodes spread. One instance of an entry at a
// time.
class Schedule {
 public:
  // `seed` differs from node to node.
  explicit Schedule(std::uint64_t seed) : seed_(seed) {}

  void set(std::size_t entry, Duration period, bool enabled, MonoTime now);
  // Run it as soon as it is not running; a trigger while it runs makes it run once more.
  void trigger(std::size_t entry);
  // Likewise for what happens as often as it likes: kNewsAtOnce runs at once, then one every kNewsSpacing,
  // and never before it has rested as finished() said.
  void trigger_by_news(std::size_t entry);
  static constexpr int kNewsAtOnce = 20;
  static constexpr Duration kNewsSpacing = std::chrono::milliseconds{50};

  // Entries to start now, each marked as running. Late ones (by more than half a period) are counted.
  [[nodiscard]] std::vector<std::size_t> take_due(MonoTime now);
  void finished(std::size_t entry, MonoTime now, Duration rest = Duration{0});
  // The next moment at which take_due may give something; nothing while everything runs or is disabled.
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
    MonoTime news_paid{};  // runs by news so far are paid for at that time
  };
  [[nodiscard]] static MonoTime due_of(const Entry& entry);
  [[nodiscard]] Duration varied(std::size_t entry) const;

  std::uint64_t seed_;
  std::vector<Entry> entries_;
  std::uint64_t late_ = 0;
};

}  // namespace autopilot::runtime
