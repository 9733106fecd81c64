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

// What stands on a Node object of its deep tests, and nowhere else: an agent that begins anew, or another
// one, reads there what to do next. Pure.
//   <prefix>/testing    taint with the effect NoSchedule, and an annotation: {"holder", "since", "until"}
//   <prefix>/deep-test  annotation: DeepTestRecord

// The node is kept for a test. Times in whole seconds.
struct Reservation {
  std::string holder;  // for people: who wrote it
  WallTime since{};
  WallTime until{};
};

struct TestingMarks {
  bool has_taint = false;
  bool has_annotation = false;
  std::optional<Reservation> reservation;  // what the annotation says; nothing: not what an agent writes

  // Taint or annotation stand there: the node is TESTING, be it by mistake.
  [[nodiscard]] bool any() const { return has_taint || has_annotation; }
};
[[nodiscard]] TestingMarks testing_marks(const kube::Node& node, const std::string& prefix);

enum class DeepTestOutcome : std::uint8_t {
  not_tested,  // nothing is known of the GPUs
  passed,
  failed,
  fatal,  // a test of the configured list failed
};
[[nodiscard]] std::string_view to_string(DeepTestOutcome outcome);

// The deep tests of a node so far.
struct DeepTestRecord {
  // The last one that said something of the GPUs; not_tested: there was none.
  DeepTestOutcome outcome = DeepTestOutcome::not_tested;
  std::string test;  // its id
  int level = 0;     // of dcgmi; 0: not told
  WallTime began{};
  WallTime finished{};
  std::string failed;  // "pcie.3,memory_bandwidth.0.1"; at most kMaxText bytes
  // The last one that said nothing, where that came later.
  std::optional<WallTime> tried;
  std::string why;  // at most kMaxText bytes
  friend bool operator==(const DeepTestRecord&, const DeepTestRecord&) = default;

  static constexpr std::size_t kMaxText = 512;
};
// What is not as an agent writes it counts as no record.
[[nodiscard]] DeepTestRecord deep_test_record(const kube::Node& node, const std::string& prefix);

// Merge patches of the Node object, refused with 409 when it is not the version that was seen. Other taints
// stay as they are. release: with the record in place of the one that stands there, and without the leave of
// the controller.
[[nodiscard]] std::string reserve_patch(const kube::Node& node, const std::string& prefix,
                                        const Reservation& reservation);
[[nodiscard]] std::string release_patch(const kube::Node& node, const std::string& prefix,
                                        const DeepTestRecord& record);

// What agent and controller say to each other of deep tests on a Node object (docs/remediation.md). Pure.
//   <prefix>/wants-test  annotation of the agent: since when it asks
//   <prefix>/may-test    of the controller: since when the agent may
//   <prefix>/shall-test  of the controller: {"plan", "since"}; it holds the node and wants to know
//   <prefix>/held        of the controller: the node is cordoned by it

struct TestLeave {
  std::optional<WallTime> asked;
  std::optional<WallTime> granted;
  std::optional<WallTime> ordered;
  bool is_held = false;

  // Something stands there that the agent has to take away.
  [[nodiscard]] bool any() const { return asked || granted; }
};
// A time that cannot be read is one of long ago.
[[nodiscard]] TestLeave test_leave(const kube::Node& node, const std::string& prefix);

// Merge patches of the Node object, refused when it is not the version that was seen.
[[nodiscard]] std::string ask_leave_patch(const kube::Node& node, const std::string& prefix, WallTime now);
[[nodiscard]] std::string give_leave_back_patch(const kube::Node& node, const std::string& prefix);

// Names of the annotations that are given back.
[[nodiscard]] std::string wants_test_key(const std::string& prefix);
[[nodiscard]] std::string may_test_key(const std::string& prefix);

// Null: the node has none of that name.
[[nodiscard]] const std::string* annotation_of(const kube::Node& node, const std::string& key);

}  // namespace autopilot::diagnostics
