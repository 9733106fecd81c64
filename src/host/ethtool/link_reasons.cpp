// SPDX-License-Identifier: Apache-2.0
#include "host/ethtool/link_reasons.hpp"

#include <array>
#include <span>
#include <string_view>

namespace autopilot::host {
namespace {

struct Reason {
  std::string_view word;
  std::span<const std::string_view> details;  // the first has number 1
};

constexpr std::array<std::string_view, 6> kAutoneg{"no_partner",       "ack_not_received",
                                                   "next_page_failed", "no_partner_force_mode",
                                                   "fec_mismatch",     "no_common_mode"};
constexpr std::array<std::string_view, 4> kTraining{"frame_lock_not_acquired", "link_inhibit_timeout",
                                                    "partner_not_ready", "remote_fault"};
constexpr std::array<std::string_view, 5> kMismatch{"no_block_lock", "no_alignment_lock", "no_alignment",
                                                    "fc_fec_not_locked", "rs_fec_not_locked"};
constexpr std::array<std::string_view, 4> kSignal{"many_physical_errors", "unsupported_rate",
                                                  "reference_clock_lost", "no_signal"};
constexpr std::array<std::string_view, 2> kCableDetails{"unsupported_cable", "cable_test_failed"};
constexpr std::array<std::string_view, 1> kModule{"not_ready"};

const std::array<Reason, 11> kReasons{{{"autonegotiation_failed", kAutoneg},
                                       {"link_training_failed", kTraining},
                                       {"logical_mismatch", kMismatch},
                                       {"bad_signal_integrity", kSignal},
                                       {"no_cable", {}},
                                       {"cable_issue", kCableDetails},
                                       {"eeprom_issue", {}},
                                       {"calibration_failure", {}},
                                       {"power_budget_exceeded", {}},
                                       {"overheat", {}},
                                       {"module", kModule}}};

}  // namespace

std::string link_reason(unsigned number) {
  return number < kReasons.size() ? std::string(kReasons.at(number).word) : std::to_string(number);
}

std::string link_detail(unsigned reason, unsigned detail) {
  if (detail == 0) return {};
  if (reason >= kReasons.size() || detail > kReasons.at(reason).details.size()) return std::to_string(detail);
  return std::string(kReasons.at(reason).details[detail - 1]);
}

}  // namespace autopilot::host
