// SPDX-License-Identifier: Apache-2.0
#include "agent/job_uplink.hpp"

#include <array>
#include <cstdio>
#include <random>
#include <utility>

#include "api/jobs_v1.hpp"
#include "api/v1.hpp"
#include "kube/client.hpp"
#include "logging/log.hpp"

namespace autopilot::agent {
namespace {

using logging::log_info;
using logging::log_warning;

// Of an answer, which is short.
constexpr std::size_t kAnswerBytes = std::size_t{64} << 10;

std::optional<Duration> retry_after_of(const net::HttpResponse& answer) {
  for (const auto& [name, value] : answer.headers)
    if (name == "retry-after") return kube::parse_retry_after(value);
  return std::nullopt;
}

}  // namespace

std::string new_job_instance() {
  std::random_device random;
  std::array<char, 24> text{};
  std::snprintf(text.data(), text.size(), "%08x%08x", random(), random());
  return text.data();
}

JobUplink::JobUplink(net::EventLoop& loop, const Clock& clock, JobReceiverDoor door, std::string node,
                     std::string instance, std::function<double()> dice, Pace pace, JobBacklog::Limits limits)
    : loop_(loop),
      clock_(clock),
      door_(std::move(door)),
      node_(std::move(node)),
      dice_(std::move(dice)),
      pace_(pace),
      waiting_(std::make_shared<Waiting>(JobBacklog(node_, std::move(instance), limits))) {}

void JobUplink::start() {
  wait(std::chrono::duration_cast<Duration>(pace_.every * dice_()));
}

std::function<void(const std::vector<jobs::Record>& records)> JobUplink::sender() const {
  return [waiting = waiting_, &clock = clock_](const std::vector<jobs::Record>& records) {
    const MonoTime now = clock.now().mono;
    const std::lock_guard lock(waiting->mutex);
    for (const jobs::Record& record : records)
      waiting->backlog.add(record, now);
  };
}

JobUplink::Stats JobUplink::stats() const {
  const std::lock_guard lock(waiting_->mutex);
  Stats stats = waiting_->stats;
  stats.records = waiting_->backlog.records();
  stats.dropped = waiting_->backlog.dropped();
  stats.waiting_bytes = waiting_->backlog.bytes();
  return stats;
}

bool JobUplink::is_due() const {
  const std::lock_guard lock(waiting_->mutex);
  return waiting_->backlog.is_due();
}

void JobUplink::wait(Duration delay) {
  next_ = loop_.after(delay, [this] { post(); });
}

void JobUplink::post() {
  std::optional<std::string> body;
  {
    const std::lock_guard lock(waiting_->mutex);
    body = waiting_->backlog.next(clock_.now());
  }
  if (!body) return wait(pace_.every);
  if (!open_session()) return retry("this agent has no certificate yet; `tls` configures where it gets one");
  net::HttpRequest request;
  request.method = "POST";
  request.path = api::kJobRecordsPath;
  request.headers = {{"content-type", api::kJobRecordsType}};
  request.body = *std::move(body);
  exchange_ = session_->send(std::move(request), pace_.deadline,
                             [this](const Result<net::HttpResponse>& answer) { take(answer); });
}

// False: this agent has no certificate yet.
bool JobUplink::open_session() {
  auto tls = door_.tls();
  if (!tls) return false;
  if (!session_ || tls != tls_)
    session_ = std::make_unique<net::HttpSession>(loop_, door_.url, tls,
                                                  net::SessionLimits{.body_bytes = kAnswerBytes,
                                                                     .connections = 1 + kMostQuestions,
                                                                     .kept = 1,
                                                                     .keep_for = 3 * pace_.every});
  tls_ = std::move(tls);
  return true;
}

// A question without an answer is asked again by its caller: no state of the batches depends on it.
void JobUplink::ask(const std::string& job, std::function<void(const jobs::JobReport& outcome)> done) {
  std::erase_if(questions_, [](const auto& one) { return !one.second.is_active(); });
  if (questions_.contains(job) || questions_.size() >= kMostQuestions || !open_session()) return;
  net::HttpRequest request;
  request.method = "GET";
  request.path = api::kJobOutcomePath;
  request.query = {{"node", node_}, {"job", job}};
  questions_[job] =
      session_->send(std::move(request), pace_.deadline,
                     [this, job, done = std::move(done)](const Result<net::HttpResponse>& answer) {
                       take_outcome(job, answer, done);
                     });
}

void JobUplink::take_outcome(const std::string& job, const Result<net::HttpResponse>& answer,
                             const std::function<void(const jobs::JobReport& outcome)>& done) {
  if (!answer || answer->status != 200) return;
  const auto outcome = api::parse_job(answer->body);
  if (outcome && outcome->state.job == job) done(*outcome);
}

void JobUplink::take(const Result<net::HttpResponse>& answer) {
  if (!answer) return retry(answer.error().what);
  if (answer->status == 200) return take_answer(*answer);
  refuse(*answer);
}

void JobUplink::take_answer(const net::HttpResponse& answer) {
  const auto taken = api::parse_job_batch_answer(answer.body);
  if (!taken) return retry("the answer of the receiver is not valid: " + taken.error().what);
  {
    const std::lock_guard lock(waiting_->mutex);
    waiting_->backlog.take(*taken);
    if (!taken->wants_whole) {
      ++waiting_->stats.batches;
      waiting_->stats.taken = clock_.now().mono;
    }
  }
  note("");
  if (on_suspected_ && !taken->wants_whole) on_suspected_(taken->suspected);
  // A receiver that demands a whole batch forever gets one a pace.
  if (taken->wants_whole && failures_.failures() > 0) return wait(pace_.every);
  if (taken->wants_whole)
    (void)failures_.fail(pace_.after_failures, dice_());
  else
    failures_.reset();
  wait(is_due() ? Duration{0} : pace_.every);
}

void JobUplink::refuse(const net::HttpResponse& answer) {
  const Error said = api::parse_error(answer.body);
  const std::string why =
      "the receiver answered " + std::to_string(answer.status) + (said.what.empty() ? "" : ": " + said.what);
  // It would never take these lines.
  if (answer.status == 400 || answer.status == 413) {
    const std::lock_guard lock(waiting_->mutex);
    waiting_->backlog.give_up();
  }
  retry(why, retry_after_of(answer));
}

// Over a new connection, which may lead to another replica.
void JobUplink::retry(std::string why, std::optional<Duration> retry_after) {
  session_.reset();
  {
    const std::lock_guard lock(waiting_->mutex);
    ++waiting_->stats.failures;
  }
  note(std::move(why));
  wait(failures_.fail(pace_.after_failures, dice_(), retry_after));
}

// Once for each cause in a row.
void JobUplink::note(std::string problem) {
  std::string before;
  {
    const std::lock_guard lock(waiting_->mutex);
    before = std::exchange(waiting_->stats.problem, problem);
  }
  if (problem == before) return;
  if (problem.empty()) return log_info("records of jobs are delivered again");
  log_warning("records of jobs are not delivered; retrying",
              {{"receiver", to_string(door_.url)}, {"cause", problem}});
}

}  // namespace autopilot::agent
