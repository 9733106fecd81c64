// SPDX-License-Identifier: Apache-2.0
#include "cli/kubectl/test.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autopilot::cli {

namespace {

using ::testing::ElementsAre;

TEST(RunOnNode, runs_in_the_pod_of_the_agent) {
  EXPECT_THAT(exec_arguments({}, "autopilot", "autopilot-x", test_words({.ids = {"--socket=x"}}), false),
              ElementsAre("--namespace=autopilot", "exec", "autopilot-x", "--container=agent", "--",
                          "/usr/bin/autopilot", "test", "--output=table", "--", "--socket=x"));
}

TEST(RunOnNode, takes_the_cluster_the_terminal_and_all_that_was_asked_for_along) {
  ClusterOptions cluster;
  cluster.kubeconfig = "/tmp/a b";
  cluster.context = "production";
  EXPECT_THAT(
      exec_arguments(
          cluster, "ns", "p",
          test_words({.ids = {"a", "b"}, .deadline = std::chrono::minutes{90}, .format = OutputFormat::json}),
          true),
      ElementsAre("--kubeconfig=/tmp/a b", "--context=production", "--namespace=ns", "exec", "p",
                  "--container=agent", "--stdin", "--tty", "--", "/usr/bin/autopilot", "test",
                  "--output=json", "--deadline=1h30m", "--", "a", "b"));
}

}  // namespace

}  // namespace autopilot::cli
