// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <algorithm>
#include <boost/json.hpp>
#include <iostream>
#include <memory>
#include <string>
#include <unistd.h>
#include <vector>

#include "cli/cli.hpp"
#include "cli/configuration/settings_check.hpp"
#include "cli/output/layout.hpp"
#include "cli/output/print.hpp"
#include "cli/settings.hpp"
#include "cli/verbs.hpp"

namespace autopilot::cli {
namespace {

namespace json = boost::json;

struct ConfigCheckOptions {
  std::vector<std::string> files;
  bool controller = false;
  bool show = false;
  OutputFormat format = OutputFormat::table;
};

struct ConfigReport {
  std::vector<CheckedSettings> files;
  std::vector<SettingsProblem> environment;

  [[nodiscard]] bool is_valid() const {
    return environment.empty() &&
           std::ranges::all_of(files, [](const CheckedSettings& one) { return one.problems.empty(); });
  }
};

ConfigReport check_all(const ConfigCheckOptions& options) {
  ConfigReport report;
  const auto check = options.controller ? check_controller_settings : check_agent_settings;
  for (const std::string& file : options.files)
    report.files.push_back(check(file));
  if (options.files.empty()) report.files.push_back(check(""));
  if (!options.controller) report.environment = check_environment();
  return report;
}

std::string place_of(const SettingsProblem& problem) {
  return problem.line > 0 ? problem.file + ":" + std::to_string(problem.line) : problem.file;
}

// "default", "config.yaml:3", "AUTOPILOT_LISTEN"
std::string place_of(const config::EffectiveSetting& setting, const std::string& file) {
  switch (setting.source) {
    case config::ValueSource::file:
      return file + ":" + std::to_string(setting.line);
    case config::ValueSource::environment:
      return setting.variable;
    case config::ValueSource::defaults:
      break;
  }
  return std::string(to_string(setting.source));
}

std::string counted_problems(std::size_t count) {
  return std::to_string(count) + (count == 1 ? " problem" : " problems");
}

std::string result_of(const CheckedSettings& checked) {
  if (!checked.problems.empty()) return counted_problems(checked.problems.size());
  if (checked.file.empty()) return "no file is named; the defaults apply";
  return checked.exists ? "valid" : "does not exist; the defaults apply";
}

void print_problems(const std::vector<SettingsProblem>& problems) {
  for (const SettingsProblem& problem : problems)
    std::cout << "  " << printable(place_of(problem)) << ": " << printable(problem.what) << "\n";
}

void print_settings(const CheckedSettings& checked) {
  std::vector<Row> rows;
  for (const config::EffectiveSetting& setting : checked.settings)
    rows.push_back({{setting.name}, {place_of(setting, checked.file)}, {setting.value}});
  std::cout << "\n" << render_columns({"SETTING", "SOURCE", "VALUE"}, std::move(rows), terminal_style());
}

// The service reads another file than a user who is not root.
void print_service_file() {
  const std::string service_file = config::default_file({}, true);
  if (::geteuid() == 0 || settings_file("") == service_file) return;
  std::cout << "The service reads another file: autopilot config check " << service_file << "\n";
}

void print_report(const ConfigReport& report, const ConfigCheckOptions& options) {
  for (const CheckedSettings& checked : report.files) {
    const std::string name = checked.file.empty() ? "controller" : checked.file;
    std::cout << printable(name) << ": " << result_of(checked) << "\n";
    print_problems(checked.problems);
    if (options.show && checked.problems.empty()) print_settings(checked);
  }
  if (!report.environment.empty()) {
    std::cout << "environment: " << counted_problems(report.environment.size()) << "\n";
    print_problems(report.environment);
  }
  if (options.files.empty() && !options.controller) print_service_file();
  if (!report.is_valid())
    std::cout << "The program refuses to start with a problem. Settings: "
              << (options.controller ? "docs/controller-configuration.md" : "docs/configuration.md") << "\n";
}

json::array problems_json(const std::vector<SettingsProblem>& problems) {
  json::array list;
  for (const SettingsProblem& problem : problems) {
    json::object one{{"place", problem.file}, {"what", problem.what}};
    if (problem.line > 0) one["line"] = problem.line;
    list.push_back(std::move(one));
  }
  return list;
}

json::array settings_json(const CheckedSettings& checked) {
  json::array list;
  for (const config::EffectiveSetting& setting : checked.settings)
    list.push_back(json::object{{"name", setting.name},
                                {"value", setting.value},
                                {"source", to_string(setting.source)},
                                {"place", place_of(setting, checked.file)}});
  return list;
}

std::string report_json(const ConfigReport& report, const ConfigCheckOptions& options) {
  json::array files;
  for (const CheckedSettings& checked : report.files) {
    json::object file{{"file", checked.file},
                      {"default", checked.is_default},
                      {"exists", checked.exists},
                      {"valid", checked.problems.empty()},
                      {"problems", problems_json(checked.problems)}};
    if (options.show) file["settings"] = settings_json(checked);
    files.push_back(std::move(file));
  }
  return json::serialize(json::object{{"valid", report.is_valid()},
                                      {"files", std::move(files)},
                                      {"environment", problems_json(report.environment)}});
}

int config_check(const ConfigCheckOptions& options) {
  const ConfigReport report = check_all(options);
  if (options.format == OutputFormat::table)
    print_report(report, options);
  else
    print_json(report_json(report, options), options.format);
  return report.is_valid() ? kExitHealthy : kExitDegraded;
}

void add_config_check(CLI::App& config, int& exit_code) {
  auto options = std::make_shared<ConfigCheckOptions>();
  auto* verb = config.add_subcommand("check", "Validate the configuration, as the program reads it");
  verb->add_option("FILE", options->files,
                   "Files to validate, each by itself (default: the file that the agent of this user reads)")
      ->check([](const std::string& text) {
        return text.empty() ? std::string("is empty; leave it out to check the default file") : std::string();
      });
  verb->add_flag("--controller", options->controller,
                 "The configuration of the controller, not of the agent");
  verb->add_flag("--show", options->show, "Also show the value of every setting, and where it comes from");
  add_format_option(*verb, options->format);
  verb->footer(
      "All problems are shown at once, each with its file and line; so are problems of\n"
      "AUTOPILOT_ variables, of the log rules and of the policy that a file names.\n"
      "Examples:\n  autopilot config check\n  autopilot config check /etc/autopilot/config.yaml --show\n"
      "  autopilot config check --controller controller.yaml -o json");
  verb->callback([options, &exit_code] { exit_code = config_check(*options); });
}

}  // namespace

void add_config(CLI::App& app, int& exit_code) {
  auto* verb = app.add_subcommand("config", "Validate the configuration of agent and controller");
  verb->require_subcommand(1);
  verb->footer("Examples:\n  autopilot config check\n  autopilot config check --show");
  add_config_check(*verb, exit_code);
}

}  // namespace autopilot::cli
