// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "catalog/provenance.hpp"
#include "core/action.hpp"
#include "core/health.hpp"

namespace autopilot::catalog {

// Where the same error in another process makes the GPU suspect: nowhere, anywhere on the GPU, in the unit
// that the line names.
enum class RecursAt : std::uint8_t { nowhere, gpu, unit };

[[nodiscard]] std::string_view to_string(RecursAt place);
[[nodiscard]] std::optional<RecursAt> parse_recurs_at(std::string_view word);

// xid.yaml
struct Xid {
  std::uint32_t code = 0;
  std::string name;
  std::string meaning;
  std::vector<std::string> classes;  // the first one, then alternatives; words of the architecture
  Action action_now = Action::none;
  Action action_later = Action::none;
  Health health =
      Health::degraded;     // of a finding made from this code alone; healthy: an event only, no finding
  double confidence = 0.5;  // that the GPU named in the line is at fault
  std::vector<std::uint32_t> takes_back;  // codes whose earlier records about the same GPU are over
  RecursAt recurs_at = RecursAt::nowhere;
  Provenance provenance;
};

// sxid.yaml: a code of the NVSwitch driver, or all of one unit that have no entry of their own.
struct Sxid {
  std::uint32_t code = 0;
  std::uint32_t last = 0;  // the same as `code`, but for a unit
  std::string name;
  std::string meaning;
  std::vector<std::string> classes;
  Action action_now = Action::none;
  Action action_later = Action::none;
  Health health = Health::degraded;  // where the line says nothing of its severity
  double confidence = 0.5;
  Provenance provenance;

  [[nodiscard]] bool is_unit() const { return last != code; }
};

// Which status registers an NvLinkError is about. reason: the unit tells that a link went down, and bits
// 25:20 of the first register are the number of a LinkDownReason, which outranks the entry.
enum class StatusMatch : std::uint8_t { bits, value, any, reason };

[[nodiscard]] std::string_view to_string(StatusMatch match);
[[nodiscard]] std::optional<StatusMatch> parse_status_match(std::string_view word);

// nvlink_errors.yaml: what Xid 144 to 150 mean by unit and status.
struct NvLinkError {
  std::string id;
  std::uint32_t xid = 0;
  std::vector<std::string> units;  // the names that drivers print
  int block_v1 = 0;                // bits 4:0 of the first register before driver 575
  int unit_v1 = 0;                 // bits 9:5
  int unit_v2 = 0;                 // bits 6:0 since driver 575
  StatusMatch match = StatusMatch::bits;
  std::vector<std::uint32_t> status;
  std::string meaning;
  Action action_now = Action::none;
  Action action_later = Action::none;
  std::optional<Action> promoted;  // instead of action_now where the promoting bit is set
  Health health = Health::degraded;
  double confidence = 0.5;
  Provenance provenance;
};

// link_down_reasons.yaml: why a link of Xid 149 went down.
struct LinkDownReason {
  int number = 0;
  std::string id;
  std::string meaning;
  Action action_now = Action::none;
  Action action_later = Action::none;
  Health health = Health::degraded;
  double confidence = 0.5;
  Provenance provenance;
};

// nvlink_registers.yaml: bits of the registers of Xid 74.
struct NvLinkRegister {
  std::string id;
  int number = 1;  // of the register, from 1 in the order of the line
  std::vector<int> bits;
  std::string meaning;
  Action action_now = Action::none;
  Action action_later = Action::none;
  Health health = Health::degraded;
  double confidence = 0.5;
  // `health` holds from so many errors of these bits on one link; fewer are degraded at worst.
  int from_times = 1;
  Provenance provenance;
};

// dcgm_errors.yaml: an error of DCGM's diagnostic.
struct DcgmError {
  std::uint32_t number = 0;  // `error_id`
  std::string name;          // without DCGM_FR_
  std::string severity;      // NVIDIA's words: "isolate", "reset", "triage", "config", "monitor", "unknown"
  std::string category;      // likewise: "hardware_pcie", "software_xid", ...
  bool evicts = true;        // false: a test that fails by such errors alone is not fatal, whatever its name
  std::string says;  // what the warning has in it as well, in small letters, for that; empty: anything
  Provenance provenance;
};

}  // namespace autopilot::catalog
