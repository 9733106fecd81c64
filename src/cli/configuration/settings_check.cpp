// SPDX-License-Identifier: Apache-2.0
#include "cli/configuration/settings_check.hpp"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <optional>
#include <system_error>
#include <unistd.h>
#include <utility>

#include "cli/machine.hpp"
#include "cli/settings.hpp"
#include "controller/planner/policy.hpp"
#include "core/parse.hpp"

namespace autopilot::cli {
namespace {

constexpr std::string_view kVariableOfEnvironment = "environment variable ";

// "<file>:<line>: <what>" or "<file>: <what>"; empty: the line begins with something else.
std::optional<SettingsProblem> problem_of_file(std::string_view line, const std::string& file) {
  if (file.empty() || !line.starts_with(file + ":")) return std::nullopt;
  SettingsProblem problem{.file = file, .what = {}};
  line.remove_prefix(file.size() + 1);
  const std::size_t colon = line.find(": ");
  const auto number =
      colon == std::string_view::npos ? std::nullopt : parse_number<int>(line.substr(0, colon));
  if (number) {
    problem.line = *number;
    line.remove_prefix(colon + 1);
  }
  problem.what = std::string(trim(line));
  return problem;
}

void append(std::vector<SettingsProblem>& all, std::vector<SettingsProblem> more) {
  std::ranges::move(more, std::back_inserter(all));
}

// The text of the file; empty with a problem if it cannot be read, and without one if a default file is
// missing.
std::string text_of(CheckedSettings& checked) {
  std::error_code ignored;
  checked.exists = !checked.file.empty() && std::filesystem::exists(checked.file, ignored);
  if (!checked.exists && checked.is_default) return {};
  auto text = read_settings_text(checked.file, "configuration");
  if (text) return *std::move(text);
  checked.problems.push_back({checked.file, 0, text.error().what});
  return {};
}

void check_log_rules(const std::vector<std::string>& files, CheckedSettings& checked) {
  if (files.empty()) return;
  const auto rules = read_log_rules(files);
  if (!rules) append(checked.problems, problems_in(rules.error().what, files));
}

void check_policy(const std::string& file, CheckedSettings& checked) {
  if (file.empty()) return;
  const auto text = read_settings_text(file, "policy");
  const auto policy = text ? controller::parse_policy(*text, file) : fail(text.error());
  if (!policy) append(checked.problems, problems_in(policy.error().what, {file}));
}

}  // namespace

std::vector<SettingsProblem> problems_in(std::string_view text, const std::vector<std::string>& files) {
  std::vector<SettingsProblem> problems;
  for (const std::string_view line : split(text, '\n')) {
    if (trim(line).empty()) continue;
    std::optional<SettingsProblem> problem;
    for (const std::string& file : files)
      if (!problem) problem = problem_of_file(line, file);
    problems.push_back(
        problem.value_or(SettingsProblem{files.empty() ? "" : files.front(), 0, std::string(trim(line))}));
  }
  return problems;
}

CheckedSettings check_agent_settings(const std::string& file) {
  CheckedSettings checked{.file = settings_file(file), .is_default = file.empty()};
  const std::string text = text_of(checked);
  if (!checked.problems.empty()) return checked;
  const auto variables = environment();
  const auto from_file =
      config::parse(text, checked.file, config::default_config(variables, ::geteuid() == 0));
  if (!from_file) {
    append(checked.problems, problems_in(from_file.error().what, {checked.file}));
    return checked;
  }
  check_log_rules(from_file->log_rules, checked);
  if (!checked.problems.empty()) return checked;
  // The environment is checked by itself.
  const auto settings = config::apply_environment(variables, *from_file).value_or(*from_file);
  checked.settings = config::effective_settings(settings, text, variables);
  return checked;
}

CheckedSettings check_controller_settings(const std::string& file) {
  CheckedSettings checked{.file = file, .is_default = file.empty()};
  const std::string text = text_of(checked);
  if (!checked.problems.empty()) return checked;
  const auto settings = config::parse_controller(text, file, {});
  if (!settings) {
    append(checked.problems, problems_in(settings.error().what, {file}));
    return checked;
  }
  check_policy(settings->policy, checked);
  if (checked.problems.empty()) checked.settings = config::effective_settings(*settings, text);
  return checked;
}

std::vector<SettingsProblem> check_environment() {
  std::vector<SettingsProblem> problems;
  const auto settings = config::apply_environment(environment(), {});
  if (settings) return problems;
  for (const std::string_view line : split(settings.error().what, '\n')) {
    std::string_view rest = line;
    if (rest.starts_with(kVariableOfEnvironment)) rest.remove_prefix(kVariableOfEnvironment.size());
    const std::size_t colon = rest.find(": ");
    if (colon == std::string_view::npos) continue;
    problems.push_back({std::string(rest.substr(0, colon)), 0, std::string(rest.substr(colon + 2))});
  }
  return problems;
}

}  // namespace autopilot::cli
