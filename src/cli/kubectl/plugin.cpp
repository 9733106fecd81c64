// SPDX-License-Identifier: Apache-2.0
#include "cli/kubectl/plugin.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <ostream>

#include "cli/completion/candidates.hpp"
#include "cli/verbs.hpp"

namespace autopilot::cli {
namespace {

// Directives of kubectl's completion scripts.
constexpr std::string_view kOfferFiles = ":0";
constexpr std::string_view kOfferNothingElse = ":4";

// Examples of shared verbs use the name `autopilot`.
void rename_examples(CLI::App& verb) {
  std::string footer = verb.get_footer();
  const std::string name = "  autopilot ";
  for (auto at = footer.find(name); at != std::string::npos; at = footer.find(name, at + 1))
    footer.replace(at, name.size(), "  kubectl autopilot ");
  verb.footer(footer);
}

}  // namespace

Program program_of(std::string_view started_as) {
  const std::string_view name = started_as.substr(started_as.rfind('/') + 1);
  if (name.starts_with("kubectl_complete-autopilot")) return Program::kubectl_completion;
  if (name.starts_with("kubectl-autopilot") || name.starts_with("kubectl_autopilot"))
    return Program::kubectl_plugin;
  return Program::autopilot;
}

void add_kubectl_verbs(CLI::App& app, ClusterOptions& cluster, int& exit_code) {
  add_cluster_options(app, cluster);
  add_cluster_status(app, cluster, exit_code);
  add_cluster_nodes(app, cluster, exit_code);
  add_cluster_events(app, cluster, exit_code);
  add_cluster_test(app, cluster, exit_code);
  add_cluster_jobs(app, cluster, exit_code);
  add_plan(app, cluster, exit_code);
  add_explain(app, exit_code, false);
  for (const char* shared : {"plan", "explain"})
    rename_examples(*app.get_subcommand(shared));
}

void write_completions(std::ostream& out, const CLI::App& app, const std::vector<std::string>& words) {
  const Completion completion = complete(app, words, {});
  for (const Candidate& one : completion.candidates)
    out << one.word << "\n";
  out << (completion.offers_files ? kOfferFiles : kOfferNothingElse) << "\n";
}

}  // namespace autopilot::cli
