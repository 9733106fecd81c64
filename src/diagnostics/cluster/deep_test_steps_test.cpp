// SPDX-License-Identifier: Apache-2.0
#include "diagnostics/cluster/deep_test_steps.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <set>

#include "diagnostics/cluster/reservation.hpp"
#include "tests/support/diagnostics/deep_test_fixture.hpp"

namespace autopilot::diagnostics {
namespace {

namespace json = boost::json;
using namespace std::chrono_literals;
using ::testing::HasSubstr;
using Kind = DeepTestStep::Kind;

// A node whose turn it is, and one agent that does what it is told.
class DeepTestSteps : public ::testing::Test {
 protected:
  // Looks as often as it is told to.
  DeepTestStep step() {
    DeepTestStep next = ask();
    for (int looks = 0; next.kind == Kind::look && looks < 3; ++looks) {
      look();
      next = ask();
    }
    return next;
  }
  DeepTestStep ask() {
    world_.node = node_of(node_);
    return next_step(world_, policy_, now_);
  }
  void look(bool is_exact = true) { world_.sight = DeepTestSight{now_, jobs_, pods_, is_exact}; }
  void patch(const DeepTestStep& step) {
    ASSERT_TRUE(patch_node(node_, step.body));
    world_.sight.reset();
  }
  void reserve() {
    const DeepTestStep next = step();
    ASSERT_EQ(next.kind, Kind::reserve) << next.why;
    patch(next);
    now_ += DeepTestTimes::kSettle;
  }
  // As an agent's Job is when a pod of it has this phase.
  void start(const std::string& phase) {
    const DeepTestStep next = step();
    ASSERT_EQ(next.kind, Kind::create_job) << next.why;
    world_.sight.reset();
    kube::Job job;
    job.meta.name = next.name;
    job.meta.uid = "u-1";
    jobs_ = {job};
    kube::Pod pod;
    pod.meta.name = next.name + "-x";
    pod.meta.name_space = "autopilot";
    pod.owner_kind = "Job";
    pod.owner_name = next.name;
    pod.phase = phase;
    pod.devices["nvidia.com/gpu"] = 8;
    pods_ = {pod};
  }
  void finish(std::string_view message, std::int64_t code) {
    jobs_[0].is_complete = code == 0;
    jobs_[0].is_failed = code != 0;
    pods_[0].phase = code == 0 ? "Succeeded" : "Failed";
    pods_[0].ends = {{std::string(kTestContainer), code, "Completed", std::string(message)}};
    now_ += DeepTestTimes::kLook;
  }
  static kube::Pod somebody() {
    kube::Pod pod;
    pod.meta.name = "train-0";
    pod.meta.name_space = "ml";
    pod.phase = "Running";
    pod.devices["nvidia.com/gpu"] = 1;
    return pod;
  }
  [[nodiscard]] bool is_reserved() { return testing_marks(node_of(node_), "autopilot.ibm.com").any(); }
  [[nodiscard]] DeepTestRecord record() { return deep_test_record(node_of(node_), "autopilot.ibm.com"); }
  void node_is(const std::string& text) { merge(node_, json::parse(text).as_object()); }

