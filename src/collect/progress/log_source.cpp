// SPDX-License-Identifier: Apache-2.0
#include "collect/progress/log_source.hpp"

#include <iterator>
#include <mutex>
#include <utility>

namespace autopilot::collect {
namespace {

constexpr Duration kStuckAfter = std::chrono::seconds{30};

}  // namespace

struct LogSource::Shared {
  explicit Shared(LogOptions options) : reader(std::move(options)) {}

  LogReader reader;  // of the task that runs
  std::mutex mutex;
  std::vector<jobs::Record> records;  // guarded, as is all that follows
  std::vector<std::string> not_seen;
  bool has_more = false;

  void read(const SeenJobs& jobs, WallTime now) {
    std::vector<jobs::Record> found;
    reader.read(jobs, now, found);
    std::vector<std::string> sentences = reader.not_seen();
    const std::lock_guard lock(mutex);
    std::move(found.begin(), found.end(), std::back_inserter(records));
    not_seen = std::move(sentences);
    has_more = reader.has_more();
  }
};

LogSource::LogSource(LogOptions options) : shared_(std::make_shared<Shared>(std::move(options))) {}

void LogSource::poll(const SeenJobs& jobs, WallTime now, std::vector<jobs::Record>& records) {
  if (thread_.is_busy()) {
    is_stuck_ = started_ && now - *started_ > kStuckAfter;
    return;
  }
  is_stuck_ = false;
  {
    const std::lock_guard lock(shared_->mutex);
    std::move(shared_->records.begin(), shared_->records.end(), std::back_inserter(records));
    shared_->records.clear();
  }
  started_ = now;
  (void)thread_.start([shared = shared_, jobs, now] { shared->read(jobs, now); });
}

bool LogSource::has_more() const {
  if (thread_.is_busy()) return true;
  const std::lock_guard lock(shared_->mutex);
  return shared_->has_more || !shared_->records.empty();
}

std::vector<std::string> LogSource::not_seen() const {
  std::vector<std::string> sentences;
  {
    const std::lock_guard lock(shared_->mutex);
    sentences = shared_->not_seen;
  }
  if (is_stuck_)
    sentences.emplace_back(
        "Logs of jobs are not read: a disk or a file server has not answered for 30 s; check its mounts");
  return sentences;
}

}  // namespace autopilot::collect
