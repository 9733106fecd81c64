// SPDX-License-Identifier: Apache-2.0
#include "store/journal_writer.hpp"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <iterator>
#include <mutex>
#include <optional>
#include <pthread.h>
#include <thread>
#include <utility>

namespace autopilot::store {
namespace {

using Ids = std::vector<std::uint64_t>;
using Lock = std::unique_lock<std::mutex>;

// Time limit of the destructor if stop() was not called.
constexpr Duration kPatience = std::chrono::seconds{2};

std::size_t rows_in(const Batch& batch) {
  return batch.events.size() + batch.incidents.size() + batch.operations.size() + batch.pass_records.size() +
         batch.last_samples.size() + batch.values.size() + (batch.findings ? batch.findings->size() : 0);
}

template <class Items>
void append(Items& to, const Items& from) {
  to.insert(to.end(), from.begin(), from.end());
}

void append(Batch& to, const Batch& from) {
  append(to.events, from.events);
  append(to.incidents, from.incidents);
  append(to.operations, from.operations);
  append(to.pass_records, from.pass_records);
  append(to.last_samples, from.last_samples);
  append(to.values, from.values);
  if (from.findings) to.findings = from.findings;
  to.is_whole |= from.is_whole;
}

struct Submission {
  Batch batch;
  JournalWriter::Done done;
  MonoTime submitted;
  std::size_t rows = 0;
};

// True for errors that a retry of the same batch cannot fix.
bool is_final(Errc code) {
  return code == Errc::conflict || code == Errc::internal || code == Errc::unsupported;
}

class JournalSink final : public BatchSink {
 public:
  explicit JournalSink(std::unique_ptr<Journal> journal)
      : path_(journal->path()), journal_(std::move(journal)) {}

  Result<Ids> commit(const Batch& batch) override {
    if (!journal_) return fail(Errc::malformed, path_ + ": the journal is not open");
    return journal_->commit(batch);
  }
  void set_behind() override {
    if (journal_) journal_->set_behind();
  }
  Status retain(const Retention& retention, WallTime now) override {
    if (!journal_) return {};
    return journal_->retain(retention, now);
  }
  Result<std::string> begin_anew(WallTime now) override {
    if (journal_) {
      journal_.reset();
      auto moved = Journal::move_aside(path_, now);
      // Removed already by another process.
      if (!moved && moved.error().code != Errc::not_found) return moved;
      aside_ = std::move(moved).value_or("");
    }
    auto opened = TRY(Journal::open(path_, now));
    journal_ = std::move(opened.journal);
    return std::exchange(aside_, {});
  }

 private:
  std::string path_;
  std::string aside_;  // name of the old journal until a new one is open
  std::unique_ptr<Journal>
      journal_;  // null: the old journal is moved aside and a new one could not be opened yet
};

}  // namespace

std::unique_ptr<BatchSink> make_journal_sink(std::unique_ptr<Journal> journal) {
  return std::make_unique<JournalSink>(std::move(journal));
}

// Outlives the writer if the disk hangs: then only the thread owns it, and uses neither the clock nor a
// callback again.
struct JournalWriter::Shared {
  std::unique_ptr<BatchSink> sink;  // used by the thread only
  const Clock* clock;
  const Retention retention;
  const WriterLimits limits;
  std::thread thread;

  mutable std::mutex mutex;
  std::condition_variable work;   // for the thread: there is work, or a request to stop
  std::condition_variable state;  // for other threads: a submission is settled, or the thread has ended
  std::deque<Submission> queue;
  std::deque<Submission> in_flight;
  WriterStatus counters;
  std::size_t rows = 0;  // in queue and in flight
  std::uint64_t submitted = 0;
  std::uint64_t settled = 0;
  std::optional<MonoTime> next_retention;
  bool retention_failed = false;
  bool has_refused = false;  // since the last commit began
  bool stopping = false;
  bool abandoned = false;
  bool settling = false;  // callbacks are being called
  bool ended = false;

  Shared(std::unique_ptr<BatchSink> batch_sink, const Clock& time, Retention kept, WriterLimits bounds)
      : sink(std::move(batch_sink)), clock(&time), retention(kept), limits(bounds) {}

