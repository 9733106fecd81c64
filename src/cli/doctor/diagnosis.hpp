// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/output/table.hpp"
#include "core/check_info.hpp"
#include "core/snapshot.hpp"

namespace autopilot::cli {

enum class RowState : std::uint8_t { ok, limited, problem, not_applicable };

// "ok", "limited", "problem", "not applicable".
[[nodiscard]] std::string_view to_string(RowState state);

// One row of `autopilot doctor`.
struct DoctorRow {
  std::string topic;  // "kernel log"
  RowState state = RowState::ok;
  std::string what;                 // what was found, or what is missing
  std::string adds;                 // what it would add; empty: nothing is missing
  std::string command;              // what gives it; empty: no command does
  std::vector<std::string> checks;  // the checks that it would complete
};

struct Diagnosis {
  std::string node;
  std::string version;  // of this program
  bool is_simulated = false;
  std::vector<DoctorRow> rows;
};

// The worst state of the rows; rows that are not applicable do not count.
[[nodiscard]] RowState state_of(const Diagnosis& diagnosis);

// A permission with the checks that need it for a complete result.
struct RightUse {
  std::string right;
  std::vector<std::string> checks;
};
// Every permission that a check names, that of the most checks first. Checks that `results` reports as
// unsupported on this machine do not count.
[[nodiscard]] std::vector<RightUse> uses_of_rights(std::span<const CheckInfo> checks,
                                                   const CheckResults& results);

// "12 checks see more: gpu.xid, host.memory, ..."; names at most four.
[[nodiscard]] std::string added_checks(const std::vector<std::string>& checks);

[[nodiscard]] std::string render_diagnosis(const Diagnosis& diagnosis, const TableStyle& style);
[[nodiscard]] std::string diagnosis_json(const Diagnosis& diagnosis);

}  // namespace autopilot::cli
