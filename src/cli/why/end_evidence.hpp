// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "checks/kernel_log/decode.hpp"
#include "cli/why/log_evidence.hpp"
#include "core/clock.hpp"
#include "core/finding.hpp"
#include "host/kernel_log/journal_boots.hpp"
#include "why/evidence.hpp"

namespace autopilot::cli {

// Evidence of a log at that time, without a statement yet.
[[nodiscard]] why::Evidence evidence_at(const LogContext& context, WallTime time);
[[nodiscard]] GpuUser user_of(std::int64_t pid, std::string process, GpuUserOwner owner = {});
// "python3 (4242)", "process 4242", "a process".
[[nodiscard]] std::string process_text(const std::string& process, std::int64_t pid);
void note_process(Finding& finding, const std::string& process, std::int64_t pid);

// A line of the kernel about the end of a program, or about a process that was not started: a crash, a page
// of damaged memory, a limit of processes, a forbidden system call. nullopt: another line. Pure.
[[nodiscard]] std::optional<why::Evidence> end_in(const checks::DecodedRecord& line,
                                                  const LogContext& context, WallTime time);

// The end of a program, as systemd states it. Pure.
[[nodiscard]] why::Evidence of_end(const host::ProgramEnd& end, const LogContext& context);
// The end of a boot without a shutdown. Pure.
[[nodiscard]] why::Evidence end_of_boot(const host::JournaledBoot& boot, const LogContext& context);

}  // namespace autopilot::cli
