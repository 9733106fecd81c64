// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <limits>

#include "catalog/catalog.hpp"
#include "config/alert_settings.hpp"
#include "config/forms.hpp"
#include "config/setting.hpp"
#include "core/database_place.hpp"
#include "core/parse.hpp"
#include "core/text.hpp"
#include "core/value.hpp"

namespace autopilot::config {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr std::size_t kMaxScripts = 32;

std::string nearest_help(std::string_view word, const std::vector<std::string>& known) {
  const auto nearest = nearest_word(word, known);
  return nearest ? "; did you mean `" + *nearest + "`?" : "";
}

std::vector<std::string> known_checks() {
  std::vector<std::string> ids;
  for (const auto& page : catalog::builtin().checks())
    ids.push_back(page.id);
  return ids;
}

// Ids of custom checks are validated after the whole file is read, see check_custom_ids.
bool is_check(std::string_view id) {
  return id.starts_with("custom.") || catalog::builtin().check(id) != nullptr;
}

constexpr std::array<std::string_view, 8> kGpuTests{"gpu.pcie_bandwidth",
                                                    "gpu.memory_bandwidth",
                                                    "gpu.compute",
                                                    "gpu.memory_test",
                                                    "gpu.sdc",
                                                    "gpu.p2p",
                                                    "gpu.nccl_allreduce",
                                                    "gpu.dcgm"};

bool is_gpu_test(std::string_view id) {
  return std::ranges::find(kGpuTests, id) != kGpuTests.end();
}

bool is_profile(std::string_view id) {
  return catalog::builtin().profile(id) != nullptr;
}

bool is_start_or_stop(std::string_view word) {
  return word == "start" || word == "stop";
}

bool is_test_choice(std::string_view word) {
  return word == "all" || word == "learned";
}

bool is_tls_mode(std::string_view word) {
  return word == "off" || word == "files" || word == "cert_manager" || word == "controller";
}

bool is_job_mode(std::string_view word) {
  return word == "observe" || word == "recommend" || word == "act";
}

bool is_validation_mode(std::string_view word) {
  return word == "auto" || word == "off" || word == "passive" || word == "quick";
}

bool is_job_brain(std::string_view word) {
  return word == "auto" || word == "local" || word == "controller" || word == "coordinator";
}

bool is_heartbeat_folder(std::string_view word) {
  return word == "auto" || (is_file_or_empty(word) && word.size() <= 90);
}

bool is_step_pattern(std::string_view word) {
  return word.size() <= 1024 && word.find('\0') == std::string_view::npos;
}

bool is_argument(std::string_view word) {
  return !word.empty() && word.size() <= 4095 && word.find('\0') == std::string_view::npos;
}

// "dedicated", "nvidia.com/gpu"
bool is_taint_key(std::string_view word) {
  const std::size_t slash = word.find('/');
  const std::string_view name = slash == std::string_view::npos ? word : word.substr(slash + 1);
  const bool has_name =
      !name.empty() && name.size() <= 63 && name.find_first_of(" \t\r\n/,=:") == std::string_view::npos;
  return has_name && (slash == std::string_view::npos || is_dns_name(word.substr(0, slash)));
}

void read_check(YamlMap& map, const std::string& id, CheckConfig& check) {
  if (const auto enabled = map.boolean("enabled")) check.enabled = *enabled;
  const auto read = [&](std::string_view key, Duration low, Duration high, std::optional<Duration>& into) {
    Duration value = into.value_or(Duration{-1});
    read_duration(map, key, "checks." + id + '.' + std::string(key), low, high, value);
    if (value >= Duration{0}) into = value;
  };
  read("period", seconds{1}, hours{24}, check.period);
  read("deadline", milliseconds{100}, minutes{10}, check.deadline);
  read("window", Duration{0}, hours{24}, check.window);
}

void read_checks(YamlMap& map, const Setting& setting, Config& config) {
  const YamlNode* node = map.map(setting.key());
  if (node == nullptr) return;
  for (const YamlMember& member : node->members) {
    if (!is_check(member.key)) {
      map.problem(member.line, "`checks`: unknown check `" + member.key.substr(0, 80) + '`' +
                                   nearest_help(member.key, known_checks()));
      continue;
    }
    YamlMap check = map.nested(member.value, "checks." + member.key);
    read_check(check, member.key, config.checks[member.key]);
  }
}

bool is_script_name(std::string_view name) {
  return !name.empty() && name.size() <= 40 &&
         name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string_view::npos;
}

void read_script(YamlMap& map, const std::string& name, ScriptConfig& script) {
  script.path = map.required_word("path");
  if (!script.path.empty() && !is_absolute_path(script.path))
    map.problem(map.line_of("path"), "`scripts." + name + ".path`: expected an absolute path, found `" +
                                         script.path.substr(0, 80) + '`');
  if (auto arguments = map.words("arguments")) script.arguments = std::move(*arguments);
  if (const auto user = map.word("user")) script.user = *user;
  if (const auto network = map.boolean("network")) script.network = *network;
  read_duration(map, "period", "scripts." + name + ".period", seconds{1}, hours{24}, script.period);
  read_duration(map, "deadline", "scripts." + name + ".deadline", milliseconds{100}, minutes{10},
                script.deadline);
}

void read_scripts(YamlMap& map, const Setting& setting, Config& config) {
  const YamlNode* node = map.map(setting.key());
  if (node == nullptr) return;
  config.scripts.clear();
  for (const YamlMember& member : node->members) {
    if (!is_script_name(member.key))
      map.problem(member.line, "`scripts`: expected a name of at most 40 characters a-z, 0-9 and _, found `" +
                                   member.key.substr(0, 80) + '`');
    YamlMap script = map.nested(member.value, "scripts." + member.key);
    read_script(script, member.key, config.scripts[member.key]);
  }
  if (config.scripts.size() > kMaxScripts)
    refuse(map, setting, "at most " + std::to_string(kMaxScripts), std::to_string(config.scripts.size()));
}

void show_scripts(const Config& config, const Setting&, Shown& shown) {
  for (const auto& [name, script] : config.scripts) {
    std::string text = script.path;
    for (const auto& argument : script.arguments)
      text += ' ' + argument;
    shown["scripts." + name] = text + " as " + script.user + (script.network ? " with network" : "") +
                               " period " + format_duration(script.period) + " deadline " +
                               format_duration(script.deadline);
  }
}

void read_thresholds(YamlMap& map, const Setting& setting, Config& config) {
  const YamlNode* node = map.map(setting.key());
  if (node == nullptr) return;
  YamlMap values = map.nested(*node, std::string(setting.name));
  for (const YamlMember& member : node->members) {
    const auto* threshold = catalog::builtin().threshold(member.key);
    if (threshold == nullptr) {
      std::vector<std::string> known;
      for (const auto& each : catalog::builtin().thresholds())
        known.push_back(each.id);
      map.problem(member.line, "`expectation.thresholds`: unknown threshold `" + member.key.substr(0, 80) +
                                   '`' + nearest_help(member.key, known));
      (void)values.any(member.key);
      continue;
    }
    const auto value = values.number(member.key);
    if (!value) continue;
    const bool is_ratio = threshold->unit == "ratio";
    if ((is_ratio && (*value < 0 || *value > 1)) || (*value < 0 && threshold->unit != "celsius"))
      map.problem(member.line, "`" + member.key + "`: expected " + (is_ratio ? "0 to 1" : "0 or more"));
    else
      config.expectation.thresholds[member.key] = *value;
  }
}

void read_required_checks(YamlMap& map, const Setting& setting, Config& config) {
  if (!map.has(setting.key())) {
    (void)map.any(setting.key());
    return;
  }
  std::vector<std::string> ids;
  read_words(map, setting, &is_check, ids);
  config.required_checks = std::move(ids);
}

// From `low` to `high`, or 0, which means never.
void read_every(YamlMap& map, const Setting& setting, Duration low, Duration high, Duration& every) {
  const auto value = map.duration(setting.key());
  if (!value) return;
  if (*value != Duration{0} && (*value < low || *value > high))
    refuse(map, setting, std::string(setting.form), format_duration(*value));
  else
    every = *value;
}

constexpr std::size_t kMaxStorageClasses = 16;

bool is_access_mode(std::string_view word) {
  return word == "ReadWriteOnce" || word == "ReadWriteMany" || word == "ReadOnlyMany" ||
         word == "ReadWriteOncePod";
}

void read_storage_classes(YamlMap& map, const Setting& setting, Config& config) {
  const YamlNode* node = map.map(setting.key());
  if (node == nullptr) return;
  config.pvc.storage_classes.clear();
  YamlMap classes = map.nested(*node, std::string(setting.name));
  for (const YamlMember& member : node->members) {
    const auto modes = classes.words(member.key);
    const bool is_good =
        is_dns_name(member.key) && modes && !modes->empty() && std::ranges::all_of(*modes, &is_access_mode);
    if (is_good)
      config.pvc.storage_classes[member.key] = *modes;
    else
      map.problem(member.line, "`" + std::string(setting.name) +
                                   "`: expected a storage class and a list of access modes such as "
                                   "fast: [ReadWriteOnce], found `" +
                                   member.key.substr(0, 80) + '`');
  }
  if (config.pvc.storage_classes.size() > kMaxStorageClasses)
    refuse(map, setting, "at most " + std::to_string(kMaxStorageClasses),
           std::to_string(config.pvc.storage_classes.size()));
}

void show_checks(const Config& config, const Setting&, Shown& shown) {
  const auto text = [](const std::optional<Duration>& duration) {
    return duration ? format_duration(*duration) : std::string("default");
  };
  for (const auto& entry : config.checks) {
    const CheckConfig& check = entry.second;
    if (check == CheckConfig{}) continue;
    shown["checks." + entry.first] = std::string(check.enabled ? "enabled" : "disabled") + " period " +
                                     text(check.period) + " deadline " + text(check.deadline) + " window " +
                                     text(check.window);
  }
}

void show_thresholds(const Config& config, const Setting& setting, Shown& shown) {
  for (const auto& [id, value] : config.expectation.thresholds)
    shown[std::string(setting.name) + '.' + id] = autopilot::to_string(Value(value));
}

void show_storage_classes(const Config& config, const Setting& setting, Shown& shown) {
  for (const auto& [name, modes] : config.pvc.storage_classes)
    shown[std::string(setting.name) + '.' + name] = join(modes);
}

void show_required_checks(const Config& config, const Setting& setting, Shown& shown) {
  if (config.required_checks) shown[std::string(setting.name)] = join(*config.required_checks);
}

// Rows for settings with one member each.
#define AUTOPILOT_SHOW(expression) \
  [](const Config& c, const Setting& s, Shown& shown) { shown[std::string(s.name)] = (expression); }
#define AUTOPILOT_READ(statement) [](YamlMap& m, const Setting& s, Config& c) { statement; }

constexpr std::array kSettings{
    Setting{"listen", "an address and a port such as 127.0.0.1:3333 or [::1]:3333, or nothing in quotes",
            kAtStart, kVariable,
            "Address of the read-only API. :3333 is every address of the machine; empty: no TCP listener.",
            AUTOPILOT_READ(read_word(m, s, &is_listen_address, c.listen)), AUTOPILOT_SHOW(c.listen)},
    Setting{"also_listen", "a list of addresses and ports such as 127.0.0.1:8081", kAtStart, kNoVariable,
            "Further addresses that serve the same as `listen`.",
            AUTOPILOT_READ(read_words(m, s, &is_further_address, c.also_listen)),
            AUTOPILOT_SHOW(join(c.also_listen))},
    Setting{
        "allowed_hosts", "a list of host names", kAtStart, kNoVariable,
        "Host names that requests can use for this machine, beside localhost and its addresses, such as the "
        "name of a Service. Other names are refused, so that a web page cannot read the API under them.",
        AUTOPILOT_READ(read_words(m, s, &is_name, c.allowed_hosts)), AUTOPILOT_SHOW(join(c.allowed_hosts))},
    Setting{"periodic_checks", "a list of names such as remapped", kAtStart, kNoVariable,
            "The checks of `all` in requests of IBM Autopilot's clients: GET /status?check=all.",
            AUTOPILOT_READ(read_words(m, s, &is_name, c.periodic_checks)),
            AUTOPILOT_SHOW(join(c.periodic_checks))},
    Setting{"compat.open_actions", "true or false", kAtStart, kNoVariable,
            "Lets any client that reaches the port start tests at the paths of IBM Autopilot, list the pods "
            "of any namespace, as IBM Autopilot allows, and measure the bandwidth between nodes, which "
            "saturates their links. Without it, this needs a token or the certificate of an agent.",
            AUTOPILOT_READ(read_flag(m, s, c.compat.open_actions)),
            AUTOPILOT_SHOW(c.compat.open_actions ? "true" : "false")},
    Setting{"socket", "an absolute path of at most 107 bytes", kAtStart, kVariable,
            "The Unix socket for the command line. Outside a cluster, actions are accepted only here, and "
            "bandwidth tests from agents with a certificate.",
            AUTOPILOT_READ(read_word(m, s, &is_socket_path, c.socket)), AUTOPILOT_SHOW(c.socket)},
    Setting{"state_dir", "an absolute path", kAtStart, kVariable,
            "Folder of the journal, and of the record of actions on jobs.",
            AUTOPILOT_READ(read_word(m, s, &is_absolute_path, c.state_dir)), AUTOPILOT_SHOW(c.state_dir)},
    Setting{"profile", "one of local, dropin, full", kAtStart, kVariable,
            "Checks that must have run before the node gets a verdict.",
            AUTOPILOT_READ(read_word(m, s, &is_profile, c.profile)), AUTOPILOT_SHOW(c.profile)},
    Setting{"node", "a host name", kAtStart, kVariable, "The name of this machine. Empty: its host name.",
            AUTOPILOT_READ(read_word(m, s, &is_node_name, c.node)), AUTOPILOT_SHOW(c.node)},
    Setting{"tls.mode", "one of off, files, cert_manager, controller", kAtStart, kNoVariable,
            "Serves the API over TLS as well, where tokens are accepted from any address. files: with the "
            "certificate and key of `tls.certificate` and `tls.key`. cert_manager: the agent creates its "
            "keys, and `tls.issuer` signs them; needs `kubernetes.write_node`. controller: the agent creates "
            "its keys, and the controller at `tls.controller` signs them for the node in the agent's token.",
            AUTOPILOT_READ(read_word(m, s, &is_tls_mode, c.tls.mode)), AUTOPILOT_SHOW(c.tls.mode)},
    Setting{"tls.listen", "an address and a port such as :3334 or 127.0.0.1:3334", kAtStart, kNoVariable,
            "Address of the TLS listener. :3334 is every address of the machine.",
            AUTOPILOT_READ(read_word(m, s, &is_further_address, c.tls.listen)), AUTOPILOT_SHOW(c.tls.listen)},
    Setting{
        "tls.certificate", "an absolute path, or nothing in quotes", kAtStart, kNoVariable,
        "The certificate of this node, with intermediate certificates. It has the node as a DNS name (equal "
        "to `node`), by which agents identify each other. PEM, like the next two. A new version of the three "
        "files is used within 20 seconds; an invalid one is refused, and the old one stays in use.",
        AUTOPILOT_READ(read_word(m, s, &is_file_or_empty, c.tls.certificate)),
        AUTOPILOT_SHOW(c.tls.certificate)},
    Setting{"tls.key", "an absolute path, or nothing in quotes", kAtStart, kNoVariable,
            "The key of the certificate, without a passphrase.",
            AUTOPILOT_READ(read_word(m, s, &is_file_or_empty, c.tls.key)), AUTOPILOT_SHOW(c.tls.key)},
    Setting{"tls.authorities", "an absolute path, or nothing in quotes", kAtStart, kNoVariable,
            "Authorities of the agents' certificates. A client can omit its certificate; a certificate of "
            "another authority is refused. Empty: clients are not asked for a certificate.",
            AUTOPILOT_READ(read_word(m, s, &is_file_or_empty, c.tls.authorities)),
            AUTOPILOT_SHOW(c.tls.authorities)},
    Setting{"tls.issuer", "the name of an Issuer of cert-manager", kAtStart, kNoVariable,
            "The Issuer that signs the agent's certificates with `tls.mode: cert_manager`. It has the kind "
            "ca and is in the namespace of the agents.",
            AUTOPILOT_READ(read_word(m, s, &is_dns_name, c.tls.issuer)), AUTOPILOT_SHOW(c.tls.issuer)},
    Setting{"tls.controller", "an https URL, or nothing in quotes", kAtStart, kNoVariable,
            "URL of the controller that signs with `tls.mode: controller`. `tls.authorities`, which also "
            "sign the agents' certificates, must sign its certificate.",
            AUTOPILOT_READ(read_word(m, s, &is_https_url_or_empty, c.tls.controller)),
            AUTOPILOT_SHOW(c.tls.controller)},
    Setting{"tls.token", "an absolute path, or nothing in quotes", kAtStart, kNoVariable,
            "The token of the agent's pod for the controller, with the audience autopilot.ibm.com. It "
            "contains the node.",
            AUTOPILOT_READ(read_word(m, s, &is_file_or_empty, c.tls.token)), AUTOPILOT_SHOW(c.tls.token)},
    Setting{
        "jobs.enabled", "true or false", kAtStart, kNoVariable,
        "Watches the jobs of this node: which processes belong to them, how far they got, and what slows or "
        "stops them.",
        AUTOPILOT_READ(read_flag(m, s, c.jobs.enabled)), AUTOPILOT_SHOW(c.jobs.enabled ? "true" : "false")},
    Setting{"jobs.mode", "one of observe, recommend, act", kAtStart, kNoVariable,
            "What follows from a finding about a job. observe: it is shown and reported, without a "
            "recommendation. recommend: with the action that loses least. act: the agent that evaluates a "
            "job of Slurm does it within the guard rails, by `jobs.scontrol` (docs/alerts.md); about other "
            "jobs it only reports what to do. In a cluster, the configuration of the controller decides.",
            AUTOPILOT_READ(read_word(m, s, &is_job_mode, c.jobs.mode)), AUTOPILOT_SHOW(c.jobs.mode)},
    Setting{"jobs.brain", "one of auto, local, controller, coordinator", kAtStart, kNoVariable,
            "Where records of jobs are evaluated. local: in this agent, for the jobs of this machine. "
            "controller: "
            "they are sent to the controller at `tls.controller`. coordinator: in this agent, for all agents "
            "that "
            "name it as their `jobs.coordinator`. auto: sent to `jobs.coordinator` if it is set, else to the "
            "controller if the agent has one, else local.",
            AUTOPILOT_READ(read_word(m, s, &is_job_brain, c.jobs.brain)), AUTOPILOT_SHOW(c.jobs.brain)},
    Setting{
        "jobs.coordinator", "an https URL, or nothing in quotes", kAtStart, kNoVariable,
        "The agent that evaluates the jobs of several machines without a controller. Needs `tls.mode`, with "
        "certificates of one authority: the certificate of the coordinator has the name of the URL, and the "
        "coordinator lists the other machines in `peers`.",
        AUTOPILOT_READ(read_word(m, s, &is_https_url_or_empty, c.jobs.coordinator)),
        AUTOPILOT_SHOW(c.jobs.coordinator)},
    Setting{"jobs.controller", "an https URL, or nothing in quotes", kAtStart, kNoVariable,
            "Where the controller takes records of jobs: its `jobs.listen`. Empty: port 9444 of the host of "
            "`tls.controller`.",
            AUTOPILOT_READ(read_word(m, s, &is_https_url_or_empty, c.jobs.controller)),
            AUTOPILOT_SHOW(c.jobs.controller)},
    Setting{"jobs.search_every", "1s to 5m", kAtStart, kNoVariable,
            "Interval of searches for jobs while the node has one; otherwise three times as long.",
            AUTOPILOT_READ(
                read_duration(m, s.key(), std::string(s.name), seconds{1}, minutes{5}, c.jobs.search_every)),
            AUTOPILOT_SHOW(format_duration(c.jobs.search_every))},
    Setting{"jobs.heartbeat_folder", "an absolute path of at most 90 bytes, auto, or nothing in quotes",
            kAtStart, kNoVariable,
            "The folder with the Unix datagram socket for heartbeats of training programs, which containers "
            "mount "
            "(deploy/examples/autopilot_heartbeat.py). auto: heartbeat beside `socket`. Empty: none.",
            AUTOPILOT_READ(read_word(m, s, &is_heartbeat_folder, c.jobs.heartbeat_folder)),
            AUTOPILOT_SHOW(c.jobs.heartbeat_folder)},
    Setting{"jobs.step_pattern", "a regular expression (RE2), or nothing in quotes", kAtStart, kNoVariable,
            "Lines of logs that report a step, with the named group step, and optionally loss, step_s and "
            "tokens. "
            "Empty: the built-in patterns, and a number that rises by a constant.",
            AUTOPILOT_READ(read_word(m, s, &is_step_pattern, c.jobs.step_pattern)),
            AUTOPILOT_SHOW(c.jobs.step_pattern)},
    Setting{
        "jobs.metrics_port", "0 to 65535", kAtStart, kNoVariable,
        "Port of the Prometheus metrics of inference servers, on the loopback address or the address of the "
        "pod (docs/job-progress.md). The annotation autopilot.ibm.com/metrics-port of a pod takes "
        "precedence. 0: only pods with the annotation are read.",
        AUTOPILOT_READ(read_integer(m, s, 0, 65535, c.jobs.metrics_port)),
        AUTOPILOT_SHOW(std::to_string(c.jobs.metrics_port))},
    Setting{
        "jobs.scontrol", "an absolute path", kAtStart, kNoVariable,
        "The program of Slurm that requeues jobs and drains nodes, in the mode act. The user of the agent "
        "must be an operator of Slurm, and the nodes have the same names in Slurm as in Autopilot.",
        AUTOPILOT_READ(read_word(m, s, &is_absolute_path, c.jobs.scontrol)), AUTOPILOT_SHOW(c.jobs.scontrol)},
    Setting{"jobs.state_dir", "an absolute path, or nothing in quotes", kAtStart, kNoVariable,
            "Folder of evidence that is kept when a job is suspected to hang. Empty: jobs in `state_dir`.",
            AUTOPILOT_READ(read_word(m, s, &is_file_or_empty, c.jobs.state_dir)),
            AUTOPILOT_SHOW(c.jobs.state_dir)},
    Setting{"jobs.helper_socket", "an absolute path of at most 107 bytes, or nothing in quotes", kAtStart,
            kVariable,
            "The socket of `autopilot helper ras --listen`, which asks NCCL RAS in other network namespaces, "
            "and reads listed variables and I/O of processes of other users, if the agent lacks the "
            "permission (docs/ras-helper.md). Empty: the agent reads processes itself, and starts a helper "
            "of its own for NCCL RAS.",
            AUTOPILOT_READ(read_word(m, s, &is_socket_path_or_empty, c.jobs.helper_socket)),
            AUTOPILOT_SHOW(c.jobs.helper_socket)},
    Setting{"log_level", "one of debug, info, warning, error", kAtStart, kVariable,
            "Lowest level that is logged.", AUTOPILOT_READ(read_word(m, s, &is_log_level, c.log_level)),
            AUTOPILOT_SHOW(c.log_level)},
    Setting{"log_format", "text or json", kAtStart, kVariable, "Format of the log.",
            AUTOPILOT_READ(read_word(m, s, &is_log_format, c.log_format)), AUTOPILOT_SHOW(c.log_format)},
    Setting{"inject", "true or false", kAtStart, kNoVariable,
            "Allows `autopilot inject` on a real machine. Injected faults are marked everywhere.",
            AUTOPILOT_READ(read_flag(m, s, c.inject)), AUTOPILOT_SHOW(c.inject ? "true" : "false")},
    Setting{"required_checks", "a list of ids of checks", kLive, kNoVariable,
            "The required checks, instead of those of the profile.", &read_required_checks,
            &show_required_checks},
    Setting{"checks", "a map from the id of a check to enabled, period, deadline, window", kLive, kNoVariable,
            "Disables a check, or sets its interval (1s to 1d), its deadline (100ms to 10m), or the time "
            "window that it judges (0s to 1d).",
            &read_checks, &show_checks},
    Setting{
        "scripts", "a map from a name to path, arguments, user, network, period, deadline", kAtStart,
        kNoVariable,
        "Custom checks, custom.<name>: programs that exit with 0 for healthy, 1 for degraded, 2 for failed "
        "or "
        "3 for unknown, or print JSON (health, message, observations); the worse of both counts. The file "
        "and "
        "its folders must belong to root or the agent's user, and no other user can write them. An agent "
        "that "
        "runs as root runs scripts as nobody (user). Any other agent runs them as its own user, and only if "
        "user names it (name or number): without capabilities, without Unix sockets, and with write access "
        "only to files below /dev and /tmp; they can still read all files of the agent's user. By default a "
        "script runs without network (network: true allows it), every minute (period), for at most 10s "
        "(deadline). Scripts do not run with --simulate or --root. When a script ends, every process that it "
        "started is killed.",
        &read_scripts, &show_scripts},
    Setting{
        "log_rules", "a list of absolute paths", kAtStart, kNoVariable,
        "Files with custom log rules, judged by the check custom.log_rules. Each has a list `log_rules:` of "
        "entries with id (two words with a dot), pattern (RE2) and title. With health (degraded or failed), "
        "a matching line creates a finding for an hour; without it, an event. Optional: examples, which must "
        "match; action, for the finding; subject, with a group `device` in the pattern; takes_back, a list "
        "of ids. A custom rule applies to a line even if another rule recognizes it, such as an Xid. All "
        "rules together have a memory limit. Test them with `autopilot decode --rules FILE`.",
        AUTOPILOT_READ(read_words(m, s, &is_absolute_path, c.log_rules)), AUTOPILOT_SHOW(join(c.log_rules))},
    Setting{"expectation.gpu_count", "0 to 1024", kLive, kNoVariable, "Number of GPUs of this machine.",
            AUTOPILOT_READ(int count = -1; read_integer(m, s, 0, 1024, count);
                           if (count >= 0) c.expectation.gpu_count = count),
            [](const Config& c, const Setting& s, Shown& shown) {
              if (c.expectation.gpu_count)
                shown[std::string(s.name)] = std::to_string(*c.expectation.gpu_count);
            }},
    Setting{"expectation.thresholds", "a map from the id of a threshold to a number in its unit", kLive,
            kNoVariable, "Replaces thresholds of the catalog; the pages of the checks list them.",
            &read_thresholds, &show_thresholds},
    Setting{"expectation.ignored_mounts", "a list of absolute paths", kLive, kNoVariable,
            "Mount points that are not judged.",
            AUTOPILOT_READ(read_words(m, s, &is_absolute_path, c.expectation.ignored_mounts)),
            AUTOPILOT_SHOW(join(c.expectation.ignored_mounts))},
    Setting{"expectation.ignored_interfaces", "a list of names such as eth0 or mlx5_0/1", kLive, kNoVariable,
            "Interfaces and ports that are not judged.",
            AUTOPILOT_READ(read_words(m, s, &is_interface, c.expectation.ignored_interfaces)),
            AUTOPILOT_SHOW(join(c.expectation.ignored_interfaces))},
    Setting{"expectation.expected_interfaces", "a list of names such as eth0 or mlx5_0/1", kLive, kNoVariable,
            "Interfaces and ports that must exist and be up.",
            AUTOPILOT_READ(read_words(m, s, &is_interface, c.expectation.expected_interfaces)),
            AUTOPILOT_SHOW(join(c.expectation.expected_interfaces))},
    Setting{"limits.lanes", "1 to 64", kAtStart, kNoVariable, "Threads that run checks.",
            AUTOPILOT_READ(read_integer(m, s, 1, 64, c.limits.lanes)),
            AUTOPILOT_SHOW(std::to_string(c.limits.lanes))},
    Setting{"limits.stuck_lanes", "0 to 64", kAtStart, kNoVariable,
            "Threads that can be blocked in a check and be replaced; beyond, no new thread starts.",
            AUTOPILOT_READ(read_integer(m, s, 0, 64, c.limits.stuck_lanes)),
            AUTOPILOT_SHOW(std::to_string(c.limits.stuck_lanes))},
    Setting{"limits.connections", "2 to 65536", kAtStart, kNoVariable,
            "Concurrent connections. A quarter is reserved for the Unix socket.",
            AUTOPILOT_READ(read_integer(m, s, 2, 65536, c.limits.connections)),
            AUTOPILOT_SHOW(std::to_string(c.limits.connections))},
    Setting{"limits.event_streams", "0 to 65536", kAtStart, kNoVariable,
            "Connections among these that follow events. A quarter is reserved for the Unix socket.",
            AUTOPILOT_READ(read_integer(m, s, 0, 65536, c.limits.event_streams)),
            AUTOPILOT_SHOW(std::to_string(c.limits.event_streams))},
    Setting{"kernel_log.helper_socket", "an absolute path of at most 107 bytes, or nothing in quotes",
            kAtStart, kVariable,
            "The socket of `autopilot helper kmsg --listen`, which reads the kernel log if the agent lacks "
            "the permission (docs/kernel-log-helper.md). Empty: the agent reads it itself.",
            AUTOPILOT_READ(read_word(m, s, &is_socket_path_or_empty, c.kernel_log.helper_socket)),
            AUTOPILOT_SHOW(c.kernel_log.helper_socket)},
    Setting{"kubelet.helper_socket", "an absolute path of at most 107 bytes, or nothing in quotes", kAtStart,
            kVariable,
            "The socket of `autopilot helper kubelet --listen`, which queries the kubelet for the pods that "
            "hold GPUs if the agent lacks the permission (docs/kubelet-helper.md). Empty: the agent queries "
            "it itself.",
            AUTOPILOT_READ(read_word(m, s, &is_socket_path_or_empty, c.kubelet.helper_socket)),
            AUTOPILOT_SHOW(c.kubelet.helper_socket)},
    Setting{"journal.age", "1h to 3650d", kAtStart, kNoVariable, "Entries older than this are deleted.",
            AUTOPILOT_READ(
                read_duration(m, s.key(), std::string(s.name), hours{1}, hours{24 * 3650}, c.journal.age)),
            AUTOPILOT_SHOW(format_duration(c.journal.age))},
    Setting{"journal.bytes", "a size such as 64MiB, from 1MiB to 1TiB", kAtStart, kNoVariable,
            "Above this size, log included, the oldest entries are deleted.",
            AUTOPILOT_READ(read_size(m, s, std::uint64_t{1} << 20, std::uint64_t{1} << 40, c.journal.bytes)),
            AUTOPILOT_SHOW(format_size(c.journal.bytes))},
    Setting{"history.enabled", "true or false", kAtStart, kNoVariable,
            "Keeps what post-flight needs for years: faults, labels, jobs on this node and versions, in a "
            "file of its own (docs/reference/history.md).",
            AUTOPILOT_READ(read_flag(m, s, c.history.enabled)),
            AUTOPILOT_SHOW(c.history.enabled ? "true" : "false")},
    Setting{"history.path", "an absolute path, a connection string of PostgreSQL, or nothing in quotes",
            kAtStart, kNoVariable,
            "The file of history, or its PostgreSQL database such as postgresql://agent@db/fleet "
            "(docs/reference/history.md#postgresql); shown without a password. Empty: history.db in "
            "`state_dir`.",
            AUTOPILOT_READ(read_place(m, s, c.history.path)),
            AUTOPILOT_SHOW(printable_place(c.history.path))},
    Setting{"history.age", "1d to 3650d", kAtStart, kNoVariable,
            "Records that began earlier than this are deleted.",
            AUTOPILOT_READ(
                read_duration(m, s.key(), std::string(s.name), hours{24}, hours{24 * 3650}, c.history.age)),
            AUTOPILOT_SHOW(format_duration(c.history.age))},
    Setting{"history.bytes", "a size such as 256MiB, from 1MiB to 1TiB", kAtStart, kNoVariable,
            "Above this size of the file, the oldest records are deleted; without effect in PostgreSQL.",
            AUTOPILOT_READ(read_size(m, s, std::uint64_t{1} << 20, std::uint64_t{1} << 40, c.history.bytes)),
            AUTOPILOT_SHOW(format_size(c.history.bytes))},
    Setting{"kubernetes.write_node", "true or false", kAtStart, kVariable,
            "Writes the health of this machine to the label, annotations and conditions of its Node object, "
            "which has the name `node`.",
            AUTOPILOT_READ(read_flag(m, s, c.kubernetes.write_node)),
            AUTOPILOT_SHOW(c.kubernetes.write_node ? "true" : "false")},
    Setting{"kubernetes.kubeconfig", "an absolute path, or nothing in quotes", kAtStart, kVariable,
            "Access to the API server. Empty: the service account of the agent's pod.",
            AUTOPILOT_READ(read_word(m, s, &is_file_or_empty, c.kubernetes.kubeconfig)),
            AUTOPILOT_SHOW(c.kubernetes.kubeconfig)},
    Setting{"kubernetes.label_prefix", "a DNS name such as autopilot.ibm.com", kAtStart, kVariable,
            "Prefix of labels, annotations and taints.",
            AUTOPILOT_READ(read_word(m, s, &is_dns_name, c.kubernetes.label_prefix)),
            AUTOPILOT_SHOW(c.kubernetes.label_prefix)},
    Setting{"kubernetes.namespace", "the name of a namespace, or nothing in quotes", kAtStart, kVariable,
            "Namespace of the agents' reports. Empty: the namespace of the agent's pod; with a kubeconfig "
            "`autopilot`.",
            AUTOPILOT_READ(read_word(m, s, &is_name_space, c.kubernetes.name_space)),
            AUTOPILOT_SHOW(c.kubernetes.name_space)},
    Setting{
        "pvc.storage_classes", "a map from the name of a storage class to a list of access modes", kAtStart,
        kNoVariable,
        "Storage classes to test with a volume on this node, each with these access modes (ReadWriteOnce, "
        "ReadWriteMany, ReadOnlyMany, ReadWriteOncePod). Needs `kubernetes.write_node` (docs/pvc-check.md).",
        &read_storage_classes, &show_storage_classes},
    Setting{
        "alerts", kAlertReceiversForm, kAtStart, kNoVariable, kAlertReceiversHelp,
        AUTOPILOT_READ(read_alert_receivers(m, s, c.alerts)),
        [](const Config& c, const Setting& s, Shown& shown) { show_alert_receivers(c.alerts, s, shown); }},
    Setting{"pvc.period", "0s, or 1m to 30d", kAtStart, kNoVariable,
            "Interval of the tests of each storage class. 0s: only on request.",
            AUTOPILOT_READ(read_every(m, s, minutes{1}, hours{24 * 30}, c.pvc.period)),
            AUTOPILOT_SHOW(format_duration(c.pvc.period))},
    Setting{
        "pvc.patience", "5s to 1h", kAtStart, kNoVariable,
        "Time in which a storage class must provide a volume before it counts as failed.",
        AUTOPILOT_READ(read_duration(m, s.key(), std::string(s.name), seconds{5}, hours{1}, c.pvc.patience)),
        AUTOPILOT_SHOW(format_duration(c.pvc.patience))},
    Setting{"pvc.size", "a size such as 1GiB, from 1MiB to 1TiB", kAtStart, kNoVariable,
            "Size of the requested volume. Some drivers do not provide small ones.",
            AUTOPILOT_READ(read_size(m, s, std::uint64_t{1} << 20, std::uint64_t{1} << 40, c.pvc.size)),
            AUTOPILOT_SHOW(format_size(c.pvc.size))},
    Setting{"pvc.image", "the name of an image", kAtStart, kNoVariable,
            "Image of the pod of a test, for a storage class that waits for the first consumer. The pod need "
            "not run.",
            AUTOPILOT_READ(read_word(m, s, &is_image, c.pvc.image)), AUTOPILOT_SHOW(c.pvc.image)},
    Setting{"deep_test.every", "0s, or 10m to 365d", kAtStart, kVariable,
            "Interval of the tests of all GPUs of the node while it is idle (docs/deep-test.md). Nodes are "
            "spread over the interval. 0s: never.",
            AUTOPILOT_READ(read_every(m, s, minutes{10}, hours{24 * 365}, c.deep_test.every)),
            AUTOPILOT_SHOW(format_duration(c.deep_test.every))},
    Setting{"deep_test.deadline", "1m to 12h", kAtStart, kNoVariable, "Deadline of a deep test.",
            AUTOPILOT_READ(
                read_duration(m, s.key(), std::string(s.name), minutes{1}, hours{12}, c.deep_test.deadline)),
            AUTOPILOT_SHOW(format_duration(c.deep_test.deadline))},
    Setting{"deep_test.tests", "auto, dcgm or own", kAtStart, kNoVariable,
            "The tests to run. dcgm: `deep_test.command`. own: all tests of the GPU probe, which need no "
            "DCGM, with `gpu_probe.memory_percent` and `gpu_probe.kernels` (docs/deep-test.md). auto: own if "
            "neither `deep_test.image` nor `deep_test.command` is set, because the agent's image has no "
            "dcgmi; otherwise dcgm.",
            AUTOPILOT_READ(read_word(m, s, &is_deep_test, c.deep_test.tests)),
            AUTOPILOT_SHOW(c.deep_test.tests)},
    Setting{"deep_test.time", "100ms to 10m", kAtStart, kNoVariable,
            "Duration of each test of the GPU probe in a deep test.",
            AUTOPILOT_READ(read_duration(m, s.key(), std::string(s.name), milliseconds{100}, minutes{10},
                                         c.deep_test.time)),
            AUTOPILOT_SHOW(format_duration(c.deep_test.time))},
    Setting{"deep_test.level", "1 to 4", kAtStart, kNoVariable,
            "Level of `dcgmi diag`, and of the label with the result.",
            AUTOPILOT_READ(read_integer(m, s, 1, 4, c.deep_test.level)),
            AUTOPILOT_SHOW(std::to_string(c.deep_test.level))},
    Setting{"deep_test.image", "the name of an image, or nothing in quotes", kAtStart, kVariable,
            "Image of the test, with `autopilot` and the test program. Empty: the agent's image, which "
            "contains everything for `deep_test.tests: own`.",
            AUTOPILOT_READ(read_word(m, s, &is_image_or_empty, c.deep_test.image)),
            AUTOPILOT_SHOW(c.deep_test.image)},
    Setting{"deep_test.command", "a list: a program and its arguments", kAtStart, kNoVariable,
            "Test program that prints the output of `dcgmi diag -j`. Empty: dcgmi, with the level above.",
            AUTOPILOT_READ(read_words(m, s, &is_argument, c.deep_test.command)),
            AUTOPILOT_SHOW(join(c.deep_test.command))},
    Setting{"deep_test.fatal", "a list of names of tests", kAtStart, kNoVariable,
            "A failed test whose name contains one of these texts gives the node the verdict EVICT; other "
            "failed tests give WARN.",
            AUTOPILOT_READ(read_words(m, s, &is_argument, c.deep_test.fatal)),
            AUTOPILOT_SHOW(join(c.deep_test.fatal))},
    Setting{"deep_test.tolerate", "a list of keys of taints", kAtStart, kNoVariable,
            "Taints that GPU nodes always have. A node with another taint is not tested.",
            AUTOPILOT_READ(read_words(m, s, &is_taint_key, c.deep_test.tolerate)),
            AUTOPILOT_SHOW(join(c.deep_test.tolerate))},
    Setting{"deep_test.pull_secrets", "a list of names of Secrets", kAtStart, kNoVariable,
            "Image pull secrets, in the namespace of the agent.",
            AUTOPILOT_READ(read_words(m, s, &is_dns_name, c.deep_test.pull_secrets)),
            AUTOPILOT_SHOW(join(c.deep_test.pull_secrets))},
    Setting{"deep_test.ask_controller", "true or false", kAtStart, kNoVariable,
            "Requests a slot from the controller of the cluster before the node is reserved for a test "
            "(docs/remediation.md).",
            AUTOPILOT_READ(read_flag(m, s, c.deep_test.ask_controller)),
            AUTOPILOT_SHOW(c.deep_test.ask_controller ? "true" : "false")},
    Setting{"dcgm.level", "1 to 4", kAtStart, kNoVariable,
            "Level of `dcgmi diag` in the test gpu.dcgm (docs/dcgm.md).",
            AUTOPILOT_READ(read_integer(m, s, 1, 4, c.dcgm.level)),
            AUTOPILOT_SHOW(std::to_string(c.dcgm.level))},
    Setting{
        "dcgm.command", "a list: a program and its arguments", kAtStart, kNoVariable,
        "Test program of gpu.dcgm that prints the output of `dcgmi diag -j`. Empty: /usr/bin/dcgmi or "
        "/usr/local/bin/dcgmi, with that level. A simulated machine runs the test only with such a "
        "program. Of the agent's environment it gets PATH, HOME, TMPDIR, LD_LIBRARY_PATH, LANG, LC_*, TZ, "
        "CUDA_*, DCGM_*, NCCL_*, NVIDIA_* and UCX_*.",
        AUTOPILOT_READ(read_words(m, s, &is_argument, c.dcgm.command)), AUTOPILOT_SHOW(join(c.dcgm.command))},
    Setting{"dcgm.deadline", "10s to 12h", kAtStart, kNoVariable,
            "Deadline of that test. Level 1 takes seconds, level 2 minutes, level 3 up to half an hour, "
            "level 4 hours.",
            AUTOPILOT_READ(
                read_duration(m, s.key(), std::string(s.name), seconds{10}, hours{12}, c.dcgm.deadline)),
            AUTOPILOT_SHOW(format_duration(c.dcgm.deadline))},
    Setting{"gpu_probe.time", "100ms to 10m", kAtStart, kNoVariable,
            "Duration of each test of the GPU probe (docs/gpu-probe.md).",
            AUTOPILOT_READ(read_duration(m, s.key(), std::string(s.name), milliseconds{100}, minutes{10},
                                         c.gpu_probe.time)),
            AUTOPILOT_SHOW(format_duration(c.gpu_probe.time))},
    Setting{"gpu_probe.memory_percent", "1 to 90", kAtStart, kNoVariable,
            "Share of each GPU's memory that gpu.memory_test writes and reads.",
            AUTOPILOT_READ(read_integer(m, s, 1, 90, c.gpu_probe.memory_percent)),
            AUTOPILOT_SHOW(std::to_string(c.gpu_probe.memory_percent))},
    Setting{"gpu_probe.deadline", "10s to 1h", kAtStart, kNoVariable,
            "Deadline of a complete test of the GPU probe.",
            AUTOPILOT_READ(
                read_duration(m, s.key(), std::string(s.name), seconds{10}, hours{1}, c.gpu_probe.deadline)),
            AUTOPILOT_SHOW(format_duration(c.gpu_probe.deadline))},
    Setting{"gpu_probe.kernels", "best, sm_90, sm_80 or sm_70", kAtStart, kNoVariable,
            "Highest level of kernels in tests of the GPU probe; best: the highest that each GPU supports. "
            "sm_90 excludes the kernel gemm_bf16_wgmma (docs/gpu-probe.md).",
            AUTOPILOT_READ(read_word(m, s, &is_kernel_level, c.gpu_probe.kernels)),
            AUTOPILOT_SHOW(c.gpu_probe.kernels)},
    Setting{"nccl.command", "a list: a program and its arguments", kAtStart, kNoVariable,
            "Program of the test gpu.nccl_allreduce with the output of all_reduce_perf of nccl-tests "
            "(docs/gpu-tests.md). Empty: all_reduce_perf, from PATH or its packaged location. A simulated "
            "machine runs the test only with such a program. It gets the environment of `dcgm.command`.",
            AUTOPILOT_READ(read_words(m, s, &is_argument, c.nccl.command)),
            AUTOPILOT_SHOW(join(c.nccl.command))},
    Setting{"nccl.deadline", "10s to 1h", kAtStart, kNoVariable, "Deadline of that test.",
            AUTOPILOT_READ(
                read_duration(m, s.key(), std::string(s.name), seconds{10}, hours{1}, c.nccl.deadline)),
            AUTOPILOT_SHOW(format_duration(c.nccl.deadline))},
    Setting{"gpu_tests.every", "0s, or 10m to 365d", kLive, kNoVariable,
            "Interval of the scheduled tests of each idle GPU (docs/gpu-tests.md). 0s: never.",
            AUTOPILOT_READ(read_every(m, s, minutes{10}, hours{24 * 365}, c.gpu_tests.every)),
            AUTOPILOT_SHOW(format_duration(c.gpu_tests.every))},
    Setting{"gpu_tests.checks",
            "a list of gpu.pcie_bandwidth, gpu.memory_bandwidth, gpu.compute, gpu.memory_test, gpu.sdc, "
            "gpu.p2p, gpu.nccl_allreduce and gpu.dcgm",
            kLive, kNoVariable,
            "Tests to run, in this order; a test that this machine does not support is skipped.",
            AUTOPILOT_READ(read_words(m, s, &is_gpu_test, c.gpu_tests.checks)),
            AUTOPILOT_SHOW(join(c.gpu_tests.checks))},
    Setting{"validation.on_job_end", "one of auto, off, passive, quick", kLive, kNoVariable,
            "What this node checks when a job on it ends (docs/validation.md). passive: the passive checks. "
            "quick: also the diagnostics of `gpu_tests.checks` on idle GPUs that the job held, and deeper "
            "ones if the job failed without a known cause or the node was suspected. auto: quick if "
            "`gpu_tests.every` allows diagnostics of idle GPUs, else passive.",
            AUTOPILOT_READ(read_word(m, s, &is_validation_mode, c.validation.on_job_end)),
            AUTOPILOT_SHOW(c.validation.on_job_end)},
    Setting{"validation.max_minutes", "1 to 60", kLive, kNoVariable,
            "Longest time of all diagnostics of one validation.",
            AUTOPILOT_READ(read_integer(m, s, 1, 60, c.validation.max_minutes)),
            AUTOPILOT_SHOW(std::to_string(c.validation.max_minutes))},
    Setting{"validation.retry", "0s, or 1m to 6h", kLive, kNoVariable,
            "Time after which diagnostics that yielded to another user of the GPUs run again, at most three "
            "times within 6 hours of the end of the job. 0s: never.",
            AUTOPILOT_READ(read_every(m, s, minutes{1}, hours{6}, c.validation.retry)),
            AUTOPILOT_SHOW(format_duration(c.validation.retry))},
    Setting{"peers", "a list of names and addresses such as node-b=10.0.0.2:3333", kAtStart, kNoVariable,
            "Agents of other nodes, if no cluster lists them, for /status and network tests "
            "(docs/network-tests.md). With TLS, use the TLS port.",
            AUTOPILOT_READ(read_words(m, s, &is_peer, c.peers)), AUTOPILOT_SHOW(join(c.peers))},
    Setting{"network.interfaces", "a list of names such as eth0", kAtStart, kNoVariable,
            "Interfaces that other nodes connect to in network tests. Empty: physical interfaces and those "
            "on top of them; in a pod all. A simulated machine takes part only if you name interfaces of the "
            "machine that it runs on.",
            AUTOPILOT_READ(read_words(m, s, &is_interface, c.network.interfaces)),
            AUTOPILOT_SHOW(join(c.network.interfaces))},
    Setting{"network.leaf", "a name, or nothing in quotes", kAtStart, kNoVariable,
            "Switch of this node, for bandwidth tests: pairs under one switch are compared with each other.",
            AUTOPILOT_READ(read_word(m, s, &is_node_name, c.network.leaf)), AUTOPILOT_SHOW(c.network.leaf)},
    Setting{"network.leaf_label", "the name of a label", kAtStart, kNoVariable,
            "Label of the Node object with that switch, in a cluster.",
            AUTOPILOT_READ(read_word(m, s, &is_label_name, c.network.leaf_label)),
            AUTOPILOT_SHOW(c.network.leaf_label)},
    Setting{"network.most_percent", "1 to 100", kLive, kNoVariable,
            "Highest share of the line rate that a bandwidth test of this agent uses, if the fabric carries "
            "other traffic. Below 100, ports of unknown rate are not tested.",
            AUTOPILOT_READ(read_integer(m, s, 1, 100, c.network.most_percent)),
            AUTOPILOT_SHOW(std::to_string(c.network.most_percent))},
    Setting{"network.all_pairs", "true or false", kLive, kNoVariable,
            "A test between nodes, started by this agent, covers every pair, of at most 128 nodes, instead "
            "of the fewest pairs that identify slow nodes in three rounds.",
            AUTOPILOT_READ(read_flag(m, s, c.network.all_pairs)),
            AUTOPILOT_SHOW(c.network.all_pairs ? "true" : "false")},
    Setting{"ping.every", "0s, or 10s to 1d", kLive, kNoVariable,
            "Interval of the ping test to other nodes (docs/network-tests.md). 0s: only on request.",
            AUTOPILOT_READ(read_every(m, s, seconds{10}, hours{24}, c.ping.every)),
            AUTOPILOT_SHOW(format_duration(c.ping.every))},
    Setting{"ping.full_mesh", "true or false", kLive, kNoVariable,
            "Each round covers all nodes, also with more than 64 nodes; otherwise each node pings 16 others, "
            "different ones in each round.",
            AUTOPILOT_READ(read_flag(m, s, c.ping.full_mesh)),
            AUTOPILOT_SHOW(c.ping.full_mesh ? "true" : "false")},
    Setting{"ping.echoes", "1 to 100", kLive, kNoVariable,
            "Echo requests to each address; an address with missing replies gets 20 more.",
            AUTOPILOT_READ(read_integer(m, s, 1, 100, c.ping.echoes)),
            AUTOPILOT_SHOW(std::to_string(c.ping.echoes))},
    Setting{"preflight.tests", "a list of tests that pods can ask for (docs/preflight.md)", kLive,
            kNoVariable,
            "Tests that the GPUs of a pod must have passed before it starts, if the pod names no tests "
            "(docs/preflight-gate.md).",
            AUTOPILOT_READ(read_words(m, s, &is_pod_test, c.preflight.tests)),
            AUTOPILOT_SHOW(join(c.preflight.tests))},
    Setting{"preflight.choice", "all or learned", kLive, kNoVariable,
            "Which of `preflight.tests` a pod without a list of its own needs: all, or (learned) the quick "
            "tests and others that are worth their time by the history of the node "
            "(docs/preflight-gate.md#choose-by-history). Needs `history.enabled`.",
            AUTOPILOT_READ(read_word(m, s, &is_test_choice, c.preflight.choice)),
            AUTOPILOT_SHOW(c.preflight.choice)},
    Setting{"preflight.deadline", "1s to 30m", kLive, kNoVariable,
            "Time that a pod without a deadline of its own waits for its tests.",
            AUTOPILOT_READ(read_duration(m, s.key(), std::string(s.name), seconds{1}, minutes{30},
                                         c.preflight.deadline)),
            AUTOPILOT_SHOW(format_duration(c.preflight.deadline))},
    Setting{"preflight.max_age", "0s to 365d", kLive, kNoVariable,
            "Time in which a GPU that passed a test need not be tested again. 0s: test every time.",
            AUTOPILOT_READ(read_duration(m, s.key(), std::string(s.name), seconds{0}, hours{24 * 365},
                                         c.preflight.max_age)),
            AUTOPILOT_SHOW(format_duration(c.preflight.max_age))},
    Setting{"preflight.max_age_on_probation", "0s to 365d", kLive, kNoVariable,
            "The same on a node that returned to service recently.",
            AUTOPILOT_READ(read_duration(m, s.key(), std::string(s.name), seconds{0}, hours{24 * 365},
                                         c.preflight.max_age_on_probation)),
            AUTOPILOT_SHOW(format_duration(c.preflight.max_age_on_probation))},
    Setting{"preflight.could_not_look", "start or stop", kLive, kNoVariable,
            "Start or stop a pod whose GPUs could not be tested, so that nothing is proven.",
            AUTOPILOT_READ(read_word(m, s, &is_start_or_stop, c.preflight.could_not_look)),
            AUTOPILOT_SHOW(c.preflight.could_not_look)},
    Setting{"preflight.failed", "start or stop", kLive, kNoVariable,
            "What happens to a pod when a test of it fails, or when its node has the verdict EVICT. stop: "
            "the pod "
            "waits to be moved. start: the agent reports the failure, and the pod starts.",
            AUTOPILOT_READ(read_word(m, s, &is_start_or_stop, c.preflight.failed)),
            AUTOPILOT_SHOW(c.preflight.failed)},
    Setting{"preflight.gang_wait", "0s to 1h", kLive, kNoVariable,
            "Time that a pod whose GPUs have passed waits for the other pods of its job. Then it starts. 0s: "
            "do not wait. Needs `tls.controller`, `tls.token` and `tls.authorities`.",
            AUTOPILOT_READ(
                read_duration(m, s.key(), std::string(s.name), seconds{0}, hours{1}, c.preflight.gang_wait)),
            AUTOPILOT_SHOW(format_duration(c.preflight.gang_wait))},
};

#undef AUTOPILOT_SHOW
#undef AUTOPILOT_READ

}  // namespace

std::span<const Setting> settings() {
  return kSettings;
}

}  // namespace autopilot::config
