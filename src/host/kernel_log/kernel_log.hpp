// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.hpp"
#include "core/log_parts.hpp"
#include "core/result.hpp"

namespace autopilot::host {

// One record of the kernel log.
struct KernelRecord {
  std::uint64_t sequence = 0;  // the kernel's own number; of a text source the line number
  Instant time;
  int priority = 0;  // 0..7
  int facility = 0;  // 0 is the kernel; user space cannot write it
  bool verified =
      true;  // false: the source has no facility (text files, some journal forms); shown, never acts
  bool injected = false;  // written by `autopilot inject`
  std::string text;       // escapes undone, at most kMaxText bytes

  static constexpr std::size_t kMaxText = 8192;
  [[nodiscard]] bool from_kernel() const { return verified && facility == 0; }
};

// Which part of the log a record belongs to.
using PartOf = std::function<LogParts(const KernelRecord&)>;

struct KernelRecords {
  std::vector<KernelRecord> records;  // oldest first
  std::uint64_t next = 0;             // ask for these next time
  std::uint64_t lost = 0;             // records that this reader missed since he read last
  std::string witness;                // "/dev/kmsg", "syslog", or the file
};

// Records that not everybody who wanted them had, each counted once.
struct RecordLosses {
  std::uint64_t lost = 0;    // never read: overwritten too early
  std::uint64_t missed = 0;  // read, but dropped before every reader came to them
  [[nodiscard]] std::uint64_t all() const { return lost + missed; }
  friend RecordLosses operator+(RecordLosses a, RecordLosses b) {
    return {a.lost + b.lost, a.missed + b.missed};
  }
};

// The kernel log of one machine. read() returns at once with what is there; only a log that is still being
// read for the first time is waited for.
class KernelLog {
 public:
  static constexpr std::size_t kMaxRecords = 65536;

  KernelLog() = default;
  KernelLog(const KernelLog&) = delete;
  KernelLog& operator=(const KernelLog&) = delete;
  virtual ~KernelLog() = default;
  // Records with sequence >= from, at most kMaxRecords of the newest (the rest counts as lost). denied:
  // CAP_SYSLOG is missing. Thread-safe.
  [[nodiscard]] virtual Result<KernelRecords> read(std::uint64_t from, MonoTime deadline) const = 0;
  struct Wanted {
    std::string_view reader{};       // who asks, by the same word each time: what he misses is told to him
    LogParts parts = LogParts::all;  // he misses nothing of the others
    // Records for which it does not hold are left out, and not lost. Asked about thousands while writers
    // wait: must be quick.
    std::function<bool(const KernelRecord&)> holds{};
  };
  [[nodiscard]] virtual Result<KernelRecords> read_if(std::uint64_t from, MonoTime deadline,
                                                      const Wanted& wanted) const {
    auto records = read(from, deadline);
    if (records && wanted.holds) std::erase_if(records->records, std::not_fn(wanted.holds));
    return records;
  }
  // Since the log was opened. Thread-safe.
  [[nodiscard]] virtual RecordLosses losses() const { return {}; }
};

struct SourcedRecord {
  KernelRecord record;
  // Records missing between the one before and this one; for the first one those since the log's beginning.
  std::uint64_t lost_before = 0;
};

// Which readers of the log a batch concerns.
using NewsIn = std::function<LogParts(const std::vector<SourcedRecord>& batch)>;

// Where a KernelLogTail gets its records: the kernel's device, syslog(2), a helper, a feeder's socket. Owned
// by one thread; only interrupt() may be called from others.
class RecordSource {
 public:
  static constexpr std::size_t kMaxBatch = 1024;

  RecordSource() = default;
  RecordSource(const RecordSource&) = delete;
  RecordSource& operator=(const RecordSource&) = delete;
  virtual ~RecordSource() = default;

  // The next records in order, at most kMaxBatch; waits up to `patience` for the first. Empty: none came. An
  // error ends this source.
  [[nodiscard]] virtual Result<std::vector<SourcedRecord>> next(Duration patience) = 0;
  // Makes a waiting next() return soon, and every later one at once. Thread-safe.
  virtual void interrupt() = 0;
  [[nodiscard]] virtual std::string witness() const = 0;
};

}  // namespace autopilot::host
