// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/check_result.hpp"
#include "core/observation.hpp"
#include "core/snapshot.hpp"
#include "core/subject.hpp"
#include "learning/records.hpp"

// The state of a node after a job, compared with the state before it. Pure.
namespace autopilot::postflight {

// Serial number of the GPU, else its UUID, else its key.
[[nodiscard]] std::string card_of(const Subject& gpu);

// True if the subject is one of these GPUs or a part of one, or is not a GPU at all.
[[nodiscard]] bool concerns(const Subject& subject, std::span<const Subject> gpus);

// The answer of one check about these GPUs and about the rest of the node: one outcome for each finding that
// is degraded, failed or unknown, or one healthy outcome. Injected findings are left out: they change no
// health. Empty: the check does not apply to this machine.
[[nodiscard]] std::vector<learning::CheckOutcome> outcomes_of(const CheckResult& result,
                                                              std::span<const Subject> gpus);

struct Comparison {
  int compared = 0;                    // checks with a known result before and after
  int worse = 0;                       // of these, checks that are not as good as before
  std::vector<std::string> sentences;  // one for each such check, and for each measured value
  std::vector<std::string> checks;     // the checks that are not as good as before
  std::vector<std::string> lost;       // checks with a result before, and without one after
};

// A measured rate below this share of the value before the job is stated as worse. R 2b.1 starts with the
// same alpha; the check itself judges whether the GPU passes.
inline constexpr double kWorseShare = 0.95;

// `before`: results before the job; a check that had not run then is not compared. `after`: results of runs
// after the job. Rates (gigabytes_per_second, teraflops) of GPUs are compared as well.
[[nodiscard]] Comparison compare(const CheckResults& before, std::span<const CheckResult> after,
                                 std::span<const Subject> gpus);

// "2 of 16 checks are not as good as before the job: ..."; empty: nothing was compared.
[[nodiscard]] std::string to_sentence(const Comparison& comparison);

// One measurement for each rate of a GPU, with the kind of machine as `snapshot` has it; none for a GPU whose
// kind is unknown, because a baseline is of one kind. `cluster` is for the caller. `run` is the id of the
// diagnostic on this node.
[[nodiscard]] std::vector<learning::Measurement> measurements_of(const std::string& check,
                                                                 const Observations& observations,
                                                                 const NodeSnapshot& snapshot,
                                                                 const std::string& node,
                                                                 const std::string& run, WallTime time);

}  // namespace autopilot::postflight
