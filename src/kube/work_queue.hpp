// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>

#include "core/clock.hpp"
#include "kube/back_off.hpp"
#include "kube/token_bucket.hpp"

namespace autopilot::kube {

struct WorkQueueLimits {
  std::size_t keys = 100'000;  // that wait or are worked on
  int burst = 100;             // taken at once, then one every `spacing`; a spacing of 0 limits nothing
  Duration spacing = std::chrono::milliseconds{20};
  BackOffTimes back_off{.last = std::chrono::minutes{5}};
};

// Keys of objects that want to be looked at. A key waits once, however often it was added, and is never
// worked on twice at the same time; what is added while it is worked on is looked at once more afterwards. A
// key has one wish, the earliest: whoever works on it asks again for what is due later. Pure; on one thread.
class WorkQueue {
 public:
  // `dice` gives numbers in [0, 1), for the jitter.
  WorkQueue(const WorkQueueLimits& limits, std::function<double()> dice);

  // The key wants to be looked at, not before `when`; `now` for at once. False, and counted, when the queue
  // is full; a key that waits or is worked on is never refused.
  bool add(std::string_view key, MonoTime when);

  // The key to work on now, in the order of their times; the caller ends its work with done or failed.
  // Nothing when none is due or too many were taken lately.
  [[nodiscard]] std::optional<std::string> take(MonoTime now);
  // When take may give something next: `now` or later; nothing while no key waits. Changes with every call of
  // the others.
  [[nodiscard]] std::optional<MonoTime> next(MonoTime now) const;

  // The key was worked on, and its failures are forgotten.
  void done(std::string_view key);
  // It was worked on in vain: it comes again after its back-off, or before that when it is added. Not before
  // `retry_after`, which the server asked for.
  void failed(std::string_view key, MonoTime now, std::optional<Duration> retry_after = {});
  // Nobody wants to look at it any more: drops its wish and its failures. Work on it still ends with done or
  // failed.
  void forget(std::string_view key);

  // Failures in a row.
  [[nodiscard]] std::uint32_t failures(std::string_view key) const;
  // Keys that wait for their time or their turn.
  [[nodiscard]] std::size_t waiting() const { return order_.size(); }
  // Keys that wait or are worked on.
  [[nodiscard]] std::size_t size() const { return entries_.size(); }
  // Calls of add that found the queue full.
  [[nodiscard]] std::uint64_t refused() const { return refused_; }

 private:
  struct Wish {
    MonoTime when{};
    std::uint64_t turn = 0;  // among equal times the first to come is the first to be taken
  };
  struct Entry {
    std::optional<Wish> wish;
    bool is_worked_on = false;
    BackOff back_off;
    MonoTime rested{};  // the server wants no look at it before
  };
  // Sorted by time and turn.
  using Order = std::set<std::tuple<MonoTime, std::uint64_t, std::string>>;
  using Entries = std::map<std::string, Entry, std::less<>>;

  void want(const std::string& key, Entry& entry, MonoTime when);
  void unwant(const std::string& key, Entry& entry);
  Entries::iterator end_work(std::string_view key);

  WorkQueueLimits limits_;
  std::function<double()> dice_;
  TokenBucket bucket_;
  Entries entries_;
  Order order_;  // of those that have a wish and are not worked on
  std::uint64_t turns_ = 0;
  std::uint64_t refused_ = 0;
};

}  // namespace autopilot::kube
