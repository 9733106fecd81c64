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

// A few threads for work that may block. A task that outlives its deadline is abandoned by its owner: the
// thread is counted as stuck and replaced, up to a cap; when it comes back at last it ends itself. All
// members are thread-safe.
class Lanes {
 public:
  struct Limits {
    int lanes = 3;
    int max_stuck = 4;
    std::size_t max_queued = 64;
  };
  struct Counts {
    int lanes = 0;  // threads that take work
    int stuck = 0;  // abandoned threads that have not come back
    std::size_t queued = 0;
    std::uint64_t refused = 0;  // tasks not accepted because the queue was full
  };
  using Ticket = std::uint64_t;

  static constexpr Duration kPartingGrace = std::chrono::seconds{2};

  explicit Lanes(Limits limits);
  Lanes(const Lanes&) = delete;
  Lanes& operator=(const Lanes&) = delete;
  // Drops what is queued, waits up to kPartingGrace for lanes that work, leaves stuck ones behind.
  ~Lanes();

  // Runs `task` on a lane. 0 when the queue is full. The task must own everything it touches: it may outlive
  // this object.
  [[nodiscard]] Ticket submit(std::function<void()> task);
  // The owner no longer waits for this task. A queued one is dropped; the thread of a running one counts as
  // stuck and is replaced while the cap allows. False when the task is over.
  bool abandon(Ticket ticket);
  // No more tasks; waits at most `grace` for running ones. True when all lanes came back.
  bool stop(Duration grace);
  [[nodiscard]] Counts counts() const;

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
};

// What other threads have to say to the runtime: lanes that their look has ended, the journal that a batch is
// written. Thread-safe; outlives the runtime, since a look may end after everything else.
class Inbox {
 public:
  struct Finished {
    std::size_t index = 0;
    std::uint64_t run = 0;
    Result<checks::Observed> observed;
  };
  // A batch of the ledger, the number of which counts from 1, that is durable, or never will be.
  struct Committed {
    std::uint64_t batch = 0;
    std::uint64_t last_event = 0;  // that was told before it was given away
    bool durable = false;
  };
  struct Mail {
    std::vector<Finished> finished;
    std::vector<Committed> committed;
  };

  // `wake_owner` is called with every letter, on the thread of its sender, until close().
  explicit Inbox(std::function<void()> wake_owner) : wake_(std::move(wake_owner)) {}

  void put(Finished one);
  void put(Committed one);
  [[nodiscard]] Mail take();
  void close();

 private:
  std::mutex mutex_;
  std::function<void()> wake_;
  Mail mail_;
};

}  // namespace autopilot::runtime
