// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.hpp"
#include "core/finding.hpp"
#include "core/gpu_user.hpp"
#include "core/incident.hpp"
#include "core/subject.hpp"

namespace autopilot::why {

// What a piece of evidence shows, in the order in which kinds of equal certainty are named.
enum class Kind : std::uint8_t {
  machine_ended,      // the machine panicked, lost power or was reset
  killed_for_memory,  // the kernel killed a process, because memory or a limit was used up
  device_error,       // an error of a GPU, link, adapter, disk or the machine
  blocked,            // a process that the kernel does not let continue
  stopped,            // a process that a signal stopped
  shortage,           // no space, no inodes, no memory
  crashed,            // a processor exception or a signal ended a program
  reported_end,       // the service manager, or the monitoring of jobs, states the end
  program_error,      // an error that the program itself caused on a device
  state,              // any other finding
};

// Reason of the end of a boot without a shutdown, if no record states the cause.
inline constexpr std::string_view kNoShutdown = "no_shutdown";

// Reason of the end of a process whose memory is damaged.
inline constexpr std::string_view kBadMemory = "bad_memory";

// Reason of shared memory without free space: a program that writes to more of it ends with SIGBUS.
inline constexpr std::string_view kSharedMemoryFull = "shared_memory_full";

// Name of the evidence that states the signal which ended a program.
inline constexpr std::string_view kSignal = "signal";

// "machine_ended", ...
[[nodiscard]] std::string_view to_string(Kind kind);

// One thing that a source states.
struct Evidence {
  Kind kind = Kind::state;
  // Subject, reason, sentence and action. `since` and `last_seen`: first and last time; WallTime{}: unknown.
  // Evidence attributes: line, pid, process, code, count.
  Finding finding;
  std::string source;          // "kernel log", "journal", "checks", ...
  int boots_ago = 0;           // 0: this boot
  bool holds_now = false;      // read from the machine as it is
  std::vector<GpuUser> users;  // processes, containers, pods and batch jobs that it concerns
};

// Number of equal records; 1 if the evidence does not state it.
[[nodiscard]] std::int64_t count_of(const Evidence& evidence);
[[nodiscard]] bool has_time(const Evidence& evidence);
// The last time that the evidence states; WallTime{} without a time.
[[nodiscard]] WallTime last_of(const Evidence& evidence);
// The process that the record names; 0: none.
[[nodiscard]] std::int64_t pid_of(const Evidence& evidence);
[[nodiscard]] std::string process_of(const Evidence& evidence);
// Driver's error number.
[[nodiscard]] std::optional<std::int64_t> code_of(const Evidence& evidence);

// The program that a person asks about. Empty members are unknown.
struct Target {
  std::string text;  // as the person wrote it; empty: the whole machine
  std::vector<std::int64_t> pids;
  std::vector<GpuUserOwner> owners;  // a container may be the beginning of its id
  std::string process;               // its name
  std::vector<Subject> gpus;         // that it uses
  std::vector<std::string> mounts;   // filesystems that it writes to
  std::optional<WallTime> started;   // of a running process
  bool is_running = false;
  bool is_also_job = false;  // a job with the number `text` runs, or evidence names one

  [[nodiscard]] bool is_machine() const { return text.empty(); }
};

// True if both name one container, pod or batch job.
[[nodiscard]] bool is_same_owner(const GpuUserOwner& wanted, const GpuUserOwner& other);

// One place that was read, or not.
struct Source {
  std::string name;     // "kernel log of this boot"
  std::string detail;   // what was read: "1,204 records"
  std::string problem;  // why it was not read; empty: it was
  std::string remedy;   // what would make it readable; may be empty
};

}  // namespace autopilot::why
