// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "checks/check.hpp"
#include "core/clock.hpp"
#include "core/result.hpp"

namespace autopilot::runtime {

// A pool of threads for blocking calls. If a task exceeds its deadline the owner abandons it: its thread
// counts as stuck and is replaced, up to a limit. A stuck thread ends when its task returns. All members are
// thread-safe.
class Workers {
 public:
  struct Limits {
    int threads = 3;
    int max_stuck = 4;
    std::size_t max_queued = 64;
  };
  struct Counts {
    int threads = 0;  // threads that accept tasks
    int stuck = 0;    // abandoned threads whose tasks have not returned
    std::size_t queued = 0;
    std::uint64_t refused = 0;  // tasks refused because the queue was full
  };
  using Ticket = std::uint64_t;

  static constexpr Duration kPartingGrace = std::chrono::seconds{2};

  explicit Workers(Limits limits);
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;
  // Drops queued tasks, waits up to kPartingGrace for running ones, and leaves stuck threads behind.
  ~Workers();

  // Runs `task` on a worker. 0: the queue is full. The task must own everything it uses, because it may
  // outlive this object.
  [[nodiscard]] Ticket submit(std::function<void()> task);
  // The owner no longer waits for this task. A queued task is dropped; the thread of a running one counts as
  // stuck and is replaced up to the limit. False if the task has ended.
  bool abandon(Ticket ticket);
  // Accepts no more tasks; waits at most `grace` for running ones. True if all threads ended.
  bool stop(Duration grace);
  [[nodiscard]] Counts counts() const;

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
};

// Messages from other threads to the runtime: workers report the end of a run, the journal reports written
// batches. Thread-safe; outlives the runtime, because a run may end after everything else.
class Inbox {
 public:
  struct Finished {
    std::size_t index = 0;
    std::uint64_t run = 0;
    Result<checks::Observed> observed;
  };
  // A batch of the ledger, numbered from 1, that is durable or never will be.
  struct Committed {
    std::uint64_t batch = 0;
    std::uint64_t last_event = 0;  // last event before the batch was committed
    bool durable = false;
  };
  struct Messages {
    std::vector<Finished> finished;
    std::vector<Committed> committed;
  };

  // `wake_owner` is called for every message, on the sender's thread, until close().
  explicit Inbox(std::function<void()> wake_owner) : wake_(std::move(wake_owner)) {}

  void put(Finished one);
  void put(Committed one);
  [[nodiscard]] Messages take();
  void close();

 private:
  std::mutex mutex_;
  std::function<void()> wake_;
  Messages messages_;
};

}  // namespace autopilot::runtime
