// SPDX-License-Identifier: Apache-2.0
#include "workloads/migrate/migrate.hpp"

#include <CLI/CLI.hpp>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "cli/cli.hpp"
#include "cli/migrate_objects.hpp"
#include "cli/output/migrate_report.hpp"
#include "cli/output/print.hpp"
#include "cli/verbs.hpp"
#include "core/parse.hpp"
#include "host/files/replace_file.hpp"

namespace autopilot::cli {
namespace {

namespace migration = workloads::migrate;

constexpr int kExitNeedsDecision = kExitDegraded;
constexpr std::uintmax_t kMaxMapBytes = std::uintmax_t{1} << 20U;

struct MigrateOptions {
  std::string script;
  std::vector<std::string> objects;
  std::string command;
  std::string from;
  std::string to;
  std::string node_shape;
  std::string queue_map;
  std::string lsf_unit;
  std::vector<std::string> claims;
  migration::ManifestSettings manifest;
  bool keeps_allocation = false;
  bool no_preflight = false;
  std::string out;
  std::string report_file;
  std::string format = "yaml";
};

Result<std::string> read_text(const std::string& path, std::uintmax_t most) {
  std::ostringstream text;
  if (path == "-") {
    std::string chunk(65536, '\0');
    while (std::cin && static_cast<std::uintmax_t>(text.tellp()) <= most) {
      std::cin.read(chunk.data(), static_cast<std::streamsize>(chunk.size()));
      text.write(chunk.data(), std::cin.gcount());
    }
    return text.str();
  }
  std::error_code error;
  if (std::filesystem::is_directory(path, error))
    return fail(Errc::malformed, path + ": is a directory; name the script");
  std::ifstream file(path, std::ios::binary);
  if (!file) return fail_errno(errno, path);
  std::string chunk(65536, '\0');
  while (file && static_cast<std::uintmax_t>(text.tellp()) <= most) {
    file.read(chunk.data(), static_cast<std::streamsize>(chunk.size()));
    text.write(chunk.data(), file.gcount());
  }
  return text.str();
}

// "cpus=96,gpus=8,mem=1024G"
Result<migration::NodeShape> parse_node_shape(const std::string& text) {
  migration::NodeShape shape;
  for (const std::string_view part : split(text, ',')) {
    const auto equals = part.find('=');
    const std::string_view key = part.substr(0, equals);
    const std::string_view value =
        equals == std::string_view::npos ? std::string_view() : part.substr(equals + 1);
    const auto count = parse_number<int>(value);
    if (key == "cpus" && count && *count > 0) {
      shape.cpus = *count;
    } else if (key == "gpus" && count && *count >= 0) {
      shape.gpus = *count;
    } else if (const auto size = migration::parse_size(value); key == "mem" && size && size->unit > 0) {
      const auto bytes = migration::bytes_of(*size, 1);
      if (bytes) shape.memory_bytes = *bytes;
    } else {
      return fail(Errc::malformed, "--node-shape: \"" + std::string(part) +
                                       "\" is not cpus=N, gpus=N or mem=SIZE with a unit, such as mem=1024G");
    }
  }
  return shape;
}

Result<migration::Claim> parse_claim(const std::string& text) {
  const auto equals = text.find('=');
  const std::string path = text.substr(0, equals);
  const bool is_path = path.starts_with('/') ? path.size() > 1 && path.find(':') == std::string::npos
                                             : path.starts_with('$') && path.size() > 1;
  const std::string name = equals == std::string::npos ? "" : text.substr(equals + 1);
  if (!is_path || name.empty() ||
      name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789.-") != std::string::npos)
    return fail(Errc::malformed,
                "--pvc: \"" + text + "\" is not PATH=CLAIM, such as /nobackup=data or '$SCRATCH=scratch'");
  return migration::Claim{path.size() > 1 && path.ends_with('/') ? path.substr(0, path.size() - 1) : path,
                          name};
}

Result<migration::MigrateSettings> settings_of(const MigrateOptions& options) {
  migration::MigrateSettings settings;
  settings.scheduler = autopilot::value_of(migration::kSchedulers, options.from);
  settings.target = autopilot::value_of(migration::kTargets, options.to);
  settings.manifest = options.manifest;
  settings.manifest.has_preflight = !options.no_preflight;
  settings.keeps_allocation = options.keeps_allocation;
  settings.submit_command = options.command;
  settings.file_name = options.script;
  if (!migration::parse_size(settings.manifest.shm) ||
      migration::parse_size(settings.manifest.shm)->unit == 0)
    return fail(Errc::malformed,
                "--shm: \"" + settings.manifest.shm + "\" is not a size with a unit, such as 8Gi");
  if (!options.lsf_unit.empty()) settings.lsf_unit = migration::parse_unit(options.lsf_unit);
  if (!options.node_shape.empty()) settings.node = TRY(parse_node_shape(options.node_shape));
  for (const std::string& text : options.claims)
    settings.manifest.claims.push_back(TRY(parse_claim(text)));
  if (!options.queue_map.empty()) {
    const std::string text = TRY(read_text(options.queue_map, kMaxMapBytes));
    settings.map = TRY(migration::parse_cluster_map(text, options.queue_map));
  }
  return settings;
}

// The script, or that of the submit command; empty if the command is a program.
Result<std::string> script_text(const MigrateOptions& options, migration::MigrateSettings& settings) {
  std::string file = options.script;
  if (file.empty()) {
    const auto command = TRY(migration::parse_submit_command(options.command));
    file = command.script_file;
  }
  if (file.empty()) return std::string();
  settings.file_name = file;
  return read_text(file, migration::kMaxScriptBytes);
}

Status write_files(const migration::Migration& made, const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error)
    return fail(Errc::denied,
                folder + ": cannot be created: " + error.message() + "; name another directory with --out");
  for (const migration::ManifestFile& file : made.files) {
    TRY_STATUS(host::replace_file((std::filesystem::path(folder) / file.name).string(), file.text));
    std::cerr << "wrote " << (std::filesystem::path(folder) / file.name).string() << '\n';
  }
  return {};
}

Status write_results(const migration::Migration& made, const MigrateOptions& options) {
  const bool is_json = options.format == "json";
  if (!options.out.empty()) TRY_STATUS(write_files(made, options.out));
  if (!options.report_file.empty()) {
    TRY_STATUS(host::replace_file(
        options.report_file, is_json ? migrate_report_json(made) : migrate_report_text(made, TableStyle{})));
  } else if (!is_json) {
    std::cerr << migrate_report_text(made, TableStyle{});
  }
  if (is_json && options.report_file.empty())
    print_document(migrate_report_json(made));
  else if (options.out.empty())
    print_document(migration::manifest_stream(made));
  return {};
}

int unreadable(const Error& error) {
  tell(error.what);
  return kExitConfiguration;
}

int migrate_script(const MigrateOptions& options) {
  if (!options.objects.empty())
    return migrate_objects(options.objects, options.out, options.format == "json");
  auto settings = settings_of(options);
  if (!settings) return unreadable(settings.error());
  if (options.script.empty() && options.command.empty()) {
    tell("name a script, - for standard input, or give --command 'bsub ...'");
    return kExitConfiguration;
  }
  const auto text = script_text(options, *settings);
  if (!text) return unreadable(text.error());
  const auto made = migration::migrate(*text, *settings);
  if (!made) {
    tell((settings->file_name.empty() ? std::string("--command") : settings->file_name) + ": " +
         made.error().what);
    return kExitConfiguration;
  }
  const auto written = write_results(*made, options);
  if (!written) return report(written.error());
  return made->needs_decision ? kExitNeedsDecision : kExitHealthy;
}

void add_input_options(CLI::App& verb, MigrateOptions& options) {
  verb.add_option("SCRIPT", options.script, "Job script of LSF or Slurm; - reads standard input");
  verb.add_option("--command", options.command,
                  "The submit command, such as 'sbatch -N 2 train.sh'; its options win")
      ->type_name("COMMAND");
  verb.add_option(
          "--objects", options.objects,
          "Instead of a script: hand-written objects of OpenShift, Dockerfiles and scripts to correct")
      ->type_name("FILE");
  verb.add_option("--from", options.from, "Scheduler: lsf or slurm (default: by the directives)")
      ->check(CLI::IsMember({"lsf", "slurm"}));
  verb.add_option("--lsf-unit", options.lsf_unit,
                  "Unit of memory in LSF without a unit (LSF_UNIT_FOR_LIMITS)")
      ->check(CLI::IsMember({"KB", "MB", "GB", "TB"}));
  verb.add_option("--node-shape", options.node_shape, "Size of a node: cpus=N,gpus=N,mem=SIZE")
      ->type_name("SHAPE");
  verb.add_option("--queue-map", options.queue_map, "File with the queues and nodes of the new cluster")
      ->type_name("FILE");
}

void add_result_options(CLI::App& verb, MigrateOptions& options) {
  verb.add_option("--to", options.to, "Kind of job (default: by hosts, array and launcher)")
      ->check(CLI::IsMember({"job", "indexed", "jobset", "volcano", "pytorchjob", "mpijob", "openshift"}));
  verb.add_option("--image", options.manifest.image, "Container image with the software of the job")
      ->type_name("IMAGE");
  verb.add_option("--pvc", options.claims,
                  "A directory of the script and its claim: PATH=CLAIM; may be repeated")
      ->type_name("PATH=CLAIM");
  verb.add_flag("--keep-allocation", options.keeps_allocation,
                "Keep hosts on which the script starts nothing");
  verb.add_option("--workdir", options.manifest.workdir, "Working directory in the container")
      ->type_name("PATH");
  verb.add_option("--user", options.manifest.user, "Name for $USER and whoami in the container")
      ->type_name("NAME");
  verb.add_option("--shm", options.manifest.shm, "Size of /dev/shm (default: 8Gi)")->type_name("SIZE");
  verb.add_flag("--no-preflight", options.no_preflight, "Start without the GPU tests of Autopilot");
  verb.add_option("--out", options.out, "Write a file for each object into this directory")->type_name("DIR");
  verb.add_option("--report", options.report_file,
                  "Write the report into this file (default: standard error)")
      ->type_name("FILE");
  verb.add_option("-o,--output", options.format, "yaml: manifests; json: report and manifests")
      ->check(CLI::IsMember({"yaml", "json"}));
}

}  // namespace

void add_migrate(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<MigrateOptions>();
  auto* verb = app.add_subcommand("migrate", "Turn a job script of LSF or Slurm into Kubernetes manifests");
  add_input_options(*verb, *options);
  add_result_options(*verb, *options);
  verb->footer(
      "Manifests go to standard output, the report to standard error: what becomes of\n"
      "each directive and launcher, and what you have to decide (docs/migrate.md).\n"
      "Secrets of the script are in no manifest.\n"
      "Examples:\n"
      "  autopilot migrate train.lsf --image registry.example/train:1 > train.yaml\n"
      "  autopilot migrate train.sh --to volcano --pvc /scratch=scratch --out k8s/\n"
      "  autopilot migrate --command 'bsub -n 4 -gpu num=2 ./train' --image IMAGE\n"
      "  autopilot migrate job.sh -o json | jq '.findings[] | .id'");
  verb->callback([options, &exit_code] { exit_code = migrate_script(*options); });
}

}  // namespace autopilot::cli
