// SPDX-License-Identifier: Apache-2.0
#include "store/history/history_writer.hpp"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <iterator>
#include <mutex>
#include <optional>
#include <pthread.h>
#include <thread>
#include <utility>
#include <variant>

#include "core/database_place.hpp"
#include "learning/record_check.hpp"
#include "store/journal.hpp"

namespace autopilot::store {
namespace {

using HistoryLock = std::unique_lock<std::mutex>;
using HistoryItem = std::variant<learning::HistoryRecord, HistoryWriter::Make>;

// Time limit of the destructor if stop() was not called.
constexpr Duration kHistoryPatience = std::chrono::seconds{2};

bool is_problem_of_file(Errc code) {
  return code == Errc::malformed || code == Errc::unavailable || code == Errc::exhausted;
}

}  // namespace

// Outlives the writer if the disk hangs: then only the thread owns it.
struct HistoryWriter::Shared {
  const std::string path;
  const std::shared_ptr<const Clock> clock;
  const HistoryRetention retention;
  const HistoryWriterLimits limits;
  std::unique_ptr<History> history;  // used by the thread only; null: not open
  std::thread thread;

  mutable std::mutex mutex;
  std::condition_variable work;   // for the thread: there is work, or a request to stop
  std::condition_variable state;  // for other threads: something is settled, or the thread has ended
  std::deque<HistoryItem> queue;
  HistoryWriterStatus counters;
  std::uint64_t accepted = 0;
  std::uint64_t settled = 0;
  std::optional<MonoTime> next_retention;
  bool has_reopened = false;  // used by the thread only: because of damage, and nothing was written since
  bool stopping = false;
  bool abandoned = false;
  bool ended = false;

  Shared(std::string file, std::shared_ptr<const Clock> time, HistoryRetention kept,
         HistoryWriterLimits bounds)
      : path(std::move(file)), clock(std::move(time)), retention(kept), limits(bounds) {}

  void accept(HistoryItem item);
  // On the thread, with the lock held; released while it blocks.
  void work_until_stopped(HistoryLock& lock);
  void write_next(HistoryLock& lock);
  void wait_for_work(HistoryLock& lock);
  void settle(std::size_t items, std::size_t written, std::size_t dropped);
  void pause(HistoryLock& lock, std::string problem);
  void retain_when_due(HistoryLock& lock);
  [[nodiscard]] std::deque<HistoryItem> next_items() const;
  // On the thread, without the lock.
  Status open_if_closed();
  // What the items become. `refused`: records that history does not take; `problem`: of the last of them.
  struct Prepared {
    Records records;
    std::size_t refused = 0;
    std::string problem;

