// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "core/clock.hpp"
#include "host/kernel_log/kernel_log.hpp"
#include "host/kernel_log/record_ring.hpp"
#include "host/kernel_log/record_source.hpp"

namespace autopilot::host {

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
