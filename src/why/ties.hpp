// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "why/evidence.hpp"

namespace autopilot::why {

// What ties evidence to a program.
enum class Tie : std::uint8_t {
  none,
  near,         // in time only
  its_number,   // names the pid, which may be that of another process, or mean a job
  its_device,   // about a device or filesystem that the program uses, since the program started
  explains_it,  // explains evidence that names it
  names_it,     // names its process, container, pod or batch job
};

// True if the evidence concerns the container, pod or batch job. Pure.
[[nodiscard]] bool is_of_owner(const Evidence& evidence, const Target& target);

// Ties that follow from this evidence alone; none for the whole machine. Pure.
[[nodiscard]] Tie tie_of(const Evidence& evidence, const Target& target);

// One sentence for a person.
[[nodiscard]] std::string grounds_of(const Evidence& evidence, Tie tie, const Target& target);

}  // namespace autopilot::why
