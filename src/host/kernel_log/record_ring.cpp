// SPDX-License-Identifier: Apache-2.0
#include "host/kernel_log/record_ring.hpp"

#include <algorithm>
#include <utility>

namespace autopilot::host {
namespace {

// What one record costs in memory, near enough to keep the bound.
std::size_t cost(const KernelRecord& record) {
  constexpr std::size_t kBookkeeping = 64;
  return sizeof(KernelRecord) + kBookkeeping + record.text.capacity();
}

// Up to the first comma: of an Xid its GPU and its code. Most lines without one tell their device early.
std::size_t kind_of(const KernelRecord& record) {
  constexpr std::size_t kBeginning = 48;
  const std::string_view text(record.text);
  const std::size_t hash =
      std::hash<std::string_view>{}(text.substr(0, std::min(text.find(','), kBeginning)));
  return hash * 4 + (record.from_kernel() ? 2U : 0U) + (record.injected ? 1U : 0U);
}

}  // namespace

void RecordRing::add(KernelRecord record, std::uint64_t lost_before) {
  if (is_begun_) {
    record.sequence = std::max(record.sequence, next_);
    if (lost_before > 0) lost_end_ = record.sequence;
    note_lost(lost_before);
  }
  is_begun_ = true;
  next_ = record.sequence + 1;
  const std::size_t kind = kind_of(record);
  const auto known = kinds_.find(kind);
  const bool is_rare = known == kinds_.end() || known->second < kKeptOfKind;
  if (is_rare) ++kinds_[kind];
  Half& half = is_rare ? rare_ : repeats_;
  half.bytes += cost(record);
  const LogParts part = part_of_ ? part_of_(record) : LogParts::all;
  half.entries.push_back({std::move(record), part, kind});
  while (size() > 1 && (bytes() > limits_.bytes || size() > limits_.records))
    drop_one();
}

// From the half that has more than its share.
void RecordRing::drop_one() {
  const bool are_repeats = rare_.entries.empty() || 2 * repeats_.bytes > limits_.bytes ||
                           2 * repeats_.entries.size() > limits_.records;
  if (!are_repeats)
    if (const auto kind = kinds_.find(rare_.entries.front().kind); --kind->second == 0) kinds_.erase(kind);
  drop_oldest(are_repeats ? repeats_ : rare_);
}

void RecordRing::drop_oldest(Half& half) {
  note_dropped(half.entries.front());
  half.bytes -= cost(half.entries.front().record);
  half.entries.pop_front();
}

void RecordRing::drop_repeats_all_have() {
  const auto is_had = [this](const Entry& entry) {
    return std::ranges::all_of(readers_, [&entry](const auto& one) {
      return entry.record.sequence < one.second.has || !overlap(entry.part, one.second.parts);
    });
  };
  while (!repeats_.entries.empty() && is_had(repeats_.entries.front()))
    drop_oldest(repeats_);
}

// Whatever they were.
void RecordRing::note_lost(std::uint64_t count) {
  if (count == 0) return;
  losses_.lost += count;
  for (auto& [name, reader] : readers_)
    reader.missed += count;
}

void RecordRing::note_dropped(const Entry& entry) {
  bool is_missed = false;
  for (auto& [name, reader] : readers_) {
    if (entry.record.sequence < reader.next || !overlap(entry.part, reader.parts)) continue;
    ++reader.missed;
    is_missed = true;
  }
  dropped_[entry.part].add(entry.record.sequence);
  if (readers_.empty()) unclaimed_[entry.part].dropped.add(entry.record.sequence);
  if (is_missed) ++losses_.missed;
}

void RecordRing::Dropped::add(std::uint64_t sequence) {
  ++count;
  last = std::max(last, sequence);
}

std::uint64_t RecordRing::Dropped::since(std::uint64_t from) const {
  return count == 0 || last < from ? 0 : std::min(count, last - from + 1);
}

std::uint64_t RecordRing::missed_since(std::uint64_t from, LogParts parts) const {
  std::uint64_t sum = from < lost_end_ ? losses_.lost : 0;
  for (const auto& [part, dropped] : dropped_)
    if (overlap(part, parts)) sum += dropped.since(from);
  return sum;
}

void RecordRing::claim(std::uint64_t from, LogParts parts) {
  for (auto& [part, unclaimed] : unclaimed_) {
    if (!overlap(part, parts)) continue;
    const std::uint64_t missed = unclaimed.dropped.since(from);
    if (missed <= unclaimed.counted) continue;
    losses_.missed += missed - std::exchange(unclaimed.counted, missed);
  }
}

RecordRing::Reader& RecordRing::reader_of(const KernelLog::Wanted& wanted, std::uint64_t from, MonoTime now) {
  std::erase_if(readers_, [now](const auto& one) { return one.second.seen + kReaderIsGone < now; });
  const auto [found, is_new] = readers_.try_emplace(std::string(wanted.reader));
  Reader& reader = found->second;
  reader.parts = wanted.parts;
  reader.seen = now;
  if (is_new) {
    reader.missed = missed_since(from, wanted.parts);
    claim(from, wanted.parts);
  }
  return reader;
}

KernelRecords RecordRing::read(std::uint64_t from, const KernelLog::Wanted& wanted, MonoTime now) {
  KernelRecords result;
  if (from > next_) from = 0;
  Reader& reader = reader_of(wanted, from, now);
  result.lost = std::exchange(reader.missed, 0);
  result.next = reader.next = next_;
  reader.has = from;
  const auto first_of = [from](const Half& half) {
    return std::ranges::lower_bound(half.entries, from, {},
                                    [](const Entry& entry) { return entry.record.sequence; });
  };
  auto rare = first_of(rare_);
  auto repeat = first_of(repeats_);
  while (rare != rare_.entries.end() || repeat != repeats_.entries.end()) {
    const bool is_rare = repeat == repeats_.entries.end() ||
                         (rare != rare_.entries.end() && rare->record.sequence < repeat->record.sequence);
    const Entry& entry = is_rare ? *rare++ : *repeat++;
    if (overlap(entry.part, wanted.parts) && (!wanted.holds || wanted.holds(entry.record)))
      result.records.push_back(entry.record);
  }
  drop_repeats_all_have();
  return result;
}

}  // namespace autopilot::host
