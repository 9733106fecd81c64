// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "host/files/fd.hpp"
#include "host/process/child_runner.hpp"

namespace autopilot::host {

// For tests: runs a program; the text of what went wrong, or nothing. `output` takes what it wrote.
inline std::string run_program(const std::vector<std::string>& words, std::string* output = nullptr) {
  ChildRunner runner;
  const auto report = runner.run(
      {.program = "/usr/bin/env", .arguments = words, .environment = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin"}},
      mono_now() + std::chrono::seconds{60});
  if (!report) return report.error().what;
  if (output != nullptr) *output = report->output;
  if (report->end == ChildEnd::exited && report->status.code == 0) return {};
  return words.front() + ": " + report->output + report->errors;
}

}  // namespace autopilot::host
