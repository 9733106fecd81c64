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

// The object that the Jobs belong to: they go when it goes. Of the same namespace; better the DaemonSet of
// the agent than its pod, or a test would end with the agent.
struct OwnerReference {
  std::string api_version;  // "apps/v1"
  std::string kind;         // "DaemonSet"
  std::string name;
  std::string uid;
};

// What all deep tests of an installation have in common.
struct DeepTestJobSettings {
  std::string prefix;                     // of labels and taints
  std::string name_space;                 // our own
  std::string image;                      // with our executable and the program
  bool is_own = false;                    // no program: all tests of the GPU probe
  std::vector<std::string> command;       // the program that tests, with its arguments; or those of our own
  std::vector<std::string> pull_secrets;  // names, in the same namespace
  std::vector<std::string> tolerated;     // keys of further taints of the nodes
  Duration deadline{};                    // of the program
  std::optional<OwnerReference> owner;
};

// One of them.
struct DeepTestJob {
  std::string node;
  WallTime since{};          // of the reservation
  kube::Devices devices;     // all that the node has
  Duration deadline{};       // of the Job: with the time until its program begins
  bool is_cordoned = false;  // by the controller, which wants the test
};

// Of every node that is cordoned.
inline constexpr std::string_view kCordonTaint = "node.kubernetes.io/unschedulable";

// "autopilot-deep-test-<hash of the node>-<since>": the same for every agent that asks, so that there is one.
// A name of a node may be longer than that of a pod.
[[nodiscard]] std::string deep_test_job_name(std::string_view node, WallTime since);
// When the reservation of that Job began; nothing: no name of ours.
[[nodiscard]] std::optional<WallTime> deep_test_job_since(std::string_view node, std::string_view name);
// Finds the Jobs of a node, and their pods: "<prefix>/deep-test-of=<node>".
[[nodiscard]] std::string deep_test_selector(std::string_view prefix, std::string_view node);

// The Job as JSON: placed by the scheduler on that node alone, on all its accelerators, tolerating the
// testing taint, without rights (Pod Security "restricted", no token), tried once.
[[nodiscard]] std::string deep_test_job(const DeepTestJobSettings& settings, const DeepTestJob& job);

// What one deep test said. Pure.
struct DeepTestResult {
  DeepTestOutcome outcome = DeepTestOutcome::not_tested;
  WallTime began{};           // when the node was reserved for it
  std::string why;            // not_tested: for a person
  std::string failed;         // "pcie.3,memory_bandwidth.0.1": tests and GPUs, in words of our own form
  DeepTestSummary summary{};  // each test, and the GPUs that were tested

  // DCGM's numbers of those that were tested and that no failure or warning concerns.
  [[nodiscard]] std::vector<host::DcgmGpu> passed_gpus() const;
};

// By the termination message of the container `kTestContainer` of a pod that is over. `fatal`: names of
// tests; one of them that fails makes the result fatal (host/gpu/dcgm.hpp).
// `excuses`: errors of DCGM by which it does not; such a test is told as "dcgm_error_101.0".
[[nodiscard]] DeepTestResult deep_test_result(const kube::Pod& pod, std::span<const std::string> fatal,
                                              std::span<const host::DcgmExcuse> excuses);

inline constexpr std::string_view kTestContainer = "test";

}  // namespace autopilot::diagnostics
