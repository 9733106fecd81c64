// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "core/result.hpp"
#include "workloads/migrate/script/findings.hpp"

// Objects of OpenShift that people wrote by hand for a job of a batch scheduler.
namespace autopilot::workloads::migrate {

struct InputFile {
  std::string name;  // as given: its path is the place of a script in the source
  std::string text;
};

struct ObjectLint {
  std::vector<ScriptFinding> findings;
  bool needs_decision = false;
  std::vector<InputFile>
      replacements;  // corrected files: a Job for each DeploymentConfig, others under their names
};

// Reads one object of Kubernetes or OpenShift for each file of YAML, Dockerfiles, and scripts (only their
// paths count). Findings: a controller that restarts a finite job, a build and a consumer with different
// tags, an entry point that is elsewhere, and GPUs of the whole node. malformed: YAML that cannot be read.
[[nodiscard]] Result<ObjectLint> lint_objects(const std::vector<InputFile>& files);

}  // namespace autopilot::workloads::migrate
