// SPDX-License-Identifier: Apache-2.0
#include "config/effective.hpp"

#include <algorithm>
#include <gtest/gtest.h>

namespace autopilot::config {
namespace {

EffectiveSetting setting_named(const std::vector<EffectiveSetting>& all, std::string_view name) {
  const auto found = std::ranges::find(all, name, &EffectiveSetting::name);
  return found == all.end() ? EffectiveSetting{} : *found;
}

constexpr std::string_view kText =
    "listen: 127.0.0.1:3333\n"
    "limits:\n"
    "  lanes: 5\n"
    "checks:\n"
    "  gpu.xid: {enabled: false}\n";

TEST(EffectiveSettings, name_the_line_the_variable_or_the_default) {
  const Environment variables{{"AUTOPILOT_LOG_LEVEL", "debug"}};
  const auto file = parse(kText, "config.yaml", default_config({}, true));
  ASSERT_TRUE(file) << file.error().what;
  const auto config = apply_environment(variables, *file);
  ASSERT_TRUE(config);
  const auto all = effective_settings(*config, kText, variables);

  EXPECT_EQ(setting_named(all, "listen").source, ValueSource::file) << "also if it equals the default";
  EXPECT_EQ(setting_named(all, "listen").line, 1);
  EXPECT_EQ(setting_named(all, "limits.lanes").value, "5");
  EXPECT_EQ(setting_named(all, "limits.lanes").line, 3);
  EXPECT_EQ(setting_named(all, "limits.stuck_lanes").source, ValueSource::defaults);
  EXPECT_EQ(setting_named(all, "log_level").value, "debug");
  EXPECT_EQ(setting_named(all, "log_level").variable, "AUTOPILOT_LOG_LEVEL");
  const auto check = std::ranges::find_if(
      all, [](const EffectiveSetting& one) { return one.name.starts_with("checks.gpu.xid"); });
  ASSERT_NE(check, all.end());
  EXPECT_EQ(check->line, 4);
}

TEST(EffectiveSettings, the_environment_overrides_the_file) {
  const auto all =
      effective_settings(Config{}, "log_level: error\n", Environment{{"AUTOPILOT_LOG_LEVEL", "debug"}});
  EXPECT_EQ(setting_named(all, "log_level").source, ValueSource::environment);
  EXPECT_EQ(setting_named(all, "log_level").line, 0);
}

TEST(EffectiveSettings, contain_no_password) {
  const std::string_view text = "history:\n  path: postgresql://agent:hidden@db/fleet\n";
  const auto config = parse(text, "config.yaml", Config{});
  ASSERT_TRUE(config) << config.error().what;
  for (const EffectiveSetting& one : effective_settings(*config, text, {}))
    EXPECT_EQ(one.value.find("hidden"), std::string::npos) << one.name;
}

TEST(EffectiveSettings, of_the_controller_have_their_lines) {
  const std::string_view text = "jobs:\n  mode: act\n";
  const auto config = parse_controller(text, "controller.yaml", {});
  ASSERT_TRUE(config) << config.error().what;
  const auto mode = setting_named(effective_settings(*config, text), "jobs.mode");
  EXPECT_EQ(mode.value, "act");
  EXPECT_EQ(mode.line, 2);
}

}  // namespace
}  // namespace autopilot::config
