// SPDX-License-Identifier: Apache-2.0
#include "controller/jobs/outlets.hpp"

#include <algorithm>
#include <boost/json.hpp>
#include <functional>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/clock/system_clock.hpp"
#include "kube/job_health_reports.hpp"
#include "tests/support/controller/fake_cluster.hpp"
#include "tests/support/controller/job_samples.hpp"
#include "tests/support/net/test_server.hpp"

namespace autopilot::controller::outlets_test {
namespace {

using ::testing::Contains;
using testing::FakeCluster;
using ::testing::HasSubstr;
using testing::job_failure;
using testing::job_report;
using testing::kJobTime;
using ::testing::Not;
using ::testing::UnorderedElementsAre;
using testing::wanted_action;

const std::string kJobPath = "/apis/batch/v1/namespaces/ml/jobs/train";
const std::string kReport =
    FakeCluster::kApis + "ml/jobhealthreports/" + kube::job_health_report_name("ml/train-7f3a");

// A Job with a pod on each of two nodes, in the snapshot and on the API server.
class Outlets : public ::testing::Test {
 protected:
  Outlets() {
    cluster_.put(kJobPath, {{"spec", boost::json::object{{"suspend", false}}},
                            {"status", boost::json::object{{"active", 2}}}});
    for (const char* name : {"n1", "n2"}) {
      cluster_.put(FakeCluster::kNodes + '/' + name, {});
      cluster_.put(std::string("/api/v1/namespaces/ml/pods/train-") + name, {});
      Node node;
      node.name = name;
      node.uid = FakeCluster::text(*cluster_.find(FakeCluster::kNodes + '/' + name), {"metadata", "uid"});
      node.gpus = 8;
      world_.put(node);
      Pod pod;
      pod.name_space = "ml";
      pod.name = std::string("train-") + name;
      pod.uid =
          FakeCluster::text(*cluster_.find("/api/v1/namespaces/ml/pods/" + pod.name), {"metadata", "uid"});
      pod.node = name;
      pod.owner = Owner{"batch/v1", "Job", "train", "job-1"};
      world_.put(pod);
    }
    world_.is_complete = true;
    lead();
  }

  // A new leader.
  void lead() {
    outlets_.reset();
    client_ = std::make_unique<kube::Client>(
        loop_, cluster_.url(),
        kube::ClientOptions{
            .user_agent = "test", .field_manager = "test", .deadline = std::chrono::seconds{20}});
    outlets_ = std::make_unique<JobsOutlets>(
        loop_, *client_, clock_,
        JobsOutletsOptions{.name_space = "autopilot", .host = "c-1", .receivers = {}},
        JobsOutletsDoors{.is_leader = [this] { return is_leader_; },
                         .world = [this] { return &world_; },
                         .on_acted = [this](const jobs::WantedAction& action) { acted_.push_back(action); },
                         .read_file = [](const std::string&) -> Result<std::string> {
                           return fail(Errc::not_found, "none");
                         },
                         .run_blocking = [](const std::function<void()>& task) { task(); },
                         .dice = [] { return 0.0; }});
  }
  [[nodiscard]] bool run_until(const std::function<bool()>& is_so) {
    return net::testing::run_until(loop_, is_so);
  }
  [[nodiscard]] std::string note_on(const std::string& path, const std::string& name) const {
    const auto* object = cluster_.find(path);
    return object == nullptr
               ? ""
               : FakeCluster::text(*object, {"metadata", "annotations", "autopilot.ibm.com/" + name});
  }
  [[nodiscard]] std::vector<std::string> events() const {
    std::vector<std::string> found;
    for (const char* space : {"default", "ml"})
      for (const auto* event : cluster_.all("/api/v1/namespaces/" + std::string(space) + "/events"))
        found.push_back(FakeCluster::text(*event, {"reason"}) + ' ' +
                        FakeCluster::text(*event, {"involvedObject", "kind"}) + '/' +
                        FakeCluster::text(*event, {"involvedObject", "name"}));
    return found;
  }
  [[nodiscard]] kube::JobHealthReport report() const {
    const auto* object = cluster_.find(kReport);
    return object == nullptr ? kube::JobHealthReport{}
                             : kube::parse_job_health_report(boost::json::serialize(*object)).value();
  }
  [[nodiscard]] std::string state_of_action() const {
    const auto actions = report().actions;
    const auto found = actions.find("00112233aabbccdd");
    return found == actions.end() ? "" : found->second.state;
  }
  void act(jobs::Choice choice) { outlets_->publish({job_report()}, {}, {wanted_action(choice)}); }
  [[nodiscard]] std::uint64_t actions_in(const std::string& state) const {
    const auto actions = outlets_->figures().actions;
    const auto found = actions.find(state);
    return found == actions.end() ? 0 : found->second;
  }

