// SPDX-License-Identifier: Apache-2.0
#include "compat/ibm_autopilot/daemon_settings.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "core/clock.hpp"
#include "core/parse.hpp"
#include "core/yaml_text.hpp"

namespace autopilot::compat::ibm_autopilot {
namespace {

using Flags = std::map<std::string, std::string, std::less<>>;
using Variables = std::map<std::string, std::string>;

constexpr std::array<std::string_view, 6> kFlags{"port", "bw",       "logfile",
                                                 "w",    "loglevel", "invasive-check-timer"};
constexpr std::array<std::string_view, 1> kUnusedFlags{"logfile"};
constexpr std::array<const char*, 2> kUnusedVariables{"INVASIVE_JOB_TTLSEC", "AUTOPILOT_DCGM_RESULT_PATHS"};
constexpr std::array<std::string_view, 3> kServices{"autopilot-healthchecks", "autopilot-readinessprobe",
                                                    "autopilot-metrics-service"};
// Names of periodic checks that load GPUs, and our tests for them.
constexpr std::array<std::pair<std::string_view, std::string_view>, 2> kLoads{
    {{"pciebw", "gpu.pcie_bandwidth"}, {"gpumem", "gpu.compute"}}};
constexpr std::string_view kPeriodicChecks = "pciebw,remapped,dcgm,ping,gpupower";
constexpr Duration kLeastPeriod = std::chrono::minutes{10};  // shortest interval of tests that load GPUs
constexpr int kVerbose = 4;                                  // from this level on, klog prints debug messages

// "port" of "--port=3333"; empty: not a flag.
std::string_view name_of(std::string_view word) {
  if (!word.starts_with('-')) return {};
  word.remove_prefix(word.starts_with("--") ? 2 : 1);
  return word.substr(0, word.find('='));
}

Error unknown_flag(const std::string& word) {
  std::string known;
  for (const std::string_view flag : kFlags)
    known.append(known.empty() ? "--" : ", --").append(flag);
  return {Errc::malformed,
          "'" + to_utf8(word) + "' is not a flag of IBM Autopilot's daemon; known flags: " + known};
}

Result<Flags> read_flags(const std::vector<std::string>& words) {
  Flags flags;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    const std::string name(name_of(word));
    if (!is_daemon_flag(word)) return fail(unknown_flag(word));
    const auto equals = word.find('=');
    if (equals != std::string::npos)
      flags[name] = word.substr(equals + 1);
    else if (i + 1 < words.size())
      flags[name] = words[++i];
    else
      return fail(Errc::malformed, "--" + name + " needs a value");
  }
  return flags;
}

std::optional<std::string> flag_value(const Flags& flags, std::string_view name) {
  const auto found = flags.find(name);
  return found == flags.end() ? std::nullopt : std::optional(found->second);
}

// Empty: not set.
std::string variable_of(const Variables& environment, const std::string& name) {
  const auto found = environment.find(name);
  return found == environment.end() ? "" : found->second;
}

Result<int> flag_number(const std::string& name, const std::string& text, int from, int to) {
  const auto number = parse_number<int>(text);
  if (number && *number >= from && *number <= to) return *number;
  return fail(Errc::malformed, "--" + name + ": expected a number from " + std::to_string(from) + " to " +
                                   std::to_string(to) + ", not '" + to_utf8(text) + "'");
}

// A number without a unit is in hours, as in releases before units existed.
Result<Duration> period_of(const std::string& name, const std::string& text) {
  if (const auto hours = parse_number<int>(text); hours && *hours >= 0) return std::chrono::hours{*hours};
  const auto period = parse_duration(text);
  if (period && *period >= Duration{0}) return *period;
  return fail(Errc::malformed,
              "--" + name + ": expected a duration such as 4h, 30m or 0, not '" + to_utf8(text) + "'");
}

// Names of a list, separated by commas or spaces.
YamlNode words_of(const std::string& list, std::string_view between) {
  YamlNode words = yaml_list();
  std::string_view rest = list;
  while (!rest.empty()) {
    const auto end = std::min(rest.find_first_of(between), rest.size());
    if (const std::string_view word = trim(rest.substr(0, end)); !word.empty())
      words.items.push_back(yaml_word(word));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return words;
}

void add_door(YamlNode& settings, int port, const std::string& name_space) {
  yaml_member(settings, "listen") = yaml_word(":" + std::to_string(port));
  YamlNode& further = yaml_member(settings, "also_listen") = yaml_list();
  for (const char* address : {":8081", ":8080"})
    further.items.push_back(yaml_word(address));
  YamlNode& hosts = yaml_member(settings, "allowed_hosts") = yaml_list();
  for (const std::string_view service : kServices) {
    hosts.items.push_back(yaml_word(service));
    if (name_space.empty()) continue;
    for (const char* end : {"", ".svc", ".svc.cluster.local"})
      hosts.items.push_back(yaml_word(std::string(service) + "." + name_space + end));
  }
  // The daemon has no folder of its own.
  yaml_member(settings, "socket") = yaml_word("/tmp/autopilot/agent.sock");
  yaml_member(settings, "state_dir") = yaml_word("/tmp/autopilot");
}

void add_place(YamlNode& settings, const Variables& environment) {
  const bool is_in_cluster = !variable_of(environment, "KUBERNETES_SERVICE_HOST").empty();
  yaml_member(yaml_member(settings, "kubernetes"), "write_node") = yaml_flag(is_in_cluster);
  yaml_member(settings, "profile") = yaml_word("dropin");
  if (const auto node = variable_of(environment, "NODE_NAME"); !node.empty())
    yaml_member(settings, "node") = yaml_word(node);
  if (const auto name_space = variable_of(environment, "NAMESPACE"); !name_space.empty())
    yaml_member(yaml_member(settings, "kubernetes"), "namespace") = yaml_word(name_space);
}

void add_checks(YamlNode& settings, const Variables& environment) {
  if (const auto list = variable_of(environment, "PERIODIC_CHECKS"); !list.empty())
    yaml_member(settings, "periodic_checks") = words_of(list, ", ");
  if (const auto fatal = variable_of(environment, "DCGM_FATAL_ERRORS"); !fatal.empty())
    yaml_member(yaml_member(settings, "deep_test"), "fatal") = words_of(fatal, ",");
  const auto storage_class = variable_of(environment, "PVC_TEST_STORAGE_CLASS");
  if (storage_class.empty()) return;
  YamlNode& modes = yaml_member(yaml_member(yaml_member(settings, "pvc"), "storage_classes"), storage_class);
  modes = yaml_list();
  modes.items.push_back(yaml_word("ReadWriteMany"));
}

// Passive checks have their own intervals; checks that load GPUs use the interval of the original.
Status add_period(YamlNode& settings, const std::string& text, const Variables& environment) {
  const Duration period = TRY(period_of("w", text));
  const std::string list = variable_of(environment, "PERIODIC_CHECKS");
  const YamlNode wanted = words_of(list.empty() ? std::string(kPeriodicChecks) : list, ", ");
  YamlNode checks = yaml_list();
  for (const auto& [name, check] : kLoads)
    if (std::ranges::find(wanted.items, name, &YamlNode::text) != wanted.items.end())
      checks.items.push_back(yaml_word(check));
  if (checks.items.empty()) return {};
  YamlNode& tests = yaml_member(settings, "gpu_tests");
  yaml_member(tests, "every") =
      yaml_word(format_duration(period == Duration{0} ? period : std::max(period, kLeastPeriod)));
  yaml_member(tests, "checks") = std::move(checks);
  return {};
}

Status add_flags(YamlNode& settings, const Flags& flags, const Variables& environment) {
  if (const auto limit = flag_value(flags, "bw"))
    yaml_member(yaml_member(yaml_member(settings, "expectation"), "thresholds"),
                "gpu.pcie_bandwidth.host_to_device") = yaml_integer(TRY(flag_number("bw", *limit, 1, 9999)));
  if (const auto level = flag_value(flags, "loglevel")) {
    const int number = TRY(flag_number("loglevel", *level, 0, 10));
    yaml_member(settings, "log_level") = yaml_word(number >= kVerbose ? "debug" : "info");
  }
  if (const auto period = flag_value(flags, "invasive-check-timer"))
    yaml_member(yaml_member(settings, "deep_test"), "every") =
        yaml_word(format_duration(TRY(period_of("invasive-check-timer", *period))));
  if (const auto period = flag_value(flags, "w")) return add_period(settings, *period, environment);
  return {};
}

std::vector<std::string> not_used(const Flags& flags, const Variables& environment) {
  std::vector<std::string> names;
  for (const std::string_view flag : kUnusedFlags)
    if (flags.contains(flag)) names.push_back("--" + std::string(flag));
  for (const char* name : kUnusedVariables)
    if (!variable_of(environment, name).empty()) names.emplace_back(name);
  return names;
}

}  // namespace

bool is_daemon_flag(std::string_view word) {
  return std::ranges::find(kFlags, name_of(word)) != kFlags.end();
}

Result<DaemonSettings> daemon_settings(const std::vector<std::string>& words, const Variables& environment) {
  constexpr const char* kPort = "3333";
  const Flags flags = TRY(read_flags(words));
  const int port = TRY(flag_number("port", flag_value(flags, "port").value_or(kPort), 1, 65535));
  YamlNode settings = yaml_map();
  add_door(settings, port, variable_of(environment, "NAMESPACE"));
  add_place(settings, environment);
  add_checks(settings, environment);
  TRY_STATUS(add_flags(settings, flags, environment));
  return DaemonSettings{to_yaml(settings), not_used(flags, environment)};
}

}  // namespace autopilot::compat::ibm_autopilot
