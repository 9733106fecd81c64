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
#include "learning/records.hpp"
#include "store/history/history.hpp"

namespace autopilot::store {

struct HistoryWriterLimits {
  std::size_t waiting = 4096;  // more are dropped
  std::size_t at_once = 256;   // records of one transaction
  Duration retry = std::chrono::seconds{5};
  Duration rest = std::chrono::seconds{10};  // without work, after which a connection is closed
  Duration retention_period = std::chrono::hours{1};
};

struct HistoryWriterStatus {
  std::size_t waiting = 0;
  std::uint64_t written = 0;
  std::uint64_t dropped = 0;  // refused because too many waited, invalid, or left at the end
  std::uint64_t bytes = 0;    // of the file and its log, after the last transaction
  std::string problem;        // reason if the last attempt failed; empty otherwise
  std::string moved_aside;    // new name of the last unusable file
  bool is_open = false;
};

// Writes records in order on its own thread, which opens the file or connects to the database, deletes what
// is too old, and tries again while the disk is full, or the disk or the server does not answer. Thread-safe;
// only flush and stop wait for it, up to their timeout.
class HistoryWriter {
 public:
  using Records = std::vector<learning::HistoryRecord>;
  // Makes records from what is stored, on the writer's thread; must own what it uses. Called again after a
  // failed write. An error drops it.
  using Make = std::function<Result<Records>(const History& history)>;

  HistoryWriter(std::string path, std::shared_ptr<const Clock> clock, HistoryRetention retention,
                HistoryWriterLimits limits = {});
  HistoryWriter(const HistoryWriter&) = delete;
  HistoryWriter& operator=(const HistoryWriter&) = delete;
  // Calls stop(2 s) if stop was not called.
  ~HistoryWriter();

  // Texts and lists that are too long are shortened; a record that is invalid all the same is dropped.
  void put(learning::HistoryRecord record);
  void put(Make make);
  // timed_out unless everything put before is written or dropped within that time.
  [[nodiscard]] Status flush(Duration timeout);
  // Writes what waits. After the timeout the rest is dropped, and the thread, which can hang in the kernel
  // for ever, is abandoned. What is put later is dropped.
  Status stop(Duration timeout);

  [[nodiscard]] HistoryWriterStatus status() const;

 private:
  struct Shared;
  static void run(const std::shared_ptr<Shared>& shared);

  std::shared_ptr<Shared> shared_;
};

}  // namespace autopilot::store
