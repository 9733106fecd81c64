// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/clock.hpp"
#include "kube/objects.hpp"

namespace autopilot::diagnostics {

// State of deep diagnostics on the Node object. It is kept only there: a restarted agent, or another one,
// continues from it. Pure.
//   <prefix>/testing    taint with the effect NoSchedule, and an annotation: {"holder", "since", "until"}
//   <prefix>/deep-test  annotation: DeepTestRecord

// Reservation of the node for a deep diagnostic. Times in whole seconds.
struct Reservation {
  std::string holder;  // its writer, as text for people
  WallTime since{};
  WallTime until{};
};

struct TestingMarks {
  bool has_taint = false;
  bool has_annotation = false;
  std::optional<Reservation> reservation;  // from the annotation; not set: missing or malformed

  // The taint or the annotation is present: the verdict of the node is TESTING, even if by mistake.
  [[nodiscard]] bool any() const { return has_taint || has_annotation; }
};
[[nodiscard]] TestingMarks testing_marks(const kube::Node& node, const std::string& prefix);

enum class DeepTestOutcome : std::uint8_t {
  not_tested,  // no result for the GPUs
  passed,
  failed,
  fatal,  // a test of the configured list failed
};
[[nodiscard]] std::string_view to_string(DeepTestOutcome outcome);

// Last results of the deep diagnostics of a node.
struct DeepTestRecord {
  // The last deep diagnostic with a result; not_tested: none yet.
  DeepTestOutcome outcome = DeepTestOutcome::not_tested;
  std::string test;  // its id
  int level = 0;     // of dcgmi; 0: not known
  WallTime began{};
  WallTime finished{};
  std::string failed;  // "pcie.3,memory_bandwidth.0.1"; at most kMaxText bytes
  // The last deep diagnostic without a result, if it is later, and the reason.
  std::optional<WallTime> tried;
  std::string why;  // at most kMaxText bytes
  friend bool operator==(const DeepTestRecord&, const DeepTestRecord&) = default;

  static constexpr std::size_t kMaxText = 512;
};
// A malformed annotation counts as an empty record.
[[nodiscard]] DeepTestRecord deep_test_record(const kube::Node& node, const std::string& prefix);

// Merge patches of the Node object. The server refuses them with 409 if the object has changed since `node`.
// Other taints do not change. release: replaces the record and removes the controller's permission.
[[nodiscard]] std::string reserve_patch(const kube::Node& node, const std::string& prefix,
                                        const Reservation& reservation);
[[nodiscard]] std::string release_patch(const kube::Node& node, const std::string& prefix,
                                        const DeepTestRecord& record);

// Annotations by which agent and controller agree on deep diagnostics (docs/remediation.md). Pure.
//   <prefix>/wants-test  of the agent: time of its request
//   <prefix>/may-test    of the controller: time of its permission
//   <prefix>/shall-test  of the controller: {"plan", "since"}; it holds the node and requests a diagnostic
//   <prefix>/held        of the controller: it has cordoned the node

struct TestLeave {
  std::optional<WallTime> asked;
  std::optional<WallTime> granted;
  std::optional<WallTime> ordered;
  bool is_held = false;

  // An annotation is present that the agent has to remove.
  [[nodiscard]] bool any() const { return asked || granted; }
};
// A malformed time counts as a time long ago.
[[nodiscard]] TestLeave test_leave(const kube::Node& node, const std::string& prefix);

// Merge patches of the Node object. The server refuses them with 409 if the object has changed since `node`.
[[nodiscard]] std::string ask_leave_patch(const kube::Node& node, const std::string& prefix, WallTime now);
[[nodiscard]] std::string give_leave_back_patch(const kube::Node& node, const std::string& prefix);

// Names of the annotations that give_leave_back_patch removes.
[[nodiscard]] std::string wants_test_key(const std::string& prefix);
[[nodiscard]] std::string may_test_key(const std::string& prefix);

// Value of the annotation. Null: the node has no annotation of that name.
[[nodiscard]] const std::string* annotation_of(const kube::Node& node, const std::string& key);

}  // namespace autopilot::diagnostics
