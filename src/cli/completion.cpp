// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <memory>
#include <set>
#include <string>

#include "checks/check.hpp"
#include "cli/demo/scenarios.hpp"
#include "cli/verbs.hpp"

namespace autopilot::cli {

std::vector<std::string> completion_words(const CLI::App& verb) {
  std::vector<std::string> words;
  for (const CLI::Option* option : verb.get_options()) {
    for (const auto& name : option->get_lnames())
      words.push_back("--" + name);
    for (const auto& name : option->get_snames())
      words.push_back("-" + name);
  }
  if (verb.get_name() == "demo")
    for (const DemoScenario& scenario : demo_scenarios())
      words.emplace_back(scenario.name);
  // A verb of the first level: `config check` has no ids.
  const bool has_ids = verb.get_parent() == nullptr || verb.get_parent()->get_parent() == nullptr;
  if (has_ids && (verb.get_name() == "check" || verb.get_name() == "explain"))
    for (const auto& check : checks::builtin_checks())
      words.push_back(check.info.id);
  return words;
}

namespace {

std::string words_of(const CLI::App& verb) {
  std::string words;
  for (const std::string& word : completion_words(verb))
    words += " " + word;
  for (const CLI::App* inner : verb.get_subcommands([](const CLI::App*) { return true; }))
    words += " " + inner->get_name() + words_of(*inner);
  if (verb.get_name() == "completion") words += " bash zsh";
  if (verb.get_name() == "inject") words += " $(_autopilot_sim faults)";
  return words;
}

// The words of "FORMAT:{jsonl,csv}"; empty: the option takes any text.
std::string values_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const std::size_t begin = type.find('{');
  const std::size_t end = type.find('}');
  if (begin == std::string::npos || end == std::string::npos || end < begin) return {};
  std::string words = type.substr(begin + 1, end - begin - 1);
  std::ranges::replace(words, ',', ' ');
  return words;
}

// Matches the words of a line that ends with the option: "history export "*--output.
std::string patterns_of(const std::string& verbs, const CLI::Option& option) {
  std::string patterns;
  const auto add = [&](const std::string& name) {
    patterns += (patterns.empty() ? "" : "|") + ("\"" + verbs + " \"*") + name;
  };
  for (const std::string& name : option.get_lnames())
    add("--" + name);
  for (const std::string& name : option.get_snames())
    add("-" + name);
  return patterns;
}

// A case for each option that takes one of several words, of the verb and the verbs in it.
std::string value_cases(const std::string& verbs, const CLI::App& verb) {
  std::string cases;
  for (const CLI::Option* option : verb.get_options()) {
    const std::string words = values_of(*option);
    const std::string patterns = patterns_of(verbs, *option);
    if (words.empty() || patterns.empty()) continue;
    cases += "    " + patterns + ") COMPREPLY=($(compgen -W '" + words + "' -- \"$current\")); return ;;\n";
  }
  for (const CLI::App* inner : verb.get_subcommands([](const CLI::App*) { return true; }))
    cases += value_cases(verbs + " " + inner->get_name(), *inner);
  return cases;
}

std::string tags() {
  std::set<std::string> tags;
  for (const auto& check : checks::builtin_checks())
    tags.insert(check.info.tags.begin(), check.info.tags.end());
  std::string words;
  for (const std::string& tag : tags)
    words += " " + tag;
  return words;
}

std::string script(const CLI::App& app) {
  std::string verbs;
  std::string cases;
  std::string values;
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; })) {
    // An empty group hides a verb.
    if (verb->get_group().empty()) continue;
    verbs += " " + verb->get_name();
    cases += "    " + verb->get_name() + ") words=\"" + words_of(*verb) + "\" ;;\n";
    values += value_cases(verb->get_name(), *verb);
  }
  return "_autopilot_sim() {\n"
         "  \"$(dirname \"$(command -v autopilot)\")/autopilot-sim\" \"$1\" 2>/dev/null |"
         " sed -n 's/^\\([a-z][^ ]*\\).*/\\1/p'\n"
         "}\n"
         "_autopilot() {\n"
         "  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} words=\n"
         "  case ${COMP_WORDS[*]:1:COMP_CWORD-1} in\n" +
         values +
         "  esac\n"
         "  case $previous in\n"
         "    -o|--output) words='table json yaml'\n"
         "      [ \"${COMP_WORDS[1]}\" = report ] && words='text json html'\n"
         "      COMPREPLY=($(compgen -W \"$words\" -- \"$current\")); return ;;\n"
         "    --against|--all|--config|--events|--fit|--history|--policy|--root|--rules|--socket|--trace) "
         "COMPREPLY=($(compgen -f -- "
         "\"$current\")); "
         "return ;;\n"
         "    --simulate) COMPREPLY=($(compgen -f -W \"$(_autopilot_sim machines)\" -- \"$current\")); "
         "return ;;\n"
         "    --tag) COMPREPLY=($(compgen -W '" +
         tags() +
         "' -- \"$current\")); return ;;\n"
         "  esac\n"
         "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
         "    COMPREPLY=($(compgen -W '" +
         verbs +
         " --help' -- \"$current\"))\n    return\n  fi\n"
         "  case ${COMP_WORDS[1]} in\n" +
         cases +
         "  esac\n"
         "  COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
         "}\n"
         "complete -o default -F _autopilot autopilot\n";
}

}  // namespace

void add_completion(CLI::App& app, int& exit_code) {
  auto shell = std::make_shared<std::string>();
  auto* verb = app.add_subcommand("completion", "Print a shell completion script");
  verb->add_option("SHELL", *shell, "bash or zsh")->required()->check(CLI::IsMember({"bash", "zsh"}));
  verb->footer("Examples:\n  source <(autopilot completion bash)\n  source <(autopilot completion zsh)");
  verb->callback([&app, shell, &exit_code] {
    // bashcompinit lets zsh run completions of bash.
    if (*shell == "zsh")
      std::cout << "autoload -U +X compinit && compinit\nautoload -U +X bashcompinit && bashcompinit\n";
    std::cout << script(app);
    exit_code = 0;
  });
}

}  // namespace autopilot::cli
