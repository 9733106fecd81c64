// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/observation.hpp"
#include "core/result.hpp"
#include "core/subject.hpp"
#include "host/machine_tree/machine_tree.hpp"

namespace autopilot::diagnostics {

// The results of the diagnostic for these subjects, and for the host (the diagnostic as a whole). No
// subjects: all of them.
[[nodiscard]] Observations found_of(const host::TreeProbe& probe, std::span<const Subject> subjects);

// Simulates the diagnostic as `probes` in machine.yaml describes it: takes the given time, hangs until the
// file no longer asks for that, and reports the results of the file at the end. `on_line` gets lines of
// child_line.hpp. not_found: the file has no such diagnostic.
[[nodiscard]] Status probe_simulated(const host::MachineTreeFile& file, const std::string& check,
                                     std::span<const Subject> subjects,
                                     const std::function<void(const std::string& line)>& on_line);

// `autopilot helper simulated_probe TREE CHECK [SUBJECT...]`, with its lines on standard output. Returns the
// exit code.
[[nodiscard]] int run_simulated_probe(const std::vector<std::string>& arguments);

}  // namespace autopilot::diagnostics