  json::object node_ = node_object();
  std::vector<kube::Job> jobs_;
  std::vector<kube::Pod> pods_;
  DeepTestPolicy policy_ = deep_test_policy();
  WallTime now_ = kBegin;
  DeepTestWorld world_{.node = {},
                       .sight = {},
                       .looked = {},
                       .can_look = true,
                       .is_wanted = false,
                       .watched_since = kBegin - 24h};
};

TEST_F(DeepTestSteps, from_an_idle_node_to_a_pass) {
  reserve();
  EXPECT_TRUE(is_reserved());
  const kube::Node node = node_of(node_);
  EXPECT_EQ(node.taints, std::vector({kube::Taint{"autopilot.ibm.com/testing", "", "NoSchedule", {}}}));
  EXPECT_EQ(node.meta.annotations.at("autopilot.ibm.com/testing"),
            R"({"holder":"agent-a","since":"2027-01-15T08:00:00Z","until":"2027-01-15T08:13:00Z"})");
  start("Running");
  EXPECT_EQ(step().kind, Kind::wait);
  finish(kPassed, 0);
  const DeepTestStep last = step();
  ASSERT_EQ(last.kind, Kind::release);
  ASSERT_TRUE(last.result);
  EXPECT_EQ(last.result->outcome, DeepTestOutcome::passed);
  patch(last);
  EXPECT_FALSE(is_reserved());
  EXPECT_TRUE(node_of(node_).taints.empty());
  EXPECT_EQ(record().outcome, DeepTestOutcome::passed);
  EXPECT_EQ(record().test, last.name);
  EXPECT_EQ(record().began, kBegin);
  EXPECT_EQ(step().kind, Kind::wait);
}

TEST_F(DeepTestSteps, a_failure_is_remembered_on_the_node) {
  reserve();
  start("Running");
  finish(kFatal, 1);
  patch(step());
  EXPECT_EQ(record().outcome, DeepTestOutcome::fatal);
  EXPECT_EQ(record().failed, "memory.0");
}

TEST_F(DeepTestSteps, a_busy_node_is_glanced_at_and_an_idle_one_looked_at_before_it_is_reserved) {
  DeepTestStep next = ask();
  ASSERT_EQ(next.kind, Kind::look);
  EXPECT_FALSE(next.is_glance) << "nothing is known yet";
  pods_ = {somebody()};
  look();
  EXPECT_EQ(ask().kind, Kind::wait);
  now_ += DeepTestTimes::kLookBusy;
  next = ask();
  ASSERT_EQ(next.kind, Kind::look);
  EXPECT_TRUE(next.is_glance);
  pods_ = {};
  look(false);
  next = ask();
  ASSERT_EQ(next.kind, Kind::look) << "the server may have told of a while ago";
  EXPECT_FALSE(next.is_glance);
  look();
  EXPECT_EQ(ask().kind, Kind::reserve);
}

TEST_F(DeepTestSteps, other_taints_stay) {
  node_is(
      R"({"spec": {"taints": [{"key": "a", "value": "b", "effect": "NoExecute", "timeAdded": "2026-01-01T00:00:00Z"}]}})");
  policy_.job.tolerated = {"a"};
  const auto before = node_of(node_).taints;
  reserve();
  EXPECT_EQ(node_of(node_).taints.size(), 2U);
  start("Running");
  finish(kPassed, 0);
  patch(step());
  EXPECT_EQ(node_of(node_).taints, before);
}

TEST_F(DeepTestSteps, a_node_that_cannot_be_tested_is_not_kept) {
  const auto waits = [this](const std::string& why) {
    world_.sight.reset();
    const DeepTestStep next = step();
    EXPECT_EQ(next.kind, Kind::wait);
    EXPECT_THAT(next.why, HasSubstr(why));
    EXPECT_EQ(next.at, now_ + DeepTestTimes::kLookBusy);
    node_ = node_object();
    pods_.clear();
  };
  pods_ = {somebody()};
  waits("in use: ml/train-0 (nvidia.com/gpu 1)");
  node_is(R"({"spec": {"unschedulable": true}})");
  waits("cordoned");
  node_is(R"({"spec": {"taints": [{"key": "maintenance", "effect": "NoSchedule"}]}})");
  waits("the taint maintenance");
  node_is(R"({"status": {"allocatable": {"nvidia.com/gpu": "0"}}})");
  waits("no accelerators");
  node_is(R"({"status": {"allocatable": {"nvidia.com/mig-1g.10gb": "7"}}})");
  waits("sliced or shared");
  node_is(R"({"metadata": {"deletionTimestamp": "2027-01-15T08:00:00Z"}})");
  waits("being deleted");
}

TEST_F(DeepTestSteps, switched_off_there_is_none_unless_somebody_asks) {
  policy_.every = {};
  EXPECT_EQ(ask().kind, Kind::wait);
  EXPECT_EQ(ask().at, std::nullopt);
  world_.is_wanted = true;
  EXPECT_EQ(step().kind, Kind::reserve);
}

TEST_F(DeepTestSteps, switched_off_a_test_that_runs_ends_in_order) {
  reserve();
  start("Running");
  policy_.every = {};
  finish(kPassed, 0);
  EXPECT_EQ(step().kind, Kind::release);
}

TEST_F(DeepTestSteps, switched_off_nothing_begins_on_a_node_that_is_kept) {
  reserve();
  policy_.every = {};
  const DeepTestStep last = step();
  ASSERT_EQ(last.kind, Kind::release);
  EXPECT_THAT(last.why, HasSubstr("switched off"));
}

TEST_F(DeepTestSteps, without_an_image_there_is_none) {
  policy_.job.image.clear();
  EXPECT_EQ(ask().kind, Kind::wait);
  EXPECT_EQ(ask().at, std::nullopt);
}

TEST_F(DeepTestSteps, the_record_tells_of_which_level_the_test_was) {
  policy_.level = 3;
  reserve();
  start("Running");
  finish(kPassed, 0);
  patch(step());
  EXPECT_EQ(record().level, 3);
}

TEST_F(DeepTestSteps, somebody_who_came_in_between_has_the_node) {
  reserve();
  pods_ = {somebody()};
  const DeepTestStep next = step();
  EXPECT_EQ(next.kind, Kind::release);
  EXPECT_THAT(next.why, HasSubstr("ml/train-0"));
  patch(next);
  EXPECT_EQ(record().outcome, DeepTestOutcome::not_tested);
  EXPECT_THAT(record().why, HasSubstr("ml/train-0"));
  pods_.clear();
  EXPECT_EQ(step().at, now_ + DeepTestTimes::kRetry);
}

TEST_F(DeepTestSteps, pods_that_were_seen_before_the_reservation_say_nothing) {
  look();
  const DeepTestStep next = ask();
  ASSERT_EQ(next.kind, Kind::reserve);
  ASSERT_TRUE(patch_node(node_, next.body));
  now_ += DeepTestTimes::kSettle;
  EXPECT_EQ(ask().kind, Kind::look);
}

TEST_F(DeepTestSteps, pods_that_were_seen_before_schedulers_knew_say_nothing) {
  patch(step());
  EXPECT_EQ(step().kind, Kind::wait);
  now_ += DeepTestTimes::kSettle;
  EXPECT_EQ(ask().kind, Kind::look);
  EXPECT_EQ(step().kind, Kind::create_job);
}

TEST_F(DeepTestSteps, a_test_gives_way_to_who_holds_an_accelerator) {
  reserve();
  start("Pending");
  pods_.push_back(somebody());
  const DeepTestStep next = step();
  EXPECT_EQ(next.kind, Kind::delete_job);
  EXPECT_EQ(next.uid, "u-1");
  jobs_[0].meta.is_deleting = true;
  world_.sight.reset();
  EXPECT_EQ(step().kind, Kind::wait);
  jobs_.clear();
  pods_ = {somebody()};
  world_.sight.reset();
  EXPECT_EQ(step().kind, Kind::release);
}

TEST_F(DeepTestSteps, a_test_that_does_not_begin_is_given_up) {
  reserve();
  start("Pending");
  pods_[0].waiting = "ImagePullBackOff";
  now_ += DeepTestTimes::kCreate + DeepTestTimes::kStart;
  const DeepTestStep next = step();
  EXPECT_EQ(next.kind, Kind::delete_job);
  EXPECT_THAT(next.why, HasSubstr("ImagePullBackOff"));
  jobs_.clear();
  pods_.clear();
  world_.sight.reset();
  EXPECT_EQ(step().kind, Kind::release);
}

TEST_F(DeepTestSteps, an_agent_that_comes_too_late_begins_nothing) {
  reserve();
  now_ += DeepTestTimes::kCreate;
  const DeepTestStep next = step();
  EXPECT_EQ(next.kind, Kind::release);
  EXPECT_EQ(next.why, "no test began in time");
}

TEST_F(DeepTestSteps, a_test_that_does_not_end_is_ended_and_a_pod_that_hangs_is_left) {
  reserve();
  start("Running");
  now_ = kBegin + 13min;
  EXPECT_EQ(step().kind, Kind::delete_job);
  jobs_[0].meta.is_deleting = true;
  world_.sight.reset();
  EXPECT_EQ(step().kind, Kind::wait);
  now_ += DeepTestTimes::kPatience;
  EXPECT_EQ(step().kind, Kind::release);
}

TEST_F(DeepTestSteps, a_result_is_taken_although_nobody_was_there_in_time) {
  reserve();
  start("Running");
  finish(kPassed, 0);
  now_ = kBegin + 2h;
  const DeepTestStep next = step();
  ASSERT_EQ(next.kind, Kind::release);
  EXPECT_EQ(next.result->outcome, DeepTestOutcome::passed);
}

TEST_F(DeepTestSteps, a_job_without_its_pod_says_nothing) {
  reserve();
  start("Running");
  finish(kPassed, 0);
  jobs_[0].reason = "DeadlineExceeded";
  pods_.clear();
  const DeepTestStep next = step();
  EXPECT_EQ(next.kind, Kind::release);
  EXPECT_FALSE(next.result);
  EXPECT_THAT(next.why, HasSubstr("DeadlineExceeded"));
}

TEST_F(DeepTestSteps, what_no_agent_wrote_is_taken_away) {
  node_is(R"({"spec": {"taints": [{"key": "autopilot.ibm.com/testing", "effect": "NoSchedule"}]}})");
  EXPECT_EQ(step().kind, Kind::release);
  for (const std::string annotation :
       {"", "soon", R"({\"since\": \"2027-01-15T08:00:00Z\"})",
        R"({\"since\": \"2027-01-16T08:00:00Z\", \"until\": \"2027-01-16T09:00:00Z\"})",
        R"({\"since\": \"2027-01-15T07:59:00Z\", \"until\": \"2099-01-15T09:00:00Z\"})"}) {
    node_is(R"({"metadata": {"annotations": {"autopilot.ibm.com/testing": ")" + annotation + "\"}}}");
    world_.sight.reset();
    EXPECT_EQ(step().kind, Kind::release) << annotation;
  }
}

TEST_F(DeepTestSteps, without_the_taint_there_is_no_test) {
  reserve();
  start("Running");
  node_.at("spec").as_object().erase("taints");
  EXPECT_EQ(step().kind, Kind::delete_job);
}

TEST_F(DeepTestSteps, without_a_reservation_a_test_is_ended_once_that_is_sure) {
  reserve();
  start("Running");
  node_ = node_object();
  EXPECT_EQ(step().kind, Kind::wait);
  now_ += DeepTestTimes::kNews;
  EXPECT_EQ(step().kind, Kind::delete_job);
}

TEST_F(DeepTestSteps, a_test_that_came_too_late_for_its_reservation_gives_way) {
  reserve();
  start("Running");
  ASSERT_TRUE(patch_node(
      node_, reserve_patch(node_of(node_), "autopilot.ibm.com",
                           {.holder = "agent-b", .since = kBegin + 1min, .until = kBegin + 14min})));
  now_ = kBegin + 1min + DeepTestTimes::kSettle;
  EXPECT_EQ(step().kind, Kind::delete_job);
  jobs_.clear();
  pods_[0].meta.is_deleting = true;
  world_.sight.reset();
  EXPECT_EQ(step().kind, Kind::wait);  // not beside it
  pods_.clear();
  world_.sight.reset();
  EXPECT_EQ(step().kind, Kind::create_job);
}

TEST_F(DeepTestSteps, an_expired_reservation_goes_even_if_nobody_can_look) {
  reserve();
  world_.sight.reset();
  world_.can_look = false;
  EXPECT_EQ(ask().kind, Kind::look);
  now_ = kBegin + 13min + DeepTestTimes::kPatience;
  EXPECT_EQ(ask().kind, Kind::release);
}

// The whole second in which it was reserved may have begun before something happened that is over now.
TEST_F(DeepTestSteps, a_test_begins_after_all_that_happened_before_its_reservation) {
  now_ += 900ms;
  const DeepTestStep next = step();
  ASSERT_EQ(next.kind, Kind::reserve);
  patch(next);
  const auto marks = testing_marks(node_of(node_), "autopilot.ibm.com");
  ASSERT_TRUE(marks.reservation);
  EXPECT_EQ(marks.reservation->since, kBegin + 1s);
}

TEST_F(DeepTestSteps, nobody_looks_before_schedulers_have_seen_the_taint) {
  const DeepTestStep next = step();
  ASSERT_EQ(next.kind, Kind::reserve);
  patch(next);
  EXPECT_EQ(ask().kind, Kind::wait);
  EXPECT_EQ(ask().at, now_ + DeepTestTimes::kSettle);
  now_ += DeepTestTimes::kSettle;
  EXPECT_EQ(ask().kind, Kind::look);
}

TEST_F(DeepTestSteps, a_test_that_takes_long_is_looked_at_less_often) {
  reserve();
  start("Running");
  EXPECT_EQ(step().at, now_ + DeepTestTimes::kLook);
  now_ += 5min;
  EXPECT_EQ(step().at, now_ + DeepTestTimes::kLookBusy);
}

TEST_F(DeepTestSteps, a_job_goes_before_the_taint_when_somebody_took_the_annotation_away) {
  reserve();
  start("Running");
  node_is(R"({"metadata": {"annotations": {"autopilot.ibm.com/testing": null}}})");
  const DeepTestStep next = step();
  EXPECT_EQ(next.kind, Kind::delete_job);
  jobs_[0].meta.is_deleting = true;
  world_.sight.reset();
  EXPECT_EQ(step().kind, Kind::release);
}

TEST_F(DeepTestSteps, a_job_goes_when_somebody_took_all_marks_away_and_the_next_turn_is_far) {
  policy_.every = 24h * 365;
  world_.is_wanted = true;
  reserve();
  start("Running");
  world_.is_wanted = false;
  world_.may_have_strays = true;
  node_is(R"({"metadata": {"annotations": {"autopilot.ibm.com/testing": null}}, "spec": {"taints": null}})");
  EXPECT_EQ(step().kind, Kind::wait);  // the node may be known late
  now_ += DeepTestTimes::kNews + 1s;
  world_.sight.reset();
  EXPECT_EQ(step().kind, Kind::delete_job);
  world_.may_have_strays = false;
  world_.sight.reset();
  EXPECT_NE(ask().kind, Kind::look);
}

TEST_F(DeepTestSteps, a_test_whose_reservation_is_seen_after_the_cancel_is_none) {
  reserve();
  world_.cancelled = now_;
  const DeepTestStep next = step();
  EXPECT_EQ(next.kind, Kind::release);
  EXPECT_EQ(next.why, "it was cancelled");
  world_.cancelled = now_ - 1h;
  EXPECT_EQ(step().kind, Kind::create_job);
}

TEST_F(DeepTestSteps, a_clock_that_was_ahead_when_somebody_asked_keeps_no_answer_back) {
  world_.asked = now_ + 1h;
  pods_ = {somebody()};
  const DeepTestStep next = step();
  EXPECT_EQ(next.kind, Kind::wait);
  EXPECT_TRUE(next.is_kept_from);
  EXPECT_EQ(next.in_use_by, "ml/train-0");
}

TEST_F(DeepTestSteps, looks_are_some_time_apart) {
  world_.looked = now_;
  const DeepTestStep next = ask();
  EXPECT_EQ(next.kind, Kind::wait);
  EXPECT_EQ(next.at, now_ + DeepTestTimes::kLook);
}

TEST_F(DeepTestSteps, each_node_has_a_place_of_its_own_in_the_period) {
  policy_.every = 4h;
  std::set<WallTime> turns;
  for (int i = 0; i < 50; ++i) {
    node_is(R"({"metadata": {"name": "gpu-)" + std::to_string(i) + "\"}}");
    world_.node = node_of(node_);
    world_.watched_since = kBegin;
    const auto due = deep_test_due(world_, policy_, kBegin);
    ASSERT_TRUE(due);
    EXPECT_GT(*due, kBegin);
    EXPECT_LE(*due, kBegin + 4h);
    turns.insert(*due);
  }
  EXPECT_GT(turns.size(), 40U);
  EXPECT_LT(*turns.begin(), kBegin + 1h);
  EXPECT_GT(*turns.rbegin(), kBegin + 3h);
}

