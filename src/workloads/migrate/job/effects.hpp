// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "workloads/migrate/job/read_job.hpp"

// The effects of options on a job; only read_job.cpp calls them.
namespace autopilot::workloads::migrate {

struct EffectContext {
  Job& job;
  JobPart& part;
  const GivenOption& option;
  DirectiveRow& row;  // fate and text of the rule; an effect may state the result
  const ReadSettings& settings;
  Findings& findings;
};

// False: the value has an invalid form.
[[nodiscard]] bool apply_shared_effect(const EffectContext& context);
[[nodiscard]] bool apply_lsf_effect(const EffectContext& context);
[[nodiscard]] bool apply_slurm_effect(const EffectContext& context);

}  // namespace autopilot::workloads::migrate
