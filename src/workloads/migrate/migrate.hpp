// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "workloads/migrate/job/job.hpp"
#include "workloads/migrate/job/layout.hpp"
#include "workloads/migrate/manifest/plan.hpp"
#include "workloads/migrate/script/findings.hpp"
#include "workloads/migrate/script/script.hpp"

// A job script of LSF or Slurm as manifests of Kubernetes. Pure.
namespace autopilot::workloads::migrate {

struct MigrateSettings {
  std::optional<Scheduler> scheduler;  // nullopt: by the directives
  std::optional<Target> target;        // nullopt: by hosts, array and launcher
  ManifestSettings manifest;
  NodeShape node;
  ClusterMap map;
  std::optional<std::uint64_t> lsf_unit;  // bytes
  bool keeps_allocation = false;          // hosts that no launcher uses stay
  std::string submit_command;             // "bsub -n 4 ...", "sbatch ..."; its options win; empty: none
  std::string file_name;                  // of the script; the name of a job without a name
};

struct ManifestFile {
  std::string name;  // "biggan128-imagenet-job.yaml"
  std::string text;
};

struct Migration {
  Job job;
  Target target = Target::job;
  std::vector<Layout> layouts;
  std::vector<Layout> allocated;  // as the old scheduler allocates; more than the layouts if hosts are idle
  std::vector<DirectiveRow> rows;
  std::vector<ScriptFinding> findings;
  bool needs_decision = false;
  std::string script;               // job.sh
  std::vector<ManifestFile> files;  // one for each object, in order
};

// Errors: malformed or exhausted for a script or a command that cannot be read.
[[nodiscard]] Result<Migration> migrate(std::string_view script, const MigrateSettings& settings);

// All manifests as one stream of documents.
[[nodiscard]] std::string manifest_stream(const Migration& migration);

// A submit command: its scheduler, and the words behind the program.
struct SubmitCommand {
  Scheduler scheduler = Scheduler::lsf;
  std::vector<OptionWord> words;
  std::string script_file;  // that sbatch or `bsub < FILE` names; empty: a program, or none
};
[[nodiscard]] Result<SubmitCommand> parse_submit_command(std::string_view text);

}  // namespace autopilot::workloads::migrate
