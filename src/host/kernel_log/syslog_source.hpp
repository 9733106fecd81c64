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

// One row of what syslog(2) gives: "<priority>[seconds.microseconds] text".
struct SyslogRow {
  int priority = 0;
  int facility = 0;
  std::uint64_t microseconds = 0;
  std::string_view text;
};

// Nothing where the row has not that form (the kernel prints no times).
[[nodiscard]] std::optional<SyslogRow> parse_syslog_row(std::string_view row);

// The number of a record that the kernel did not number: its time, then a hash of its text. Grows with time
// and is the same whenever the same record is read again within a boot; never a number of /dev/kmsg.
[[nodiscard]] std::uint64_t syslog_sequence(const SyslogRow& row);

// The second witness: the whole ring through syslog(2), asked again every second. What happened between two
// rows is known, how many were overwritten is not: a loss counts as one.
class SyslogSource final : public RecordSource {
 public:
  // The whole ring as text.
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
  [[nodiscard]] Status look();
  void take(const std::vector<std::string_view>& rows);
  [[nodiscard]] std::vector<SourcedRecord> deliver();

  int wake_;
  ReadAll read_all_;
  const Clock& clock_;
  std::deque<SourcedRecord> pending_;
  std::vector<std::string> last_rows_;  // the newest rows of the look before, to find the place again
  bool has_looked_ = false;
};

}  // namespace autopilot::host
