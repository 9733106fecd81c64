// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/yaml.hpp"
#include "workloads/migrate/manifest/plan.hpp"

// Parts of the manifests that all kinds of jobs share.
namespace autopilot::workloads::migrate {

enum class PodRole : std::uint8_t {
  script,            // runs the script with the resources of a host
  launcher,          // runs the script without GPUs, and starts ranks in workers
  worker,            // runs an ssh server with the resources of a host
  script_or_worker,  // the first pod runs the script, the others an ssh server
};

struct PodOptions {
  std::size_t part = 0;
  PodRole role = PodRole::script;
  std::string_view container = "job";
  bool has_deadline = false;  // of each pod: the run limit, without the time in the queue
};

// metadata with the name, labels and annotations of the job.
[[nodiscard]] YamlNode job_metadata(const Plan& plan);
// A PodTemplateSpec.
[[nodiscard]] YamlNode pod_template(const Plan& plan, const PodOptions& options);
[[nodiscard]] YamlNode script_config_map(const Plan& plan);
// A headless Service for the pods with that label.
[[nodiscard]] YamlNode headless_service(const Plan& plan, std::string_view label);
// apiVersion, kind and metadata.
[[nodiscard]] YamlNode object_of(std::string_view api_version, std::string_view kind, const Plan& plan);
// "40Mi", "64Gi"
[[nodiscard]] std::string memory_text(std::int64_t bytes);

// A JobSpec for the pods of one part.
[[nodiscard]] YamlNode job_spec(const Plan& plan, const PodOptions& options);

[[nodiscard]] std::vector<YamlNode> job_manifests(const Plan& plan);
[[nodiscard]] std::vector<YamlNode> jobset_manifests(const Plan& plan);
[[nodiscard]] std::vector<YamlNode> volcano_manifests(const Plan& plan);
[[nodiscard]] std::vector<YamlNode> pytorchjob_manifests(const Plan& plan);
[[nodiscard]] std::vector<YamlNode> mpijob_manifests(const Plan& plan);

}  // namespace autopilot::workloads::migrate
