// SPDX-License-Identifier: Apache-2.0
#include "config/config.hpp"

#include <algorithm>

#include "config/setting.hpp"
#include "core/text.hpp"
#include "core/yaml.hpp"

namespace autopilot::config {

namespace {

constexpr std::string_view kPrefix = "AUTOPILOT_";

std::string variable_or(const Environment& environment, const std::string& name,
                        const std::string& fallback) {
  const auto at = environment.find(name);
  return at == environment.end() || at->second.empty() ? fallback : at->second;
}

// A folder of the XDG base directory specification: from its variable, if that is an absolute path, or its
// default in HOME; empty without either.
std::string xdg_dir(const Environment& environment, const std::string& name, const std::string& below_home) {
  std::string named = variable_or(environment, name, "");
  if (named.starts_with('/')) return named;
  const std::string home = variable_or(environment, "HOME", "");
  if (!home.starts_with('/') || below_home.empty()) return "";
  return (home == "/" ? "" : home) + below_home;
}

// systemd separates several folders with colons; the first is ours.
std::string systemd_dir(const Environment& environment, const std::string& name, std::string fallback) {
  const std::string dirs = variable_or(environment, name, "");
  return dirs.starts_with('/') ? dirs.substr(0, dirs.find(':')) : std::move(fallback);
}

}  // namespace

Config default_config(const Environment& environment, bool is_root) {
  Config config;
  config.state_dir = "/var/lib/autopilot";
  config.socket = "/run/autopilot/agent.sock";
  if (!is_root) {
    // Without HOME there is no user folder; the service's folder then gives an error that names it.
    if (const std::string state = xdg_dir(environment, "XDG_STATE_HOME", "/.local/state"); !state.empty())
      config.state_dir = state + "/autopilot";
    const std::string runtime = xdg_dir(environment, "XDG_RUNTIME_DIR", "");
    config.socket = runtime.empty() ? config.state_dir + "/agent.sock" : runtime + "/autopilot/agent.sock";
  }
  config.state_dir = systemd_dir(environment, "STATE_DIRECTORY", std::move(config.state_dir));
  if (const std::string runtime = systemd_dir(environment, "RUNTIME_DIRECTORY", ""); !runtime.empty())
    config.socket = runtime + "/agent.sock";
  return config;
}

std::string default_file(const Environment& environment, bool is_root) {
  if (const std::string dir = systemd_dir(environment, "CONFIGURATION_DIRECTORY", ""); !dir.empty())
    return dir + "/config.yaml";
  if (is_root) return "/etc/autopilot/config.yaml";
  const std::string dir = xdg_dir(environment, "XDG_CONFIG_HOME", "/.config");
  return (dir.empty() ? "/etc" : dir) + "/autopilot/config.yaml";
}

namespace {

constexpr std::string_view kLogRulesCheck = "custom.log_rules";

// The ids of custom checks can only be validated when `scripts` and `log_rules` are known.
void check_custom_ids(const Config& config, int line, YamlProblems& problems) {
  const auto check = [&](const std::string& id, const std::string& where) {
    constexpr std::string_view prefix = "custom.";
    if (!id.starts_with(prefix) || (id == kLogRulesCheck && !config.log_rules.empty())) return;
    if (id == kLogRulesCheck)
      problems.add(line, "`" + where + "`: `log_rules` is empty");
    else if (!config.scripts.contains(id.substr(prefix.size())))
      problems.add(line, "`" + where + "`: unknown script `" + id.substr(prefix.size(), 80) + '`');
  };
  if (config.scripts.contains(kLogRulesCheck.substr(std::string_view("custom.").size())))
    problems.add(line, "`scripts`: `log_rules` is the name of another check; choose another name");
  for (const auto& [id, ignored] : config.checks)
    check(id, "checks." + id.substr(0, 80));
  for (const std::string& id : config.required_checks.value_or(std::vector<std::string>{}))
    check(id, "required_checks");
}

constexpr int kMeasured = 10;  // by gpu.compute, the longest test of the probe

}  // namespace

Result<Config> parse(std::string_view text, std::string_view name, Config base) {
  YamlProblems problems{std::string(name)};
  const YamlNode root = parse_yaml(text, problems);
  TRY_STATUS(problems.status());
  read_document(root, settings(), base, problems);
  if (base.limits.event_streams > base.limits.connections)
    problems.add(root.line, "`limits.event_streams`: expected at most `limits.connections`, " +
                                std::to_string(base.limits.connections));
  check_custom_ids(base, root.line, problems);
  if (base.gpu_probe.deadline < kMeasured * base.gpu_probe.time)
    problems.add(root.line, "`gpu_probe.deadline`: expected at least " + std::to_string(kMeasured) +
                                " times `gpu_probe.time`, " + format_duration(base.gpu_probe.time) +
                                ": a test measures that many values in sequence");
  if (base.deep_test.is_own() && !base.deep_test.command.empty())
    problems.add(
        root.line,
        "`deep_test.tests`: own runs the GPU probe and ignores `deep_test.command`; remove one of them");
  if (base.tls.mode == "files" && (base.tls.certificate.empty() || base.tls.key.empty()))
    problems.add(root.line, "`tls.mode`: files needs `tls.certificate` and `tls.key`");
  if (base.tls.mode == "controller" &&
      (base.tls.controller.empty() || base.tls.token.empty() || base.tls.authorities.empty()))
    problems.add(root.line,
                 "`tls.mode`: controller needs `tls.controller`, `tls.token` and `tls.authorities`");
  TRY_STATUS(problems.status());
  return base;
}

Result<Config> apply_environment(const Environment& environment, Config base) {
  std::string text;
  std::vector<std::string> known;
  for (const Setting& setting : settings()) {
    if (!setting.has_variable) continue;
    known.push_back(setting.variable().substr(kPrefix.size()));
    const auto at = environment.find(setting.variable());
    if (at == environment.end()) continue;
    YamlNode root;
    root.kind = YamlNode::Kind::map;
    root.line = 0;
    root.members.push_back({std::string(setting.key()), 0, {}});
    YamlNode& value = root.members.back().value;
    value.kind = YamlNode::Kind::scalar;
    value.text = at->second;
    value.line = 0;
    YamlProblems problems("environment variable " + at->first);
    {
      YamlMap map(root, "configuration", problems);
      setting.read(map, setting, base);
    }
    if (!problems.empty()) text += (text.empty() ? "" : "\n") + problems.to_string();
  }
  for (const auto& [name, value] : environment) {
    if (!name.starts_with(kPrefix)) continue;
    const std::string suffix = name.substr(kPrefix.size());
    if (std::find(known.begin(), known.end(), suffix) != known.end()) continue;
    if (const auto nearest = nearest_word(suffix, known))
      text += (text.empty() ? "" : "\n") + ("environment variable " + name + ": unknown; did you mean `" +
                                            std::string(kPrefix) + *nearest + "`?");
  }
  if (!text.empty()) return fail(Errc::malformed, std::move(text));
  return base;
}

std::vector<Change> diff(const Config& old, const Config& next) {
  return changes_of(old, next, settings());
}

std::string describe(const std::vector<Change>& changes) {
  std::string live;
  std::string later;
  for (const Change& change : changes) {
    std::string& text = change.is_live ? live : later;
    text += (text.empty() ? "" : ", ") + change.key;
  }
  if (live.empty() && later.empty()) return "nothing";
  if (later.empty()) return live;
  return live + (live.empty() ? "" : "; ") + "at the next start: " + later;
}

Config merge_live(const Config& old, const Config& next) {
  Config merged = old;
  merged.required_checks = next.required_checks;
  merged.checks = next.checks;
  merged.expectation = next.expectation;
  merged.preflight = next.preflight;
  merged.gpu_tests = next.gpu_tests;
  merged.ping = next.ping;
  merged.validation = next.validation;
  return merged;
}

std::vector<SettingText> setting_texts() {
  const Config defaults = default_config({}, true);
  std::vector<SettingText> texts;
  for (const Setting& setting : settings())
    texts.push_back({std::string(setting.name), std::string(setting.form), default_of(setting, defaults),
                     setting.has_variable ? setting.variable() : "", setting.is_live,
                     std::string(setting.meaning)});
  return texts;
}

std::string settings_page() {
  std::string page =
      "# Configuration\n\n"
      "A YAML file, then the environment, then flags: the later one takes precedence. Every key is\n"
      "optional. If the file has an unknown key, a wrong type, a duplicate key or a value out of range,\n"
      "it is refused as a whole, and the error names each place. A running agent then keeps its\n"
      "configuration.\n\n"
      "The file is `/etc/autopilot/config.yaml` for root and `$XDG_CONFIG_HOME/autopilot/config.yaml`\n"
      "(below `~/.config` without that variable) for other users, or the file of `--config`. A user's\n"
      "journal is below `$XDG_STATE_HOME/autopilot`, the socket below `$XDG_RUNTIME_DIR/autopilot`; a\n"
      "service uses `STATE_DIRECTORY` and `RUNTIME_DIRECTORY` from systemd. A new version of the file\n"
      "is read within seconds, or at SIGHUP. \"start\" below: the setting takes effect at the next start.\n\n"
      "| setting | meaning | default | format | variable | takes effect |\n|---|---|---|---|---|---|\n";
  // Folders of a service; the text above names a user's folders.
  for (const SettingText& setting : setting_texts()) {
    page += "| `" + setting.name + "` | " + setting.meaning + " | " + setting.standard + " | " +
            setting.form + " | " + (setting.variable.empty() ? "-" : '`' + setting.variable + '`') + " | " +
            (setting.is_live ? "at once" : "start") + " |\n";
  }
  page +=
      "\n```yaml\n"
      "listen: 127.0.0.1:3333\n"
      "log_format: json\n"
      "checks:\n"
      "  gpu.temperature: {enabled: false}\n"
      "  storage.filesystem: {period: 60s, deadline: 5s}\n"
      "expectation:\n"
      "  gpu_count: 8\n"
      "  thresholds:\n"
      "    storage.filesystem.nearly_full_used_ratio: 0.95\n"
      "  ignored_mounts: [/mnt/scratch]\n"
      "  expected_interfaces: [mlx5_0/1]\n"
      "journal: {age: 30d, bytes: 64MiB}\n"
      "```\n";
  return page;
}

}  // namespace autopilot::config
