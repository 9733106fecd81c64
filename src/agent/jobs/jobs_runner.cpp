// SPDX-License-Identifier: Apache-2.0
#include "agent/jobs/jobs_runner.hpp"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

namespace autopilot::agent {

struct JobsRunner::Shared {
  Shared(const Clock& of_machine, Make making) : clock(of_machine), make(std::move(making)) {}

  void work();
  // Waits for tasks until then. False: the thread is to end.
  bool wait(MonoTime until, std::deque<Task>& due);

  const Clock& clock;
  const Make make;
  mutable std::mutex mutex;
  std::condition_variable changed;
  std::deque<Task> tasks;
  std::vector<jobs::Record> added;
  std::uint64_t dropped = 0;  // of added
  std::shared_ptr<const JobsSnapshot> snapshot = std::make_shared<JobsSnapshot>();
  std::thread thread;
  bool is_stopping = false;
  bool has_ended = false;
};

bool JobsRunner::Shared::wait(MonoTime until, std::deque<Task>& due) {
  std::unique_lock lock(mutex);
  const Duration pause = std::max(until - clock.now().mono, Duration{0});
  changed.wait_for(lock, pause, [this] { return is_stopping || !tasks.empty(); });
  due = std::exchange(tasks, {});
  return !is_stopping;
}

void JobsRunner::Shared::work() {
  std::unique_ptr<NodeJobs> jobs = make();
  std::deque<Task> due;
  MonoTime next = clock.now().mono;
  while (wait(next, due)) {
    for (const Task& task : due)
      task(*jobs);
    due.clear();
    std::vector<jobs::Record> records;
    {
      const std::lock_guard lock(mutex);
      records = std::exchange(added, {});
    }
    jobs->add(std::move(records));
    next = jobs->run();
    auto fresh = std::make_shared<JobsSnapshot>(*jobs->snapshot());
    const std::lock_guard lock(mutex);
    fresh->counts.dropped += dropped;
    snapshot = std::move(fresh);
  }
  due.clear();
  jobs.reset();
  const std::lock_guard lock(mutex);
  has_ended = true;
  changed.notify_all();
}

JobsRunner::JobsRunner(const Clock& clock, Make make)
    : shared_(std::make_shared<Shared>(clock, std::move(make))) {}

JobsRunner::~JobsRunner() {
  stop();
}

void JobsRunner::start() {
  shared_->thread = std::thread([shared = shared_] { shared->work(); });
}

void JobsRunner::stop() {
  if (!shared_->thread.joinable()) return;
  bool has_ended = false;
  {
    std::unique_lock lock(shared_->mutex);
    shared_->is_stopping = true;
    shared_->changed.notify_all();
    has_ended = shared_->changed.wait_for(lock, kStopPatience, [this] { return shared_->has_ended; });
  }
  if (has_ended)
    shared_->thread.join();
  else
    shared_->thread.detach();
}

Status JobsRunner::post(Task task) {
  const std::lock_guard lock(shared_->mutex);
  if (shared_->is_stopping) return fail(Errc::unavailable, "the agent stops");
  if (shared_->tasks.size() >= kMostTasks)
    return fail(Errc::exhausted,
                "too many requests about jobs wait, because a source of job data blocks; retry");
  shared_->tasks.push_back(std::move(task));
  shared_->changed.notify_all();
  return {};
}

void JobsRunner::add(std::vector<jobs::Record> records) {
  const std::lock_guard lock(shared_->mutex);
  for (jobs::Record& record : records) {
    if (shared_->added.size() >= NodeJobs::kMostWaiting)
      ++shared_->dropped;
    else
      shared_->added.push_back(std::move(record));
  }
}

Status JobsRunner::receive(job_hub::NodeBatch batch) {
  const auto shared = std::make_shared<job_hub::NodeBatch>(std::move(batch));
  return post([shared](NodeJobs& jobs) {
    auto read = job_hub::read_records(std::move(*shared));
    jobs.receive(shared->node, std::move(read.records), shared->is_whole);
  });
}

std::shared_ptr<const JobsSnapshot> JobsRunner::snapshot() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->snapshot;
}

}  // namespace autopilot::agent
