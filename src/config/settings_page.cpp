// SPDX-License-Identifier: Apache-2.0
#include "config/document.hpp"
#include "config/settings.hpp"

namespace autopilot::config {
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
  const Config defaults = default_config({}, true);
  for (const Setting& setting : settings()) {
    page += "| `" + std::string(setting.name) + "` | " + std::string(setting.meaning) + " | " +
            default_of(setting, defaults) + " | " + std::string(setting.form) + " | " +
            (setting.has_variable ? '`' + setting.variable() + '`' : "-") + " | " +
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
