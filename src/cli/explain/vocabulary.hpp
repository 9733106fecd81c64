// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

// Words that Autopilot prints and that are not in the catalog.
namespace autopilot::cli {

struct Word {
  std::string_view kind;     // "verdict", "gate", "failure": what states it
  std::string_view id;       // as it is printed
  std::string_view meaning;  // a sentence or more
  std::string_view next;     // what to do now; may be empty
};

// Words about machines: verdict, health, incident, at fault, certainty, evidence, event, diagnostic, slurm,
// alert.
[[nodiscard]] std::span<const Word> machine_words();
// Words about jobs and pods: gate, job, effect, failure, cause, severity, advice, validation.
[[nodiscard]] std::span<const Word> job_words();

}  // namespace autopilot::cli
