// SPDX-License-Identifier: Apache-2.0
#include "workloads/migrate/body/body_variables.hpp"

#include <map>
#include <set>
#include <string>
#include <string_view>

namespace autopilot::workloads::migrate {
namespace {

std::string variable_of(const ShellWord& word) {
  std::string name = word.value.substr(0, word.value.find('='));
  if (name.ends_with('+')) name.pop_back();
  return name;
}

bool is_declaration(std::string_view program) {
  return program == "export" || program == "declare" || program == "local" || program == "readonly" ||
         program == "typeset";
}

}  // namespace

void lint_variables(const ShellScript& script, Findings& findings) {
  std::map<std::string, int> set_here;  // not exported, and where
  std::set<std::string> known;
  std::set<std::string> read;
  for (const ShellLine& line : script.lines)
    for (std::string& name : variables_in(line.text))
      read.insert(std::move(name));
  for (const ShellCommand& command : script.commands) {
    for (const ShellWord& word : command.assignments) {
      const std::string name = variable_of(word);
      known.insert(name);
      // Before a program it is for that program only.
      if (command.words.empty() && !command.is_nested) set_here.emplace(name, command.number);
    }
    if (command.words.empty()) continue;
    const std::string_view program = command.words.front().value;
    if (is_declaration(program))
      for (const ShellWord& word : command.words) {
        known.insert(variable_of(word));
        set_here.erase(variable_of(word));
        read.insert(variable_of(word));
      }
    if ((program == "for" || program == "read") && command.words.size() > 1)
      for (const ShellWord& word : command.words)
        known.insert(word.value);
  }
  for (const auto& [name, line] : set_here)
    if (!read.contains(name))
      findings.add(Severity::note, "M-UNUSED-VAR", line, name + " is set and not used",
                   "Remove it, or use it");
  for (const ShellCommand& command : script.commands) {
    if (command.words.empty() ||
        (command.words.front().value != "kill" && command.words.front().value != "wait"))
      continue;
    for (const ShellWord& word : command.words)
      for (const std::string& name : variables_in(word.value))
        if (!known.contains(name) && name.find_first_not_of("0123456789") != std::string::npos)
          findings.add(Severity::warning, "M-UNDEF-VAR", command.number,
                       std::string(command.words.front().value) + " uses " + name +
                           ", which is not set: the process keeps running",
                       "Correct the name of the variable");
  }
}

}  // namespace autopilot::workloads::migrate
