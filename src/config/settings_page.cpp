// SPDX-License-Identifier: Apache-2.0
#include "config/document.hpp"
#include "config/settings.hpp"

namespace autopilot::config {
std::string settings_page() {
  std::string page =
      "# Configuration\n\n"
      "A YAML file, then the environment, then flags: the later one wins. Every key is optional. An unknown "
      "key, a\n"
      "wrong type, a key that stands twice or a value out of range refuses the whole file and names each "
      "place;\n"
      "`autopilot agent` then keeps the configuration it has.\n\n"
      "The file is `/etc/autopilot/config.yaml` for root and `$XDG_CONFIG_HOME/autopilot/config.yaml` "
      "(below\n"
      "`~/.config` without that variable) for anybody else, or the one that `--config` names. A user's "
      "journal is\n"
      "below `$XDG_STATE_HOME/autopilot`, the socket below `$XDG_RUNTIME_DIR/autopilot`; a service takes\n"
      "`STATE_DIRECTORY` and `RUNTIME_DIRECTORY` from systemd. A new version of the file is read within "
      "seconds, or "
      "at\n"
      "SIGHUP; \"start\" below means that a setting waits for the next start.\n\n"
      "| setting | what it is | default | form | variable | from |\n|---|---|---|---|---|---|\n";
  // The folders of a service; the page says where a user's are.
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
