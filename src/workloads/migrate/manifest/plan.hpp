// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/word_table.hpp"
#include "core/yaml.hpp"
#include "workloads/migrate/body/rewrite.hpp"
#include "workloads/migrate/job/job.hpp"
#include "workloads/migrate/job/layout.hpp"
#include "workloads/migrate/manifest/cluster_map.hpp"

namespace autopilot::workloads::migrate {

enum class Target : std::uint8_t { job, indexed, jobset, volcano, pytorchjob, mpijob, openshift };

inline constexpr WordTable<Target, 7> kTargets{{{Target::job, "job"},
                                                {Target::indexed, "indexed"},
                                                {Target::jobset, "jobset"},
                                                {Target::volcano, "volcano"},
                                                {Target::pytorchjob, "pytorchjob"},
                                                {Target::mpijob, "mpijob"},
                                                {Target::openshift, "openshift"}}};

struct Claim {
  std::string path;  // "/nobackup", or "$SCRATCH": mounted below /mnt, and the variable names the place
  std::string name;  // of the PersistentVolumeClaim
};

struct ManifestSettings {
  std::string image;
  std::string user;     // sets USER; empty: not set
  std::string workdir;  // empty: that of the script, or of the image
  std::string shm = "8Gi";
  std::vector<Claim> claims;
  bool has_preflight = true;
};

// Everything that manifests are made of.
struct Plan {
  Target target = Target::job;
  Job job;
  std::vector<Layout> layouts;        // one for each part
  std::vector<Placement> placements;  // one for each part
  RunsIn runs_in = RunsIn::one_pod;
  ManifestSettings settings;
  std::string directives;                                  // as written, for an annotation
  std::vector<std::string> secrets;                        // variables from the Secret NAME-secrets
  std::vector<std::string> command;                        // of the container that runs the script
  std::vector<std::pair<std::string, std::string>> files;  // of the ConfigMap, with job.sh
};

inline constexpr std::string_view kScriptFolder = "/autopilot/job";
inline constexpr std::string_view kLauncherTask = "launcher";
inline constexpr std::string_view kWorkerTask = "worker";

// "part-1" of a heterogeneous job, else "host".
[[nodiscard]] std::string task_name(const Plan& plan, std::size_t part);
[[nodiscard]] int hosts_of(const Plan& plan);
[[nodiscard]] inline bool is_array(const Plan& plan) {
  return plan.job.array.has_value();
}

// mpirun needs keys for ssh between pods, and the controller of this kind of job brings none.
[[nodiscard]] bool needs_ssh_keys(const Plan& plan);

// The name of the first pod for other pods, and the number of this pod: as text for the script.
[[nodiscard]] std::string first_host(const Plan& plan);
[[nodiscard]] std::string host_index(const Plan& plan);
[[nodiscard]] std::string ranks_file(const Plan& plan);

// The objects, in the order in which they are created.
[[nodiscard]] std::vector<YamlNode> make_manifests(const Plan& plan);

}  // namespace autopilot::workloads::migrate
