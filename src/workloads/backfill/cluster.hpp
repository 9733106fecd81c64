// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"

// What a cluster runs now and what waits, and what of it is idle. Pure.
namespace autopilot::workloads::backfill {

// GPUs, processors and memory: of a node, of a job on each of its nodes, or what is free.
struct Capacity {
  double gpus = 0;
  double cpus = 0;
  double memory_gib = 0;
};

[[nodiscard]] bool fits(const Capacity& need, const Capacity& free);
void take(Capacity& free, const Capacity& need);
void give(Capacity& free, const Capacity& need);

struct Node {
  std::string name;
  Capacity capacity;
};

struct RunningJob {
  std::string name;
  std::vector<std::string> nodes;
  Capacity on_each;
  std::optional<double> ends_in_s;  // missing: it can run for ever
  // Mean utilisation in percent of each GPU that it holds, over the time below. Empty: no samples.
  std::vector<double> gpu_use;
  double sampled_s = 0;
};

struct PendingJob {
  std::string name;
  int nodes = 1;
  Capacity on_each;
  std::optional<double> runs_s;    // limit of its run time; missing: not known, so it is not backfilled
  std::optional<double> slowdown;  // measured share by which it slows a job on the same node
};

struct Cluster {
  std::vector<Node> nodes;
  std::vector<RunningJob> running;
  std::vector<PendingJob> pending;  // in the order of the queue
};

// The file of docs/backfill.md. malformed: every problem with its line; also a job on a node that does not
// exist, and jobs that hold more than their node has.
[[nodiscard]] Result<Cluster> parse_cluster(std::string_view text, const std::string& file);

}  // namespace autopilot::workloads::backfill