  // These functions run on the writer's thread with the lock held, and release it while they block.
  void work_until_stopped(Lock& lock);
  void commit_in_flight(Lock& lock);
  void commit_one_by_one(Lock& lock);
  // The final error, or the ids; nullopt if the writer was stopped meanwhile. The batch is the caller's copy,
  // not an element of in_flight: stop() removes those while a hung disk can still read the batch.
  std::optional<Result<Ids>> commit(Lock& lock, const Batch& batch);
  void recover(Lock& lock, const Error& error);
  void settle_first(Lock& lock, Result<Ids> result);
  void end_settling();
  void retain_when_due(Lock& lock);
};

void JournalWriter::Shared::work_until_stopped(Lock& lock) {
  const auto has_news = [this] { return !queue.empty() || stopping; };
  while (!abandoned) {
    if (retention_failed)
      work.wait_for(lock, limits.retry, has_news);
    else
      work.wait(lock, has_news);
    if (abandoned || (stopping && queue.empty())) return;
    std::ranges::move(queue, std::back_inserter(in_flight));
    queue.clear();
    if (!in_flight.empty()) commit_in_flight(lock);
    if (!abandoned) retain_when_due(lock);
  }
}

void JournalWriter::Shared::commit_in_flight(Lock& lock) {
  if (in_flight.size() == 1) return commit_one_by_one(lock);
  Batch together;
  for (const auto& submission : in_flight)
    append(together, submission.batch);
  auto result = commit(lock, together);
  if (!result) return;
  // One batch makes the commit fail: commit each alone to find it.
  if (!*result) return commit_one_by_one(lock);
  settling = true;
  auto id = (*result)->begin();
  while (!in_flight.empty()) {
    const auto count = static_cast<std::ptrdiff_t>(in_flight.front().batch.events.size());
    settle_first(lock, Ids(id, id + count));
    id += count;
  }
  end_settling();
}

void JournalWriter::Shared::commit_one_by_one(Lock& lock) {
  while (!in_flight.empty()) {
    const Batch own = in_flight.front().batch;
    auto result = commit(lock, own);
    if (!result) return;
    settling = true;
    settle_first(lock, std::move(*result));
    end_settling();
  }
}

std::optional<Result<Ids>> JournalWriter::Shared::commit(Lock& lock, const Batch& batch) {
  while (!abandoned) {
    const bool is_behind = std::exchange(has_refused, false);
    lock.unlock();
    if (is_behind) sink->set_behind();
    auto result = sink->commit(batch);
    lock.lock();
    if (abandoned) break;
    if (result) counters.problem.clear();
    if (result || is_final(result.error().code)) return result;
    recover(lock, result.error());
  }
  return std::nullopt;
}

void JournalWriter::Shared::recover(Lock& lock, const Error& error) {
  counters.problem = error.what;
  if (error.code == Errc::malformed) {
    const WallTime now = clock->now().wall;
    lock.unlock();
    auto aside = sink->begin_anew(now);
    lock.lock();
    if (aside) {
      ++counters.moved_aside;
      counters.last_moved_aside = std::move(*aside);
      return;
    }
    counters.problem = aside.error().what;
  }
  if (!abandoned) work.wait_for(lock, limits.retry, [this] { return abandoned; });
}

void JournalWriter::Shared::settle_first(Lock& lock, Result<Ids> result) {
  Submission submission = std::move(in_flight.front());
  in_flight.pop_front();
  rows -= submission.rows;
  if (result) {
    ++counters.commits;
  } else {
    ++counters.dropped;
    counters.problem = result.error().what;
  }
  if (submission.done) {
    lock.unlock();
    submission.done(std::move(result));
    lock.lock();
  }
  ++settled;
}

void JournalWriter::Shared::end_settling() {
  settling = false;
  state.notify_all();
}

void JournalWriter::Shared::retain_when_due(Lock& lock) {
  const Instant now = clock->now();
  if (next_retention && now.mono < *next_retention) return;
  lock.unlock();
  const auto done = sink->retain(retention, now.wall);
  lock.lock();
  next_retention = now.mono + (done ? limits.retention_period : limits.retry);
  // Deletion frees space on a full disk: after a failure it is retried before the next period.
  if (const bool failed_before = std::exchange(retention_failed, !done); failed_before && done)
    counters.problem.clear();
  if (!done) counters.problem = done.error().what;
}

void JournalWriter::run(const std::shared_ptr<Shared>& shared) {
  ::pthread_setname_np(::pthread_self(), "journal");
  Lock lock(shared->mutex);
  shared->work_until_stopped(lock);
  lock.unlock();
  // Closing writes too, so it runs on this thread and within the time limit of stop().
  shared->sink.reset();
  lock.lock();
  shared->ended = true;
  shared->state.notify_all();
}

JournalWriter::JournalWriter(std::unique_ptr<BatchSink> sink, const Clock& clock, Retention retention,
                             WriterLimits limits)
    : shared_(std::make_shared<Shared>(std::move(sink), clock, retention, limits)) {
  shared_->thread = std::thread([shared = shared_] { run(shared); });
}

JournalWriter::~JournalWriter() {
  static_cast<void>(stop(kPatience));
}

void JournalWriter::submit(Batch batch, Done done) {
  const MonoTime now = shared_->clock->now().mono;
  const std::size_t rows = rows_in(batch);
  Error refusal;
  {
    const Lock lock(shared_->mutex);
    const std::size_t waiting = shared_->queue.size() + shared_->in_flight.size();
    const auto& limits = shared_->limits;
    const bool has_room =
        waiting < limits.submissions && (waiting == 0 || shared_->rows + rows <= limits.rows);
    if (!shared_->stopping && has_room) {
      shared_->queue.push_back({std::move(batch), std::move(done), now, rows});
      shared_->rows += rows;
      ++shared_->submitted;
      shared_->work.notify_one();
      return;
    }
    ++shared_->counters.dropped;
    shared_->has_refused = true;
    refusal =
        shared_->stopping
            ? Error{Errc::unavailable, "the journal is closed"}
            : Error{Errc::exhausted, "the journal is too slow: " + std::to_string(waiting) + " batches wait"};
  }
  if (done) done(fail(std::move(refusal)));
}

Status JournalWriter::flush(Duration timeout) {
  Lock lock(shared_->mutex);
  const std::uint64_t target = shared_->submitted;
  if (shared_->state.wait_for(lock, timeout, [&] { return shared_->settled >= target; })) return {};
  return fail(Errc::timed_out,
              "journal: " + std::to_string(target - shared_->settled) + " batches wait" +
                  (shared_->counters.problem.empty() ? "" : ": " + shared_->counters.problem));
}

Status JournalWriter::stop(Duration timeout) {
  Lock lock(shared_->mutex);
  if (!shared_->thread.joinable()) return {};
  shared_->stopping = true;
  shared_->work.notify_all();
  const auto has_ended = [this] { return shared_->ended; };
  if (shared_->state.wait_for(lock, timeout, has_ended)) {
    lock.unlock();
    shared_->thread.join();
    return {};
  }
  // Waits for a callback, which is short, but not for the disk.
  shared_->state.wait(lock, [this] { return !shared_->settling; });
  shared_->abandoned = true;
  shared_->work.notify_all();
  auto lost = std::exchange(shared_->in_flight, {});
  std::ranges::move(shared_->queue, std::back_inserter(lost));
  shared_->queue.clear();
  shared_->rows = 0;
  shared_->settled += lost.size();
  shared_->counters.dropped += lost.size();
  // A batch that only waits for its next attempt ends immediately.
  constexpr auto kGrace = std::chrono::milliseconds{50};
  const bool ended = shared_->state.wait_for(lock, kGrace, has_ended);
  std::thread thread = std::move(shared_->thread);
  lock.unlock();
  if (ended) {
    thread.join();
  } else {
    thread.detach();
  }
  for (auto& submission : lost)
    if (submission.done)
      submission.done(fail(Errc::timed_out, "the journal was closed before the disk completed the write"));
  if (lost.empty() && ended) return {};
  return fail(Errc::timed_out, "journal: " + std::to_string(lost.size()) + " batches were dropped");
}

WriterStatus JournalWriter::status() const {
  const MonoTime now = shared_->clock->now().mono;
  const Lock lock(shared_->mutex);
  WriterStatus status = shared_->counters;
  status.waiting = shared_->queue.size() + shared_->in_flight.size();
  const auto* oldest = !shared_->in_flight.empty() ? &shared_->in_flight.front()
                       : !shared_->queue.empty()   ? &shared_->queue.front()
                                                   : nullptr;
  if (oldest != nullptr) status.lag = std::max(Duration{0}, now - oldest->submitted);
  return status;
}

}  // namespace autopilot::store