TEST_F(DeepTestSteps, a_test_is_followed_by_the_next_after_half_a_period_at_least) {
  policy_.every = 4h;
  DeepTestRecord tested{.outcome = DeepTestOutcome::passed,
                        .test = "t",
                        .began = kBegin,
                        .finished = kBegin,
                        .failed = {},
                        .tried = {},
                        .why = {}};
  ASSERT_TRUE(patch_node(node_, release_patch(node_of(node_), "autopilot.ibm.com", tested)));
  world_.node = node_of(node_);
  const auto due = deep_test_due(world_, policy_, kBegin);
  EXPECT_GT(*due, kBegin + 2h);
  EXPECT_LE(*due, kBegin + 6h);
  // A record of a time to come counts as none.
  EXPECT_LE(*deep_test_due(world_, policy_, kBegin - 24h), kBegin - 20h);
}

// Where there is a controller.
class LeaveOfController : public DeepTestSteps {
 protected:
  LeaveOfController() { policy_.asks_controller = true; }
  void annotate(const std::string& name, const std::string& value) {
    merge(node_,
          json::object{{"metadata",
                        json::object{{"annotations", json::object{{"autopilot.ibm.com/" + name, value}}}}}});
  }
  void order(WallTime since) {
    annotate("held", R"({"plan":"p"})");
    annotate("shall-test", R"({"plan":"p","since":")" + format_time(since) + "\"}");
    node_is(R"({"spec": {"unschedulable": true, "taints": [
      {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}]}})");
  }
  // As the API server answers to a patch that changes nothing of what was seen of pods.
  void patch_leave(const DeepTestStep& step) { ASSERT_TRUE(patch_node(node_, step.body)); }
  [[nodiscard]] TestLeave leave() { return test_leave(node_of(node_), "autopilot.ibm.com"); }
};

