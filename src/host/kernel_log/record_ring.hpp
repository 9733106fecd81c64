// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>

#include "core/clock.hpp"
#include "core/log_parts.hpp"
#include "host/kernel_log/kernel_log.hpp"

namespace autopilot::host {

// The newest kernel records, bounded by bytes and by number. Of lines that begin alike (for an Xid: the same
// GPU and code) the first kKeptOfKind have one half of the room for themselves and all further ones the
// other; what one half leaves empty the other may use, and in each the oldest goes first. So a storm does not
// push out what is told once. Nor does it stay: what is in the second half goes when all readers have it. Not
// thread-safe.
class RecordRing {
 public:
  static constexpr std::size_t kKeptOfKind = 8;
  // A reader who has not come for so long is gone: nothing counts as lost for him.
  static constexpr Duration kReaderIsGone = std::chrono::hours{2};

  struct Limits {
    std::size_t bytes = std::size_t{2} << 20;
    std::size_t records = KernelLog::kMaxRecords;
  };

  RecordRing() = default;
  // Without part_of every record concerns every reader.
  explicit RecordRing(Limits limits, PartOf part_of = {}) : limits_(limits), part_of_(std::move(part_of)) {}

  // `lost_before`: records missing between the one added last and this one; what is missing before the first
  // one is not lost. A sequence that does not grow is taken as one more than the last.
  void add(KernelRecord record, std::uint64_t lost_before);

  // Records with sequence >= from, oldest first, and how many this reader missed since he read last (the
  // first time: since the first record ever added, or since `from`, where he read before this ring was; at
  // most so many): lost before, or dropped here and of the parts that he wants. `from` means that he has all
  // below and will not ask for them again. A `from` past the end belongs to another log and counts as 0.
  // witness stays empty.
  [[nodiscard]] KernelRecords read(std::uint64_t from, const KernelLog::Wanted& wanted = {},
                                   MonoTime now = {});

  // A record that was dropped before the first read counts once a reader has read that misses it.
  [[nodiscard]] RecordLosses losses() const { return losses_; }
  [[nodiscard]] std::uint64_t next() const { return next_; }
  [[nodiscard]] std::size_t size() const { return rare_.entries.size() + repeats_.entries.size(); }
  [[nodiscard]] std::size_t bytes() const { return rare_.bytes + repeats_.bytes; }

 private:
  struct Entry {
    KernelRecord record;
    LogParts part = LogParts::all;
    std::size_t kind = 0;
  };
  struct Half {
    std::deque<Entry> entries;  // oldest first
    std::size_t bytes = 0;
  };
  struct Reader {
    LogParts parts = LogParts::all;
    std::uint64_t has = 0;   // all below, for good
    std::uint64_t next = 0;  // he was given all below
    std::uint64_t missed = 0;
    MonoTime seen{};
  };

  // Records of one part that were dropped.
  struct Dropped {
    std::uint64_t count = 0;
    std::uint64_t last = 0;  // the highest sequence among them

    void add(std::uint64_t sequence);
    // How many of them are not below `from`, at most.
    [[nodiscard]] std::uint64_t since(std::uint64_t from) const;
  };
  struct Unclaimed {
    Dropped dropped;
    std::uint64_t counted = 0;  // of them, in losses_
  };

  void drop_one();
  void drop_repeats_all_have();
  void drop_oldest(Half& half);
  void note_lost(std::uint64_t count);
  void note_dropped(const Entry& entry);
  [[nodiscard]] Reader& reader_of(const KernelLog::Wanted& wanted, std::uint64_t from, MonoTime now);
  [[nodiscard]] std::uint64_t missed_since(std::uint64_t from, LogParts parts) const;
  void claim(std::uint64_t from, LogParts parts);

  Limits limits_;
  PartOf part_of_;
  Half rare_;
  Half repeats_;
  std::unordered_map<std::size_t, std::size_t> kinds_;  // how many entries of rare_ are of that kind
  std::map<std::string, Reader, std::less<>> readers_;
  // Since the first record:
  std::map<LogParts, Dropped> dropped_;      // by part
  std::map<LogParts, Unclaimed> unclaimed_;  // of dropped_, while there was no reader
  std::uint64_t lost_end_ = 0;               // what the kernel lost was below this sequence
  std::uint64_t next_ = 0;
  RecordLosses losses_;
  bool is_begun_ = false;
};

}  // namespace autopilot::host
