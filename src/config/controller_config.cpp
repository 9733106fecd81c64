// SPDX-License-Identifier: Apache-2.0
#include "config/controller_config.hpp"

#include "config/controller_settings.hpp"
#include "config/document.hpp"
#include "core/yaml.hpp"

namespace autopilot::config {

Result<ControllerConfig> parse_controller(std::string_view text, std::string_view name,
                                          ControllerConfig base) {
  YamlProblems problems{std::string(name)};
  const YamlNode root = parse_yaml(text, problems);
  TRY_STATUS(problems.status());
  read_document(root, controller_settings(), base, problems);
  const auto& keys = base.certificates;
  if (!keys.is_own() && (keys.certificate.empty() || keys.key.empty() || keys.authorities.empty()))
    problems.add(root.line,
                 "`certificates.mode`: files needs `certificates.certificate`, `certificates.key` and "
                 "`certificates.authorities`");
  if (base.webhook.enabled && (base.webhook.image.empty() || base.webhook.agent_url.empty()))
    problems.add(root.line, "`webhook.enabled`: true needs `webhook.image` and `webhook.agent_url`");
  TRY_STATUS(problems.status());
  return base;
}

std::vector<Change> diff(const ControllerConfig& old, const ControllerConfig& next) {
  return changes_of(old, next, controller_settings());
}

ControllerConfig merge_live(const ControllerConfig& old, const ControllerConfig& next) {
  ControllerConfig merged = old;
  merged.webhook = next.webhook;
  merged.webhook.client_authorities = old.webhook.client_authorities;  // read only at the start
  merged.policy = next.policy;
  return merged;
}

std::string controller_settings_page() {
  std::string page =
      "# Configuration of the controller\n\n"
      "The file of `autopilot controller --config FILE`; flags take precedence. Every key is optional.\n"
      "If the file has an unknown key, a wrong type, a duplicate key or a value out of range, it is\n"
      "refused as a whole, and the error names each place. A running controller then keeps its\n"
      "configuration, logs the error and counts it\n"
      "(`autopilot_controller_configuration_refused_total`). A new version of the file is read within\n"
      "seconds, or at SIGHUP. \"start\" below: the setting takes effect at the next start.\n\n"
      "| setting | meaning | default | format | takes effect |\n|---|---|---|---|---|\n";
  const ControllerConfig defaults;
  for (const ControllerSetting& setting : controller_settings())
    page += "| `" + std::string(setting.name) + "` | " + std::string(setting.meaning) + " | " +
            default_of(setting, defaults) + " | " + std::string(setting.form) + " | " +
            (setting.is_live ? "at once" : "start") + " |\n";
  page +=
      "\n```yaml\n"
      "log_format: json\n"
      "webhook:\n"
      "  enabled: true\n"
      "  image: registry.example/autopilot@sha256:0123456789abcdef\n"
      "  agent_url: https://autopilot-node.autopilot.svc:3334\n"
      "  tests: [gpu.pcie_bandwidth]\n"
      "  deadline: 90s\n"
      "policy: /etc/autopilot/policy.yaml\n"
      "```\n";
  return page;
}

}  // namespace autopilot::config
