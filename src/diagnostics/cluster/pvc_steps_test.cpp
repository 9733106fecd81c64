// SPDX-License-Identifier: Apache-2.0

#include "diagnostics/cluster/pvc_steps.hpp"

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "tests/support/diagnostics/pvc_cluster_fixture.hpp"

namespace autopilot::diagnostics {

namespace {

using namespace std::chrono_literals;
using testing::do_step;
using testing::kRunKey;
using PvcKind = PvcStep::Kind;
using Outcome = PvcResult::Outcome;

class PvcSteps : public ::testing::Test {
 protected:
  [[nodiscard]] PvcTest make(const std::string& run = "1") const {
    return {PvcTarget{"fast", "ReadWriteOnce"}, {"autopilot-pvc-1", kRunKey, run}, PvcTimes{}};
  }
  PvcResult run(PvcTest test, Duration patience = 20min) {
    for (const MonoTime end = now_ + patience; now_ < end; now_ += 100ms) {
      cluster_.tick(now_);
      for (;;) {
        const PvcStep step = do_step(test, cluster_, now_, in_place_);
        if (step.kind == PvcKind::finished) return test.result();
        if (step.kind == PvcKind::wait) break;
      }
    }
    ADD_FAILURE() << "it never ends";
    return test.result();
  }
  // What a test that was killed leaves: a claim, and a pod where the class waits for one.
  void leave_something() {
    cluster_.write({.kind = PvcKind::create_claim, .name = {}, .uid = {}, .until = {}},
                   {"autopilot-pvc-1", kRunKey, "0"}, now_);
    cluster_.write({.kind = PvcKind::create_consumer, .name = {}, .uid = {}, .until = {}},
                   {"autopilot-pvc-1", kRunKey, "0"}, now_);
    cluster_.writes = 0;
  }

