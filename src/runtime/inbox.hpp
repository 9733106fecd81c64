// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

#include "checks/check.hpp"
#include "core/result.hpp"

namespace autopilot::runtime {

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
