// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/check_info.hpp"
#include "core/check_result.hpp"
#include "core/finding.hpp"
#include "core/incident.hpp"
#include "core/observation.hpp"
#include "core/operation.hpp"

namespace autopilot {

// How much of what could be looked at was looked at. unsupported checks do not count.
struct Coverage {
  int looked = 0;
  int of = 0;
  std::vector<std::string> missing_rights;  // "CAP_SYSLOG", each once
};

// Kernel records that say the same.
struct RecordKind {
  std::string check;  // that read them
  std::string name;   // "xid", "oom", ...
  std::string value;  // the code, where the name has several
  Subject subject;

  friend auto operator<=>(const RecordKind&, const RecordKind&) = default;
};
struct RecordCount {
  RecordKind kind;
  std::uint64_t count = 0;
};

// What an agent that writes to a cluster got there.
struct ClusterStatus {
  std::uint64_t writes = 0;    // answered with success
  std::uint64_t failures = 0;  // answered otherwise, or not at all
  std::uint64_t events_dropped = 0;
  std::string problem;  // what it cannot do there now; empty: nothing
};

// What the agent says about itself.
struct SelfStatus {
  std::uint64_t checks_run = 0;
  std::uint64_t checks_late = 0;      // started later than their period allows
  std::uint64_t results_dropped = 0;  // arrived after their deadline
  int lanes = 0;
  int lanes_stuck = 0;    // now: abandoned threads that have not come back
  int helpers_stuck = 0;  // now: helper processes that cannot be killed
  std::uint64_t kernel_records_read = 0;
  std::uint64_t kernel_records_lost = 0;    // overwritten before they were read
  std::uint64_t kernel_records_missed = 0;  // read, but dropped before every check that wants such had them
  std::uint64_t driver_calls = 0;
  double journal_lag_seconds = 0;  // age of the oldest entry not yet durable
  std::uint64_t journal_dropped = 0;
  bool journal_durable = true;  // false: no journal, or it does not keep up
  std::string journal_problem;  // empty: none
  std::uint64_t configuration_refused = 0;
  bool open_actions = false;             // whoever reaches the port may have tests made
  std::string pod_resources_problem;     // why the kubelet that is here could not be asked; empty: none
  std::optional<ClusterStatus> cluster;  // nothing: it writes to none
};

// One immutable picture of the node. Made by the runtime, read by everybody; readers never wait for a check.
struct NodeSnapshot {
  std::string node;
  std::string boot_id;
  WallTime time{};
  std::uint64_t generation = 0;  // grows with every snapshot
  bool simulated = false;
  std::string profile;
  Health health = Health::unknown;
  Verdict verdict = Verdict::none;
  Coverage coverage;
  CheckResults results;              // in the order of the list of checks
  std::vector<Incident> incidents;   // open and recovering; closed ones are in the journal
  std::vector<RecordCount> records;  // kernel records seen since the agent started
  SelfStatus self;
};

using SnapshotPtr = std::shared_ptr<const NodeSnapshot>;

}  // namespace autopilot
