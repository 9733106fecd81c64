// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.hpp"
#include "diagnostics/child/deep_test_helper.hpp"
#include "diagnostics/cluster/reservation.hpp"
#include "host/gpu/dcgm.hpp"
#include "kube/objects.hpp"

namespace autopilot::diagnostics {

// Owner of the Jobs, in the same namespace: they are removed with it. The DaemonSet of the agent is better
// than its pod, because a diagnostic would otherwise end with the agent.
struct OwnerReference {
  std::string api_version;  // "apps/v1"
  std::string kind;         // "DaemonSet"
  std::string name;
  std::string uid;
};

// Common settings of all deep diagnostics of an installation.
struct DeepTestJobSettings {
  std::string prefix;                     // of labels and taints
  std::string name_space;                 // of the agent
  std::string image;                      // contains our executable and the program
  bool is_own = false;                    // no program: all tests of the GPU probe
  std::vector<std::string> command;       // program and arguments; if is_own: arguments of the own diagnostic
  std::vector<std::string> pull_secrets;  // names, in the same namespace
  std::vector<std::string> tolerated;     // keys of further taints of the nodes
  Duration deadline{};                    // of the program
  std::optional<OwnerReference> owner;
};

// Settings of one deep diagnostic.
struct DeepTestJob {
  std::string node;
  WallTime since{};          // of the reservation
  kube::Devices devices;     // all devices of the node
  Duration deadline{};       // of the Job: includes the time until its program begins
  bool is_cordoned = false;  // by the controller, which has requested the diagnostic
};

// Taint of every cordoned node.
inline constexpr std::string_view kCordonTaint = "node.kubernetes.io/unschedulable";

// "autopilot-deep-test-<hash of the node>-<since>": the same for every agent, so that there is one Job per
// reservation. A hash, because the name of a node may be longer than that of a pod.
[[nodiscard]] std::string deep_test_job_name(std::string_view node, WallTime since);
// Start of the reservation of that Job; not set: not a name of this node's Jobs.
[[nodiscard]] std::optional<WallTime> deep_test_job_since(std::string_view node, std::string_view name);
// Finds the Jobs of a node, and their pods: "<prefix>/deep-test-of=<node>".
[[nodiscard]] std::string deep_test_selector(std::string_view prefix, std::string_view node);

// The Job as JSON: placed by the scheduler on that node alone, on all its accelerators, tolerating the
// testing taint, without permissions (Pod Security "restricted", no token), tried once.
[[nodiscard]] std::string deep_test_job(const DeepTestJobSettings& settings, const DeepTestJob& job);

// Result of one deep diagnostic. Pure.
struct DeepTestResult {
  DeepTestOutcome outcome = DeepTestOutcome::not_tested;
  WallTime began{};           // start of the reservation
  std::string why;            // of not_tested: the reason, as text for people
  std::string failed;         // "pcie.3,memory_bandwidth.0.1": tests and GPUs
  DeepTestSummary summary{};  // each test, and the GPUs that were tested

  // DCGM's numbers of the tested GPUs without a failure or warning.
  [[nodiscard]] std::vector<host::DcgmGpu> passed_gpus() const;
};

// Reads the termination message of the container `kTestContainer` of a pod that is over. `fatal`: names of
// tests whose failure makes the result fatal (host/gpu/dcgm.hpp). `excuses`: errors of DCGM that do not; such
// a test is listed as "dcgm_error_101.0".
[[nodiscard]] DeepTestResult deep_test_result(const kube::Pod& pod, std::span<const std::string> fatal,
                                              std::span<const host::DcgmExcuse> excuses);

inline constexpr std::string_view kTestContainer = "test";

}  // namespace autopilot::diagnostics
