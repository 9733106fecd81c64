// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/clock.hpp"
#include "host/host.hpp"
#include "why/evidence.hpp"

namespace autopilot::cli {

// What a person names: a pid, a Slurm job ("4711", "slurm 4711"), a container (its id or the beginning), a
// pod
// ("namespace/name", a name, a UID) or the name of a program. A number may be a pid and a job: evidence about
// both is shown. Reads the processes that run; never fails, since the program has usually ended.
[[nodiscard]] why::Target find_target(const std::string& text, const host::Host& host);

// "4242 (python3, runs)", "4711 (3 processes run)", "4242 (does not run now)": for a heading.
[[nodiscard]] std::string describe(const why::Target& target, const host::Files& files);

}  // namespace autopilot::cli
