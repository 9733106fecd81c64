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
  std::string identity;  // of this process, and of no other
  LeaseTimes times = {};
};

// Takes part in the election of one leader by a Lease of the cluster, for as long as it lives. Without rights
// or an API server it tries on. On the loop's thread.
class Leader {
 public:
  // They may ask whether we lead, and call nothing else of this.
  struct Listener {
    std::function<void()> on_lead;
    // What only the leader does has to stop now; what was sent before may still be done.
    std::function<void()> on_step_down;
    // Why nothing is known of the lease: once for each cause in a row.
    std::function<void(const Error& why)> on_problem;
  };

  // options.times has passed check(). dice: in [0, 1).
  Leader(net::EventLoop& loop, Client& client, const Clock& clock, LeaderOptions options, Listener listener,
         std::function<double()> dice);
  Leader(const Leader&) = delete;
  Leader& operator=(const Leader&) = delete;
  // Gives nothing back: see release().
  ~Leader() = default;

  void start() { advance(); }
  // To be asked before everything that only the leader may do.
  [[nodiscard]] bool is_leader() const { return election_.is_leader(clock_.now()); }
  // Steps down for good and gives the lease back, so that nobody waits for its end; on_released is called
  // when that is done, which it never is where the API server does not answer.
  void release(std::function<void()> on_released);

  // Who held it when we looked last; empty: nobody, or not known.
  [[nodiscard]] std::string holder() const { return election_.holder(); }
  // How often it changed hands, as the Lease has it.
  [[nodiscard]] std::int32_t transitions() const { return transitions_; }
  // Requests that were refused or got no answer. A conflict is none: somebody else was quicker.
  [[nodiscard]] std::uint64_t failures() const { return failures_; }
  // The last of them; empty since one succeeded.
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
  net::Subscription patience_;  // with the request under way
  net::Subscription next_;
};

}  // namespace autopilot::kube
