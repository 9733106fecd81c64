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

// The newest kernel records, limited by bytes and by number. Records are of one kind if they begin alike (for
// an Xid: the same GPU and code). The first kKeptOfKind records of a kind use one half of the room, repeats
// the other; a half may use free room of the other, and each drops its oldest record first. So a storm of one
// kind does not displace rare records. Repeats are dropped once all readers have them. Not thread-safe.
class RecordRing {
 public:
  static constexpr std::size_t kKeptOfKind = 8;
  // A reader that has not read for this long is forgotten, and no longer counts losses.
  static constexpr Duration kReaderIsGone = std::chrono::hours{2};

  struct Limits {
    std::size_t bytes = std::size_t{2} << 20;
    std::size_t records = KernelLog::kMaxRecords;
  };

  RecordRing() = default;
  // Without part_of every record belongs to all parts.
  explicit RecordRing(Limits limits, PartOf part_of = {}) : limits_(limits), part_of_(std::move(part_of)) {}

  // `lost_before`: records missing between the previous record and this one; ignored for the first record. A
  // sequence that does not grow is replaced by the previous one plus 1.
  void add(KernelRecord record, std::uint64_t lost_before);

  // Records with sequence >= from, oldest first. `lost` is the number of records that this reader missed
  // since its last call, lost by the source or dropped here, of the parts that it wants; in its first call an
  // upper bound since `from`. `from` states that the reader has all earlier records and does not read them
  // again. A `from` past the end belongs to another log and counts as 0. witness is empty.
  [[nodiscard]] KernelRecords read(std::uint64_t from, const KernelLog::Wanted& wanted = {},
                                   MonoTime now = {});

  // A record that was dropped before the first read counts from the first call of a reader that missed it.
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
    std::uint64_t has = 0;   // has all records below
    std::uint64_t next = 0;  // has received all records below
    std::uint64_t missed = 0;
    MonoTime seen{};
  };

  // Dropped records of one part.
  struct Dropped {
    std::uint64_t count = 0;
    std::uint64_t last = 0;  // the highest sequence among them

    void add(std::uint64_t sequence);
    // An upper bound of the dropped records that are not below `from`.
    [[nodiscard]] std::uint64_t since(std::uint64_t from) const;
  };
  struct Unclaimed {
    Dropped dropped;
    std::uint64_t counted = 0;  // how many of them losses_ counts
  };

  void drop_one();
  void drop_delivered_repeats();
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
  std::unordered_map<std::size_t, std::size_t> kinds_;  // number of entries in rare_, by kind
  std::map<std::string, Reader, std::less<>> readers_;
  // Since the first record:
  std::map<LogParts, Dropped> dropped_;      // by part
  std::map<LogParts, Unclaimed> unclaimed_;  // records of dropped_ that were dropped without a reader
  std::uint64_t lost_end_ = 0;               // all losses of the source are below this sequence
  std::uint64_t next_ = 0;
  RecordLosses losses_;
  bool is_begun_ = false;
};

// Follows the kernel log: one thread reads records from a source into a bounded ring. Readers copy from the
// ring and wait for the source only until the log has been read to its end once. A failed source is opened
// again with growing delays, and continues at the end of the ring.
class KernelLogTail final : public KernelLog {
 public:
  using Open = OpenRecordSource;
  struct Counts {
    std::uint64_t read = 0;
    RecordLosses losses;
  };

  struct Options {
    RecordRing::Limits limits{};
    Duration first_retry = std::chrono::seconds(1);
    Duration longest_retry = std::chrono::seconds(30);
    // on_news is called on the tail's thread once records for which news_in returns a part can be read,
    // except records from before the start. It is called for each batch with records of the GPU driver. For
    // others (a report of the kernel has many rows) it is called once, after a pause of 2 ms or 8 ms after
    // the first record. It must return at once and must not call the tail.
    NewsIn news_in{};
    PartOf part_of{};
    OnKernelNews on_news{};
    // Whether records marked as injected have an effect. Every program that may write to the log can set the
    // mark; without this option such a record counts as written by a program.
    bool trusts_injected = false;
  };

  explicit KernelLogTail(Open open);
  KernelLogTail(Open open, Options options);
  KernelLogTail(const KernelLogTail&) = delete;
  KernelLogTail& operator=(const KernelLogTail&) = delete;
  ~KernelLogTail() override;

  // Returns the error of a source that cannot be opened. timed_out: the log has not been read to its end yet.
  [[nodiscard]] Result<KernelRecords> read(std::uint64_t from, MonoTime deadline) const override {
    return read_if(from, deadline, {});
  }
  [[nodiscard]] Result<KernelRecords> read_if(std::uint64_t from, MonoTime deadline,
                                              const Wanted& wanted) const override;
  // Neither function waits.
  [[nodiscard]] RecordLosses losses() const override { return {lost_, missed_}; }
  [[nodiscard]] Counts counts() const { return {read_, losses()}; }

 private:
  void run();
  [[nodiscard]] bool follow(RecordSource& source);
  void report_when_paused(LogParts news, bool is_pause);
  void take(std::vector<SourcedRecord>&& batch, std::optional<std::uint64_t>& resume_at);
  void set_ready(std::optional<Error> error);
  void show_losses() const;  // with mutex_ held

  const Open open_;
  const Options options_;
  LogParts pending_news_ = LogParts::none;  // used only by the tail's thread, like pending_since_
  std::chrono::steady_clock::time_point pending_since_;

  std::atomic<std::uint64_t> read_{0};
  mutable std::atomic<std::uint64_t> lost_{0};
  mutable std::atomic<std::uint64_t> missed_{0};
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  mutable RecordRing ring_;             // guarded by mutex_, like all members below
  RecordLosses losses_in_other_rings_;  // of earlier data sources
  std::string witness_;
  std::optional<Error> error_;
  bool is_ready_ = false;  // the log has been read to its end, or cannot be read
  bool is_stopping_ = false;
  RecordSource* source_ = nullptr;  // the source that is being read

  std::thread thread_;
};

// The log of the running machine: /dev/kmsg, or syslog(2) if that cannot be opened. denied: no permission for
// either.
[[nodiscard]] Result<std::unique_ptr<RecordSource>> open_kernel_log(const Clock& clock,
                                                                    const std::string& device = "/dev/kmsg");

}  // namespace autopilot::host
