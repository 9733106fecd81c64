// SPDX-License-Identifier: Apache-2.0
#include "host/kernel_log/text_log.hpp"

#include <utility>

#include "host/kernel_log/kmsg_record.hpp"
#include "host/kernel_log/text_forms.hpp"

namespace autopilot::host {
namespace {

constexpr int kUserFacility = 1;

KernelRecord to_record(TextRow row, std::uint64_t line) {
  KernelRecord record;
  record.sequence = line;
  if (row.wall) record.time.wall = *row.wall;
  if (row.microseconds) record.time.mono = MonoTime(std::chrono::microseconds(*row.microseconds));
  record.priority = row.priority;
  record.facility = row.facility.value_or(row.is_kernel ? 0 : kUserFacility);
  record.verified = row.facility.has_value();
  record.injected = row.injected;
  record.text = clean_log_text(row.text);
  return record;
}

}  // namespace

bool TextLogReader::continues(std::string_view line) {
  if (!open_ || !line.starts_with(' ')) return false;
  if (takes_properties_ && line.find('=') != std::string_view::npos) return true;
  if (!takes_indented_) return false;
  const auto text = line.find_first_not_of(' ');
  if (text == std::string_view::npos || open_->text.size() + line.size() > KernelRecord::kMaxText)
    return false;
  open_->text += "\n" + clean_log_text(line.substr(text));
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
  if (continues(line)) return {};
  auto whole = close_open();
  auto row = parse_text_row(line);
  if (!row) return whole;
  takes_indented_ = row->form == TextRow::Form::syslog || row->form == TextRow::Form::dmesg;
  takes_properties_ = row->form == TextRow::Form::kmsg;
  open_ = to_record(std::move(*row), lines_);
  return whole;
}

std::vector<KernelRecord> TextLogReader::finish() {
  auto whole = close_open();
  if (auto last = joiner_.finish()) whole.push_back(std::move(*last));
  return whole;
}

}  // namespace autopilot::host
