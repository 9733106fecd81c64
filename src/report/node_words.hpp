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

// Label, annotations and conditions of the Node object.
struct NodeWords {
  std::string gpuhealth;  // value of the label; empty: the node has no such label
  std::string summary;    // value of the annotation; at most kMaxSummary bytes
  std::vector<ConditionWords> conditions;
  std::optional<diagnostics::DeepTestWords> deep_test;  // not set: present values of deep diagnostics remain
  friend bool operator==(const NodeWords&, const NodeWords&) = default;

  static constexpr std::size_t kMaxSummary = 256;
};

// `written`: the verdict to write, which may be worse than the snapshot's; then why_evicted states the
// reason. A condition is True only if every checked subject is healthy and every required check has run. A
// finding about a part of a GPU belongs to GpuHealthy, other findings to the condition of their check.
// Injected findings change nothing. Pure.
[[nodiscard]] NodeWords words_of(const NodeSnapshot& snapshot, Verdict written,
                                 const std::string& why_evicted = {});

}  // namespace autopilot::report
