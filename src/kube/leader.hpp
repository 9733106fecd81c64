// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "kube/client.hpp"
#include "kube/lease.hpp"
#include "net/event_loop.hpp"
#include "net/http_session.hpp"

namespace autopilot::kube {

struct LeaderOptions {
  std::string name_space;
  std::string lease;
  std::string identity;  // unique to this process
  LeaseTimes times = {};
};

// Takes part in the election of one leader with a Lease of the cluster, as long as it lives. Without
// permissions or an API server it keeps trying. On the loop's thread.
class Leader {
 public:
  // Callbacks can call is_leader(), but no other function.
  struct Listener {
    std::function<void()> on_lead;
    // The work of the leader must stop now; requests sent before can still take effect.
    std::function<void()> on_step_down;
    // Why the state of the lease is unknown: once for each consecutive cause.
    std::function<void(const Error& why)> on_problem;
  };

  // options.times must have passed check(). dice: in [0, 1).
  Leader(net::EventLoop& loop, Client& client, const Clock& clock, LeaderOptions options, Listener listener,
         std::function<double()> dice);
  Leader(const Leader&) = delete;
  Leader& operator=(const Leader&) = delete;
  // Does not release the lease: see release().
  ~Leader() = default;

  void start() { advance(); }
  // Call it before each action that only the leader can do.
  [[nodiscard]] bool is_leader() const { return election_.is_leader(clock_.now()); }
  // Steps down for good and releases the lease, so that others need not wait for its end. on_released is
  // called when that is done; never if the API server does not answer.
  void release(std::function<void()> on_released);

  // Last known holder; empty: none or unknown.
  [[nodiscard]] std::string holder() const { return election_.holder(); }
  // Number of changes of the holder, from the Lease.
  [[nodiscard]] std::int32_t transitions() const { return transitions_; }
  // Requests that were refused or got no response. A conflict does not count: another candidate was faster.
  [[nodiscard]] std::uint64_t failures() const { return failures_; }
  // The last failure; empty since a success.
  [[nodiscard]] const std::string& problem() const { return problem_; }

 private:
  void advance();
  void send(const LeaseStep& step);
  void take(bool is_read, const ApiResult<std::string>& answer);
  void take(bool is_read, const LeaseRecord& record);
  void give_up(const Error& why, bool is_conflict);

  net::EventLoop& loop_;
  Client& client_;
  const Clock& clock_;
  const LeaderOptions options_;
  const Listener listener_;
  LeaderElection election_;
  std::function<void()> on_released_;
  std::int32_t transitions_ = 0;
  std::uint64_t failures_ = 0;
  std::string problem_;
  net::Exchange exchange_;
  net::Subscription patience_;  // with the request in progress
  net::Subscription next_;
};

}  // namespace autopilot::kube
