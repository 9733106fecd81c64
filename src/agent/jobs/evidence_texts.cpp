// SPDX-License-Identifier: Apache-2.0
#include "agent/jobs/evidence_texts.hpp"

#include <algorithm>

#include "core/parse.hpp"

namespace autopilot::agent {
namespace {

constexpr std::size_t kLongestKernelLine = 1024;

}  // namespace

std::string kernel_log_text(const host::KernelRecords& log) {
  std::string text;
  const std::size_t count = std::min(log.records.size(), kMostKernelLines);
  for (auto record = log.records.end() - static_cast<std::ptrdiff_t>(count); record != log.records.end();
       ++record)
    text += format_time(record->time.wall) + " <" + std::to_string(record->priority) + "> " +
            to_printable(record->text, kLongestKernelLine) + "\n";
  return text;
}

}  // namespace autopilot::agent
