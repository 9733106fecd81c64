// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

#include "core/clock.hpp"
#include "host/kernel_log/record_source.hpp"

namespace autopilot::host {

// Something that gives one record per read(2) in the form of /dev/kmsg: the device, or a feeder's
// SOCK_SEQPACKET socket.
class KmsgSource final : public RecordSource {
 public:
  // Like read(2) on a non-blocking descriptor: bytes, or -1 and errno.
  using Read = std::function<ssize_t(char* buffer, std::size_t size)>;

  // denied: CAP_SYSLOG is missing (kernel.dmesg_restrict). not_found: no such device.
  [[nodiscard]] static Result<std::unique_ptr<KmsgSource>> open(const std::string& path, const Clock& clock);
  // A feeder that listens on a SOCK_SEQPACKET socket. unavailable: nobody does.
  [[nodiscard]] static Result<std::unique_ptr<KmsgSource>> connect(const std::string& path,
                                                                   std::string witness, const Clock& clock);
  // Takes over the descriptor and makes it non-blocking.
  [[nodiscard]] static Result<std::unique_ptr<KmsgSource>> adopt(int descriptor, std::string witness,
                                                                 const Clock& clock);
  // `descriptor` is only waited on; for tests of what a device can answer.
  [[nodiscard]] static Result<std::unique_ptr<KmsgSource>> with_read(int descriptor, std::string witness,
                                                                     const Clock& clock, Read read);
  KmsgSource(const KmsgSource&) = delete;
  KmsgSource& operator=(const KmsgSource&) = delete;
  ~KmsgSource() override;

  // unavailable: the other end of a socket is gone.
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
  std::uint64_t expected_ = 0;         // sequence of the next record when nothing is lost
  std::uint64_t unnumbered_lost_ = 0;  // losses told (EPIPE, too long, unreadable) since the last record
};

}  // namespace autopilot::host
