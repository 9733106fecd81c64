// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "collect/discovery/gpu_holders.hpp"
#include "collect/discovery/pod_facts.hpp"
#include "collect/seen_jobs.hpp"
#include "core/clock.hpp"
#include "core/result.hpp"
#include "host/files/files.hpp"
#include "host/process/process_reader.hpp"
#include "jobs/records.hpp"

namespace autopilot::collect {

// Finds the jobs of this node: which process is which rank of which job. Nothing is asked of the jobs: the
// sources are processes on GPUs, control groups, owners of pods, and a list of variables and arguments
// (host/process/launch.hpp).
//
// - The key of a job (JobRecord::job) is the same on every node: "<namespace>/<owner>-<beginning of its
// UID>",
//   "slurm/<id>", "uid<user>/<address>:<port>" of a rendezvous. A job that only this node can have begins
//   with the node's name.
// - A rank is what a launcher states. If it states none, or two processes state the same one, the ranks are
//   numbers of this node (JobRecord::has_local_ranks), in the order of GPU, start and pid.
// - A rank whose process has ended stays in the record for JobMemory::kKeepEndedRank, so that the engine sees
// which one ended.
// - An attempt ends when all its processes are gone: the next one has the next number.
//
// Not thread-safe; may block like Files. Cheap enough for a call every 10 s.
class JobFinder {
 public:
  static constexpr std::size_t kMostJobs = 64;
  static constexpr std::size_t kMostNotSeen = 16;  // sentences
  // An ended job that starts again within this time continues to count its attempts.
  static constexpr Duration kRememberAttempt = std::chrono::hours(1);
  static constexpr std::size_t kMostAttempts = 64;  // of ended jobs; the oldest are forgotten

  // `files` and `reader` outlive the object. `node`: name of this node in the records. `reader`: reads
  // processes of other users where the agent may not; null: none.
  JobFinder(const host::Files& files, std::string node, const host::ProcessReader* reader = nullptr);
  JobFinder(JobFinder&&) noexcept;
  JobFinder& operator=(JobFinder&&) noexcept;
  ~JobFinder();

  // `pods`: empty without an API server; each pod is a job of its own then, unless its ranks name a
  // rendezvous. An error: no process can be read; jobs that were found before have not ended then.
  [[nodiscard]] Result<SeenJobs> look(const GpuHolders& holders, const PodFactsByUid& pods, WallTime now);

  // Jobs without any process of theirs in the last search that had one before, each once. Their outcome is
  // unknown here: exit codes belong to the parent.
  [[nodiscard]] std::vector<jobs::JobEndRecord> take_ended();

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace autopilot::collect
