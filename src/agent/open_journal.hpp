// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/agent.hpp"
#include "agent/recall.hpp"
#include "store/journal_writer.hpp"

namespace autopilot::agent {

// The journal with what it remembers, or the reason why this run has none.
struct OpenedJournal {
  std::unique_ptr<store::JournalWriter> writer;
  runtime::Remembered remembered;
  ClusterMemory for_cluster;
  std::vector<Operation> operations;
  std::string moved_aside;  // the new name of one that could not be used
  std::string problem;
  bool is_unwritten = false;  // what it remembers is not of the journal, which has to be given all of it
};

// A disk that hangs is waited for no longer; a sound one may flush for ten seconds.
inline constexpr Duration kDiskPatience = std::chrono::seconds{15};

// Where there is no journal yet, or none can be had, what an earlier agent told the cluster is remembered in
// its place, and goes into the new one: the cluster is asked for at most kRecallDeadline. Blocks, together
// with that for as long as a disk that does not answer.
[[nodiscard]] OpenedJournal open_journal(const config::Config& config, const Machine& machine,
                                         const std::optional<kube::ClusterDoor>& cluster);

}  // namespace autopilot::agent
