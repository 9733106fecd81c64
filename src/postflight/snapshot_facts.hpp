// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/snapshot.hpp"
#include "core/subject.hpp"

namespace autopilot::postflight {

// The kind of machine of a GPU for its measurements, as learning::kind_text: the product name of the GPU and
// the major version of NVIDIA's driver, as checks read them. Empty: no check has read the product name.
[[nodiscard]] std::string kind_of(const NodeSnapshot& snapshot, const Subject& gpu);

// True if a check found that NVIDIA's driver does not answer: its helper timed out or crashed.
[[nodiscard]] bool is_driver_silent(const NodeSnapshot& snapshot);

// Why `look`, a result of gpu.processes, states nothing about users of GPUs, in a sentence; empty: it does.
[[nodiscard]] std::string why_users_unknown(const NodeSnapshot& snapshot, const CheckResult& look);

}  // namespace autopilot::postflight
