// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "core/event.hpp"
#include "core/finding.hpp"
#include "core/incident.hpp"
#include "core/observation.hpp"

namespace autopilot::runtime {

// A record that the check read in the kernel log.
[[nodiscard]] Event kernel_event(const std::string& check, const Observation& record);
// So many more were read than were told.
[[nodiscard]] Event further_records_event(const std::string& check, std::size_t count);
[[nodiscard]] Event records_lost_event(std::uint64_t count);
// What was known may be forgotten, or that no longer matters.
[[nodiscard]] Event memory_loss_event(EventKind kind, const Finding& finding);
// Who, from which process, has seen the incident, and why nothing more is needed.
[[nodiscard]] Event acknowledged_event(const Incident& incident, const Acknowledgement& acknowledgement,
                                       std::int64_t pid);

}  // namespace autopilot::runtime
