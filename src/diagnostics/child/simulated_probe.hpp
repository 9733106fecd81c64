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

// What the test finds of these subjects, and of the host, which stands for the test as a whole. No subjects:
// of all.
[[nodiscard]] Observations found_of(const host::TreeProbe& probe, std::span<const Subject> subjects);

// Makes the test of a machine that does not exist, as `probes` of its machine.yaml says: takes as long, hangs
// until that no longer says so, and tells what stands there in the end. Each line is one of child_line.hpp.
// not_found: this machine has no such test.
[[nodiscard]] Status probe_simulated(const host::MachineTreeFile& file, const std::string& check,
                                     std::span<const Subject> subjects,
                                     const std::function<void(const std::string& line)>& on_line);

// `autopilot helper simulated_probe TREE CHECK [SUBJECT...]`, with its lines on standard output. Gives the
// exit code.
[[nodiscard]] int run_simulated_probe(const std::vector<std::string>& arguments);

}  // namespace autopilot::diagnostics
