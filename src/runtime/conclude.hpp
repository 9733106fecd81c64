// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "checks/check.hpp"
#include "core/snapshot.hpp"

namespace autopilot::runtime {

// What a round of looking means: adds the round to `history`, judges, and gives the findings of this round
// before any hysteresis. An error of observe becomes one finding about the host, of health unknown
// (unsupported for Errc::unsupported); the history stays as it was. An exception of a check is a bug and
// becomes `check_bug`. Whatever the judge says, an observation that is missing as malformed gives an unknown
// finding about its subject.
[[nodiscard]] Findings conclude(const checks::Check& check, Result<checks::Observed> observed,
                                Duration window, Instant now, const catalog::Catalog& facts,
                                const Expectation& expectation, History& history);

// The finding for "could not look", with the reason that fits the code and the rights that are missing.
[[nodiscard]] Finding cannot_look(const CheckInfo& check, const Error& error);
[[nodiscard]] Finding not_looked_yet();

// What a round said is bad, is not among the findings that are raised now, and has a reason that asks again:
// the next round follows at once, and until it is over nothing is known.
[[nodiscard]] bool wants_second_look(const Findings& said, const Findings& raised,
                                     const catalog::Catalog& facts);
[[nodiscard]] Finding asked_again();

// Worst of the findings; healthy without any. An unsupported finding about the host makes the whole check
// unsupported when nothing is worse than healthy.
[[nodiscard]] Health health_of(const Findings& findings);

}  // namespace autopilot::runtime
