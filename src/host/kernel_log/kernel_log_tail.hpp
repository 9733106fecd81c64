// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
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

// The kernel log while it grows: one thread takes records from a source into a bounded ring, readers copy
// from the ring and never wait for the source, except the first one until the log was read to its end once.
// A source that fails is opened again, later and later, and goes on where the ring ends.
class KernelLogTail final : public KernelLog {
 public:
  using Open = std::function<Result<std::unique_ptr<RecordSource>>()>;
  struct Counts {
    std::uint64_t read = 0;
    RecordLosses losses;
  };

  struct Options {
    RecordRing::Limits limits{};
    Duration first_retry = std::chrono::seconds(1);
    Duration longest_retry = std::chrono::seconds(30);
    // on_news is called on the tail's thread when records in which news_in finds something can be read, and
    // not for what was there at the start. News of the GPU driver is told per batch. What else is written in
    // one go (a report of the kernel has many rows) is told once, when it pauses for 2 ms, 8 ms after it
    // began at the latest. Must return at once and not call the tail.
    NewsIn news_in{};
    PartOf part_of{};
    OnKernelNews on_news{};
    // Whether records that say they were injected may act. Whoever may write to the log can say so; where
    // nobody allowed that they are what any program wrote.
    bool trusts_injected = false;
  };

  explicit KernelLogTail(Open open);
  KernelLogTail(Open open, Options options);
  KernelLogTail(const KernelLogTail&) = delete;
  KernelLogTail& operator=(const KernelLogTail&) = delete;
  ~KernelLogTail() override;

  // The error of the source while there is none. timed_out: the log was not read to its end yet.
  [[nodiscard]] Result<KernelRecords> read(std::uint64_t from, MonoTime deadline) const override {
    return read_if(from, deadline, {});
  }
  [[nodiscard]] Result<KernelRecords> read_if(std::uint64_t from, MonoTime deadline,
                                              const Wanted& wanted) const override;
  // Neither waits.
  [[nodiscard]] RecordLosses losses() const override { return {lost_, missed_}; }
  [[nodiscard]] Counts counts() const { return {read_, losses()}; }

 private:
  void run();
  [[nodiscard]] bool follow(RecordSource& source);
  void tell_when_paused(LogParts news, bool is_pause);
  void take(std::vector<SourcedRecord>&& batch, std::optional<std::uint64_t>& resume_at);
  void set_ready(std::optional<Error> error);
  void show_losses() const;  // under mutex_

  const Open open_;
  const Options options_;
  LogParts untold_ = LogParts::none;  // of the tail's thread, as untold_since_
  std::chrono::steady_clock::time_point untold_since_;

  std::atomic<std::uint64_t> read_{0};
  mutable std::atomic<std::uint64_t> lost_{0};
  mutable std::atomic<std::uint64_t> missed_{0};
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  mutable RecordRing ring_;             // guarded by mutex_, as all below
  RecordLosses losses_in_other_rings_;  // of earlier witnesses
  std::string witness_;
  std::optional<Error> error_;
  bool is_ready_ = false;  // the log was read to its end, or cannot be read
  bool is_stopping_ = false;
  RecordSource* source_ = nullptr;  // the one being followed

  std::thread thread_;
};

// The running machine's log: /dev/kmsg, or syslog(2) where that cannot be opened. denied when neither may be
// read.
[[nodiscard]] Result<std::unique_ptr<RecordSource>> open_kernel_log(const Clock& clock,
                                                                    const std::string& device = "/dev/kmsg");

}  // namespace autopilot::host
