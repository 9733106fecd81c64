// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "store/journal.hpp"

namespace autopilot::store {

// Where the writer's batches go: a Journal, or a test's disk that hangs and fills up. Used by one thread.
class BatchSink {
 public:
  BatchSink() = default;
  BatchSink(const BatchSink&) = delete;
  BatchSink& operator=(const BatchSink&) = delete;
  virtual ~BatchSink() = default;
  // Durable when it returns; the ids of batch.events in order. malformed: the store itself is broken.
  [[nodiscard]] virtual Result<std::vector<std::uint64_t>> commit(const Batch& batch) = 0;
  // A batch of before will not come: see Journal::set_behind.
  virtual void set_behind() = 0;
  [[nodiscard]] virtual Status retain(const Retention& retention, WallTime now) = 0;
  // Moves a broken store aside and begins a new one; gives the old one's new name.
  [[nodiscard]] virtual Result<std::string> begin_anew(WallTime now) = 0;
};

[[nodiscard]] std::unique_ptr<BatchSink> make_journal_sink(std::unique_ptr<Journal> journal);

struct WriterLimits {
  std::size_t submissions = 1024;  // waiting; more are refused
  std::size_t rows = 8192;         // in them together; a single larger batch is taken when nothing waits
  Duration retry = std::chrono::seconds{1};           // between attempts on a disk that is full or gone
  Duration retention_period = std::chrono::hours{1};  // after one that failed: retry
};

struct WriterStatus {
  Duration lag{0};                 // age of the oldest submission that is not durable
  std::size_t waiting = 0;         // submissions
  std::uint64_t commits = 0;       // submissions made durable
  std::uint64_t dropped = 0;       // submissions refused or given up: submit the whole state again
  std::uint64_t moved_aside = 0;   // broken journals replaced while running: likewise
  std::string problem;             // why the last attempt failed; empty when it did not
  std::string last_moved_aside{};  // its new name
};

// Makes batches durable on a thread of its own, in order, as many in one commit as are waiting. Thread-safe;
// nothing here waits for the disk but flush and stop, and those no longer than told.
class JournalWriter {
 public:
  // The ids of the batch's events, or why it was given up: exhausted (too much is waiting), conflict (an
  // event id is there already), timed_out (stopped before the disk answered). Called once, on the writer's
  // thread or on that of submit or stop; must not block, nor call the writer.
  using Done = std::function<void(Result<std::vector<std::uint64_t>>)>;

  // The clock must outlive the writer.
  JournalWriter(std::unique_ptr<BatchSink> sink, const Clock& clock, Retention retention,
                WriterLimits limits = {});
  JournalWriter(const JournalWriter&) = delete;
  JournalWriter& operator=(const JournalWriter&) = delete;
  // stop(2 s) unless it was stopped.
  ~JournalWriter();

  void submit(Batch batch, Done done = {});
  // timed_out unless everything submitted before is settled within that time.
  [[nodiscard]] Status flush(Duration timeout);
  // Makes durable what waits; what is not durable by then is given up and the thread, which may hang in the
  // kernel for ever, is left alone with the sink. timed_out says so. Submissions after it are refused.
  Status stop(Duration timeout);

  [[nodiscard]] WriterStatus status() const;

 private:
  struct Shared;
  static void run(const std::shared_ptr<Shared>& shared);

  std::shared_ptr<Shared> shared_;
};

}  // namespace autopilot::store
