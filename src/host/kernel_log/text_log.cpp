// SPDX-License-Identifier: Apache-2.0
#include "host/kernel_log/text_log.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "host/kernel_log/kmsg_source.hpp"
#include "host/kernel_log/text_forms.hpp"

namespace autopilot::host {
namespace {

struct Message {
  std::string_view first;  // beginning of its first row
  std::string_view last;   // part of its last row
};

constexpr std::array<Message, 3> kMessages{{
    {"NVRM: The NVIDIA GPU ", "fallen off the bus"},
    {"NVRM: This PCI I/O region assigned to your NVIDIA device is invalid", " (PCI:"},
    {"NVRM: API mismatch: ", "the same version"},
}};

bool begins_message(std::string_view text) {
  for (const auto& message : kMessages)
    if (text.starts_with(message.first)) return true;
  return false;
}

bool ends_message(std::string_view text) {
  for (const auto& message : kMessages)
    if (text.starts_with(message.first)) return text.find(message.last) != std::string_view::npos;
  return true;
}

bool continues_message(std::string_view text) {
  constexpr std::array<std::string_view, 4> kOthers{"NVRM: Xid ", "NVRM: GPU ", "NVRM: The NVIDIA ",
                                                    "NVRM: loading "};
  return text.starts_with("NVRM: ") && !begins_message(text) &&
         std::ranges::none_of(kOthers, [text](std::string_view other) { return text.starts_with(other); });
}

}  // namespace

std::vector<KernelRecord> RowJoiner::add(KernelRecord row) {
  std::vector<KernelRecord> whole;
  if (open_) {
    if (row.facility == open_->facility && (open_->verified || !row.verified) &&
        continues_message(row.text) && open_->text.size() + row.text.size() < KernelRecord::kMaxText) {
      open_->text += "\n" + row.text;
      open_->verified = row.verified;
      ++rows_;
      if (ends_message(open_->text) || rows_ >= kMaxRows) {
        whole.push_back(std::move(*open_));
        open_.reset();
      }
      return whole;
    }
    whole.push_back(std::move(*open_));
    open_.reset();
  }
  if (begins_message(row.text) && !ends_message(row.text)) {
    open_ = std::move(row);
    rows_ = 1;
  } else {
    whole.push_back(std::move(row));
  }
  return whole;
}

std::optional<KernelRecord> RowJoiner::finish() {
  return std::exchange(open_, std::nullopt);
}

namespace {

constexpr int kUserFacility = 1;
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
// Characters that may precede a message that a program prints or quotes.
constexpr std::string_view kSeparators = " \t\"'`]=:(|>";
constexpr std::string_view kQuotationMarks = "\"'`";
constexpr char kEscape = '\x1b';

// Removes colour codes of dmesg, journalctl, grep and consoles: ESC [ numbers letter.
std::string without_colour(std::string_view line) {
  std::string plain;
  while (!line.empty()) {
    if (line.starts_with("\x1b[")) {
      const auto end = line.find_first_not_of("0123456789;?", 2);
      if (end != std::string_view::npos && line[end] >= '@' && line[end] <= '~') {
        line.remove_prefix(end + 1);
        continue;
      }
    }
    plain += line.front();
    line.remove_prefix(1);
  }
  return plain;
}

KernelRecord to_record(TextRow row, std::uint64_t line) {
  KernelRecord record;
  record.sequence = line;
  if (row.wall) record.time.wall = *row.wall;
  if (row.microseconds) record.time.mono = MonoTime(std::chrono::microseconds(*row.microseconds));
  record.priority = row.priority;
  record.facility =
      row.is_kernel ? row.facility.value_or(0) : std::max(kUserFacility, row.facility.value_or(0));
  record.verified = row.facility.has_value() && !row.is_carried;
  record.injected = row.injected;
  record.text = clean_log_text(row.text);
  return record;
}

// Offsets after each mark that no separator follows; the first ones of a long line.
std::vector<std::size_t> places_of_messages(std::string_view line, std::string_view marks) {
  constexpr std::size_t kMaxFront = 512;
  constexpr std::size_t kMaxPlaces = 48;
  std::vector<std::size_t> places;
  for (auto at = line.find_first_of(marks); at < kMaxFront && places.size() < kMaxPlaces;
       at = line.find_first_of(marks, at + 1))
    if (at + 1 < line.size() && kSeparators.find(line[at + 1]) == std::string_view::npos)
      places.push_back(at + 1);
  return places;
}

}  // namespace

bool TextLogReader::continues(std::string_view line, std::size_t indent) {
  if (!open_ || indent == 0) return false;
  if (takes_properties_ && line.find('=') != std::string_view::npos) return true;
  if (!text_column_ || indent < *text_column_) return false;
  if (open_->text.size() + line.size() > KernelRecord::kMaxText) return false;
  open_->text += "\n" + clean_log_text(line.substr(indent));
  return true;
}

std::vector<KernelRecord> TextLogReader::close_open() {
  if (!open_) return {};
  KernelRecord record = std::move(*open_);
  open_.reset();
  return joiner_.add(std::move(record));
}

std::vector<KernelRecord> TextLogReader::add_line(std::string_view line) {
  ++lines_;
  line = line.substr(0, kMaxLine);
  if (lines_ == 1 && line.starts_with(kByteOrderMark)) line.remove_prefix(kByteOrderMark.size());
  std::string plain;
  if (line.find(kEscape) != std::string_view::npos) line = plain = without_colour(line);
  auto block = blocks_.add(line, lines_);
  if (block.is_part) return add_block(std::move(block.row));
  auto whole = add_block(std::move(block.row));
  for (auto& record : add_row(line))
    whole.push_back(std::move(record));
  return whole;
}

std::vector<KernelRecord> TextLogReader::add_block(std::optional<TextBlocks::Row> block) {
  if (!block) return {};
  auto whole = close_open();
  text_column_.reset();
  takes_properties_ = false;
  for (auto& record : joiner_.add(to_record(std::move(block->row), block->line)))
    whole.push_back(std::move(record));
  return whole;
}

std::vector<KernelRecord> TextLogReader::add_row(std::string_view line) {
  const auto indent = std::min(line.find_first_not_of(" \t"), line.size());
  if (indent < line.size() && continues(line, indent)) return {};
  auto whole = close_open();
  auto row = parse_text_row(line.substr(indent), host_);
  if (!row) return whole;
  if (!row->host.empty()) host_ = row->host;
  text_column_.reset();
  if (row->form == TextRow::Form::syslog || row->form == TextRow::Form::dmesg)
    text_column_ = line.find_last_not_of(" \r") + 1 - row->text.size();
  takes_properties_ = row->form == TextRow::Form::kmsg;
  const bool is_without_form = row->form == TextRow::Form::bare && !row->facility;
  open_ = to_record(std::move(*row), lines_);
  if (indent > 0) open_->verified = false;
  if (is_without_form) find_message(*open_);
  return whole;
}

// For a line of an unknown format.
void TextLogReader::find_message(KernelRecord& record) const {
  if (!knows_) return;
  const bool is_known = knows_(record);
  const std::string line = record.text;
  KernelRecord found = record;
  // A line that is a known message may still be quoted.
  for (const std::size_t begin : places_of_messages(line, is_known ? kQuotationMarks : kSeparators)) {
    found.text = line.substr(begin);
    if (!knows_(found)) continue;
    found.facility = is_quotation(std::string_view(line).substr(0, begin)) ? kUserFacility : 0;
    record = std::move(found);
    return;
  }
}

std::vector<KernelRecord> TextLogReader::finish() {
  auto whole = add_block(blocks_.finish());
  for (auto& record : close_open())
    whole.push_back(std::move(record));
  if (auto last = joiner_.finish()) whole.push_back(std::move(*last));
  return whole;
}

}  // namespace autopilot::host
