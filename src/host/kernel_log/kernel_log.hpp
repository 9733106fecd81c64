// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.hpp"
#include "core/log_parts.hpp"
#include "core/result.hpp"

namespace autopilot::host {

// One record of the kernel log.
struct KernelRecord {
  std::uint64_t sequence = 0;  // the kernel's own number; the line number in a text source
  Instant time;
  int priority = 0;       // 0..7
  int facility = 0;       // 0 is the kernel, and cannot be written by user space
  bool verified = true;   // false: the source has no facility (text files, some journal formats); the record
                          // is shown and has no effect
  bool injected = false;  // written by `autopilot inject`
  std::string text;       // unescaped, at most kMaxText bytes

  static constexpr std::size_t kMaxText = 8192;
  [[nodiscard]] bool from_kernel() const { return verified && facility == 0; }
};

// Returns the part of the log to which a record belongs.
using PartOf = std::function<LogParts(const KernelRecord&)>;

struct KernelRecords {
  std::vector<KernelRecord> records;  // oldest first
  std::uint64_t next = 0;             // the `from` of the next call
  std::uint64_t lost = 0;             // records that this reader missed since its last call
  std::string witness;                // "/dev/kmsg", "syslog", or the file
};

// Records that some reader missed, each counted once.
struct RecordLosses {
  std::uint64_t lost = 0;    // overwritten before they were read
  std::uint64_t missed = 0;  // read, and dropped before every reader had received them
  [[nodiscard]] std::uint64_t all() const { return lost + missed; }
  friend RecordLosses operator+(RecordLosses a, RecordLosses b) {
    return {a.lost + b.lost, a.missed + b.missed};
  }
};

// The kernel log of one machine. read() returns at once with the available records; it waits only while the
// log is read for the first time.
class KernelLog {
 public:
  static constexpr std::size_t kMaxRecords = 65536;

  KernelLog() = default;
  KernelLog(const KernelLog&) = delete;
  KernelLog& operator=(const KernelLog&) = delete;
  virtual ~KernelLog() = default;
  // Records with sequence >= from, at most the newest kMaxRecords (the rest counts as lost). denied:
  // CAP_SYSLOG is missing. Thread-safe.
  [[nodiscard]] virtual Result<KernelRecords> read(std::uint64_t from, MonoTime deadline) const = 0;
  struct Wanted {
    // Name of the reader, the same in each call: `lost` counts records that this reader missed.
    std::string_view reader{};
    LogParts parts = LogParts::all;  // only records of these parts count as missed
    // Records for which it returns false are left out and do not count as lost. Must be fast: called for
    // thousands of records while writers wait.
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
  // Records missing between the previous record and this one; for the first record, since the beginning of
  // the log.
  std::uint64_t lost_before = 0;
};

// Returns the parts of the log for which a batch has new records.
using NewsIn = std::function<LogParts(const std::vector<SourcedRecord>& batch)>;

// Source of records for a KernelLogTail: the kernel's device, syslog(2), a helper, or a feeder's socket. For
// one thread; only interrupt() may be called from others.
class RecordSource {
 public:
  static constexpr std::size_t kMaxBatch = 1024;

  RecordSource() = default;
  RecordSource(const RecordSource&) = delete;
  RecordSource& operator=(const RecordSource&) = delete;
  virtual ~RecordSource() = default;

  // The next records in order, at most kMaxBatch; waits up to `patience` for the first. Empty: no record
  // arrived. After an error the source is unusable.
  [[nodiscard]] virtual Result<std::vector<SourcedRecord>> next(Duration patience) = 0;
  // Makes a waiting next() return soon, and every later one at once. Thread-safe.
  virtual void interrupt() = 0;
  [[nodiscard]] virtual std::string witness() const = 0;
};

using OpenRecordSource = std::function<Result<std::unique_ptr<RecordSource>>()>;

}  // namespace autopilot::host
