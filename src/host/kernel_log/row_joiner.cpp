// SPDX-License-Identifier: Apache-2.0
#include "host/kernel_log/row_joiner.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace autopilot::host {
namespace {

struct Message {
  std::string_view first;  // how its first row begins
  std::string_view last;   // what its last row contains
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

}  // namespace autopilot::host
