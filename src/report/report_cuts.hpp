// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/finding.hpp"
#include "core/incident.hpp"

// Shortens findings and incidents for an object of the API; the agent keeps them in full. Texts end between
// two characters and contain no control characters, so they take at most twice their length in JSON. Keys of
// subjects are never cut. Pure.
namespace autopilot::report {

// Size limits for one incident.
struct Cuts {
  std::size_t text = 0;           // bytes of a sentence
  std::size_t evidence = 0;       // entries of a finding
  std::size_t evidence_text = 0;  // bytes of one
  std::size_t members = 0;
  std::size_t gpu_users = 0;
};
inline constexpr Cuts kWideCuts{1024, 24, 512, 16, Incident::kMaxGpuUsers};
inline constexpr Cuts kNarrowCuts{256, 12, 128, 4, 4};

// The beginning of a text, with dots in place of the rest.
[[nodiscard]] std::string short_text(std::string_view text, std::size_t bytes);
[[nodiscard]] Finding short_finding(Finding finding, const Cuts& cuts);
// Keeps the cause and open members first; counts the rest as further members.
[[nodiscard]] Incident short_incident(Incident incident, const Cuts& cuts);

}  // namespace autopilot::report
