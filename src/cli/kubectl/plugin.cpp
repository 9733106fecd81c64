// SPDX-License-Identifier: Apache-2.0
#include "cli/kubectl/plugin.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <ostream>

#include "cli/verbs.hpp"
#include "core/parse.hpp"

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

const CLI::App* verb_in(const CLI::App& app, const std::vector<std::string>& words) {
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; }))
    if (std::ranges::find(words.begin(), words.end() - 1, verb->get_name()) != words.end() - 1) return verb;
  return nullptr;
}

std::vector<std::string> verbs_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(verb->get_name());
  return names;
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
  const std::string current = words.empty() ? "" : words.back();
  const std::string previous = words.size() < 2 ? "" : words[words.size() - 2];
  if (previous == "--kubeconfig") {
    out << kOfferFiles << "\n";
    return;
  }
  std::vector<std::string> offered;
  const CLI::App* verb = words.empty() ? nullptr : verb_in(app, words);
  if (previous == "-o" || previous == "--output") {
    offered = {"table", "json", "yaml"};
  } else if (verb != nullptr) {
    offered = completion_words(*verb);
  } else {
    offered = verbs_of(app);
    std::ranges::copy(completion_words(app), std::back_inserter(offered));
  }
  for (const std::string& word : offered)
    if (word.starts_with(current)) out << word << "\n";
  out << kOfferNothingElse << "\n";
}

}  // namespace autopilot::cli