  net::EventLoop loop_;
  const host::SystemClock clock_;
  FakeCluster cluster_{loop_};
  World world_;
  bool is_leader_ = true;
  std::vector<jobs::WantedAction> acted_;
  std::unique_ptr<kube::Client> client_;
  std::unique_ptr<JobsOutlets> outlets_;
};

TEST_F(Outlets, a_report_and_the_owner_show_the_health_of_a_job) {
  outlets_->publish({job_report()}, {}, {});
  ASSERT_TRUE(run_until([&] { return !note_on(kJobPath, "job-health").empty() && cluster_.find(kReport); }));
  EXPECT_EQ(report().health, "hung");
  EXPECT_EQ(report().culprit, "GPU 3 of n1");
  EXPECT_EQ(report().step, 812);
  ASSERT_EQ(report().findings.size(), 1);
  EXPECT_EQ(report().findings[0].evidence, std::vector<std::string>{"Xid 79 at 10:00"});
  EXPECT_THAT(note_on(kJobPath, "job-health"), HasSubstr(R"("finding":"00112233aabbccdd")"));
}

TEST_F(Outlets, a_change_is_written_and_a_repetition_is_not) {
  jobs::JobReport report = job_report();
  outlets_->publish({report}, {}, {});
  ASSERT_TRUE(run_until([&] { return !note_on(kJobPath, "job-health").empty(); }));
  const std::size_t writes = cluster_.writes().size();
  report.state.step = 900;
  outlets_->publish({report}, {}, {});
  report.state.job = "ml/other";
  report.owner.clear();
  outlets_->publish({report}, {}, {});
  const std::string other =
      FakeCluster::kOurs + "jobhealthreports/" + kube::job_health_report_name("ml/other");
  ASSERT_TRUE(run_until([&] { return cluster_.find(other) != nullptr; }));
  EXPECT_EQ(cluster_.writes().size(), writes + 2) << "the other job: a patch and a creation";

  report = job_report();
  report.findings.front().resolved = kJobTime;
  report.state.health = jobs::JobHealth::running;
  outlets_->publish({report}, {}, {});
  ASSERT_TRUE(run_until([&] { return this->report().health == "running"; }));
  EXPECT_EQ(this->report().culprit, "");
}

TEST_F(Outlets, a_failure_is_typed_on_the_owner_and_counted_once) {
  jobs::JobReport report = job_report();
  report.failure = job_failure();
  outlets_->publish({report}, {}, {});
  report.state.step = 813;
  outlets_->publish({report}, {}, {});
  ASSERT_TRUE(run_until([&] {
    const auto* job = cluster_.find(kJobPath);
    return FakeCluster::value(*job, {"status", "conditions"}) != nullptr && !events().empty();
  }));
  EXPECT_EQ(outlets_->figures().failures,
            (std::map{std::pair{jobs::FailureKind::hardware, std::uint64_t{1}}}));
  EXPECT_THAT(note_on(kJobPath, "job-failure"), HasSubstr(R"("kind":"hardware")"));
  EXPECT_THAT(note_on(kJobPath, "job-failure"), HasSubstr("flight recorder: no dump"));
  const auto& conditions = FakeCluster::value(*cluster_.find(kJobPath), {"status", "conditions"})->as_array();
  EXPECT_EQ(conditions.at(0).as_object().at("type"), "AutopilotFailure");
  EXPECT_EQ(FakeCluster::value(*cluster_.find(kJobPath), {"status", "active"})->as_int64(), 2);
  EXPECT_THAT(events(), Contains("JobFailure Job/train"));
}

TEST_F(Outlets, a_late_validation_is_written_and_reports_no_failure_again) {
  jobs::JobReport report = job_report();
  report.failure = job_failure();
  report.ended = clock_.now().wall - std::chrono::hours(5);
  report.outcome = jobs::Outcome::failed;
  report.afterwards = jobs::Afterwards{.nodes = 2, .passed = 1, .failed = 1, .not_passed = {}, .cause = {}};
  report.afterwards->not_passed = {
      {.node = "n1", .job = report.state.job, .verdict = jobs::ValidationVerdict::failed, .text = "ecc"}};
  outlets_->publish({report}, {}, {});
  ASSERT_TRUE(run_until([&] { return this->report().afterwards.has_value(); }));
  EXPECT_THAT(this->report().afterwards->text, HasSubstr("restart without n1"));
  EXPECT_EQ(this->report().afterwards->nodes.size(), 1U);
  EXPECT_TRUE(outlets_->figures().failures.empty());
  EXPECT_THAT(events(), Not(Contains("JobFailure Job/train")));
}

TEST_F(Outlets, an_alert_is_an_event_on_owner_pod_and_node) {
  const jobs::JobReport report = job_report();
  const jobs::Alert alert =
      jobs::make_alert(report.findings.front(), report.state, jobs::AlertKind::raised, kJobTime);
  outlets_->publish({report}, {alert}, {});
  ASSERT_TRUE(run_until([&] { return events().size() == 3; }));
  EXPECT_THAT(events(), UnorderedElementsAre("JobHang Job/train", "JobHang Pod/train-n1", "JobHang Node/n1"));
}

TEST_F(Outlets, an_owner_without_a_pod_on_the_nodes_of_the_job_is_not_touched) {
  jobs::JobReport report = job_report();
  report.nodes = {"n9"};
  outlets_->publish({report}, {}, {wanted_action(jobs::Choice::stop_now)});
  const std::string path =
      FakeCluster::kOurs + "jobhealthreports/" + kube::job_health_report_name(report.state.job);
  ASSERT_TRUE(run_until([&] { return cluster_.find(path) != nullptr && actions_in("refused") == 1; }));
  EXPECT_EQ(note_on(kJobPath, "job-health"), "");
  EXPECT_EQ(note_on("/api/v1/nodes/n1", "job-accused"), "");
  EXPECT_TRUE(acted_.empty());
}

TEST_F(Outlets, nothing_is_written_before_the_cluster_is_known_or_without_the_lead) {
  world_.is_complete = false;
  outlets_->publish({job_report()}, {}, {});
  EXPECT_TRUE(run_until([ticks = 0]() mutable { return ++ticks > 200; }));
  EXPECT_TRUE(cluster_.writes().empty());
  world_.is_complete = true;
  is_leader_ = false;
  EXPECT_TRUE(run_until([ticks = 0]() mutable { return ++ticks > 200; }));
  EXPECT_TRUE(cluster_.writes().empty());
  is_leader_ = true;
  EXPECT_TRUE(run_until([&] { return cluster_.find(kReport) != nullptr; }));
}

TEST_F(Outlets, an_action_is_recorded_before_its_first_step) {
  act(jobs::Choice::stop_now);
  ASSERT_TRUE(run_until([&] { return state_of_action() == "done"; }));
  EXPECT_THAT(note_on("/api/v1/nodes/n1", "job-accused"), HasSubstr("00112233aabbccdd"));
  const auto& writes = cluster_.writes();
  const auto record = std::ranges::find(writes, "PATCH " + kReport);
  const auto step = std::ranges::find(writes, "PATCH /api/v1/nodes/n1");
  ASSERT_NE(step, writes.end());
  EXPECT_LT(record - writes.begin(), step - writes.begin());
  EXPECT_EQ(acted_.size(), 1);
  ASSERT_TRUE(run_until([&] { return events().size() >= 2; }));
  EXPECT_THAT(events(), Contains("JobActionBegins Job/train"));
  EXPECT_THAT(events(), Contains("JobActionDone Job/train"));
}

TEST_F(Outlets, the_next_leader_does_not_act_again) {
  act(jobs::Choice::restart_in_place);
  ASSERT_TRUE(run_until([&] { return state_of_action() == "done"; }));
  EXPECT_EQ(cluster_.find("/api/v1/namespaces/ml/pods/train-n1"), nullptr);
  cluster_.put("/api/v1/namespaces/ml/pods/train-n1", {});  // its owner made another
  lead();
  act(jobs::Choice::restart_in_place);
  ASSERT_TRUE(run_until([&] { return actions_in("repeated") == 1; }));
  EXPECT_NE(cluster_.find("/api/v1/namespaces/ml/pods/train-n1"), nullptr);
  EXPECT_EQ(acted_.size(), 1);
}

TEST_F(Outlets, an_action_that_was_interrupted_is_reported_and_not_repeated) {
  cluster_.put(
      kReport,
      {{"actions", boost::json::object{{"00112233aabbccdd", boost::json::object{{"choice", "stop_now"},
                                                                                {"state", "planned"}}}}}});
  act(jobs::Choice::stop_now);
  ASSERT_TRUE(run_until([&] { return actions_in("repeated") == 1 && !events().empty(); }));
  EXPECT_THAT(events(), Contains("JobActionUnclear Job/train"));
  EXPECT_EQ(note_on("/api/v1/nodes/n1", "job-accused"), "");
}

TEST_F(Outlets, a_step_that_fails_is_reported_and_not_repeated) {
  cluster_.refuse = [](const std::string& write) -> std::optional<net::HttpResponse> {
    if (write != "PATCH /api/v1/nodes/n1") return std::nullopt;
    return FakeCluster::refusal(403, "Forbidden", "nodes is forbidden");
  };
  act(jobs::Choice::swap_at_checkpoint);
  ASSERT_TRUE(run_until([&] { return state_of_action() == "failed" && events().size() >= 2; }));
  EXPECT_THAT(report().actions.at("00112233aabbccdd").message, HasSubstr("nodes is forbidden"));
  EXPECT_EQ(note_on(kJobPath, "checkpoint-requested"), "") << "no later step begins";
  EXPECT_EQ(std::ranges::count(cluster_.writes(), "PATCH /api/v1/nodes/n1"), 1);
  EXPECT_TRUE(acted_.empty());
  EXPECT_THAT(events(), Contains("JobActionFailed Job/train"));
}

TEST_F(Outlets, an_action_that_cannot_be_recorded_is_not_carried_out) {
  cluster_.refuse = [](const std::string& write) -> std::optional<net::HttpResponse> {
    if (write.find("jobhealthreports") == std::string::npos) return std::nullopt;
    return FakeCluster::refusal(403, "Forbidden", "jobhealthreports is forbidden");
  };
  act(jobs::Choice::stop_now);
  ASSERT_TRUE(run_until([&] { return actions_in("failed") == 1; }));
  EXPECT_EQ(note_on("/api/v1/nodes/n1", "job-accused"), "");
}

TEST_F(Outlets, a_job_is_suspended_when_no_node_is_accused) {
  jobs::WantedAction action = wanted_action(jobs::Choice::stop_now);
  action.finding.culprit = {.kind = jobs::EntityKind::program};
  outlets_->publish({job_report()}, {}, {action});
  ASSERT_TRUE(run_until([&] { return state_of_action() == "done"; }));
  EXPECT_TRUE(FakeCluster::flag(*cluster_.find(kJobPath), {"spec", "suspend"}));
}

TEST_F(Outlets, a_node_is_no_longer_accused_when_the_finding_is_over) {
  act(jobs::Choice::stop_now);
  ASSERT_TRUE(run_until([&] { return state_of_action() == "done"; }));
  Node node = *world_.node("n1");
  node.causes.push_back({.incident = "00112233aabbccdd", .cause = "job_hang", .is_of_job = true});
  world_.put(node);
  jobs::JobReport report = job_report();
  report.findings.front().resolved = kJobTime;
  outlets_->publish({report}, {}, {});
  ASSERT_TRUE(run_until([&] { return note_on("/api/v1/nodes/n1", "job-accused").empty(); }));
}

// What the next leader knows.
std::optional<std::vector<jobs::JobReport>> recall_of(JobsOutlets& outlets,
                                                      const std::function<bool(std::function<bool()>)>& run) {
  std::optional<std::vector<jobs::JobReport>> recalled;
  outlets.recall([&](std::vector<jobs::JobReport> reports) { recalled = std::move(reports); });
  (void)run([&] { return recalled.has_value(); });
  return recalled;
}

TEST_F(Outlets, the_next_leader_knows_what_people_stated_and_what_was_sent) {
  jobs::JobReport report = job_report();
  const std::string id = report.findings.front().id;
  report.muted_until = std::chrono::ceil<std::chrono::hours>(clock_.now().wall);
  report.acknowledged.push_back({.time = kJobTime, .finding = id, .by = "ann"});
  report.sent[id] = {.last = kJobTime, .severity = jobs::Severity::page};
  outlets_->publish({report}, {}, {});
  ASSERT_TRUE(run_until([&] { return cluster_.find(kReport) != nullptr; }));
  lead();
  const auto recalled = recall_of(*outlets_, [&](const auto& is_so) { return run_until(is_so); });
  ASSERT_TRUE(recalled && recalled->size() == 1);
  const jobs::JobReport& known = recalled->front();
  EXPECT_EQ(known.state.job, report.state.job);
  EXPECT_EQ(known.findings.at(0).id, id);
  EXPECT_EQ(known.acknowledged.at(0).by, "ann");
  EXPECT_EQ(known.muted_until, report.muted_until);
  EXPECT_EQ(known.sent, report.sent);
}

TEST_F(Outlets, an_acknowledgement_alone_is_stored_and_its_end_too) {
  outlets_->publish({job_report()}, {}, {});
  ASSERT_TRUE(run_until([&] { return cluster_.find(kReport) != nullptr; }));
  jobs::JobReport report = job_report();
  report.acknowledged.push_back({.time = kJobTime, .finding = report.findings.front().id, .by = "ann"});
  outlets_->publish({report}, {}, {});
  ASSERT_TRUE(run_until([&] { return this->report().memory.find("ann") != std::string::npos; }));
  report.findings.clear();
  outlets_->publish({report}, {}, {});
  EXPECT_TRUE(run_until([&] { return this->report().memory.empty(); }));
}

TEST_F(Outlets, reports_that_cannot_be_used_are_ignored) {
  cluster_.put(FakeCluster::kOurs + "jobhealthreports/strange", {{"status", boost::json::array{1}}});
  cluster_.put(kReport, {{"spec", boost::json::object{{"job", "ml/train-7f3a"}}},
                         {"status", boost::json::object{{"memory", "{\"version\":"}}}});
  const auto recalled = recall_of(*outlets_, [&](const auto& is_so) { return run_until(is_so); });
  ASSERT_TRUE(recalled);
  EXPECT_TRUE(recalled->empty());
}

TEST_F(Outlets, without_the_kind_of_report_nothing_is_known) {
  cluster_.hide("jobhealthreports");
  const auto recalled = recall_of(*outlets_, [&](const auto& is_so) { return run_until(is_so); });
  ASSERT_TRUE(recalled);
  EXPECT_TRUE(recalled->empty());
}

jobs::WantedAction second_half(jobs::ActionPart part) {
  jobs::WantedAction action = wanted_action(jobs::Choice::swap_at_checkpoint);
  action.part = part;
  action.why = "a checkpoint ended";
  return action;
}

TEST_F(Outlets, a_swap_waits_and_moves_the_pods_after_the_checkpoint) {
  act(jobs::Choice::swap_at_checkpoint);
  ASSERT_TRUE(run_until([&] { return state_of_action() == "waiting"; }));
  EXPECT_THAT(note_on("/api/v1/nodes/n1", "job-accused"), HasSubstr(R"("keepsPods":true)"));
  EXPECT_EQ(note_on(kJobPath, "checkpoint-requested"), "00112233aabbccdd");
  EXPECT_EQ(acted_.size(), 1);
  lead();
  outlets_->publish({job_report()}, {}, {second_half(jobs::ActionPart::after_checkpoint)});
  ASSERT_TRUE(run_until([&] { return state_of_action() == "done"; }));
  EXPECT_THAT(note_on("/api/v1/nodes/n1", "job-accused"), HasSubstr(R"("keepsPods":false)"));
  EXPECT_EQ(acted_.size(), 2);
  EXPECT_EQ(acted_.back().part, jobs::ActionPart::after_checkpoint);
  ASSERT_TRUE(run_until([&] { return events().size() >= 4; }));
  EXPECT_THAT(events(), Contains("JobActionWaits Job/train"));
  EXPECT_THAT(events(), Contains("JobActionDone Job/train"));
}

TEST_F(Outlets, a_swap_that_is_given_up_keeps_the_pods_and_is_reported) {
  act(jobs::Choice::swap_at_checkpoint);
  ASSERT_TRUE(run_until([&] { return state_of_action() == "waiting"; }));
  jobs::WantedAction given_up = second_half(jobs::ActionPart::given_up);
  given_up.why = "no checkpoint ended within 1h10m";
  outlets_->publish({job_report()}, {}, {given_up});
  ASSERT_TRUE(run_until([&] { return state_of_action() == "given_up" && events().size() >= 3; }));
  EXPECT_THAT(report().actions.at("00112233aabbccdd").message, HasSubstr("no checkpoint ended within 1h10m"));
  EXPECT_THAT(note_on("/api/v1/nodes/n1", "job-accused"), HasSubstr(R"("keepsPods":true)"));
  EXPECT_THAT(events(), Contains("JobActionGivenUp Job/train"));
  EXPECT_EQ(acted_.size(), 1);
  outlets_->publish({job_report()}, {}, {second_half(jobs::ActionPart::after_checkpoint)});
  ASSERT_TRUE(run_until([&] { return actions_in("repeated") == 1; }));
  EXPECT_THAT(note_on("/api/v1/nodes/n1", "job-accused"), HasSubstr(R"("keepsPods":true)"));
}

TEST_F(Outlets, a_second_half_without_a_recorded_first_half_is_not_carried_out) {
  outlets_->publish({job_report()}, {}, {second_half(jobs::ActionPart::after_checkpoint)});
  ASSERT_TRUE(run_until([&] { return actions_in("repeated") == 1; }));
  EXPECT_EQ(note_on("/api/v1/nodes/n1", "job-accused"), "");
  EXPECT_TRUE(acted_.empty());
}

TEST_F(Outlets, more_actions_than_the_limit_are_refused) {
  is_leader_ = false;
  world_.is_complete = false;
  outlets_->publish({job_report()}, {},
                    std::vector(JobActor::kMaxWaiting + 2, wanted_action(jobs::Choice::stop_now)));
  EXPECT_EQ(actions_in("refused"), 2);
}

}  // namespace
}  // namespace autopilot::controller::outlets_test
