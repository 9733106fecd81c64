// SPDX-License-Identifier: Apache-2.0
#include "kube/cluster_writer.hpp"

#include <algorithm>
#include <utility>

#include "logging/log.hpp"

namespace autopilot::kube {
namespace {

// The server as a whole, not what it was asked for.
bool is_outage(const kube::ApiError& why) {
  return why.verdict.next == kube::ApiNext::back_off ||
         why.verdict.next == kube::ApiNext::refresh_credentials;
}

std::size_t index_of(WriteKind kind) {
  return static_cast<std::size_t>(kind);
}

}  // namespace

ClusterWriter::ClusterWriter(net::EventLoop& loop, const Clock& clock, std::function<double()> random)
    : loop_(loop), clock_(clock), random_(std::move(random)) {}

ClusterWriter::Source& ClusterWriter::source_of(WriteKind kind) {
  return sources_.at(index_of(kind));
}

void ClusterWriter::add(WriteKind kind, Source source) {
  source_of(kind) = std::move(source);
}

std::string ClusterWriter::problem() const {
  const auto found = std::ranges::find_if_not(problems_, &std::string::empty);
  return found == problems_.end() ? "" : *found;
}

void ClusterWriter::want(WriteKind kind, WriteUrgency urgency) {
  order_.want(kind, clock_.now().mono, urgency);
  pump();
}

void ClusterWriter::hold(bool is_held) {
  is_held_ = is_held;
  pump();
}

void ClusterWriter::pump() {
  while (!is_held_ && !exchange_.is_active()) {
    const MonoTime now = clock_.now().mono;
    const auto kind = now < quiet_until_ ? std::nullopt : order_.take(now);
    if (!kind) {
      if (const auto next = order_.next())
        next_ = loop_.at(std::max(*next, quiet_until_), [this] { pump(); });
      return;
    }
    auto sent = source_of(*kind).send(
        [this, kind = *kind](const kube::ApiResult<std::string>& answer) { take_answer(kind, answer); });
    if (sent)
      exchange_ = std::move(*sent);
    else
      drop(*kind);
  }
}

// Nothing is left to be written, also of what failed before.
void ClusterWriter::drop(WriteKind kind) {
  order_.not_sent();
  problems_.at(index_of(kind)).clear();
}

void ClusterWriter::take_answer(WriteKind kind, const kube::ApiResult<std::string>& answer) {
  order_.answered(clock_.now().mono);
  if (answer) {
    ++stats_.writes;
    outage_.reset();
    refusals_.at(index_of(kind)).reset();
    problems_.at(index_of(kind)).clear();
    source_of(kind).on_written(*answer);
  } else {
    take_failure(kind, answer.error());
  }
  pump();
}

void ClusterWriter::take_failure(WriteKind kind, const kube::ApiError& why) {
  ++stats_.failures;
  std::string& problem = problems_.at(index_of(kind));
  const std::string before =
      std::exchange(problem, source_of(kind).what + " cannot be written: " + why.error.what);
  // Once, not at every try.
  if (problem != before) logging::log_warning(problem);
  const MonoTime now = clock_.now().mono;
  kube::BackOff& failures = is_outage(why) ? outage_ : refusals_.at(index_of(kind));
  Duration pause = failures.fail({}, random_(), why.verdict.retry_after);
  if (is_outage(why)) quiet_until_ = now + pause;
  if (why.verdict.next == kube::ApiNext::give_up) pause = std::max(pause, kAfterRefusal);
  source_of(kind).on_failed(why);
  order_.failed(kind, now, now + pause);
}

}  // namespace autopilot::kube
