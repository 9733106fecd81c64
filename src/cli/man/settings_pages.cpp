// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <string_view>
#include <vector>

#include "cli/man/man_pages.hpp"
#include "cli/man/roff.hpp"
#include "config/config.hpp"
#include "config/controller_config.hpp"
#include "logging/build_info.hpp"

namespace autopilot::cli {
namespace {

std::string setting_paragraph(const config::SettingText& setting) {
  std::string text = roff_of_markdown(setting.meaning) + "\n.br\nFormat: " + roff_of_markdown(setting.form) +
                     ". Default: " + roff_of_markdown(setting.standard) + ".";
  if (!setting.variable.empty()) text += " Variable: " + roff_bold(setting.variable) + ".";
  return text + (setting.is_live ? " Takes effect at once." : " Takes effect at the next start.");
}

ManPage settings_man_page(const std::string& name, std::string_view title, std::string_view description,
                          const std::vector<config::SettingText>& settings, const std::string& date) {
  RoffPage page(name, 5, date, "autopilot " + std::string(logging::build_info().version));
  page.heading("NAME");
  page.paragraph(roff_text(name) + " \\- " + roff_text(title));
  page.heading("DESCRIPTION");
  page.paragraph(roff_text(description));
  page.paragraph(roff_text(
      "Every key is optional. A file with an unknown key, a wrong type, a duplicate key or a value out of "
      "range is refused as a whole, and the error names each place. In the list below, a.b is the key b "
      "in the group a."));
  page.heading("SETTINGS");
  for (const config::SettingText& setting : settings)
    page.item(roff_bold(setting.name), setting_paragraph(setting));
  page.heading("SEE ALSO");
  page.paragraph(roff_bold("autopilot") + "(1)");
  return {name, 5, page.take()};
}

}  // namespace

std::vector<ManPage> man_pages_of_settings(const std::string& date) {
  return {
      settings_man_page(
          "autopilot.yaml", "configuration of the agent",
          "The agent of root reads /etc/autopilot/config.yaml; that of another user reads "
          "$XDG_CONFIG_HOME/autopilot/config.yaml, below ~/.config without that variable. Environment "
          "variables override the file, and flags override both. A new version of the file is read within "
          "seconds.",
          config::setting_texts(), date),
      settings_man_page("autopilot-controller.yaml", "configuration of the controller",
                        "The file of autopilot controller --config FILE; flags override it. A new version of "
                        "the file is read within seconds.",
                        config::controller_setting_texts(), date)};
}

}  // namespace autopilot::cli
