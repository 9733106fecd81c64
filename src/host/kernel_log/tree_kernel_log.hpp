// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "core/clock.hpp"
#include "host/kernel_log/kernel_log.hpp"
#include "host/kernel_log/kernel_log_tail.hpp"

namespace autopilot::host {

// One line of kmsg.jsonl.
struct TreeLogLine {
  std::optional<std::uint64_t> sequence;  // missing: one more than the previous line
  std::uint64_t microseconds = 0;         // since boot
  int priority = 0;
  int facility = 0;
  bool injected = false;
  bool verified = true;
  std::string text;
};
struct TreeLogLoss {
  std::uint64_t records = 0;
};
// {"error": "denied"}: from this line on the log cannot be read.
struct TreeLogError {
  Errc code = Errc::denied;
};

// malformed: the error text does not contain the line number.
[[nodiscard]] Result<std::variant<TreeLogLine, TreeLogLoss, TreeLogError>> parse_tree_log_line(
    std::string_view line);

// kmsg.jsonl of a machine tree; every read() also reads new lines of the file. A file that shrank or was
// replaced is read from its beginning.
class TreeKernelLog final : public KernelLog {
 public:
  static constexpr std::size_t kMaxLine = std::size_t{64} << 10;

  TreeKernelLog(std::string path, const Clock& clock) : path_(std::move(path)), clock_(clock) {}

  // unavailable: the tree has no kernel log. malformed: with path and line. Other errors come from an `error`
  // line.
  [[nodiscard]] Result<KernelRecords> read(std::uint64_t from, MonoTime deadline) const override {
    return read_if(from, deadline, {});
  }
  [[nodiscard]] Result<KernelRecords> read_if(std::uint64_t from, MonoTime deadline,
                                              const Wanted& wanted) const override;
  [[nodiscard]] RecordLosses losses() const override;

 private:
  [[nodiscard]] Status follow() const;
  [[nodiscard]] Status take(std::string_view line) const;

  const std::string path_;
  const Clock& clock_;
  mutable std::mutex mutex_;
  mutable RecordRing ring_;
  mutable std::optional<Error> error_;
  mutable std::uint64_t inode_ = 0;
  mutable std::uint64_t offset_ = 0;  // of the first line that has not been read
  mutable std::uint64_t lines_ = 0;
  mutable std::uint64_t next_sequence_ = 0;
  mutable std::uint64_t lost_ = 0;  // reported since the last record
};

}  // namespace autopilot::host
