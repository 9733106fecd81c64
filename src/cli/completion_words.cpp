// SPDX-License-Identifier: Apache-2.0
#include "cli/completion_words.hpp"

#include <CLI/CLI.hpp>

#include "checks/check.hpp"

namespace autopilot::cli {

std::vector<std::string> completion_words(const CLI::App& verb) {
  std::vector<std::string> words;
  for (const CLI::Option* option : verb.get_options()) {
    for (const auto& name : option->get_lnames())
      words.push_back("--" + name);
    for (const auto& name : option->get_snames())
      words.push_back("-" + name);
  }
  if (verb.get_name() == "check" || verb.get_name() == "explain")
    for (const auto& check : checks::builtin_checks())
      words.push_back(check.info.id);
  return words;
}

}  // namespace autopilot::cli
