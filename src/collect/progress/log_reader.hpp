// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "collect/progress/log_lines.hpp"
#include "collect/progress/rank_ends.hpp"
#include "collect/progress/step_lines.hpp"
#include "collect/seen_jobs.hpp"
#include "core/clock.hpp"
#include "host/files/log_file.hpp"
#include "jobs/records.hpp"

namespace autopilot::collect {

// Annotation of a pod, and setting of JobPod: a regular expression for StepLines.
inline constexpr std::string_view kStepPattern = "autopilot.ibm.com/step-pattern";

struct LogOptions {
  std::string pods_folder = "/var/log/pods";  // of the kubelet
  host::LogFile::Opener open_log = {};        // of pods, where this process may not read them
  std::string step_pattern;                   // for pods without the annotation, and processes outside pods
  // What the API server states about the pod's container; nullopt: not ended, or not known yet. Called on the
  // reading thread; must not block.
  std::function<std::optional<PodEnd>(const std::string& pod_uid)> pod_end;
};

// Reads the logs of ranks: the kubelet's files of pods, and the standard output of rank 0 where it is a file.
// May block where a disk does not answer. Not thread-safe.
class LogReader {
 public:
  static constexpr std::size_t kMaxFiles = 16;                     // of the node, the lowest ranks first
  static constexpr std::size_t kMaxBytes = std::size_t{1} << 20;   // of a job in one call
  static constexpr std::size_t kMaxBehind = std::size_t{4} << 20;  // further behind, lines are left out
  static constexpr std::size_t kMaxBefore = 64 * 1024;             // of a file that is opened first
  static constexpr std::size_t kMaxRecords = 64;                   // of a file in one call, the newest

  explicit LogReader(LogOptions options);
  LogReader(const LogReader&) = delete;
  LogReader& operator=(const LogReader&) = delete;

  // Once a second. Appends steps, phases, and the ends of ranks.
  void read(const SeenJobs& jobs, WallTime now, std::vector<jobs::Record>& records);
  // Logs that are not read, each a sentence with the cure.
  [[nodiscard]] std::vector<std::string> not_seen() const;
  // Ends of ranks wait for their exit code.
  [[nodiscard]] bool has_more() const { return ends_.is_waiting(); }

 private:
  struct Log {
    std::string job;
    std::optional<JobPod> pod;  // not set: the standard output of a process
    RankProcess process;        // of the lowest rank
    bool has_steps = true;      // false: only its last words count
    bool is_wanted = true;
    std::optional<host::LogFile> file;
    bool was_read = false;
    LogFormat format = LogFormat::container;
    LogLines lines{LogFormat::container};
    std::optional<StepLines> steps;
    std::string pattern_problem, problem;
  };

  [[nodiscard]] static std::string key(const std::string& job, const RankProcess& process);
  void choose(const SeenJobs& jobs);
  void want(const SeenJob& job, const RankProcess& process, bool is_first_of_job);
  [[nodiscard]] Log make_log(const SeenJob& job, const RankProcess& process) const;
  void open(Log& log) const;
  void read_log(Log& log, std::size_t limit, WallTime now, std::vector<jobs::Record>& records) const;
  void parse(Log& log, const host::LogFile::Piece& piece, WallTime now,
             std::vector<jobs::Record>& records) const;
  [[nodiscard]] Result<std::string> newest_file(const JobPod& pod) const;
  [[nodiscard]] std::string log_end(const std::string& job, const RankProcess& process);

  LogOptions options_;
  std::map<std::string, Log, std::less<>> logs_;
  std::size_t left_out_ = 0;  // logs beyond kMaxFiles
  RankEnds ends_;
};

}  // namespace autopilot::collect
