// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/observation.hpp"

namespace autopilot {

// skipped: the tested device was in use, so the test did not run.
enum class OperationState : std::uint8_t {
  queued,
  running,
  succeeded,
  failed,
  cancelled,
  timed_out,
  skipped
};

[[nodiscard]] std::string_view to_string(OperationState state);
[[nodiscard]] std::optional<OperationState> parse_operation_state(std::string_view word);

// An active or invasive test with an owner, a reservation and a deadline of minutes. It runs as a child
// process, or as requests of the agent to its cluster.
struct Operation {
  std::string id;    // unique over the life of the journal
  std::string kind;  // "self_test", or the check that judges its results: "storage.pvc"
  std::string owner;
  OperationState state = OperationState::queued;
  std::vector<Subject> reservation;  // subjects that no other operation can test meanwhile
  double progress = 0;               // 0..1
  std::string message;
  WallTime created{};
  std::optional<WallTime> started;
  std::optional<WallTime> finished;
  Duration deadline{};
  Observations observations;
  bool simulated = false;  // of a simulated machine

  [[nodiscard]] bool is_over() const {
    return state != OperationState::queued && state != OperationState::running;
  }
};

// Written only by a completed active test: proof that this GPU passed this test.
struct PassRecord {
  std::string gpu_uuid;
  std::string test;
  WallTime time{};  // start of the test
  std::string boot_id;
  std::string operation;
};

// True if both are of the same GPU and test.
[[nodiscard]] bool is_same_test(const PassRecord& a, const PassRecord& b);

// Adds `news`, replacing records of the same GPU and test.
void add_pass_records(std::vector<PassRecord>& records, const std::vector<PassRecord>& news);

}  // namespace autopilot
