// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.hpp"
#include "host/kernel_log/kernel_log.hpp"

namespace autopilot::host {

// One row of the text of syslog(2): "<priority>[seconds.microseconds] text".
struct SyslogRow {
  int priority = 0;
  int facility = 0;
  std::uint64_t microseconds = 0;
  std::string_view text;
};

// Empty if the row has another format (the kernel may print no times).
[[nodiscard]] std::optional<SyslogRow> parse_syslog_row(std::string_view row);

// A sequence for a record without one: its time, then a hash of its text. It grows with time, is the same for
// a record that is read again in the same boot, and is never a sequence of /dev/kmsg.
[[nodiscard]] std::uint64_t syslog_sequence(const SyslogRow& row);

// Reads the whole ring through syslog(2) every second, as the alternative to /dev/kmsg. The number of
// overwritten rows is unknown: a loss counts as one record.
class SyslogSource final : public RecordSource {
 public:
  // Returns the whole ring as text.
  using ReadAll = std::function<Result<std::string>()>;

  // denied: CAP_SYSLOG is missing (kernel.dmesg_restrict).
  [[nodiscard]] static Result<std::unique_ptr<SyslogSource>> open(const Clock& clock);
  [[nodiscard]] static Result<std::unique_ptr<SyslogSource>> with_read(ReadAll read_all, const Clock& clock);
  SyslogSource(const SyslogSource&) = delete;
  SyslogSource& operator=(const SyslogSource&) = delete;
  ~SyslogSource() override;

  [[nodiscard]] Result<std::vector<SourcedRecord>> next(Duration patience) override;
  void interrupt() override;
  [[nodiscard]] std::string witness() const override { return "syslog"; }

 private:
  SyslogSource(int wake, ReadAll read_all, const Clock& clock);
  [[nodiscard]] Status read_new_rows();
  void take(const std::vector<std::string_view>& rows);
  [[nodiscard]] std::vector<SourcedRecord> deliver();

  int wake_;
  ReadAll read_all_;
  const Clock& clock_;
  std::deque<SourcedRecord> pending_;
  std::vector<std::string> last_rows_;  // the newest rows of the previous read, to find where it ended
  bool has_read_ = false;
};

}  // namespace autopilot::host
