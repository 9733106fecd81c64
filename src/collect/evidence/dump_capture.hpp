// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "collect/evidence/deadline_runner.hpp"
#include "collect/evidence/evidence_store.hpp"
#include "collect/flight_recorder/dump_file.hpp"
#include "collect/rank_environment.hpp"
#include "collect/seen_jobs.hpp"
#include "core/clock.hpp"

namespace autopilot::collect {

// The flight recorders of a job's ranks on this node: first all are asked for a dump, later the dumps are
// copied. For one thread.
//
// A dump is copied only if it belongs to the user of the process and can be parsed: the path is the job's,
// and the agent may read more than the job. The summary names every dump that is not copied.
class DumpCapture {
 public:
  static constexpr std::size_t kMaxRanks = 32;                          // further ones are not asked
  static constexpr std::size_t kMaxCopied = std::size_t{4} << 20;       // bytes of one copy
  static constexpr std::size_t kMaxCopiedTotal = std::size_t{8} << 20;  // of all copies
  // A dump that is not written further for this long is complete.
  static constexpr Duration kSettled = std::chrono::seconds{1};

  // All outlive the object.
  DumpCapture(const EnvironmentOf& environment_of, const std::vector<RankProcess>& processes,
              DeadlineRunner& runner, EvidenceFolder& folder)
      : environment_of_(environment_of), processes_(processes), runner_(runner), folder_(folder) {}

  // Writes one byte into the pipe of each flight recorder: the item "flight_recorder".
  void ask(Duration patience);
  // Waits for the dumps that were asked for. Copies them, and what ranks without a pipe wrote earlier: the
  // items "flight_recorder_dump", one for each rank, and "flight_recorder_summary".
  void copy(Duration patience);

 private:
  struct Rank {
    RankProcess process;
    std::vector<std::string> prefixes;  // of its dump; empty: no flight recorder is known
    std::optional<DumpStamp> before;    // of the dump that was there before the request
    std::string pipe;                   // that it was asked through; empty: it was not asked
    std::string problem;                // why it was not asked
  };
  struct Dump;

  [[nodiscard]] static Rank ask_rank(const EnvironmentOf& environment_of, const RankProcess& process);
  [[nodiscard]] static Result<Dump> wait_for_dump(const Rank& rank, MonoTime deadline);
  // Why it is not copied; empty: it is.
  [[nodiscard]] std::string copy_dump(int rank, const Dump& dump);

  const EnvironmentOf& environment_of_;
  const std::vector<RankProcess>& processes_;
  DeadlineRunner& runner_;
  EvidenceFolder& folder_;
  std::vector<Rank> ranks_;
  std::size_t copied_ = 0;  // bytes
};

}  // namespace autopilot::collect
