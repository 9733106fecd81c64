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

// How many of the applicable checks ran. unsupported checks do not count.
struct Coverage {
  int looked = 0;
  int of = 0;
  std::vector<std::string> missing_rights;  // missing permissions, such as "CAP_SYSLOG", each once
};

// Kind of equal kernel records.
struct RecordKind {
  std::string check;  // the check that reads them
  std::string name;   // "xid", "oom", ...
  std::string value;  // the code, if the name has several
  Subject subject;

  friend auto operator<=>(const RecordKind&, const RecordKind&) = default;
};
struct RecordCount {
  RecordKind kind;
  std::uint64_t count = 0;
};

// Requests of an agent to its cluster.
struct ClusterStatus {
  std::uint64_t writes = 0;    // requests that succeeded
  std::uint64_t failures = 0;  // requests that failed or got no answer
  std::uint64_t events_dropped = 0;
  std::string problem;  // current problem; empty: none
};

// State of the agent itself.
struct SelfStatus {
  std::uint64_t checks_run = 0;
  std::uint64_t checks_late = 0;      // runs that started later than their interval allows
  std::uint64_t results_dropped = 0;  // results that arrived after their deadline
  int lanes = 0;
  int lanes_stuck = 0;    // current number of abandoned threads that have not returned
  int helpers_stuck = 0;  // current number of helper processes that cannot be killed
  std::uint64_t kernel_records_read = 0;
  std::uint64_t kernel_records_lost = 0;  // overwritten before they were read
  std::uint64_t kernel_records_missed =
      0;  // read, but dropped before every check that needs them received them
  std::uint64_t driver_calls = 0;
  double journal_lag_seconds = 0;  // age of the oldest entry not yet durable
  std::uint64_t journal_dropped = 0;
  bool journal_durable = true;  // false: the journal is missing or does not keep up
  std::string journal_problem;  // empty: none
  std::uint64_t configuration_refused = 0;
  bool open_actions = false;             // any client that reaches the port can start tests
  std::string pod_resources_problem;     // why the kubelet of this node cannot be queried; empty: no problem
  std::optional<ClusterStatus> cluster;  // not set: the agent does not write to a cluster
};

// An immutable state of the node at one moment. The runtime creates it; readers never wait for a check.
struct NodeSnapshot {
  std::string node;
  std::string boot_id;
  WallTime time{};
  std::uint64_t generation = 0;  // increases with every snapshot
  bool simulated = false;
  std::string profile;
  Health health = Health::unknown;
  Verdict verdict = Verdict::none;
  Coverage coverage;
  CheckResults results;              // in the order of the list of checks
  std::vector<Incident> incidents;   // open and recovering; the journal has closed ones
  std::vector<RecordCount> records;  // kernel records since the agent started
  SelfStatus self;
};

using SnapshotPtr = std::shared_ptr<const NodeSnapshot>;

}  // namespace autopilot
