// SPDX-License-Identifier: Apache-2.0
#include "kube/leader.hpp"

#include <algorithm>
#include <utility>

#include "kube/lease_object.hpp"

namespace autopilot::kube {

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
