// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "cli/recording/recording.hpp"
#include "cli/recording/scrubber.hpp"

namespace autopilot::cli {

struct ScrubbedRecording {
  Recording recording;
  ScrubCounts counts;
};

// The recording without what identifies the machine or its owner: names, serial numbers, UUIDs with that of
// the boot, addresses, credentials. Checks give the same results on it, of the same subjects by other names:
// values, PCI addresses, error numbers and the words of the kernel remain. A second scrubbing changes
// nothing. Pure.
[[nodiscard]] ScrubbedRecording scrubbed(const Recording& recording);

// scrub-report.yaml: which kinds of values were replaced, how many, and at how many places; none of them.
[[nodiscard]] std::string scrub_report(const ScrubCounts& counts);
// One sentence: "Replaced: serial numbers (8), host names (3)."
[[nodiscard]] std::string scrub_summary(const ScrubCounts& counts);

}  // namespace autopilot::cli
