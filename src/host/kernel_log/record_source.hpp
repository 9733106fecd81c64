// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/clock.hpp"
#include "core/log_parts.hpp"
#include "core/result.hpp"
#include "host/kernel_log/kernel_log.hpp"

namespace autopilot::host {

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
