// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "alerts/endpoint.hpp"
#include "alerts/notice.hpp"
#include "core/clock.hpp"
#include "kube/pacing.hpp"
#include "net/event_loop.hpp"
#include "net/key_files.hpp"

namespace autopilot::alerts {

// State of one receiver, for metrics and people.
struct ReceiverFigures {
  std::string name;
  std::uint64_t delivered = 0;  // requests that the receiver accepted
  std::uint64_t failed = 0;     // requests without success; most are sent again
  std::uint64_t dropped = 0;    // alerts that the receiver never got
  std::size_t waiting = 0;      // alerts
  std::string problem;          // of the last request or of a file; empty: none
};

// What receivers use. The references must outlive them.
struct Surroundings {
  net::EventLoop& loop;
  const Clock& clock;
  net::ReadFile read_file;
  RunBlocking run_blocking;
  std::function<double()> dice;  // in [0, 1)
};

// Waits after failed requests.
inline constexpr kube::BackOffTimes kRetries{.first = std::chrono::seconds{1},
                                             .last = std::chrono::minutes{5}};

// Something that gets alerts. On the loop's thread; must not block.
class Receiver {
 public:
  Receiver() = default;
  Receiver(const Receiver&) = delete;
  Receiver& operator=(const Receiver&) = delete;
  virtual ~Receiver() = default;

  virtual void send(const Notice& notice) = 0;
  // The last message about an open finding, which an earlier process sent.
  virtual void resume(const Notice& notice) = 0;
  [[nodiscard]] virtual ReceiverFigures figures() const = 0;
};

}  // namespace autopilot::alerts
