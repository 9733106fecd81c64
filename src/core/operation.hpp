// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/observation.hpp"

namespace autopilot {

// skipped: what it tests was in use, so nothing was tested.
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

// An active or invasive test, with an owner, a reservation and a deadline of minutes: a child process, or
// what the agent itself asks of its cluster.
struct Operation {
  std::string id;    // unique over the life of the journal
  std::string kind;  // "self_test", or the check that judges what it finds: "storage.pvc"
  std::string owner;
  OperationState state = OperationState::queued;
  std::vector<Subject> reservation;  // what nobody else may test meanwhile
  double progress = 0;               // 0..1
  std::string message;
  WallTime created{};
  std::optional<WallTime> started;
  std::optional<WallTime> finished;
  Duration deadline{};
  Observations observations;
  bool simulated = false;  // of a machine that does not exist

  [[nodiscard]] bool is_over() const {
    return state != OperationState::queued && state != OperationState::running;
  }
};

// Written only by a completed active test: the proof that exactly this GPU passed exactly this test.
struct PassRecord {
  std::string gpu_uuid;
  std::string test;
  WallTime time{};  // when the test began
  std::string boot_id;
  std::string operation;
};

// Both are of the same GPU and test.
[[nodiscard]] bool is_same_test(const PassRecord& a, const PassRecord& b);

// `news` in place of what is there of the same GPU and test.
void add_pass_records(std::vector<PassRecord>& records, const std::vector<PassRecord>& news);

}  // namespace autopilot