TEST_F(LeaveOfController, is_asked_for_by_an_idle_node_and_waited_for) {
  const DeepTestStep asking = step();
  ASSERT_EQ(asking.kind, Kind::ask);
  patch_leave(asking);
  EXPECT_EQ(leave().asked, now_);
  const DeepTestStep waiting = step();
  EXPECT_EQ(waiting.kind, Kind::wait);
  EXPECT_THAT(waiting.why, HasSubstr("the controller"));
  EXPECT_FALSE(is_reserved());
  annotate("may-test", format_time(now_));
  reserve();
  start("Running");
  finish(kPassed, 0);
  patch(step());
  EXPECT_FALSE(leave().any()) << "it goes with the reservation";
  EXPECT_EQ(record().outcome, DeepTestOutcome::passed);
}

TEST_F(LeaveOfController, is_given_back_when_somebody_takes_the_node) {
  patch_leave(step());
  annotate("may-test", format_time(now_));
  pods_ = {somebody()};
  now_ += DeepTestTimes::kLookBusy;
  const DeepTestStep giving = step();
  ASSERT_EQ(giving.kind, Kind::give_back) << giving.why;
  patch_leave(giving);
  EXPECT_FALSE(leave().any());
  EXPECT_EQ(step().kind, Kind::wait);
}

