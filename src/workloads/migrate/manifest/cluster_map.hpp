// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.hpp"
#include "workloads/migrate/job/job.hpp"
#include "workloads/migrate/script/findings.hpp"

namespace autopilot::workloads::migrate {

struct QueueTarget {
  std::string local_queue;  // of Kueue
  std::string volcano_queue;
  std::string priority_class;
};

// What queues and features of the old cluster are in the new one.
struct ClusterMap {
  std::map<std::string, QueueTarget, std::less<>> queues;
  std::map<std::string, std::vector<std::pair<std::string, std::string>>, std::less<>>
      nodes;  // feature or GPU model: labels
  bool is_given = false;
};

// A file in YAML with the members `queues` and `nodes` (docs/migrate.md). malformed: with every problem and
// its line.
[[nodiscard]] Result<ClusterMap> parse_cluster_map(std::string_view text, const std::string& file);

struct Placement {
  std::vector<std::pair<std::string, std::string>> node_labels;
  std::vector<std::string> hosts_included;
  std::vector<std::string> hosts_excluded;
  QueueTarget queue;
  std::string queue_name;  // of the old cluster
};

// Findings: features, models and queues that the map does not have.
[[nodiscard]] Placement place(const JobPart& part, const ClusterMap& map, Findings& findings);

// "node[01-03,7]" as its hosts; text without brackets as it is. Empty: malformed, or more than 10,000 hosts.
[[nodiscard]] std::vector<std::string> expand_hosts(std::string_view text);

}  // namespace autopilot::workloads::migrate
