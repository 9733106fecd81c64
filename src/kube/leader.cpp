// SPDX-License-Identifier: Apache-2.0

#include "kube/leader.hpp"

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <chrono>
#include <cstdio>
#include <limits>
#include <utility>

#include "kube/objects.hpp"

namespace autopilot::kube {

namespace json = boost::json;

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

namespace {

// The API accepts exactly six fraction digits.
std::string micro_time(WallTime time) {
  const auto second = std::chrono::floor<std::chrono::seconds>(time);
  const auto micros = std::chrono::floor<std::chrono::microseconds>(time - second).count();
  const std::string text = format_time(second);
  std::array<char, 16> fraction{};
  std::snprintf(fraction.data(), fraction.size(), ".%06dZ", static_cast<int>(micros));
  return text.substr(0, text.find('.')) + fraction.data();
}

json::object lease_spec_of(const LeaseRecord& record) {
  json::object spec{{"holderIdentity", record.holder},
                    {"leaseDurationSeconds", record.duration_s},
                    {"leaseTransitions", record.transitions}};
  if (record.acquired) spec["acquireTime"] = micro_time(*record.acquired);
  if (record.renewed) spec["renewTime"] = micro_time(*record.renewed);
  return spec;
}

template <class Number>
std::int32_t within_int32(Number number) {
  constexpr Number highest = std::numeric_limits<std::int32_t>::max();
  return static_cast<std::int32_t>(std::clamp<Number>(number, 0, highest));
}

}  // namespace

std::string leases_path(const std::string& name_space) {
  return "/apis/coordination.k8s.io/v1/namespaces/" + name_space + "/leases";
}

std::string lease_json(const std::string& name, const LeaseRecord& record) {
  return json::serialize(json::object{{"apiVersion", "coordination.k8s.io/v1"},
                                      {"kind", "Lease"},
                                      {"metadata", json::object{{"name", name}}},
                                      {"spec", lease_spec_of(record)}});
}

std::string lease_patch_json(const LeaseRecord& record) {
  return json::serialize(
      json::object{{"metadata", json::object{{"resourceVersion", record.resource_version}}},
                   {"spec", lease_spec_of(record)}});
}

Result<LeaseRecord> parse_lease_record(std::string_view text) {
  const Lease lease = TRY(parse_lease(text));
  if (lease.meta.version.empty()) return fail(Errc::malformed, "the response is not a Lease");
  LeaseRecord record;
  record.holder = lease.holder;
  if (lease.duration)
    record.duration_s = within_int32(std::chrono::floor<std::chrono::seconds>(*lease.duration).count());
  record.transitions = within_int32(lease.transitions);
  record.acquired = lease.acquired;
  record.renewed = lease.renewed;
  record.resource_version = lease.meta.version;
  return record;
}

Leader::Leader(net::EventLoop& loop, Client& client, const Clock& clock, LeaderOptions options,
               Listener listener, std::function<double()> dice)
    : loop_(loop),
      client_(client),
      clock_(clock),
      options_(std::move(options)),
      listener_(std::move(listener)),
      election_(options_.identity, options_.times, std::move(dice)) {}

void Leader::release(std::function<void()> on_released) {
  on_released_ = std::move(on_released);
  election_.release();
  advance();
}

void Leader::advance() {
  for (;;) {
    const Instant now = clock_.now();
    const LeaseStep step = election_.step(now);
    switch (step.kind) {
      case LeaseStep::Kind::lead:
        listener_.on_lead();
        break;
      case LeaseStep::Kind::step_down:
        listener_.on_step_down();
        break;
      case LeaseStep::Kind::wait:
        next_.cancel();
        if (step.until)
          next_ = loop_.after(std::max<Duration>(*step.until - now.mono, Duration{0}), [this] { advance(); });
        return;
      case LeaseStep::Kind::finished:
        next_.cancel();
        if (const auto done = std::exchange(on_released_, nullptr)) done();
        return;
      default:
        send(step);
    }
  }
}

void Leader::send(const LeaseStep& step) {
  const bool is_read = step.kind == LeaseStep::Kind::read;
  OnObject on_answer = [this, is_read](const ApiResult<std::string>& answer) { take(is_read, answer); };
  const std::string list = leases_path(options_.name_space);
  const std::string object = list + "/" + options_.lease;
  if (is_read)
    exchange_ = client_.get({object, {}}, std::move(on_answer));
  else if (step.kind == LeaseStep::Kind::create)
    exchange_ = client_.create({list, {}}, lease_json(options_.lease, step.record), std::move(on_answer));
  else
    exchange_ =
        client_.patch({object, {}}, Patch::merge, lease_patch_json(step.record), std::move(on_answer));
  patience_ = loop_.after(options_.times.request_deadline(), [this, object] {
    exchange_.cancel();
    give_up(
        {Errc::timed_out, object + ": no answer in " + format_duration(options_.times.request_deadline())},
        false);
    advance();
  });
}

void Leader::take(bool is_read, const ApiResult<std::string>& answer) {
  patience_.cancel();
  if (answer) {
    const auto record = parse_lease_record(*answer);
    if (record)
      take(is_read, *record);
    else
      give_up(record.error(), false);
  } else if (is_read && answer.error().verdict.outcome == ApiOutcome::not_found) {
    problem_.clear();
    election_.saw_none(clock_.now().mono);
  } else {
    give_up(answer.error().error, answer.error().verdict.outcome == ApiOutcome::conflict);
  }
  advance();
}

void Leader::take(bool is_read, const LeaseRecord& record) {
  problem_.clear();
  transitions_ = record.transitions;
  const Instant now = clock_.now();
  if (is_read)
    election_.saw(record, now.mono);
  else
    election_.wrote(record, now);
}

void Leader::give_up(const Error& why, bool is_conflict) {
  election_.failed(clock_.now().mono);
  if (is_conflict) return;
  ++failures_;
  if (std::exchange(problem_, why.what) != why.what) listener_.on_problem(why);
}

}  // namespace autopilot::kube
