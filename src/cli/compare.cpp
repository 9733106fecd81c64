// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

#include "cli/cli.hpp"
#include "cli/comparison/side_files.hpp"
#include "cli/output/compare_pages.hpp"
#include "cli/output/print.hpp"
#include "cli/verbs.hpp"

namespace autopilot::cli {
namespace {

namespace cmp = workloads::compare;

struct CompareOptions {
  std::string a, b;
  std::string claims;
  std::string cost;
  std::string folder;  // empty: nothing is written
};

constexpr int kExitNotComparable = 1;

int report_unreadable(const Error& error) {
  report(error);
  return kExitInternal;
}

Result<std::vector<cmp::Claim>> read_claims(const std::string& path, const cmp::Side& a, const cmp::Side& b) {
  if (path.empty()) return std::vector<cmp::Claim>{};
  const std::string text = TRY(read_side_file(path));
  const std::filesystem::path name(path);
  if (name.extension() == ".yaml" || name.extension() == ".yml")
    return cmp::parse_claims(text, name.filename().string());
  return cmp::claims_in_markdown(text, name.filename().string(), a, b);
}

Result<std::optional<cmp::CostModel>> read_cost(const std::string& path) {
  if (path.empty()) return std::optional<cmp::CostModel>{};
  const std::string text = TRY(read_side_file(path));
  return std::optional(TRY(cmp::parse_cost(text, std::filesystem::path(path).filename().string())));
}

Result<cmp::Comparison> comparison_of(const CompareOptions& options) {
  cmp::Side a = TRY(read_side("A", options.a));
  cmp::Side b = TRY(read_side("B", options.b));
  const auto claims = TRY(read_claims(options.claims, a, b));
  const auto cost = TRY(read_cost(options.cost));
  return cmp::compare_sides(std::move(a), std::move(b), cost, claims);
}

Status write_whole(const std::string& path, const std::string& text) {
  errno = 0;
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out << text;
  out.close();
  if (!out.good()) return fail_errno(errno == 0 ? EIO : errno, path);
  return {};
}

// All files are written beside their places before the first one gets its name.
Status write_files(const std::string& folder, const cmp::Comparison& comparison) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return fail_errno(error.value(), folder);
  const std::array<std::pair<std::string, std::string>, 3> files{{
      {"compare.html", compare_html(comparison)},
      {"compare.md", compare_markdown(comparison)},
      {"compare.json", compare_json(comparison)},
  }};
  const std::filesystem::path place(folder);
  const std::string suffix = ".new-" + std::to_string(::getpid());
  Status written;
  for (const auto& [name, text] : files)
    if (written) written = write_whole((place / (name + suffix)).string(), text);
  for (const auto& [name, text] : files) {
    if (written) std::filesystem::rename(place / (name + suffix), place / name, error);
    if (written && error) written = fail_errno(error.value(), (place / name).string());
  }
  for (const auto& [name, text] : files) {
    std::error_code ignored;
    std::filesystem::remove(place / (name + suffix), ignored);
  }
  return written;
}

int run_compare(const CompareOptions& options) {
  const auto comparison = comparison_of(options);
  if (!comparison) return report_unreadable(comparison.error());
  if (!options.folder.empty())
    if (const auto written = write_files(options.folder, *comparison); !written)
      return report_unreadable(written.error());
  std::cout << compare_text(*comparison, terminal_style());
  if (!options.folder.empty())
    std::cout << "\nWrote compare.html, compare.md and compare.json to " << printable(options.folder) << "\n";
  return comparison->verdict.verdict == cmp::Comparability::comparable ? kExitHealthy : kExitNotComparable;
}

}  // namespace

void add_compare(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<CompareOptions>();
  auto* verb =
      app.add_subcommand("compare", "Compare two runs of a job from what was measured on both sides");
  verb->add_option("A", options->a, "First side: a folder with its measurements, or one file")
      ->required()
      ->type_name("PATH");
  verb->add_option("B", options->b, "Second side")->required()->type_name("PATH");
  verb->add_option("--claims", options->claims,
                   "Statements to check: a list in YAML, or a report in Markdown")
      ->type_name("FILE");
  verb->add_option("--cost", options->cost, "Prices of both sides, in YAML")->type_name("FILE");
  verb->add_option("-o,--output", options->folder, "Folder for compare.html, compare.md and compare.json")
      ->type_name("DIR");
  verb->footer(
      "Reads output of sar and nvidia-smi, sheets in CSV, nccl-tests, node health checks,\n"
      "sysbench, answers of Prometheus (query_range) and recordings of jobs; facts.yaml in\n"
      "a folder states what cannot be measured (docs/compare.md). No side is named better\n"
      "unless both ran the same work on the same hardware.\n"
      "Examples:\n"
      "  autopilot compare satori/ openshift/\n"
      "  autopilot compare satori/ openshift/ --claims REPORT.md --cost cost.yaml -o out/");
  verb->callback([options, &exit_code] { exit_code = run_compare(*options); });
}

}  // namespace autopilot::cli
