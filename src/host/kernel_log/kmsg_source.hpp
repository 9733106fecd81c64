// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "host/kernel_log/kernel_log.hpp"

namespace autopilot::host {

// Prefix that user space writes so that a record counts as injected.
inline constexpr std::string_view kInjectedPrefix = "autopilot-injected: ";

// One record in the form of /dev/kmsg: "prio,sequence,microseconds,flags[,...];text\n KEY=value\n...".
struct KmsgRecord {
  std::uint64_t sequence = 0;
  std::uint64_t microseconds = 0;  // since boot, on the kernel's log clock
  int priority = 0;                // 0..7
  int facility = 0;                // 0: the kernel
  bool injected = false;           // had kInjectedPrefix, which is removed
  std::string text;                // after clean_log_text; without properties (KEY=value)
};

// malformed: no such header. Any bytes may follow the header; lines after the first are ignored.
[[nodiscard]] Result<KmsgRecord> parse_kmsg_record(std::string_view record);

// Valid UTF-8 of at most `limit` bytes without control characters except newline and tab. The kernel's \xNN
// is decoded where that gives such text; invalid bytes become \xNN.
[[nodiscard]] std::string clean_log_text(std::string_view raw, std::size_t limit = KernelRecord::kMaxText);

// The time of a record on both clocks, not later than `now`. The kernel's log clock and CLOCK_MONOTONIC both
// count from boot.
[[nodiscard]] Instant instant_since_boot(std::uint64_t microseconds, Instant now);

[[nodiscard]] KernelRecord to_kernel_record(KmsgRecord record, Instant now);

// Reads one record per read(2) in the format of /dev/kmsg, from the device or from a feeder's SOCK_SEQPACKET
// socket.
class KmsgSource final : public RecordSource {
 public:
  // Like read(2) on a non-blocking descriptor: bytes, or -1 and errno.
  using Read = std::function<ssize_t(char* buffer, std::size_t size)>;

  // denied: CAP_SYSLOG is missing (kernel.dmesg_restrict). not_found: no such device.
  [[nodiscard]] static Result<std::unique_ptr<KmsgSource>> open(const std::string& path, const Clock& clock);
  // Connects to a feeder that listens on a SOCK_SEQPACKET socket. unavailable: no feeder listens.
  [[nodiscard]] static Result<std::unique_ptr<KmsgSource>> connect(const std::string& path,
                                                                   std::string witness, const Clock& clock);
  // Takes ownership of the descriptor and makes it non-blocking.
  [[nodiscard]] static Result<std::unique_ptr<KmsgSource>> adopt(int descriptor, std::string witness,
                                                                 const Clock& clock);
  // For tests of answers of a device: `read` replaces read(2), and `descriptor` is only polled.
  [[nodiscard]] static Result<std::unique_ptr<KmsgSource>> with_read(int descriptor, std::string witness,
                                                                     const Clock& clock, Read read);
  KmsgSource(const KmsgSource&) = delete;
  KmsgSource& operator=(const KmsgSource&) = delete;
  ~KmsgSource() override;

  // unavailable: the feeder closed its socket.
  [[nodiscard]] Result<std::vector<SourcedRecord>> next(Duration patience) override;
  void interrupt() override;
  [[nodiscard]] std::string witness() const override { return witness_; }

 private:
  enum class Outcome { record, nothing, skipped };

  KmsgSource(int descriptor, int wake, std::string witness, const Clock& clock, Read read);
  [[nodiscard]] Result<Outcome> read_one(std::vector<SourcedRecord>& batch, Instant now);
  void append(std::vector<SourcedRecord>& batch, std::string_view raw, Instant now);

  int descriptor_;
  int wake_;
  std::string witness_;
  const Clock& clock_;
  Read read_;
  std::vector<char> buffer_;
  std::uint64_t expected_ = 0;         // sequence of the next record without losses
  std::uint64_t unnumbered_lost_ = 0;  // losses (EPIPE, too long, unreadable) since the last record
};

// Writes one record to the kernel log of the running machine, with kInjectedPrefix. The kernel gives it a
// facility of user space. denied: no permission (CAP_SYSLOG).
[[nodiscard]] Status inject_kernel_record(const std::string& text);

}  // namespace autopilot::host
