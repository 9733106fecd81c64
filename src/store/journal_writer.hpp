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

// Destination of the writer's batches: a Journal, or a test's disk that hangs and fills up. Used by one
// thread.
class BatchSink {
 public:
  BatchSink() = default;
  BatchSink(const BatchSink&) = delete;
  BatchSink& operator=(const BatchSink&) = delete;
  virtual ~BatchSink() = default;
  // Durable when it returns. Returns the ids of batch.events, in order. malformed: the store itself is
  // damaged.
  [[nodiscard]] virtual Result<std::vector<std::uint64_t>> commit(const Batch& batch) = 0;
  // An earlier batch is lost: see Journal::set_behind.
  virtual void set_behind() = 0;
  [[nodiscard]] virtual Status retain(const Retention& retention, WallTime now) = 0;
  // Moves a damaged store aside and begins a new one; returns the new name of the old store.
  [[nodiscard]] virtual Result<std::string> begin_anew(WallTime now) = 0;
};

[[nodiscard]] std::unique_ptr<BatchSink> make_journal_sink(std::unique_ptr<Journal> journal);

struct WriterLimits {
  std::size_t submissions = 1024;  // waiting submissions; more are refused
  std::size_t rows = 8192;  // rows of all waiting submissions; a larger batch is accepted if none waits
  Duration retry = std::chrono::seconds{1};  // between attempts while the disk is full or does not answer
  Duration retention_period = std::chrono::hours{1};  // after a failed deletion: retry
};

struct WriterStatus {
  Duration lag{0};                 // age of the oldest submission that is not durable
  std::size_t waiting = 0;         // submissions
  std::uint64_t commits = 0;       // submissions that are durable
  std::uint64_t dropped = 0;       // submissions refused or dropped: submit the complete state again
  std::uint64_t moved_aside = 0;   // damaged journals replaced while running: submit the complete state again
  std::string problem;             // reason if the last attempt failed; empty otherwise
  std::string last_moved_aside{};  // new name of the last journal moved aside
};

// Commits batches in order on its own thread, all waiting batches in one commit. Thread-safe. Only flush and
// stop wait for the disk, up to their timeout.
class JournalWriter {
 public:
  // Receives the ids of the batch's events, or why the batch was dropped: exhausted (too many batches wait),
  // conflict (an event id exists already), timed_out (stopped before the disk completed the write). Called
  // once, on the writer's thread or on the thread of submit or stop; must not block or call the writer.
  using Done = std::function<void(Result<std::vector<std::uint64_t>>)>;

  // The clock must outlive the writer.
  JournalWriter(std::unique_ptr<BatchSink> sink, const Clock& clock, Retention retention,
                WriterLimits limits = {});
  JournalWriter(const JournalWriter&) = delete;
  JournalWriter& operator=(const JournalWriter&) = delete;
  // Calls stop(2 s) if stop was not called.
  ~JournalWriter();

  void submit(Batch batch, Done done = {});
  // timed_out unless all earlier submissions are settled within that time.
  [[nodiscard]] Status flush(Duration timeout);
  // Commits the waiting batches. After the timeout the rest is dropped, the thread, which can hang in the
  // kernel forever, is abandoned with the sink, and the result is timed_out. Later submissions are refused.
  Status stop(Duration timeout);

  [[nodiscard]] WriterStatus status() const;

 private:
  struct Shared;
  static void run(const std::shared_ptr<Shared>& shared);

  std::shared_ptr<Shared> shared_;
};

}  // namespace autopilot::store
