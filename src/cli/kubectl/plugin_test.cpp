// SPDX-License-Identifier: Apache-2.0
#include "cli/kubectl/plugin.hpp"

#include <CLI/CLI.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sstream>

namespace autopilot::cli {
namespace {

using ::testing::HasSubstr;

TEST(Plugin, is_a_matter_of_the_name) {
  EXPECT_EQ(program_of("/usr/bin/kubectl-autopilot"), Program::kubectl_plugin);
  EXPECT_EQ(program_of("kubectl_autopilot-v1"), Program::kubectl_plugin);
  EXPECT_EQ(program_of("kubectl_complete-autopilot"), Program::kubectl_completion);
  for (const char* name : {"autopilot", "/opt/kubectl-autopilot/autopilot", "", "kubectl"})
    EXPECT_EQ(program_of(name), Program::autopilot) << name;
}

std::string completions(const std::vector<std::string>& words) {
  CLI::App app{"", "kubectl autopilot"};
  ClusterOptions cluster;
  int exit_code = 0;
  add_kubectl_verbs(app, cluster, exit_code);
  std::ostringstream out;
  write_completions(out, app, words);
  return out.str();
}

TEST(Plugin, offers_what_may_stand_there) {
  EXPECT_EQ(completions({"ev"}), "events\n:4\n");
  EXPECT_EQ(completions({"--cont"}), "--context\n:4\n");
  EXPECT_EQ(completions({"--context", "c", "nodes", "--label"}), "--label-prefix\n:4\n");
  EXPECT_EQ(completions({"nodes", "--output", ""}), "table\njson\nyaml\n:4\n");
  EXPECT_EQ(completions({"nodes", "--kubeconfig", ""}), ":0\n");
  EXPECT_THAT(completions({""}), HasSubstr("status\n"));
  EXPECT_THAT(completions({}), HasSubstr("status\n"));
}

TEST(ObjectName, leads_nowhere_else_in_a_path) {
  for (const char* name : {"gpu-7", "node.example.com", "a", "A_1"})
    EXPECT_TRUE(is_object_name(name)) << name;
  for (const std::string& name : {std::string(), std::string("a/b"), std::string(".."), std::string("a?b"),
                                  std::string("a b"), std::string("a\033"), std::string(254, 'a')})
    EXPECT_FALSE(is_object_name(name)) << name;
}

}  // namespace
}  // namespace autopilot::cli
