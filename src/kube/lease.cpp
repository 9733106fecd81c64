// SPDX-License-Identifier: Apache-2.0
#include "kube/lease.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace autopilot::kube {
namespace {

using std::chrono::microseconds;

// Later than our previous write, regardless of the clock: a renewal without a change is not a renewal for the
// server and for watchers.
WallTime time_of_renewal(WallTime now, std::optional<WallTime> before) {
  const auto time = std::chrono::floor<microseconds>(now);
  return before ? std::max<WallTime>(time, *before + microseconds{1}) : time;
}

}  // namespace

Status check(const LeaseTimes& times) {
  const auto complain = [](const char* longer, Duration is, const char* than, Duration limit) {
    return fail(Errc::malformed, std::string(longer) + " (" + format_duration(is) + ") must be longer than " +
                                     than + " (" + format_duration(limit) + ")");
  };
  if (times.retry <= Duration{0}) return complain("the retry period", times.retry, "nothing", Duration{0});
  const auto two_retries =
      std::chrono::duration_cast<Duration>(2 * times.retry * (1.0 + LeaseTimes::kJitter));
  if (times.renew_deadline <= two_retries)
    return complain("the renew deadline", times.renew_deadline, "two retries", two_retries);
  if (times.lease <= times.renew_deadline)
    return complain("the lease", times.lease, "the renew deadline", times.renew_deadline);
  if (times.lease.count() > std::numeric_limits<std::int32_t>::max())
    return fail(Errc::malformed, "the lease is longer than a Lease object allows");
  return {};
}

LeaderElection::LeaderElection(std::string identity, const LeaseTimes& times, std::function<double()> dice)
    : identity_(std::move(identity)), times_(times), dice_(std::move(dice)) {
  AUTOPILOT_ASSERT(!identity_.empty() && check(times_).has_value());
}

bool LeaderElection::is_leader(const Instant& now) const {
  return holds_ && now.mono < holds_until_.mono && now.wall < holds_until_.wall;
}

std::string LeaderElection::holder() const {
  return record_ && known_ == Known::present ? record_->holder : std::string();
}

LeaseStep LeaderElection::step(const Instant& now) {
  if (is_leader(now) != leads_) {
    leads_ = !leads_;
    return {.kind = leads_ ? LeaseStep::Kind::lead : LeaseStep::Kind::step_down, .record = {}, .until = {}};
  }
  if (flight_ != Flight::none)
    return {.kind = LeaseStep::Kind::wait,
            .record = {},
            .until = leads_ ? std::optional(holds_until_.mono) : std::nullopt};
  if (is_released_ && !may_hold_) return {.kind = LeaseStep::Kind::finished, .record = {}, .until = {}};
  if (now.mono < next_try_) return wait(next_try_);
  if (known_ == Known::nothing) return request(LeaseStep::Kind::read, {}, now);
  return is_released_ ? give_back(now) : compete(now);
}

LeaseStep LeaderElection::compete(const Instant& now) {
  const auto end = end_of_others();
  if (end && now.mono < *end) {
    if (now.mono < next_look_) return wait(std::min(next_look_, *end));
    return request(LeaseStep::Kind::read, {}, now);
  }
  if (known_ == Known::absent) return request(LeaseStep::Kind::create, own_record(now), now);
  return request(is_ours() ? LeaseStep::Kind::renew : LeaseStep::Kind::take_over, own_record(now), now);
}

LeaseStep LeaderElection::give_back(const Instant& now) {
  AUTOPILOT_ASSERT(record_.has_value());  // or we could not hold it
  LeaseRecord record = *record_;
  record.holder.clear();
  record.duration_s = 1;  // the minimum of a Lease
  record.renewed = time_of_renewal(now.wall, record.renewed);
  return request(LeaseStep::Kind::release, std::move(record), now);
}

LeaseStep LeaderElection::request(LeaseStep::Kind kind, LeaseRecord record, const Instant& now) {
  flight_ = kind == LeaseStep::Kind::read ? Flight::read : Flight::write;
  sent_ = now;
  return {.kind = kind, .record = std::move(record), .until = {}};
}

LeaseStep LeaderElection::wait(MonoTime until) const {
  if (leads_) until = std::min(until, holds_until_.mono);
  return {.kind = LeaseStep::Kind::wait, .record = {}, .until = until};
}

LeaseRecord LeaderElection::own_record(const Instant& now) const {
  LeaseRecord record = record_.value_or(LeaseRecord{});
  const bool was_ours = is_ours();
  record.renewed = time_of_renewal(now.wall, was_ours ? record.renewed : std::nullopt);
  if (!was_ours || !record.acquired) record.acquired = record.renewed;
  if (!was_ours && record_ && record.transitions < std::numeric_limits<std::int32_t>::max())
    ++record.transitions;
  record.holder = identity_;
  record.duration_s = static_cast<std::int32_t>(times_.lease.count());
  if (known_ == Known::absent) record.resource_version.clear();
  return record;
}

// nullopt: no other holder.
std::optional<MonoTime> LeaderElection::end_of_others() const {
  if (!record_ || record_->holder.empty() || is_ours()) return std::nullopt;
  return changed_ + (record_->duration_s > 0 ? std::chrono::seconds{record_->duration_s} : times_.lease);
}

void LeaderElection::learn(const LeaseRecord& record, MonoTime now) {
  if (record != record_) {
    record_ = record;
    changed_ = now;
  }
  known_ = Known::present;
  may_hold_ = is_ours();
  if (!is_ours()) holds_ = false;
}

void LeaderElection::saw(const LeaseRecord& record, MonoTime now) {
  if (flight_ == Flight::read) flight_ = Flight::none;
  next_look_ = now + varied_retry();
  learn(record, now);
}

void LeaderElection::saw_none(MonoTime now) {
  if (flight_ == Flight::read) flight_ = Flight::none;
  next_look_ = now + varied_retry();
  known_ = Known::absent;
  may_hold_ = false;
}

void LeaderElection::wrote(const LeaseRecord& record, const Instant& now) {
  AUTOPILOT_ASSERT(flight_ == Flight::write);
  flight_ = Flight::none;
  next_try_ = is_released_ ? now.mono : sent_.mono + varied_retry();
  learn(record, now.mono);
  if (is_released_ || !is_ours()) return;
  holds_ = true;
  holds_until_ = {.wall = sent_.wall + times_.renew_deadline, .mono = sent_.mono + times_.renew_deadline};
}

void LeaderElection::failed(MonoTime now) {
  AUTOPILOT_ASSERT(flight_ != Flight::none);
  if (flight_ == Flight::write) may_hold_ = true;  // the write can have succeeded
  flight_ = Flight::none;
  known_ = Known::nothing;
  next_try_ = std::max(now, sent_.mono + varied_retry());
}

void LeaderElection::release() {
  is_released_ = true;
  holds_ = false;
  next_try_ = MonoTime{};
}

Duration LeaderElection::varied_retry() const {
  return std::chrono::duration_cast<Duration>(times_.retry * (1.0 + LeaseTimes::kJitter * dice_()));
}

}  // namespace autopilot::kube