  testing::PvcCluster cluster_;
  MonoTime now_{1h};
  std::optional<kube::ApiOutcome> in_place_;
};

TEST_F(PvcSteps, a_class_that_binds_at_once_costs_two_writes_and_leaves_nothing) {
  const PvcResult result = run(make());
  EXPECT_EQ(result.outcome, Outcome::bound);
  EXPECT_GE(result.took, 2s);
  EXPECT_LE(result.took, 3s);
  EXPECT_EQ(result.provisioner, "example.org/disk");
  EXPECT_TRUE(result.is_clean);
  EXPECT_TRUE(cluster_.is_empty());
  EXPECT_EQ(cluster_.writes, 2);
}

TEST_F(PvcSteps, a_class_that_waits_for_a_pod_gets_one) {
  cluster_.storage_class->waits_for_consumer = true;
  const PvcResult result = run(make());
  EXPECT_EQ(result.outcome, Outcome::bound);
  EXPECT_TRUE(cluster_.is_empty());
  EXPECT_EQ(cluster_.writes, 4);
}

TEST_F(PvcSteps, a_class_that_gives_nothing_is_found_after_the_patience) {
  cluster_.gives_after.reset();
  const MonoTime began = now_;
  const PvcResult result = run(make());
  EXPECT_EQ(result.outcome, Outcome::not_bound);
  EXPECT_GE(result.took, 90s);
  EXPECT_LE(now_ - began, 110s);
  EXPECT_EQ(result.phase, "Pending");
  EXPECT_TRUE(cluster_.is_empty());
}

TEST_F(PvcSteps, a_class_that_is_not_there_is_told_without_a_write) {
  cluster_.storage_class.reset();
  EXPECT_EQ(run(make()).outcome, Outcome::no_class);
  EXPECT_EQ(cluster_.writes, 0);
}

TEST_F(PvcSteps, a_pod_without_a_place_says_something_of_storage_only_where_volumes_are_the_reason) {
  cluster_.storage_class->waits_for_consumer = true;
  cluster_.gives_after.reset();
  cluster_.unscheduled =
      "0/1 nodes are available: 1 node(s) didn't find available persistent volumes to bind.";
  EXPECT_EQ(run(make()).outcome, Outcome::not_bound);
  cluster_.unscheduled = "0/1 nodes are available: 1 Too many pods.";
  const PvcResult result = run(make("2"));
  EXPECT_EQ(result.outcome, Outcome::unknown);
  EXPECT_NE(result.why.what.find("Too many pods"), std::string::npos);
  cluster_.unscheduled.clear();
  EXPECT_EQ(run(make("3")).outcome, Outcome::unknown) << "no scheduler says anything";
}

TEST_F(PvcSteps, a_class_whose_volumes_stay_is_asked_for_none) {
  cluster_.storage_class->keeps_volumes = true;
  leave_something();
  const PvcResult result = run(make());
  EXPECT_EQ(result.outcome, Outcome::unknown);
  EXPECT_NE(result.why.what.find("Retain"), std::string::npos);
  EXPECT_EQ(result.provisioner, "example.org/disk");
  EXPECT_TRUE(cluster_.is_empty());
  EXPECT_EQ(cluster_.writes, 2);  // what was left before
}

TEST_F(PvcSteps, what_a_killed_one_left_is_taken_away_first) {
  leave_something();
  const PvcResult result = run(make());
  EXPECT_EQ(result.outcome, Outcome::bound);
  EXPECT_TRUE(cluster_.is_empty());
  EXPECT_EQ(cluster_.writes, 4);
}

TEST_F(PvcSteps, without_a_target_it_only_takes_away) {
  leave_something();
  const PvcResult result = run(PvcTest(std::nullopt, {"", kRunKey, "1"}, PvcTimes{}));
  EXPECT_TRUE(result.is_clean);
  EXPECT_TRUE(cluster_.is_empty());
  EXPECT_EQ(cluster_.writes, 2);
}

TEST_F(PvcSteps, what_does_not_go_is_named) {
  cluster_.goes_after = 1h;
  PvcResult result = run(make());
  EXPECT_EQ(result.outcome, Outcome::bound);
  EXPECT_EQ(result.left_behind, "claim autopilot-pvc-1");
  EXPECT_FALSE(result.is_clean);
  result = run(make("2"));
  EXPECT_EQ(result.outcome, Outcome::unknown) << "nothing was tested";
  EXPECT_EQ(result.left_behind, "claim autopilot-pvc-1");
}

TEST_F(PvcSteps, what_another_class_does_not_give_back_is_asked_to_go_and_blinds_no_test) {
  cluster_.stuck = "autopilot-pvc-2";
  cluster_.write({.kind = PvcKind::create_claim, .name = {}, .uid = {}, .until = {}},
                 {cluster_.stuck, kRunKey, "0"}, now_);
  const MonoTime began = now_;
  const PvcResult result = run(make());
  EXPECT_EQ(result.outcome, Outcome::bound);
  EXPECT_EQ(result.left_behind, "") << "it is not of this class";
  EXPECT_FALSE(result.is_clean);
  EXPECT_LT(now_ - began, 10s);
  ASSERT_EQ(cluster_.world().claims.size(), 1U);
  EXPECT_TRUE(cluster_.world().claims[0].meta.is_deleting);
}

TEST_F(PvcSteps, a_missing_right_is_no_fault_of_the_class) {
  PvcTest test = make();
  EXPECT_EQ(do_step(test, cluster_, now_).kind, PvcKind::look);
  EXPECT_EQ(do_step(test, cluster_, now_, kube::ApiOutcome::forbidden).kind, PvcKind::create_claim);
  const PvcResult result = run(std::move(test));
  EXPECT_EQ(result.outcome, Outcome::unknown);
  EXPECT_EQ(result.why.code, Errc::denied);
  EXPECT_TRUE(result.is_clean);
}

TEST_F(PvcSteps, a_server_that_is_away_says_nothing_about_the_class) {
  in_place_ = kube::ApiOutcome::unreachable;
  const MonoTime began = now_;
  const PvcResult result = run(make());
  EXPECT_EQ(result.outcome, Outcome::unknown);
  EXPECT_EQ(result.why.code, Errc::unavailable);
  EXPECT_LE(now_ - began, 90s + 8min + 1s);
}

TEST_F(PvcSteps, the_time_for_which_nobody_looked_does_not_count) {
  PvcTest test = make();
  while (do_step(test, cluster_, now_).kind != PvcKind::wait) {
  }
  in_place_ = kube::ApiOutcome::unreachable;
  for (const MonoTime end = now_ + 60s; now_ < end; now_ += 1s) {
    cluster_.tick(now_);
    static_cast<void>(do_step(test, cluster_, now_, in_place_));
  }
  in_place_.reset();
  const PvcResult result = run(std::move(test));
  EXPECT_EQ(result.outcome, Outcome::bound);
  EXPECT_LE(result.took, 15s);
}

TEST_F(PvcSteps, a_claim_that_somebody_takes_away_ends_the_test_without_a_verdict) {
  cluster_.gives_after.reset();
  PvcTest test = make();
  while (do_step(test, cluster_, now_).kind != PvcKind::wait) {
  }
  cluster_ = testing::PvcCluster();
  const PvcResult result = run(std::move(test));
  EXPECT_EQ(result.outcome, Outcome::unknown);
  EXPECT_EQ(result.why.what, "the claim of the diagnostic was removed by another client");
  EXPECT_TRUE(result.is_clean);
}

TEST_F(PvcSteps, an_object_of_somebody_else_with_its_name_is_left_alone) {
  PvcTest test = make();
  static_cast<void>(do_step(test, cluster_, now_));
  int creates = 0;
  // It bears no label of ours, so that no look shows it.
  for (const MonoTime end = now_ + 5min; now_ < end; now_ += 1s) {
    const PvcStep step = test.step(now_);
    if (step.kind == PvcKind::finished) break;
    if (step.kind == PvcKind::look) test.saw(cluster_.world(), now_);
    if (step.kind == PvcKind::create_claim) {
      ++creates;
      test.failed(kube::ApiOutcome::conflict, {Errc::conflict, "it exists already"}, now_);
    }
  }
  EXPECT_EQ(test.result().outcome, Outcome::unknown);
  EXPECT_LE(creates, 3);
}

namespace json = boost::json;

const PvcPlace kPlace{.node = "gpu-7",
                      .node_uid = "u-7",
                      .name_space = "autopilot",
                      .bytes = 1 << 20,
                      .image = "registry.example/pause:1"};
const PvcNames kNames{"autopilot-pvc-1", "autopilot.ibm.com/pvc-run", "r"};

TEST(PvcObjects, the_same_test_has_the_same_name_and_others_have_others) {
  const PvcTarget fast{"fast", "ReadWriteOnce"};
  EXPECT_EQ(pvc_object_name("gpu-7", fast), pvc_object_name("gpu-7", fast));
  EXPECT_NE(pvc_object_name("gpu-7", fast), pvc_object_name("gpu-8", fast));
  EXPECT_NE(pvc_object_name("gpu-7", fast), pvc_object_name("gpu-7", {"fast", "ReadWriteMany"}));
  EXPECT_EQ(pvc_object_name("gpu-7", fast).size(), 30U);
}

TEST(PvcObjects, the_label_names_the_node) {
  EXPECT_EQ(pvc_label(kPlace), "autopilot.ibm.com/pvc-test=gpu-7");
}

TEST(PvcObjects, a_claim_asks_for_class_mode_and_size_and_goes_with_its_node) {
  const auto claim = json::parse(claim_json(kPlace, {"fast", "ReadWriteMany"}, kNames));
  EXPECT_EQ(claim.at_pointer("/spec/storageClassName"), "fast");
  EXPECT_EQ(claim.at_pointer("/spec/accessModes/0"), "ReadWriteMany");
  EXPECT_EQ(claim.at_pointer("/spec/resources/requests/storage"), "1048576");
  EXPECT_EQ(claim.at_pointer("/metadata/ownerReferences/0/uid"), "u-7");
  EXPECT_EQ(claim.at_pointer("/metadata/annotations/autopilot.ibm.com~1pvc-run"), "r");
  EXPECT_EQ(claim.at_pointer("/metadata/labels/autopilot.ibm.com~1pvc-test"), "gpu-7");
}

TEST(PvcObjects, the_scheduler_places_the_pod_and_no_right_is_in_it) {
  const auto pod = json::parse(consumer_json(kPlace, kNames, std::chrono::minutes{5}));
  EXPECT_EQ(pod.at("spec").as_object().find("nodeName"), pod.at("spec").as_object().end());
  EXPECT_EQ(pod.at_pointer("/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/"
                           "nodeSelectorTerms/0/matchFields/0/values/0"),
            "gpu-7");
  EXPECT_EQ(pod.at_pointer("/spec/volumes/0/persistentVolumeClaim/claimName"), "autopilot-pvc-1");
  EXPECT_EQ(pod.at_pointer("/spec/automountServiceAccountToken"), false);
  EXPECT_EQ(pod.at_pointer("/spec/securityContext/runAsNonRoot"), true);
  EXPECT_EQ(pod.at_pointer("/spec/activeDeadlineSeconds"), 300);
}

}  // namespace

}  // namespace autopilot::diagnostics
