// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"

namespace autopilot::workloads::compare {

struct Throughput {
  double value = 0;
  std::string unit;  // "images/s"
};

// Units without regard to case: "images/s" and "Images/s" are the same.
[[nodiscard]] bool has_same_unit(const Throughput& a, const Throughput& b);

struct ScalePoint {
  int nodes = 0;
  double throughput = 0;
};

// What one side ran and on what: facts.yaml of its folder. Missing: not stated.
struct Facts {
  std::string file;                  // empty: the side has no facts
  std::string name;                  // "Satori"
  std::vector<std::string> aliases;  // other names of the side in claims
  std::optional<int> nodes;
  std::optional<int> gpus;            // that the job uses
  std::optional<int> gpus_allocated;  // that the job holds
  std::optional<int> sampled_gpus;    // whose rows follow each other in output of nvidia-smi without an index
  std::optional<double> sample_interval_s;
  std::optional<std::string> gpu_model, model, batch, workers, dataset, version, precision;
  std::optional<double> dataset_bytes;
  std::optional<bool> is_exclusive;  // the job had its nodes for itself
  std::optional<Throughput> throughput;
  std::optional<double> time_to_result_s;
  std::optional<double> start_s, scale_s, recover_s;  // elasticity
  std::vector<ScalePoint> scaling;                    // ordered by nodes, without repeated numbers
};

// malformed: every problem with its line.
[[nodiscard]] Result<Facts> parse_facts(std::string_view text, const std::string& file);

}  // namespace autopilot::workloads::compare
