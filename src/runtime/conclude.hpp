// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "checks/check.hpp"
#include "core/snapshot.hpp"

namespace autopilot::runtime {

// Judges one run: adds its observations to `history` and returns the findings before any hysteresis. An error
// of observe becomes one finding about the host, of health unknown (unsupported for Errc::unsupported), and
// the history does not change. An exception of a check is a bug and becomes `check_bug`. An observation that
// is missing as malformed always causes an unknown finding about its subject.
[[nodiscard]] Findings conclude(const checks::Check& check, Result<checks::Observed> observed,
                                Duration window, Instant now, const catalog::Catalog& facts,
                                const Expectation& expectation, History& history,
                                const LearnedLimits* learned = nullptr);

// The finding for a run that failed, with the reason for the error code and the missing permissions.
[[nodiscard]] Finding cannot_look(const CheckInfo& check, const Error& error);
[[nodiscard]] Finding not_looked_yet();

// True if a bad finding of the run is not raised yet and its reason asks for confirmation: the next run
// follows at once, and until then the state is unknown.
[[nodiscard]] bool needs_confirmation(const Findings& found, const Findings& raised,
                                      const catalog::Catalog& facts);
[[nodiscard]] Finding asked_again();

// Worst health of the findings; healthy without any. An unsupported finding about the host makes the whole
// check unsupported if no other finding is worse than healthy.
[[nodiscard]] Health health_of(const Findings& findings);

}  // namespace autopilot::runtime
