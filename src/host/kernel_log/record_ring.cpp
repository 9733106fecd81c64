// SPDX-License-Identifier: Apache-2.0
#include "host/kernel_log/record_ring.hpp"

#include <algorithm>
#include <utility>

namespace autopilot::host {
namespace {

// What one record costs in memory, near enough to keep the bound.
std::size_t cost(const KernelRecord& record) {
  return sizeof(KernelRecord) + 2 * sizeof(std::uint64_t) + record.text.capacity();
}

}  // namespace

void RecordRing::add(KernelRecord record, std::uint64_t lost_before) {
  if (first_ && record.sequence < next_) record.sequence = next_;
  if (!first_) {
    first_ = record.sequence;
    lost_before_first_ = lost_before;
  }
  next_ = record.sequence + 1;
  bytes_ += cost(record);
  entries_.push_back({std::move(record), lost_before});
  while (entries_.size() > 1 && (bytes_ > limits_.bytes || entries_.size() > limits_.records))
    drop_oldest();
}

void RecordRing::drop_oldest() {
  bytes_ -= cost(entries_.front().record);
  last_dropped_ = entries_.front().record.sequence;
  entries_.pop_front();
}

// Between `from` and the oldest entry that the caller gets.
std::uint64_t RecordRing::lost_in_front_of(const Entry& entry, std::uint64_t from) const {
  if (!first_) return 0;
  std::uint64_t lost = 0;
  if (from > 0 && from < *first_) lost += std::min(lost_before_first_, *first_ - from);
  if (entry.record.sequence == *first_) return lost;
  if (last_dropped_ && from <= *last_dropped_) lost += *last_dropped_ + 1 - std::max(from, *first_);
  // `from` may lie inside the gap in front of the entry.
  return lost + std::min(entry.lost_before, entry.record.sequence - from);
}

KernelRecords RecordRing::read(std::uint64_t from, const KernelLog::Wanted& wanted) const {
  KernelRecords result;
  if (from > next_) from = 0;
  result.next = std::max(from, next_);
  auto entry = std::lower_bound(
      entries_.begin(), entries_.end(), from,
      [](const Entry& candidate, std::uint64_t sequence) { return candidate.record.sequence < sequence; });
  if (entry == entries_.end()) return result;

  result.lost = lost_in_front_of(*entry, from);
  for (auto one = entry; one != entries_.end(); ++one) {
    if (one != entry) result.lost += one->lost_before;
    if (!wanted || wanted(one->record)) result.records.push_back(one->record);
  }
  return result;
}

}  // namespace autopilot::host
