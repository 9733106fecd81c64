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
  std::size_t keys = 100'000;  // waiting or in work
  int burst = 100;             // taken at once, then one every `spacing`; a spacing of 0 means no limit
  Duration spacing = std::chrono::milliseconds{20};
  BackOffTimes back_off{.last = std::chrono::minutes{5}};
};

// Queue of keys of objects to process. A key waits at most once, and is never processed twice at the same
// time; a key that is added while it is in work is processed again afterwards. A key has one due time, the
// earliest: the worker adds the key again for later work. Pure; on one thread.
class WorkQueue {
 public:
  // `dice` returns numbers in [0, 1), for the jitter.
  WorkQueue(const WorkQueueLimits& limits, std::function<double()> dice);

  // Adds the key, due at `when`; `now` for immediately. Returns false, and counts, if the queue is full; a
  // key that waits or is in work is never refused.
  bool add(std::string_view key, MonoTime when);

  // The next due key, ordered by time; the caller ends its work with done or failed. nullopt if none is due
  // or the rate limit is reached.
  [[nodiscard]] std::optional<std::string> take(MonoTime now);
  // When take can return a key: `now` or later; nullopt while no key waits. Changes with every other call.
  [[nodiscard]] std::optional<MonoTime> next(MonoTime now) const;

  // The key was processed; clears its failures.
  void done(std::string_view key);
  // Processing failed: the key is due after its back-off, or earlier if it is added. Not before
  // `retry_after`, the server's request.
  void failed(std::string_view key, MonoTime now, std::optional<Duration> retry_after = {});
  // The key is no longer needed: clears its due time and its failures. Work in progress still ends with done
  // or failed.
  void forget(std::string_view key);

  // Consecutive failures.
  [[nodiscard]] std::uint32_t failures(std::string_view key) const;
  // Keys that wait.
  [[nodiscard]] std::size_t waiting() const { return order_.size(); }
  // Keys that wait or are in work.
  [[nodiscard]] std::size_t size() const { return entries_.size(); }
  // Calls of add that found the queue full.
  [[nodiscard]] std::uint64_t refused() const { return refused_; }

 private:
  struct Wish {
    MonoTime when{};
    std::uint64_t turn = 0;  // among equal times, the first added is the first taken
  };
  struct Entry {
    std::optional<Wish> wish;
    bool is_worked_on = false;
    BackOff back_off;
    MonoTime rested{};  // the server requested no processing before
  };
  // Ordered by time and turn.
  using Order = std::set<std::tuple<MonoTime, std::uint64_t, std::string>>;
  using Entries = std::map<std::string, Entry, std::less<>>;

  void want(const std::string& key, Entry& entry, MonoTime when);
  void unwant(const std::string& key, Entry& entry);
  Entries::iterator end_work(std::string_view key);

  WorkQueueLimits limits_;
  std::function<double()> dice_;
  TokenBucket bucket_;
  Entries entries_;
  Order order_;  // keys with a due time that are not in work
  std::uint64_t turns_ = 0;
  std::uint64_t refused_ = 0;
};

}  // namespace autopilot::kube
