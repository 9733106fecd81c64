// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "controller/attempts.hpp"
#include "controller/steps.hpp"
#include "core/clock.hpp"
#include "core/result.hpp"
#include "kube/client.hpp"
#include "kube/events.hpp"
#include "kube/pacing.hpp"
#include "net/event_loop.hpp"

namespace autopilot::controller {

// Something to write about a job.
struct JobWrite {
  std::string key;  // what it is about: a later write with the same key replaces a waiting one
  Write write;
  // Sent instead if the object does not exist.
  std::optional<Write> if_missing{};
  // For a write that depends on the current object: `write` reads it, and this makes the request from the
  // response; a success without a value: nothing to do. It runs again after a conflict.
  std::function<Result<std::optional<Write>>(const std::string& json)> from_current{};
};

struct JobWriteFigures {
  std::uint64_t written = 0;
  std::uint64_t failed = 0;   // requests; most are sent again
  std::uint64_t dropped = 0;  // writes that were given up, or did not fit
  std::uint64_t events_dropped = 0;
  std::size_t waiting = 0;
};

// Writes about jobs to the API server, one request at a time, at most five a second after a burst. A write
// that the server cannot execute now is sent again with increasing waits; a write that it refuses, such as
// without a permission, is dropped, logged once for each cause, and not tried again for the same key before a
// wait. Events follow the writes. On the loop's thread.
class JobWriteQueue {
 public:
  static constexpr std::size_t kMaxWaiting = 8192;  // beyond, a new write is dropped
  static constexpr std::size_t kMaxEvents = 1024;
  static constexpr int kBurst = 20;
  static constexpr Duration kSpacing = std::chrono::milliseconds{200};

  // is_leader: called before every request; while it returns false, nothing is sent. host: our pod.
  JobWriteQueue(net::EventLoop& loop, kube::Client& client, const Clock& clock,
                std::function<bool()> is_leader, std::function<double()> dice, std::string host);
  JobWriteQueue(const JobWriteQueue&) = delete;
  JobWriteQueue& operator=(const JobWriteQueue&) = delete;
  ~JobWriteQueue() = default;

  void add(JobWrite write);
  void note(const kube::EventFact& fact);
  [[nodiscard]] JobWriteFigures figures() const;

 private:
  void pump();
  void wake_at(MonoTime time);
  [[nodiscard]] std::optional<std::string> next_key();
  void send_write(const JobWrite& write);
  void take(JobWrite write, const kube::ApiResult<std::string>& answer);
  void take_current(const JobWrite& write, const std::string& json);
  void finish(const JobWrite& write, const kube::ApiResult<std::string>& answer);
  void send_event();
  void take_event(const kube::ApiResult<std::string>& answer);

  net::EventLoop& loop_;
  kube::Client& client_;
  const Clock& clock_;
  const std::function<bool()> is_leader_;
  const std::string host_;
  std::map<std::string, JobWrite> waiting_;  // by key
  std::deque<std::string> order_;            // keys, the oldest first
  kube::EventQueue events_;
  int event_tries_ = 0;
  Attempts attempts_;
  kube::TokenBucket pace_;
  kube::BackOff outage_;
  const std::function<double()> dice_;
  std::string problem_;  // last logged
  JobWriteFigures figures_;
  bool is_sending_ = false;
  net::Subscription wake_;
  net::Exchange exchange_;  // last: it calls
};

}  // namespace autopilot::controller
