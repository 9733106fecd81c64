// SPDX-License-Identifier: Apache-2.0
#include "compat/ibm_autopilot/daemon_settings.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/yaml.hpp"

namespace autopilot::compat::ibm_autopilot {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using Variables = std::map<std::string, std::string>;

std::string settings_of(const std::vector<std::string>& words, const Variables& environment = {}) {
  const auto found = daemon_settings(words, environment);
  EXPECT_TRUE(found.has_value()) << found.error().what;
  return found ? found->settings : "";
}

std::string problem_of(const std::vector<std::string>& words) {
  const auto found = daemon_settings(words, {});
  EXPECT_FALSE(found.has_value());
  return found ? "" : found.error().what;
}

TEST(DaemonSettings, a_call_is_known_by_its_first_flag) {
  for (const char* flag : {"--port", "-port", "--port=3333", "-w=1h", "--w", "--bw", "--loglevel",
                           "--logfile", "--invasive-check-timer"})
    EXPECT_TRUE(is_daemon_flag(flag)) << flag;
  for (const char* other : {"", "-", "--", "agent", "port", "--help", "--version", "---port", "--ports"})
    EXPECT_FALSE(is_daemon_flag(other)) << other;
}

TEST(DaemonSettings, flags_keep_their_meaning) {
  const std::string settings =
      settings_of({"--port", "4444", "-bw=15", "--loglevel=5", "--invasive-check-timer", "90m"});
  EXPECT_THAT(settings, HasSubstr("listen: \":4444\"\n"));
  EXPECT_THAT(settings, HasSubstr("also_listen: [\":8081\", \":8080\"]\n"));
  EXPECT_THAT(settings, HasSubstr("gpu.pcie_bandwidth.host_to_device: 15"));
  EXPECT_THAT(settings, HasSubstr("log_level: \"debug\""));
  EXPECT_THAT(settings, HasSubstr("every: \"1h30m\""));
  EXPECT_THAT(settings, HasSubstr("write_node: false"));
  // A bare number is hours; none of them is never.
  EXPECT_THAT(settings_of({"--invasive-check-timer", "4"}), HasSubstr("every: \"4h\""));
  EXPECT_THAT(settings_of({"--invasive-check-timer=0"}), HasSubstr("every: \"0s\""));
  EXPECT_THAT(settings_of({"--port=1"}), Not(HasSubstr("every")));
}

TEST(DaemonSettings, periodic_checks_that_load_gpus_keep_their_period) {
  EXPECT_THAT(settings_of({"--w=1h"}),
              HasSubstr("gpu_tests:\n  every: \"1h\"\n  checks: [\"gpu.pcie_bandwidth\"]\n"));
  EXPECT_THAT(settings_of({"--w=1"}, {{"PERIODIC_CHECKS", "gpumem pciebw"}}),
              HasSubstr("checks: [\"gpu.pcie_bandwidth\", \"gpu.compute\"]"));
  EXPECT_THAT(settings_of({"--w=1m"}), HasSubstr("every: \"10m\"")) << "no GPU is under load all the time";
  EXPECT_THAT(settings_of({"--w=0"}), HasSubstr("every: \"0s\"")) << "never; the original ended";
  EXPECT_THAT(settings_of({"--w=1h"}, {{"PERIODIC_CHECKS", "remapped"}}), Not(HasSubstr("gpu_tests")));
  EXPECT_THAT(settings_of({"--port=1"}), Not(HasSubstr("gpu_tests")));
}

TEST(DaemonSettings, variables_keep_their_meaning) {
  const std::string settings = settings_of({"--w=1h"}, {{"KUBERNETES_SERVICE_HOST", "10.0.0.1"},
                                                        {"NODE_NAME", "gpu-7"},
                                                        {"NAMESPACE", "health"},
                                                        {"PERIODIC_CHECKS", "pciebw, remapped ping"},
                                                        {"PVC_TEST_STORAGE_CLASS", "fast: yes"},
                                                        {"DCGM_FATAL_ERRORS", "PCIe, GPU Memory"}});
  EXPECT_THAT(settings, HasSubstr("node: \"gpu-7\"\n"));
  EXPECT_THAT(settings, HasSubstr("write_node: true"));
  EXPECT_THAT(settings, HasSubstr("namespace: \"health\""));
  EXPECT_THAT(settings, HasSubstr("periodic_checks: [\"pciebw\", \"remapped\", \"ping\"]"));
  EXPECT_THAT(settings, HasSubstr("fatal: [\"PCIe\", \"GPU Memory\"]"));
  EXPECT_THAT(settings, HasSubstr("\"autopilot-healthchecks.health.svc\""));
  // What somebody sets a variable to is a word, whatever it looks like.
  YamlProblems problems("settings");
  const YamlNode root = parse_yaml(settings, problems);
  ASSERT_TRUE(problems.empty()) << problems.to_string();
  ASSERT_NE(root.find("pvc"), nullptr);
  EXPECT_NE(root.find("pvc")->find("storage_classes")->find("fast: yes"), nullptr);
}

TEST(DaemonSettings, what_changes_nothing_is_named) {
  const auto found = daemon_settings({"--logfile", "/tmp/x"}, {{"INVASIVE_JOB_TTLSEC", "30"}});
  ASSERT_TRUE(found.has_value());
  EXPECT_THAT(found->not_used, ElementsAre("--logfile", "INVASIVE_JOB_TTLSEC"));
  EXPECT_THAT(daemon_settings({"--port=3333"}, {{"INVASIVE_JOB_TTLSEC", ""}})->not_used, IsEmpty());
}

TEST(DaemonSettings, bad_ones_are_named_with_what_was_expected) {
  EXPECT_EQ(problem_of({"--port"}), "--port needs a value");
  EXPECT_EQ(problem_of({"--port=70000"}), "--port: expected a number from 1 to 65535, not '70000'");
  EXPECT_THAT(problem_of({"--bw", "4.5"}), HasSubstr("--bw: expected a number from 1 to 9999, not '4.5'"));
  EXPECT_THAT(problem_of({"--w=abc"}), HasSubstr("--w: expected a duration such as 4h"));
  EXPECT_THAT(problem_of({"--invasive-check-timer=-1h"}), HasSubstr("expected a duration"));
  EXPECT_THAT(problem_of({"--port=1", "--verbose"}),
              HasSubstr("'--verbose' is not a flag of IBM Autopilot's daemon"));
  EXPECT_THAT(problem_of({"--port=1", "agent"}), HasSubstr("'agent' is not a flag"));
}

}  // namespace
}  // namespace autopilot::compat::ibm_autopilot
