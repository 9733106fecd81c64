// SPDX-License-Identifier: Apache-2.0
#include "kube/placement.hpp"

#include <gtest/gtest.h>

#include "kube/objects.hpp"

namespace autopilot::kube {
namespace {

bool may_run(const std::string& spec, const Labels& labels, const std::vector<Taint>& taints = {}) {
  const auto pod = parse_pod(R"({"spec": )" + spec + "}");
  EXPECT_TRUE(pod) << spec;
  return pod && may_be_placed(pod->placement, "gpu-7", labels, taints);
}

std::string wants(const std::string& terms) {
  return R"({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution":
    {"nodeSelectorTerms": [)" +
         terms + "]}}}}";
}
std::string by_label(const std::string& op, const std::string& values) {
  return wants(R"({"matchExpressions": [{"key": "gpu", "operator": ")" + op + R"(", "values": [)" + values +
               "]}]}");
}

TEST(Placement, a_pod_that_asks_for_nothing_may_run_anywhere) {
  EXPECT_TRUE(may_run("{}", {}));
  EXPECT_TRUE(may_run("{}", {}, {{"a", "b", "PreferNoSchedule", {}}}));
}

TEST(Placement, every_label_of_the_selector_must_stand_there) {
  const std::string spec = R"({"nodeSelector": {"gpu": "h100", "zone": "a"}})";
  EXPECT_TRUE(may_run(spec, {{"gpu", "h100"}, {"zone", "a"}, {"other", ""}}));
  EXPECT_FALSE(may_run(spec, {{"gpu", "h100"}}));
  EXPECT_FALSE(may_run(spec, {{"gpu", "h100"}, {"zone", "b"}}));
}

TEST(Placement, operators_mean_what_they_mean_to_a_scheduler) {
  const Labels h100{{"gpu", "h100"}};
  EXPECT_TRUE(may_run(by_label("In", R"("a100", "h100")"), h100));
  EXPECT_FALSE(may_run(by_label("In", R"("a100")"), h100));
  EXPECT_FALSE(may_run(by_label("In", R"("a100")"), {}));
  EXPECT_FALSE(may_run(by_label("NotIn", R"("h100")"), h100));
  EXPECT_TRUE(may_run(by_label("NotIn", R"("h100")"), {}));
  EXPECT_TRUE(may_run(by_label("Exists", ""), h100));
  EXPECT_FALSE(may_run(by_label("Exists", ""), {}));
  EXPECT_TRUE(may_run(by_label("DoesNotExist", ""), {}));
  EXPECT_TRUE(may_run(by_label("Gt", R"("7")"), {{"gpu", "8"}}));
  EXPECT_FALSE(may_run(by_label("Gt", R"("8")"), {{"gpu", "8"}}));
  EXPECT_TRUE(may_run(by_label("Lt", R"("9")"), {{"gpu", "8"}}));
  EXPECT_FALSE(may_run(by_label("Lt", R"("nine")"), {{"gpu", "8"}}));
  EXPECT_FALSE(may_run(by_label("Newer", R"("9")"), {{"gpu", "8"}})) << "that nobody knows";
}

TEST(Placement, one_term_is_enough_and_an_empty_one_is_met_by_none) {
  const std::string here =
      R"({"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["gpu-7"]}]})";
  const std::string elsewhere =
      R"({"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["gpu-8"]}]})";
  EXPECT_TRUE(may_run(wants(elsewhere + "," + here), {}));
  EXPECT_FALSE(may_run(wants(elsewhere), {}));
  EXPECT_FALSE(may_run(wants("{}"), {}));
  EXPECT_FALSE(may_run(wants(""), {}));
}

TEST(Placement, taints_that_keep_pods_away_must_be_tolerated) {
  const std::vector<Taint> gpu{{"nvidia.com/gpu", "yes", "NoSchedule", {}}};
  EXPECT_FALSE(may_run("{}", {}, gpu));
  const auto tolerates = [&](const std::string& one) {
    return may_run(R"({"tolerations": [)" + one + "]}", {}, gpu);
  };
  EXPECT_TRUE(tolerates(R"({"operator": "Exists"})"));
  EXPECT_TRUE(tolerates(R"({"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"})"));
  EXPECT_TRUE(tolerates(R"({"key": "nvidia.com/gpu", "value": "yes"})"));
  EXPECT_FALSE(tolerates(R"({"key": "nvidia.com/gpu", "value": "no"})"));
  EXPECT_FALSE(tolerates(R"({"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoExecute"})"));
}

}  // namespace
}  // namespace autopilot::kube
