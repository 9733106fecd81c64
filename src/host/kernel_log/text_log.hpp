// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "host/kernel_log/kernel_log.hpp"
#include "host/kernel_log/text_blocks.hpp"

namespace autopilot::host {

// Puts messages together again that the kernel wrote as one record of several rows and a source gives row by
// row: messages of the NVIDIA driver about a GPU off the bus, one that it does not support or that has no
// addresses, and about versions that differ. Rows are joined with a newline; the first row's number and time
// stand for all. dmesg -r gives the further rows without a facility: then the whole is unverified.
class RowJoiner {
 public:
  static constexpr std::size_t kMaxRows = 5;

  // The records that are whole now, in order: none while a message may go on.
  [[nodiscard]] std::vector<KernelRecord> add(KernelRecord row);
  // The message that was still open, at the end of the source.
  [[nodiscard]] std::optional<KernelRecord> finish();

 private:
  std::optional<KernelRecord> open_;
  std::size_t rows_ = 0;
};

// Kernel records out of text, line by line, each line in whatever form it has: raw /dev/kmsg records, dmesg
// with any of its times, with -x, -r or --json, `talosctl dmesg`, journalctl in all its outputs, with the
// name of the host or without, syslog (classic, RFC 3339, RFC 5424), a serial console, trace events
// (tracefs), kmsg.jsonl, or the bare message; also behind the marks of grep, pdsh, CRI, kubectl and compose.
// Lines may be indented and coloured. Sequence is the line number from 1; of a record of several lines, that
// of its message.
//
// Only forms that carry a facility are verified, and only at the beginning of a line: further in it may be a
// row of another message. The others do not prove who wrote them. A line whose tag is not the kernel's,
// that is written as programs write their own logs, or that quotes the kernel, has facility 1. Times are set
// where the text gives them whole: wall for a date with year and zone, mono for seconds since boot; a moment
// that is not known is the epoch.
class TextLogReader {
 public:
  // Whether a text is a message that means something. Where no form fits a line, the first place in it at
  // which one begins is its text.
  using Knows = std::function<bool(const KernelRecord& record)>;

  // Of a longer line only so much is looked at.
  static constexpr std::size_t kMaxLine = std::size_t{64} << 10;

  explicit TextLogReader(Knows knows = {}) : knows_(std::move(knows)) {}

  // The records that are whole now. A line may continue the one before it, so a record can come late.
  [[nodiscard]] std::vector<KernelRecord> add_line(std::string_view line);
  // What was still open.
  [[nodiscard]] std::vector<KernelRecord> finish();
  [[nodiscard]] std::uint64_t lines() const { return lines_; }

 private:
  [[nodiscard]] bool continues(std::string_view line, std::size_t indent);
  [[nodiscard]] std::vector<KernelRecord> close_open();
  void find_message(KernelRecord& record) const;
  [[nodiscard]] std::vector<KernelRecord> add_row(std::string_view line);
  [[nodiscard]] std::vector<KernelRecord> add_block(std::optional<TextBlocks::Row> block);

  Knows knows_;
  std::uint64_t lines_ = 0;
  std::optional<KernelRecord> open_;  // the last record, while lines may belong to it
  // Of journalctl and dmesg: where the text of open_ begins. They print its further rows below it, so a row
  // that begins before is another record.
  std::optional<std::size_t> text_column_;
  std::string host_;               // of the journal's rows
  bool takes_properties_ = false;  // raw records have " KEY=value" lines
  RowJoiner joiner_;
  TextBlocks blocks_;
};

}  // namespace autopilot::host
