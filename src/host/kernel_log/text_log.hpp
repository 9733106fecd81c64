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

// Joins messages that the kernel wrote as one record of several rows and a source returns row by row:
// messages of the NVIDIA driver about a GPU that has fallen off the bus, an unsupported GPU or a GPU without
// addresses, and mismatched versions. Rows are joined with a newline, with the sequence and time of the first
// row. dmesg -r prints further rows without a facility; the whole message is then unverified.
class RowJoiner {
 public:
  static constexpr std::size_t kMaxRows = 5;

  // The records that are complete, in order; empty while a message may continue.
  [[nodiscard]] std::vector<KernelRecord> add(KernelRecord row);
  // Call at the end of the source; returns the unfinished message.
  [[nodiscard]] std::optional<KernelRecord> finish();

 private:
  std::optional<KernelRecord> open_;
  std::size_t rows_ = 0;
};

// Parses kernel records from text, line by line, in any mix of formats: raw /dev/kmsg records, dmesg with any
// timestamp, with -x, -r or --json, `talosctl dmesg`, all outputs of journalctl with or without the host
// name, syslog (classic, RFC 3339, RFC 5424), a serial console, trace events (tracefs), kmsg.jsonl, or bare
// messages; also with prefixes of grep, pdsh, CRI, kubectl and compose. Lines may be indented and coloured.
// The sequence is the line number from 1, of the message in a record of several lines.
//
// Only formats with a facility are verified, and only at the beginning of a line: an indented line may be a
// row of another message. Other formats do not prove the writer. A line with another tag than the kernel's,
// in the format of a program's log, or that quotes the kernel, has facility 1. Complete times are set: wall
// for a date with year and zone, mono for seconds since boot; an unknown time is the epoch.
class TextLogReader {
 public:
  // Returns true if a record is a known message. In a line of an unknown format, the text begins at the first
  // known message.
  using Knows = std::function<bool(const KernelRecord& record)>;

  // Bytes of a line that are parsed; the rest is ignored.
  static constexpr std::size_t kMaxLine = std::size_t{64} << 10;

  explicit TextLogReader(Knows knows = {}) : knows_(std::move(knows)) {}

  // The records that are complete. A line may continue the previous one, so a record may be returned by a
  // later call.
  [[nodiscard]] std::vector<KernelRecord> add_line(std::string_view line);
  // Call at the end of the text; returns the unfinished records.
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
  std::optional<KernelRecord> open_;  // the last record, while further lines may belong to it
  // Column at which the text of open_ begins. journalctl and dmesg print its further rows at this column or
  // later; a row that begins earlier is another record.
  std::optional<std::size_t> text_column_;
  std::string host_;               // host name of the journal's rows
  bool takes_properties_ = false;  // raw records have " KEY=value" lines
  RowJoiner joiner_;
  TextBlocks blocks_;
};

}  // namespace autopilot::host