    void add(learning::HistoryRecord record);
  };
  Status try_items(const std::deque<HistoryItem>& items, Prepared& prepared);
  Result<Prepared> prepare(const std::deque<HistoryItem>& items) const;
  // The file is damaged: opens it again, which keeps an unusable file aside. A file that seems usable but is
  // damaged still is moved aside the second time.
  void leave_damaged_file();
};

void HistoryWriter::Shared::accept(HistoryItem item) {
  const HistoryLock lock(mutex);
  if (stopping || queue.size() >= limits.waiting) {
    ++counters.dropped;
    return;
  }
  queue.push_back(std::move(item));
  ++accepted;
  work.notify_one();
}

// Records up to the limit, or one maker, which sees all that was put before it.
std::deque<HistoryItem> HistoryWriter::Shared::next_items() const {
  std::deque<HistoryItem> items;
  for (const HistoryItem& item : queue) {
    const bool is_maker = std::holds_alternative<Make>(item);
    if (is_maker && !items.empty()) break;
    items.push_back(item);
    if (is_maker || items.size() == limits.at_once) break;
  }
  return items;
}

Status HistoryWriter::Shared::open_if_closed() {
  if (history) return {};
  auto opened = TRY(History::open(path, clock->now().wall));
  history = std::move(opened.history);
  const HistoryLock lock(mutex);
  counters.is_open = true;
  if (!opened.moved_aside.empty()) counters.moved_aside = opened.moved_aside;
  return {};
}

void HistoryWriter::Shared::Prepared::add(learning::HistoryRecord record) {
  learning::fit(record);
  if (const Status valid = learning::check(record); !valid) {
    ++refused;
    problem = std::string(learning::type_of(record)) + " '" + learning::id_of(record) +
              "' is not stored: " + valid.error().what;
    return;
  }
  records.push_back(std::move(record));
}

Result<HistoryWriter::Shared::Prepared> HistoryWriter::Shared::prepare(
    const std::deque<HistoryItem>& items) const {
  Prepared prepared;
  for (const HistoryItem& item : items) {
    if (const auto* record = std::get_if<learning::HistoryRecord>(&item)) {
      prepared.add(*record);
      continue;
    }
    for (learning::HistoryRecord& made : TRY(std::get<Make>(item)(*history)))
      prepared.add(std::move(made));
  }
  return prepared;
}

Status HistoryWriter::Shared::try_items(const std::deque<HistoryItem>& items, Prepared& prepared) {
  TRY_STATUS(open_if_closed());
  // Before the items are made: they would be dropped for an error that is not theirs.
  TRY_STATUS(history->ready());
  auto made = prepare(items);
  // Another attempt helps only against problems of the file and the disk.
  if (!made && !is_problem_of_file(made.error().code)) return fail(Errc::conflict, made.error().what);
  prepared = TRY(std::move(made));
  return history->put(prepared.records);
}

void HistoryWriter::Shared::leave_damaged_file() {
  history.reset();
  if (is_postgres(path)) return;
  if (!std::exchange(has_reopened, true)) return;
  auto aside = Journal::move_aside(path, clock->now().wall);
  if (!aside) return;
  has_reopened = false;
  const HistoryLock lock(mutex);
  counters.moved_aside = std::move(*aside);
}

void HistoryWriter::Shared::settle(std::size_t items, std::size_t written, std::size_t dropped) {
  if (abandoned) return;  // stop() has dropped them
  queue.erase(queue.begin(), queue.begin() + static_cast<std::ptrdiff_t>(items));
  settled += items;
  counters.written += written;
  counters.dropped += dropped;
  state.notify_all();
}

void HistoryWriter::Shared::pause(HistoryLock& lock, std::string problem) {
  counters.problem = std::move(problem);
  work.wait_for(lock, limits.retry, [this] { return abandoned || stopping; });
}

// The items stay in the queue until they are settled: what fails is tried again.
void HistoryWriter::Shared::write_next(HistoryLock& lock) {
  const auto items = next_items();
  lock.unlock();
  Prepared prepared;
  Status done = try_items(items, prepared);
  // Damaged, or removed by another process.
  for (int again = 0; again < 2 && !done && done.error().code == Errc::malformed; ++again) {
    leave_damaged_file();
    done = try_items(items, prepared);
  }
  lock.lock();
  if (done) {
    has_reopened = false;
    counters.problem = prepared.problem;
    return settle(items.size(), prepared.records.size(), prepared.refused);
  }
  if (done.error().code == Errc::conflict) {
    counters.problem = done.error().what;
    return settle(items.size(), 0, items.size());
  }
  // One attempt after the request to stop.
  if (stopping) return settle(items.size(), 0, items.size());
  pause(lock, done.error().what);
}

void HistoryWriter::Shared::retain_when_due(HistoryLock& lock) {
  if (!history) return;
  lock.unlock();
  const Instant now = clock->now();
  Status done;
  if (!next_retention || now.mono >= *next_retention) {
    done = history->retain(retention, now.wall);
    next_retention = now.mono + (done ? limits.retention_period : limits.retry);
  }
  const auto status = history->size_bytes();
  lock.lock();
  counters.bytes = status;
  if (!done) counters.problem = done.error().what;
}

void HistoryWriter::Shared::wait_for_work(HistoryLock& lock) {
  const auto has_work = [this] { return !queue.empty() || stopping || abandoned; };
  if (work.wait_for(lock, limits.rest, has_work)) return;
  lock.unlock();
  if (history) history->rest();
  lock.lock();
  work.wait(lock, has_work);
}

void HistoryWriter::Shared::work_until_stopped(HistoryLock& lock) {
  while (!abandoned) {
    // Opens the file although there is nothing to write: a problem shows at once.
    if (queue.empty() && !history && !stopping) {
      lock.unlock();
      const Status opened = open_if_closed();
      lock.lock();
      if (!opened) {
        pause(lock, opened.error().what);
        continue;
      }
      counters.problem.clear();
      retain_when_due(lock);
    }
    wait_for_work(lock);
    if (abandoned || queue.empty()) return;
    write_next(lock);
    if (!abandoned) retain_when_due(lock);
  }
}

void HistoryWriter::run(const std::shared_ptr<Shared>& shared) {
  ::pthread_setname_np(::pthread_self(), "history");
  HistoryLock lock(shared->mutex);
  shared->work_until_stopped(lock);
  lock.unlock();
  // Closing writes too, so it runs on this thread and within the time limit of stop().
  shared->history.reset();
  lock.lock();
  shared->ended = true;
  shared->state.notify_all();
}

HistoryWriter::HistoryWriter(std::string path, std::shared_ptr<const Clock> clock, HistoryRetention retention,
                             HistoryWriterLimits limits)
    : shared_(std::make_shared<Shared>(std::move(path), std::move(clock), retention, limits)) {
  shared_->thread = std::thread([shared = shared_] { run(shared); });
}

HistoryWriter::~HistoryWriter() {
  static_cast<void>(stop(kHistoryPatience));
}

void HistoryWriter::put(learning::HistoryRecord record) {
  learning::fit(record);
  if (const Status valid = learning::check(record); !valid) {
    const HistoryLock lock(shared_->mutex);
    ++shared_->counters.dropped;
    shared_->counters.problem = "invalid record: " + valid.error().what;
    return;
  }
  shared_->accept(std::move(record));
}

void HistoryWriter::put(Make make) {
  shared_->accept(std::move(make));
}

Status HistoryWriter::flush(Duration timeout) {
  HistoryLock lock(shared_->mutex);
  const std::uint64_t target = shared_->accepted;
  if (shared_->state.wait_for(lock, timeout, [&] { return shared_->settled >= target; })) return {};
  return fail(Errc::timed_out,
              "history: " + std::to_string(shared_->queue.size()) + " records wait" +
                  (shared_->counters.problem.empty() ? "" : ": " + shared_->counters.problem));
}

Status HistoryWriter::stop(Duration timeout) {
  HistoryLock lock(shared_->mutex);
  if (!shared_->thread.joinable()) return {};
  shared_->stopping = true;
  shared_->work.notify_all();
  const bool has_ended = shared_->state.wait_for(lock, timeout, [this] { return shared_->ended; });
  shared_->abandoned = true;
  shared_->work.notify_all();
  const std::size_t lost = shared_->queue.size();
  shared_->counters.dropped += lost;
  shared_->settled += lost;
  shared_->queue.clear();
  std::thread thread = std::move(shared_->thread);
  lock.unlock();
  if (!has_ended) {
    thread.detach();
    return fail(Errc::timed_out, "history: " + std::to_string(lost) + " records were dropped");
  }
  thread.join();
  return {};
}

HistoryWriterStatus HistoryWriter::status() const {
  const HistoryLock lock(shared_->mutex);
  HistoryWriterStatus status = shared_->counters;
  status.waiting = shared_->queue.size();
  return status;
}

}  // namespace autopilot::store
