// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/clock.hpp"
#include "kube/objects.hpp"

// What stands on a Node object of its deep tests, and nowhere else: an agent that begins anew, or another
// one, reads there what to do next. Pure.
//   <prefix>/testing    taint with the effect NoSchedule, and an annotation: {"holder", "since", "until"}
//   <prefix>/deep-test  annotation: DeepTestRecord
namespace autopilot::diagnostics {

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
// the controller (test_leave.hpp).
[[nodiscard]] std::string reserve_patch(const kube::Node& node, const std::string& prefix,
                                        const Reservation& reservation);
[[nodiscard]] std::string release_patch(const kube::Node& node, const std::string& prefix,
                                        const DeepTestRecord& record);

}  // namespace autopilot::diagnostics
