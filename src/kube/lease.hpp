// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "core/clock.hpp"
#include "core/result.hpp"

namespace autopilot::kube {

// The part of a Lease (coordination.k8s.io/v1) that says who leads.
struct LeaseRecord {
  std::string holder;            // holderIdentity; empty: nobody
  std::int32_t duration_s = 0;   // leaseDurationSeconds; 0 or less: it does not say
  std::int32_t transitions = 0;  // leaseTransitions
  // On the holder's clock, in microseconds: for people, and to see that something changed.
  std::optional<WallTime> acquired;
  std::optional<WallTime> renewed;
  std::string resource_version;  // what an update must find; empty for one that is to be created

  friend bool operator==(const LeaseRecord&, const LeaseRecord&) = default;
};

struct LeaseTimes {
  std::chrono::seconds lease{15};                      // others wait that long before they take over
  Duration renew_deadline = std::chrono::seconds{10};  // without a renewal for that long, it leads no more
  Duration retry = std::chrono::seconds{2};  // between renewals, and between looks of those that wait
  static constexpr double kJitter = 0.2;     // a retry comes later by up to this share

  // Half of what there is: a request that gets no answer leaves time for another.
  [[nodiscard]] Duration request_deadline() const { return renew_deadline / 2; }
};

// lease > renew_deadline > two retries with their jitter. malformed, with the two times that do not fit.
[[nodiscard]] Status check(const LeaseTimes& times);

// What to do next about the lease.
struct LeaseStep {
  enum class Kind : std::uint8_t {
    wait,       // nothing before `until`, or before something is reported
    read,       // get the lease
    create,     // create it with `record`
    take_over,  // update it to `record`; somebody else held it, or nobody
    renew,      // update it to `record`; it is ours
    release,    // update it to `record`: nobody holds it
    lead,       // we lead from now on
    step_down,  // we do not lead any more: stop what only the leader does
    finished,   // after release(): nothing more to do
  };
  Kind kind = Kind::wait;
  LeaseRecord record;
  std::optional<MonoTime> until;
};

// Elects one leader among those that want the same Lease. Pure: it decides, the caller talks to the server
// and reports. Safe as long as the server refuses updates of an old resource_version and monotonic clocks run
// alike: no time that another machine wrote is compared with a clock here. A lease is over when it has not
// changed, since *we* saw its last change, for as long as its holder promised.
class LeaderElection {
 public:
  // `identity` must differ for every process, restarts included, and not be empty. `times` have passed
  // check(). `dice` gives numbers in [0, 1).
  LeaderElection(std::string identity, const LeaseTimes& times, std::function<double()> dice);

  // To be called after every report, after release() and when a wait is over, until it says wait or finished.
  // A request that it gives (read to release) is ended by one report: saw or saw_none for a read, wrote for
  // the others, failed for any.
  [[nodiscard]] LeaseStep step(const Instant& now);

  // The lease is so. Also at any other time, as news from a watch.
  void saw(const LeaseRecord& record, MonoTime now);
  void saw_none(MonoTime now);
  // The server did what was asked; the record is that of its answer.
  void wrote(const LeaseRecord& record, const Instant& now);
  // It refused, or gave no answer in LeaseTimes::request_deadline: what is there now is not known.
  void failed(MonoTime now);

  // We lead no more, and never again; the steps from here give the lease back, so that nobody has to wait for
  // its end. To be called when what only the leader does has stopped.
  void release();

  // Whether we lead at this moment: to be asked before everything that only the leader may do. True only for
  // renew_deadline from when the last renewal that succeeded was *sent*, on both of our own clocks: the
  // monotonic one stands still while a machine is suspended, the other does not.
  [[nodiscard]] bool is_leader(const Instant& now) const;
  // Who held it when we looked last, for people; empty: nobody, or not known.
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
  std::optional<LeaseRecord> record_;  // the last one seen; kept when the lease was deleted
  MonoTime changed_{};                 // when we saw that it had changed

  Flight flight_ = Flight::none;
  Instant sent_{};       // the last request
  MonoTime next_try_{};  // no request before
  MonoTime next_look_{};

  bool holds_ = false;     // our last write said so and nothing since said otherwise
  Instant holds_until_{};  // and until then we may rely on it
  bool leads_ = false;     // what the caller was told
  bool is_released_ = false;
  bool may_hold_ = false;  // the server may have our name
};

}  // namespace autopilot::kube
