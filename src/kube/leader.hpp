// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "kube/client.hpp"
#include "net/event_loop.hpp"
#include "net/http_session.hpp"

namespace autopilot::kube {

// The part of a Lease (coordination.k8s.io/v1) that identifies the leader.
struct LeaseRecord {
  std::string holder;            // holderIdentity; empty: none
  std::int32_t duration_s = 0;   // leaseDurationSeconds; 0 or less: not set
  std::int32_t transitions = 0;  // leaseTransitions
  // On the holder's clock, in microseconds: for people, and to detect changes.
  std::optional<WallTime> acquired;
  std::optional<WallTime> renewed;
  std::string resource_version;  // expected version of an update; empty for a Lease to be created

  friend bool operator==(const LeaseRecord&, const LeaseRecord&) = default;
};

struct LeaseTimes {
  std::chrono::seconds lease{15};  // others wait this long before they take over
  Duration renew_deadline =
      std::chrono::seconds{10};              // without a renewal for this long, the leader steps down
  Duration retry = std::chrono::seconds{2};  // between renewals, and between reads of waiting candidates
  static constexpr double kJitter = 0.2;     // a retry is delayed by up to this share

  // Half of the renew deadline: after a request without a response, there is time for another one.
  [[nodiscard]] Duration request_deadline() const { return renew_deadline / 2; }
};

// lease > renew_deadline > two retries with their jitter. malformed: names the two times in conflict.
[[nodiscard]] Status check(const LeaseTimes& times);

// The next step about the lease.
struct LeaseStep {
  enum class Kind : std::uint8_t {
    wait,       // wait until `until`, or until a report
    read,       // get the lease
    create,     // create it with `record`
    take_over,  // update it to `record`; another candidate held it, or none
    renew,      // update it to `record`; we hold it
    release,    // update it to `record`: without a holder
    lead,       // we are the leader from now on
    step_down,  // we are no longer the leader: stop the leader's work
    finished,   // after release(): no further step
  };
  Kind kind = Kind::wait;
  LeaseRecord record;
  std::optional<MonoTime> until;
};

// Elects one leader among the candidates of one Lease. Pure: it decides, the caller sends requests to the
// server and reports results. Safe as long as the server refuses updates of an old resource_version and
// monotonic clocks run at the same rate: times written by another machine are not compared with a local
// clock. A lease has expired if *we* saw no change of it for its duration.
class LeaderElection {
 public:
  // `identity` must be unique for every process, also after restarts, and not empty. `times` must have passed
  // check(). `dice` returns numbers in [0, 1).
  LeaderElection(std::string identity, const LeaseTimes& times, std::function<double()> dice);

  // Call it after every report, after release() and at the end of a wait, until it returns wait or finished.
  // One report ends each request that it returns (read to release): saw or saw_none for a read, wrote for the
  // others, failed for any.
  [[nodiscard]] LeaseStep step(const Instant& now);

  // Reports the current lease. Can be called at any other time with data of a watch.
  void saw(const LeaseRecord& record, MonoTime now);
  void saw_none(MonoTime now);
  // The server did the request; the record is from its response.
  void wrote(const LeaseRecord& record, const Instant& now);
  // The request was refused, or got no response in LeaseTimes::request_deadline: the current state is
  // unknown.
  void failed(MonoTime now);

  // Steps down for good; the next steps release the lease, so that others need not wait for its end. Call it
  // after the leader's work has stopped.
  void release();

  // True if we are the leader now; call it before each action that only the leader can do. True only for
  // renew_deadline after the last successful renewal was *sent*, on both local clocks: the monotonic clock
  // stops while a machine is suspended, the other one does not.
  [[nodiscard]] bool is_leader(const Instant& now) const;
  // Last known holder, for people; empty: none or unknown.
  [[nodiscard]] std::string holder() const;

 private:
  enum class Flight : std::uint8_t { none, read, write };
  enum class Known : std::uint8_t { nothing, absent, present };

  [[nodiscard]] LeaseStep compete(const Instant& now);
  [[nodiscard]] LeaseStep give_back(const Instant& now);
  [[nodiscard]] LeaseStep request(LeaseStep::Kind kind, LeaseRecord record, const Instant& now);
  [[nodiscard]] LeaseStep wait(MonoTime until) const;
  [[nodiscard]] LeaseRecord own_record(const Instant& now) const;
  [[nodiscard]] bool is_ours() const { return record_ && record_->holder == identity_; }
  [[nodiscard]] std::optional<MonoTime> end_of_others() const;
  void learn(const LeaseRecord& record, MonoTime now);
  [[nodiscard]] Duration varied_retry() const;

  std::string identity_;
  LeaseTimes times_;
  std::function<double()> dice_;

  Known known_ = Known::nothing;
  std::optional<LeaseRecord> record_;  // last known; kept if the lease was deleted
  MonoTime changed_{};                 // when we saw it change

  Flight flight_ = Flight::none;
  Instant sent_{};       // the last request
  MonoTime next_try_{};  // no request earlier
  MonoTime next_look_{};

  bool holds_ = false;     // our last write succeeded and no later data contradicts it
  Instant holds_until_{};  // and we can rely on it until then
  bool leads_ = false;     // last state reported to the caller
  bool is_released_ = false;
  bool may_hold_ = false;  // the server can have our name
};

// A LeaseRecord as an API object (coordination.k8s.io/v1, Lease). Pure.

[[nodiscard]] std::string leases_path(const std::string& name_space);
// A new object.
[[nodiscard]] std::string lease_json(const std::string& name, const LeaseRecord& record);
// A merge patch that the server refuses if the object no longer has record.resource_version; other fields
// stay.
[[nodiscard]] std::string lease_patch_json(const LeaseRecord& record);
// malformed: not a Lease, or a Lease without a resourceVersion, which cannot be updated safely.
[[nodiscard]] Result<LeaseRecord> parse_lease_record(std::string_view text);

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
