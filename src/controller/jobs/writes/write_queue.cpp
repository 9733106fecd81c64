// SPDX-License-Identifier: Apache-2.0
#include "controller/jobs/writes/write_queue.hpp"

#include <algorithm>
#include <utility>

#include "logging/log.hpp"

namespace autopilot::controller {
namespace {

constexpr kube::BackOffTimes kOutage{.first = std::chrono::milliseconds{200},
                                     .last = std::chrono::minutes{1}};
constexpr Duration kFollow = std::chrono::seconds{1};  // until this controller leads
constexpr int kEventTries = 3;

// Whether the same write can succeed later.
bool is_temporary(const kube::ApiError& why) {
  return why.verdict.next == kube::ApiNext::back_off || why.verdict.next == kube::ApiNext::look_again ||
         why.verdict.next == kube::ApiNext::refresh_credentials;
}

}  // namespace

JobWriteQueue::JobWriteQueue(net::EventLoop& loop, kube::Client& client, const Clock& clock,
                             std::function<bool()> is_leader, std::function<double()> dice, std::string host)
    : loop_(loop),
      client_(client),
      clock_(clock),
      is_leader_(std::move(is_leader)),
      host_(std::move(host)),
      events_(kMaxEvents),
      attempts_(dice),
      pace_(kBurst, kSpacing),
      dice_(std::move(dice)) {}

void JobWriteQueue::add(JobWrite write) {
  const auto known = waiting_.find(write.key);
  if (known != waiting_.end()) {
    known->second = std::move(write);
    return;
  }
  if (waiting_.size() >= kMaxWaiting) {
    ++figures_.dropped;
    return;
  }
  order_.push_back(write.key);
  std::string key = write.key;
  waiting_.emplace(std::move(key), std::move(write));
  pump();
}

void JobWriteQueue::note(const kube::EventFact& fact) {
  events_.note(fact, clock_.now());
  pump();
}

JobWriteFigures JobWriteQueue::figures() const {
  JobWriteFigures figures = figures_;
  figures.waiting = waiting_.size();
  figures.events_dropped = events_.dropped();
  return figures;
}

void JobWriteQueue::wake_at(MonoTime time) {
  wake_ = loop_.at(time, [this] { pump(); });
}

// The first key whose last failure is long enough ago.
std::optional<std::string> JobWriteQueue::next_key() {
  const MonoTime now = clock_.now().mono;
  const auto at =
      std::ranges::find_if(order_, [&](const std::string& key) { return attempts_.may_try(key, now); });
  if (at == order_.end()) return std::nullopt;
  std::string key = std::move(*at);
  order_.erase(at);
  return key;
}

void JobWriteQueue::pump() {
  if (is_sending_ || (order_.empty() && !events_.has_next())) return;
  const MonoTime now = clock_.now().mono;
  if (!is_leader_()) return wake_at(now + kFollow);
  if (wake_.is_active() && outage_.failures() > 0) return;
  if (pace_.next(now) > now) return wake_at(pace_.next(now));
  if (const auto key = next_key()) {
    (void)pace_.take(now);
    const auto found = waiting_.find(*key);
    JobWrite write = std::move(found->second);
    waiting_.erase(found);
    return send_write(write);
  }
  if (events_.next() != nullptr) {
    (void)pace_.take(now);
    return send_event();
  }
  if (const auto next = attempts_.next(now); next && !order_.empty()) wake_at(*next);
}

void JobWriteQueue::send_write(const JobWrite& write) {
  is_sending_ = true;
  exchange_ = send(client_, write.write,
                   [this, write](const kube::ApiResult<std::string>& answer) { take(write, answer); });
}

void JobWriteQueue::take(JobWrite write, const kube::ApiResult<std::string>& answer) {
  if (answer && write.from_current) return take_current(write, *answer);
  const bool is_missing = !answer && answer.error().verdict.outcome == kube::ApiOutcome::not_found;
  if (!is_missing || !write.if_missing || !is_leader_()) return finish(write, answer);
  const Write create = *std::exchange(write.if_missing, std::nullopt);
  exchange_ = send(client_, create,
                   [this, write](const kube::ApiResult<std::string>& created) { finish(write, created); });
}

void JobWriteQueue::take_current(const JobWrite& write, const std::string& json) {
  const Result<std::optional<Write>> next = write.from_current(json);
  if (!next) {
    logging::log_warning("cannot use an object of a job",
                         {{"object", write.write.path}, {"cause", next.error().what}});
    ++figures_.dropped;
  }
  if (!next || !*next || !is_leader_()) {
    is_sending_ = false;
    return pump();
  }
  exchange_ = send(client_, **next,
                   [this, write](const kube::ApiResult<std::string>& answer) { finish(write, answer); });
}

void JobWriteQueue::finish(const JobWrite& write, const kube::ApiResult<std::string>& answer) {
  is_sending_ = false;
  if (answer) {
    ++figures_.written;
    attempts_.succeeded(write.key);
    outage_.reset();
    problem_.clear();
    return pump();
  }
  const kube::ApiError& why = answer.error();
  ++figures_.failed;
  attempts_.failed(write.key, clock_.now().mono, why.verdict.retry_after);
  if (std::exchange(problem_, why.error.what) != why.error.what)
    logging::log_warning("cannot write the health of a job", {{"cause", why.error.what}});
  // A newer write with the same key replaces it.
  if (is_temporary(why) && !waiting_.contains(write.key) && waiting_.size() < kMaxWaiting) {
    order_.push_back(write.key);
    waiting_.emplace(write.key, write);
  } else if (!is_temporary(why)) {
    ++figures_.dropped;
  }
  if (why.verdict.next != kube::ApiNext::back_off) return pump();
  wake_at(clock_.now().mono + outage_.fail(kOutage, dice_(), why.verdict.retry_after));
}

void JobWriteQueue::send_event() {
  is_sending_ = true;
  exchange_ = kube::send_event(client_, *events_.next(), {"autopilot-controller", host_},
                               [this](const kube::ApiResult<std::string>& answer) { take_event(answer); });
}

void JobWriteQueue::take_event(const kube::ApiResult<std::string>& answer) {
  is_sending_ = false;
  if (answer) {
    events_.written();
    event_tries_ = 0;
    outage_.reset();
    return pump();
  }
  const kube::ApiVerdict& verdict = answer.error().verdict;
  const bool is_new = events_.next()->kind == kube::EventWrite::Kind::create;
  const bool has_other_form =
      verdict.outcome == (is_new ? kube::ApiOutcome::conflict : kube::ApiOutcome::not_found);
  if (++event_tries_ >= kEventTries) {
    event_tries_ = 0;
    events_.drop();
  } else if (has_other_form) {
    events_.refused(verdict.outcome);
  } else if (verdict.next != kube::ApiNext::back_off) {
    events_.drop();
  }
  if (verdict.next != kube::ApiNext::back_off) return pump();
  wake_at(clock_.now().mono + outage_.fail(kOutage, dice_(), verdict.retry_after));
}

}  // namespace autopilot::controller
