// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/snapshot.hpp"
#include "diagnostics/cluster/deep_test_words.hpp"

namespace autopilot::report {

// One condition of the Node object, without its times.
struct ConditionWords {
  std::string type;     // "GpuHealthy", "NetworkHealthy", "StorageHealthy", "HostHealthy"
  std::string status;   // "True", "False", "Unknown"
  std::string reason;   // "Healthy", "Degraded", "Failed", "NotLooked", "NothingHere"
  std::string message;  // for a person; at most kMaxMessage bytes
  friend bool operator==(const ConditionWords&, const ConditionWords&) = default;

  static constexpr std::size_t kMaxMessage = 1024;
};

// What is said of a node where Kubernetes looks for it.
struct NodeWords {
  std::string gpuhealth;  // value of the label; empty: the node has no such label
  std::string summary;    // value of the annotation; at most kMaxSummary bytes
  std::vector<ConditionWords> conditions;
  std::optional<diagnostics::DeepTestWords> deep_test;  // nothing: what stands there of deep tests stays
  friend bool operator==(const NodeWords&, const NodeWords&) = default;

  static constexpr std::size_t kMaxSummary = 256;
};

// `written`: the word that stands on the node, which may be worse than the snapshot's verdict; then
// why_evicted says why. A condition is
// True only when every subject that was looked at is healthy and every required check has looked; a finding
// about a part of a GPU belongs to GpuHealthy whichever check makes it, others to the condition of their
// check. Injected findings change nothing. Pure.
[[nodiscard]] NodeWords words_of(const NodeSnapshot& snapshot, Verdict written,
                                 const std::string& why_evicted = {});

}  // namespace autopilot::report
