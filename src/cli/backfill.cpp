// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "cli/cli.hpp"
#include "cli/comparison/side_files.hpp"
#include "cli/output/backfill_tables.hpp"
#include "cli/output/print.hpp"
#include "cli/verbs.hpp"

namespace autopilot::cli {
namespace {

namespace bf = workloads::backfill;

struct BackfillOptions {
  std::string file;
  std::string folder;  // empty: no manifests
  double most_slowdown_percent = 5;
  std::optional<double> most_idle_percent;
  OutputFormat format = OutputFormat::table;
};

constexpr int kExitWaste = 1;

Result<BackfillResult> backfill_of(const BackfillOptions& options) {
  const std::string text = TRY(read_side_file(options.file));
  BackfillResult result;
  result.cluster = TRY(bf::parse_cluster(text, options.file));
  result.held = bf::held_gpus(result.cluster);
  result.plan = bf::plan_of(result.cluster, {options.most_slowdown_percent / 100});
  return result;
}

Status write_manifests(const std::string& folder, const BackfillResult& result) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return fail_errno(error.value(), folder);
  for (const auto& [name, text] : backfill_manifests(result)) {
    const std::string path = (std::filesystem::path(folder) / name).string();
    errno = 0;
    std::ofstream out(path, std::ios::binary | std::ios::trunc);
    out << text;
    out.close();
    if (!out.good()) return fail_errno(errno == 0 ? EIO : errno, path);
  }
  return {};
}

int run_backfill(const BackfillOptions& options) {
  const auto result = backfill_of(options);
  if (!result) {
    report(result.error());
    return kExitInternal;
  }
  if (!options.folder.empty())
    if (const auto written = write_manifests(options.folder, *result); !written) {
      report(written.error());
      return kExitInternal;
    }
  if (options.format == OutputFormat::table)
    std::cout << backfill_text(*result, terminal_style());
  else
    print_json(backfill_json(*result), options.format);
  const auto idle = idle_percent(*result);
  return idle && options.most_idle_percent && *idle > *options.most_idle_percent ? kExitWaste : kExitHealthy;
}

}  // namespace

void add_backfill(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<BackfillOptions>();
  auto* verb = app.add_subcommand("backfill", "Show idle GPUs, and which pending jobs can use them now");
  verb->add_option("CLUSTER", options->file, "Nodes, running and pending jobs, in YAML")
      ->required()
      ->type_name("FILE");
  verb->add_option("--max-slowdown", options->most_slowdown_percent,
                   "Largest measured slowdown of jobs on the same node, in percent (default: 5)")
      ->check(CLI::Range(0.0, 100.0))
      ->type_name("PERCENT");
  verb->add_option("--max-idle", options->most_idle_percent,
                   "Exit with 1 if more of the held GPUs with samples are idle, in percent")
      ->check(CLI::Range(0.0, 100.0))
      ->type_name("PERCENT");
  verb->add_option("--manifests", options->folder,
                   "Folder for a priority class that never preempts, and a patch for each job that fits")
      ->type_name("DIR");
  add_format_option(*verb, options->format);
  verb->footer(
      "A job behind the head of the queue fits if it ends before the head can start, or\n"
      "leaves the head enough room. No job is preempted, and this command starts none\n"
      "(docs/backfill.md).\n"
      "Examples:\n"
      "  autopilot backfill cluster.yaml\n"
      "  autopilot backfill cluster.yaml --max-idle 25 --manifests out/");
  verb->callback([options, &exit_code] { exit_code = run_backfill(*options); });
}

}  // namespace autopilot::cli
