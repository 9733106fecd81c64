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
};

// Where there is no journal yet, or none can be had, what an earlier agent told the cluster is remembered in
// its place, and goes into the new one: the cluster is asked for at most kRecallDeadline. Blocks.
[[nodiscard]] OpenedJournal open_journal(const config::Config& config, const Machine& machine,
                                         const std::optional<ClusterDoor>& cluster);

}  // namespace autopilot::agent