TEST_F(LeaveOfController, is_given_back_when_nobody_wants_a_test_any_more) {
  patch_leave(step());
  policy_.every = Duration{0};
  EXPECT_EQ(step().kind, Kind::give_back);
}

TEST_F(LeaveOfController, who_waits_for_a_test_is_told_when_it_does_not_come) {
  world_.asked = now_;
  patch_leave(step());
  EXPECT_FALSE(step().is_kept_from);
  now_ += DeepTestTimes::kLook;
  const DeepTestStep late = step();
  EXPECT_TRUE(late.is_kept_from);
  EXPECT_THAT(late.why, HasSubstr("the controller"));
}

TEST_F(LeaveOfController, a_node_that_it_holds_is_tested_when_it_says_so_though_it_is_cordoned) {
  policy_.every = Duration{0};
  EXPECT_EQ(step().kind, Kind::wait);
  order(now_ - 1s);
  reserve();
  const DeepTestStep job = step();
  ASSERT_EQ(job.kind, Kind::create_job) << job.why;
  EXPECT_THAT(
      job.body,
      HasSubstr(R"({"key":"node.kubernetes.io/unschedulable","operator":"Exists","effect":"NoSchedule"})"));
  start("Running");
  finish(kPassed, 0);
  patch(step());
  EXPECT_EQ(record().outcome, DeepTestOutcome::passed);
  EXPECT_EQ(step().kind, Kind::wait) << "it was made";
  order(now_ + 1h);
  now_ += 1h + 1s;
  EXPECT_EQ(step().kind, Kind::reserve) << "it wants another one";
}

TEST_F(LeaveOfController, a_test_that_said_nothing_waits_for_the_next_order) {
  order(now_ - 1s);
  reserve();
  start("Running");
  finish("", 1);
  patch(step());
  EXPECT_TRUE(record().tried);
  policy_.every = Duration{0};
  EXPECT_EQ(step().kind, Kind::wait);
}

TEST_F(LeaveOfController, an_order_for_a_node_that_it_does_not_hold_is_none) {
  policy_.every = Duration{0};
  for (const char* text : {"", "{}", R"({"since": 7})", R"({"since": "2027-01-15T07:59:00Z"})"}) {
    annotate("shall-test", text);
    EXPECT_EQ(step().kind, Kind::wait) << text;
  }
  order(now_ + 1h);
  EXPECT_EQ(step().kind, Kind::wait) << "of a clock that is ahead";
}

}  // namespace
}  // namespace autopilot::diagnostics
