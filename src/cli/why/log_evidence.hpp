// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "catalog/catalog.hpp"
#include "core/clock.hpp"
#include "host/kernel_log/journal_boots.hpp"
#include "host/kernel_log/kernel_log.hpp"
#include "host/process/processes.hpp"
#include "why/evidence.hpp"

namespace autopilot::cli {

// Reasons of evidence that no check reports.
inline constexpr std::string_view kMemoryLimit = "memory_limit";
inline constexpr std::string_view kMachineMemory = "oom_kills";
inline constexpr std::string_view kProgramCrashed = "program_crashed";
inline constexpr std::string_view kPidsLimit = "pids_limit";
inline constexpr std::string_view kSeccomp = "seccomp_kill";
inline constexpr std::string_view kUnitFailed = "unit_failed";
inline constexpr std::string_view kJobReport = "job_report";

struct LogContext {
  std::string source;  // "kernel log"
  int boots_ago = 0;
  WallTime since{};  // older records are left out
  host::PodNames pods;
};

// Different records without an error of a driver that are judged; further ones are left out.
inline constexpr std::size_t kMaxJudgedRecords = 512;

// Evidence in kernel records of one boot, oldest first; records that no rule of the catalog recognises, and
// records of user space, are left out. Pure.
[[nodiscard]] std::vector<why::Evidence> evidence_in(std::vector<host::KernelRecord> records,
                                                     const LogContext& context,
                                                     const catalog::Catalog& facts);

// Evidence in the ends of programs and of the boot that the journal states. Pure.
[[nodiscard]] std::vector<why::Evidence> evidence_in(const host::JournaledBoot& boot,
                                                     const LogContext& context);

// "pod ml/train-0", "slurm 4711", "container 0123456789ab"; else the path. Empty without both.
[[nodiscard]] std::string group_text(const GpuUserOwner& owner, const std::string& path);

// The owner that a path of control groups names, with the pod's name if `pods` has it.
[[nodiscard]] GpuUserOwner owner_of_path(const std::string& path, const host::PodNames& pods);

}  // namespace autopilot::cli
