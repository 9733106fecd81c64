// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include "host/kernel_log/kernel_log.hpp"

namespace autopilot::host {

// The newest kernel records, bounded by bytes and by number; the oldest goes first. Not thread-safe.
class RecordRing {
 public:
  struct Limits {
    std::size_t bytes = std::size_t{2} << 20;
    std::size_t records = KernelLog::kMaxRecords;
  };

  RecordRing() = default;
  explicit RecordRing(Limits limits) : limits_(limits) {}

  // `lost_before`: records missing between the one added last and this one; for the first one those since the
  // log's beginning. A sequence that does not grow is taken as one more than the last.
  void add(KernelRecord record, std::uint64_t lost_before);

  // Records with sequence >= from, oldest first, and what is missing among them: never delivered, or dropped
  // here. from = 0 asks for everything there is and misses nothing older than the first record ever added. A
  // `from` past the end belongs to another log and counts as 0. witness stays empty.
  // Without the records for which `wanted` does not hold, where there is one.
  [[nodiscard]] KernelRecords read(std::uint64_t from, const KernelLog::Wanted& wanted = {}) const;

  [[nodiscard]] std::uint64_t next() const { return next_; }
  [[nodiscard]] std::size_t size() const { return entries_.size(); }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  struct Entry {
    KernelRecord record;
    std::uint64_t lost_before = 0;
  };

  void drop_oldest();
  [[nodiscard]] std::uint64_t lost_in_front_of(const Entry& entry, std::uint64_t from) const;

  Limits limits_;
  std::deque<Entry> entries_;
  std::size_t bytes_ = 0;
  std::uint64_t next_ = 0;
  std::optional<std::uint64_t> first_;  // sequence of the first record ever added
  std::uint64_t lost_before_first_ = 0;
  std::optional<std::uint64_t> last_dropped_;  // sequence of the record dropped last
};

}  // namespace autopilot::host
