// SPDX-License-Identifier: Apache-2.0

#include "kube/leader.hpp"

#include <chrono>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "host/clock/system_clock.hpp"
#include "tests/fakes/fake_cluster.hpp"
#include "tests/support/net/test_server.hpp"

namespace autopilot::kube {

namespace {

using namespace std::chrono_literals;

double no_lease_jitter() {
  return 0.0;
}

constexpr std::int32_t kEver = std::numeric_limits<std::int32_t>::max();

// Both clocks run alike from here.
Instant lease_time(Duration since) {
  return {.wall = WallTime{1'800'000'000s + since}, .mono = MonoTime{1000s + since}};
}

LeaderElection candidate(const LeaseTimes& times = {}) {
  return {"me", times, no_lease_jitter};
}

LeaseRecord held_by(const std::string& holder, int version) {
  return {.holder = holder,
          .duration_s = 15,
          .transitions = 3,
          .acquired = WallTime{1s},
          .renewed = WallTime{std::chrono::seconds{version}},
          .resource_version = std::to_string(version)};
}

// What a server answers to a write.
LeaseRecord stored(LeaseRecord record, int version) {
  record.resource_version = std::to_string(version);
  return record;
}

// Becomes the leader of a lease that nobody had, with a request sent at `when`.
LeaseRecord become_leader(LeaderElection& election, Duration when) {
  EXPECT_EQ(election.step(lease_time(when)).kind, LeaseStep::Kind::read);
  election.saw_none(lease_time(when).mono);
  const LeaseStep create = election.step(lease_time(when));
  EXPECT_EQ(create.kind, LeaseStep::Kind::create);
  LeaseRecord record = stored(create.record, 1);
  election.wrote(record, lease_time(when + 100ms));
  EXPECT_EQ(election.step(lease_time(when + 100ms)).kind, LeaseStep::Kind::lead);
  return record;
}

TEST(Lease, nobody_has_it_and_we_create_it) {
  LeaderElection election = candidate();
  EXPECT_FALSE(election.is_leader(lease_time(0s)));
  const LeaseRecord record = become_leader(election, 0s);
  EXPECT_EQ(record.holder, "me");
  EXPECT_EQ(record.duration_s, 15);
  EXPECT_EQ(record.transitions, 0);
  EXPECT_EQ(record.acquired, lease_time(0s).wall);
  EXPECT_EQ(record.renewed, lease_time(0s).wall);
  EXPECT_TRUE(election.is_leader(lease_time(100ms)));
  EXPECT_EQ(election.holder(), "me");
}

TEST(Lease, the_leader_renews_every_retry_period_and_keeps_the_rest_of_the_record) {
  LeaderElection election = candidate();
  const LeaseRecord first = become_leader(election, 0s);
  const LeaseStep wait = election.step(lease_time(1s));
  EXPECT_EQ(wait.kind, LeaseStep::Kind::wait);
  EXPECT_EQ(wait.until, lease_time(2s).mono);
  const LeaseStep renew = election.step(lease_time(2s));
  EXPECT_EQ(renew.kind, LeaseStep::Kind::renew);
  EXPECT_EQ(renew.record.resource_version, "1");
  EXPECT_EQ(renew.record.acquired, first.acquired);
  EXPECT_EQ(renew.record.renewed, lease_time(2s).wall);
  EXPECT_EQ(renew.record.transitions, 0);
  election.wrote(stored(renew.record, 2), lease_time(2500ms));
  EXPECT_TRUE(election.is_leader(lease_time(11999ms)));
  EXPECT_FALSE(election.is_leader(lease_time(12s)));  // from when it was sent
}

TEST(Lease, a_leader_whose_renewal_gets_no_answer_steps_down_at_the_deadline) {
  LeaderElection election = candidate();
  become_leader(election, 0s);
  ASSERT_EQ(election.step(lease_time(2s)).kind, LeaseStep::Kind::renew);
  const LeaseStep wait = election.step(lease_time(9s));  // no answer came
  EXPECT_EQ(wait.kind, LeaseStep::Kind::wait);
  EXPECT_EQ(wait.until, lease_time(10s).mono);
  EXPECT_TRUE(election.is_leader(lease_time(9999ms)));
  EXPECT_FALSE(election.is_leader(lease_time(10s)));
  EXPECT_EQ(election.step(lease_time(10s)).kind, LeaseStep::Kind::step_down);
  EXPECT_EQ(election.step(lease_time(10s)).kind, LeaseStep::Kind::wait);
}

TEST(Lease, one_lost_answer_does_not_cost_the_leadership) {
  LeaderElection election = candidate();
  become_leader(election, 0s);
  const LeaseStep lost = election.step(lease_time(2s));
  ASSERT_EQ(lost.kind, LeaseStep::Kind::renew);
  election.failed(lease_time(2s + LeaseTimes{}.request_deadline()).mono);
  ASSERT_EQ(election.step(lease_time(7s)).kind, LeaseStep::Kind::read);
  election.saw(stored(lost.record, 2), lease_time(7100ms).mono);  // it was done after all
  const LeaseStep renew = election.step(lease_time(7100ms));
  ASSERT_EQ(renew.kind, LeaseStep::Kind::renew);
  EXPECT_EQ(renew.record.resource_version, "2");
  election.wrote(stored(renew.record, 3), lease_time(7200ms));
  EXPECT_TRUE(election.is_leader(lease_time(17s)));
}

TEST(Lease, an_answer_that_comes_too_late_makes_no_leader) {
  LeaderElection election = candidate();
  ASSERT_EQ(election.step(lease_time(0s)).kind, LeaseStep::Kind::read);
  election.saw_none(lease_time(0s).mono);
  const LeaseStep create = election.step(lease_time(0s));
  election.wrote(stored(create.record, 1), lease_time(11s));
  EXPECT_FALSE(election.is_leader(lease_time(11s)));
  EXPECT_EQ(election.step(lease_time(11s)).kind, LeaseStep::Kind::renew);
}

TEST(Lease, who_waits_looks_again_and_takes_over_when_the_holder_is_silent_for_the_whole_lease) {
  LeaderElection election = candidate();
  ASSERT_EQ(election.step(lease_time(0s)).kind, LeaseStep::Kind::read);
  election.saw(held_by("other", 7), lease_time(0s).mono);
  EXPECT_EQ(election.step(lease_time(0s)).until, lease_time(2s).mono);
  for (Duration now = 2s; now < 15s; now += 2s) {
    ASSERT_EQ(election.step(lease_time(now)).kind, LeaseStep::Kind::read);
    election.saw(held_by("other", 7), lease_time(now).mono);
    ASSERT_EQ(election.step(lease_time(now)).kind, LeaseStep::Kind::wait);
  }
  EXPECT_EQ(election.step(lease_time(14500ms)).until, lease_time(15s).mono);
  const LeaseStep step = election.step(lease_time(15s));
  ASSERT_EQ(step.kind, LeaseStep::Kind::take_over);
  EXPECT_EQ(step.record.holder, "me");
  EXPECT_EQ(step.record.transitions, 4);
  EXPECT_EQ(step.record.acquired, lease_time(15s).wall);
  EXPECT_EQ(step.record.resource_version, "7");
  EXPECT_FALSE(election.is_leader(lease_time(15s)));
}

TEST(Lease, a_holder_that_renews_keeps_it_whatever_its_clock_says) {
  LeaderElection election = candidate();
  for (int i = 0; i < 100; ++i) {
    const Duration now = 2s * i;
    ASSERT_EQ(election.step(lease_time(now)).kind, LeaseStep::Kind::read);
    election.saw(held_by("other", i), lease_time(now).mono);  // its clock is in 1970
    ASSERT_EQ(election.step(lease_time(now)).kind, LeaseStep::Kind::wait);
  }
}

TEST(Lease, the_time_that_the_holder_promised_counts_and_without_one_our_own) {
  for (const auto& [promised, expected] :
       {std::pair<int, Duration>{60, 60s}, {0, 15s}, {-5, 15s}, {kEver, std::chrono::seconds{kEver}}}) {
    LeaderElection election = candidate();
    ASSERT_EQ(election.step(lease_time(0s)).kind, LeaseStep::Kind::read);
    LeaseRecord record = held_by("other", 1);
    record.duration_s = promised;
    election.saw(record, lease_time(0s).mono);
    EXPECT_NE(election.step(lease_time(expected - 1ms)).kind, LeaseStep::Kind::take_over) << promised;
    election.saw(record, lease_time(expected - 1ms).mono);
    EXPECT_EQ(election.step(lease_time(expected)).kind, LeaseStep::Kind::take_over) << promised;
  }
}

TEST(Lease, a_released_lease_is_taken_at_once_also_by_news_of_a_watch) {
  LeaderElection election = candidate();
  ASSERT_EQ(election.step(lease_time(0s)).kind, LeaseStep::Kind::read);
  election.saw(held_by("other", 1), lease_time(0s).mono);
  ASSERT_EQ(election.step(lease_time(0s)).kind, LeaseStep::Kind::wait);
  election.saw(held_by("", 2), lease_time(500ms).mono);
  EXPECT_EQ(election.step(lease_time(500ms)).kind, LeaseStep::Kind::take_over);
}

TEST(Lease, who_loses_the_race_looks_who_won) {
  LeaderElection election = candidate();
  ASSERT_EQ(election.step(lease_time(0s)).kind, LeaseStep::Kind::read);
  election.saw(held_by("", 1), lease_time(0s).mono);
  ASSERT_EQ(election.step(lease_time(0s)).kind, LeaseStep::Kind::take_over);
  election.failed(lease_time(100ms).mono);
  EXPECT_EQ(election.step(lease_time(100ms)).until, lease_time(2s).mono);
  EXPECT_EQ(election.step(lease_time(2s)).kind, LeaseStep::Kind::read);
  election.saw(held_by("other", 2), lease_time(2s).mono);
  EXPECT_EQ(election.step(lease_time(2s)).kind, LeaseStep::Kind::wait);
  EXPECT_EQ(election.holder(), "other");
}

TEST(Lease, a_leader_that_sees_another_name_steps_down_at_once) {
  LeaderElection election = candidate();
  become_leader(election, 0s);
  election.saw(held_by("other", 2), lease_time(1s).mono);
  EXPECT_FALSE(election.is_leader(lease_time(1s)));
  EXPECT_EQ(election.step(lease_time(1s)).kind, LeaseStep::Kind::step_down);
}

TEST(Lease, a_lease_that_somebody_deletes_is_not_taken_before_its_holder_must_have_noticed) {
  LeaderElection election = candidate();
  ASSERT_EQ(election.step(lease_time(0s)).kind, LeaseStep::Kind::read);
  election.saw(held_by("other", 1), lease_time(0s).mono);
  election.saw_none(lease_time(1s).mono);
  EXPECT_EQ(election.step(lease_time(1s)).kind, LeaseStep::Kind::wait);
  ASSERT_EQ(election.step(lease_time(14s)).kind, LeaseStep::Kind::read);
  election.saw_none(lease_time(14s).mono);
  const LeaseStep step = election.step(lease_time(15s));
  EXPECT_EQ(step.kind, LeaseStep::Kind::create);
  EXPECT_EQ(step.record.resource_version, "");
  EXPECT_EQ(step.record.transitions, 4);
}

TEST(Lease, a_leader_creates_its_lease_again_when_somebody_deletes_it) {
  LeaderElection election = candidate();
  become_leader(election, 0s);
  election.saw_none(lease_time(1s).mono);
  EXPECT_TRUE(election.is_leader(lease_time(1s)));
  const LeaseStep step = election.step(lease_time(2s));
  EXPECT_EQ(step.kind, LeaseStep::Kind::create);
  EXPECT_EQ(step.record.resource_version, "");
}

TEST(Lease, a_suspended_machine_does_not_lead_when_it_wakes_up) {
  LeaderElection election = candidate();
  become_leader(election, 0s);
  const Instant awake{.wall = lease_time(1h).wall, .mono = lease_time(1s).mono};
  EXPECT_FALSE(election.is_leader(awake));
  EXPECT_EQ(election.step(awake).kind, LeaseStep::Kind::step_down);
}

TEST(Lease, a_clock_that_stands_still_or_goes_back_still_renews) {
  LeaderElection election = candidate();
  WallTime last = *become_leader(election, 0s).renewed;
  for (int i = 1; i < 5; ++i) {
    const Instant now{.wall = lease_time(-1h).wall, .mono = lease_time(2s * i).mono};
    const LeaseStep renew = election.step(now);
    ASSERT_EQ(renew.kind, LeaseStep::Kind::renew);
    EXPECT_GT(*renew.record.renewed, last);
    last = *renew.record.renewed;
    election.wrote(stored(renew.record, i + 1), now);
  }
}

TEST(Lease, a_leader_that_shuts_down_gives_it_back) {
  LeaderElection election = candidate();
  become_leader(election, 0s);
  election.release();
  EXPECT_FALSE(election.is_leader(lease_time(1s)));
  EXPECT_EQ(election.step(lease_time(1s)).kind, LeaseStep::Kind::step_down);
  const LeaseStep release = election.step(lease_time(1s));
  ASSERT_EQ(release.kind, LeaseStep::Kind::release);
  EXPECT_EQ(release.record.holder, "");
  EXPECT_EQ(release.record.duration_s, 1);
  EXPECT_EQ(release.record.resource_version, "1");
  election.wrote(stored(release.record, 2), lease_time(1100ms));
  EXPECT_EQ(election.step(lease_time(1100ms)).kind, LeaseStep::Kind::finished);
  EXPECT_EQ(election.step(lease_time(1h)).kind, LeaseStep::Kind::finished);
}

TEST(Lease, a_shutdown_during_a_renewal_gives_back_what_the_renewal_brought) {
  LeaderElection election = candidate();
  become_leader(election, 0s);
  const LeaseStep renew = election.step(lease_time(2s));
  election.release();
  EXPECT_EQ(election.step(lease_time(2s)).kind, LeaseStep::Kind::step_down);
  EXPECT_EQ(election.step(lease_time(2s)).kind, LeaseStep::Kind::wait);
  election.wrote(stored(renew.record, 2), lease_time(2100ms));
  EXPECT_FALSE(election.is_leader(lease_time(2100ms)));
  const LeaseStep release = election.step(lease_time(2100ms));
  EXPECT_EQ(release.kind, LeaseStep::Kind::release);
  EXPECT_EQ(release.record.resource_version, "2");
}

TEST(Lease, a_shutdown_after_a_lost_answer_looks_whether_it_is_ours) {
  for (const bool was_done : {true, false}) {
    LeaderElection election = candidate();
    ASSERT_EQ(election.step(lease_time(0s)).kind, LeaseStep::Kind::read);
    election.saw(held_by("", 1), lease_time(0s).mono);
    const LeaseStep take_over = election.step(lease_time(0s));
    ASSERT_EQ(take_over.kind, LeaseStep::Kind::take_over);
    election.failed(lease_time(5s).mono);
    election.release();
    ASSERT_EQ(election.step(lease_time(5s)).kind, LeaseStep::Kind::read);
    election.saw(was_done ? stored(take_over.record, 2) : held_by("other", 2), lease_time(5s).mono);
    EXPECT_EQ(election.step(lease_time(5s)).kind,
              was_done ? LeaseStep::Kind::release : LeaseStep::Kind::finished);
  }
}

TEST(Lease, who_never_led_has_nothing_to_give_back) {
  LeaderElection fresh = candidate();
  fresh.release();
  EXPECT_EQ(fresh.step(lease_time(0s)).kind, LeaseStep::Kind::finished);

  LeaderElection waiting = candidate();
  ASSERT_EQ(waiting.step(lease_time(0s)).kind, LeaseStep::Kind::read);
  waiting.saw(held_by("other", 1), lease_time(0s).mono);
  waiting.release();
  EXPECT_EQ(waiting.step(lease_time(0s)).kind, LeaseStep::Kind::finished);
}

TEST(Lease, retries_of_many_candidates_spread) {
  LeaderElection election("me", {}, [] { return 0.5; });
  ASSERT_EQ(election.step(lease_time(0s)).kind, LeaseStep::Kind::read);
  election.saw(held_by("other", 1), lease_time(0s).mono);
  EXPECT_EQ(election.step(lease_time(0s)).until, lease_time(2200ms).mono);
}

TEST(Lease, times_that_could_make_two_leaders_are_refused) {
  EXPECT_TRUE(check({}).has_value());
  EXPECT_TRUE(check({.lease = 60s, .renew_deadline = 40s, .retry = 5s}).has_value());
  const auto same = check({.lease = 10s, .renew_deadline = 10s, .retry = 2s});
  ASSERT_FALSE(same.has_value());
  EXPECT_EQ(same.error().what, "the lease (10s) must be longer than the renew deadline (10s)");
  EXPECT_FALSE(check({.lease = 15s, .renew_deadline = 4s, .retry = 2s}).has_value());
  EXPECT_FALSE(check({.lease = 15s, .renew_deadline = 10s, .retry = 0s}).has_value());
}

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

LeaseRecord sample_record() {
  return {.holder = "pod-1_7f",
          .duration_s = 15,
          .transitions = 4,
          .acquired = WallTime{1'800'000'000s + 1us},
          .renewed = WallTime{1'800'000'009s + 120ms},
          .resource_version = "77"};
}

TEST(LeaseObject, says_in_a_new_lease_who_holds_it_and_since_when) {
  EXPECT_EQ(
      lease_json("autopilot-controller", sample_record()),
      R"({"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"autopilot-controller"},)"
      R"("spec":{"holderIdentity":"pod-1_7f","leaseDurationSeconds":15,"leaseTransitions":4,)"
      R"("acquireTime":"2027-01-15T08:00:00.000001Z","renewTime":"2027-01-15T08:00:09.120000Z"}})");
}

TEST(LeaseObject, changes_only_the_version_that_was_read) {
  EXPECT_THAT(lease_patch_json(sample_record()),
              AllOf(HasSubstr(R"("metadata":{"resourceVersion":"77"})"), HasSubstr(R"("leaseTransitions":4)"),
                    Not(HasSubstr("kind"))));
}

TEST(LeaseObject, reads_what_it_wrote) {
  std::string text = lease_json("l", sample_record());
  text.insert(text.find(R"("name")"), R"("resourceVersion":"77",)");
  const auto record = parse_lease_record(text);
  ASSERT_TRUE(record) << record.error().what;
  EXPECT_EQ(*record, sample_record());
}

TEST(LeaseObject, reads_one_that_nobody_has_and_numbers_beyond_all_bounds) {
  const auto empty = parse_lease_record(R"({"metadata":{"resourceVersion":"1"}})");
  ASSERT_TRUE(empty);
  EXPECT_EQ(*empty, LeaseRecord{.resource_version = "1"});
  const auto huge = parse_lease_record(
      R"({"metadata":{"resourceVersion":"1"},"spec":{"leaseDurationSeconds":99999999999,"leaseTransitions":-9}})");
  ASSERT_TRUE(huge);
  EXPECT_EQ(huge->duration_s, 2147483647);
  EXPECT_EQ(huge->transitions, 0);
}

TEST(LeaseObject, what_has_no_version_is_none) {
  for (const char* text : {"", "[]", "{}", R"({"spec":{"holderIdentity":"a"}})", "\x01\x02"})
    EXPECT_FALSE(parse_lease_record(text)) << text;
}

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const std::string kLeases = "/apis/coordination.k8s.io/v1/namespaces/autopilot/leases";
const std::string kLease = kLeases + "/autopilot-controller";

constexpr LeaseTimes kQuick{.lease = 1s, .renew_deadline = 400ms, .retry = 20ms};

class LeaderTest : public ::testing::Test {
 protected:
  LeaderTest() { api_.serve(kLeases); }

  // One process that takes part.
  struct Candidate {
    std::unique_ptr<Client> client;
    std::vector<std::string> told;  // "lead", "step down", or why nothing is known
    std::unique_ptr<Leader> leader;
  };
  std::unique_ptr<Candidate> candidate(const std::string& identity) {
    auto made = std::make_unique<Candidate>();
    auto& told = made->told;
    made->client = api_.client();
    made->leader = std::make_unique<Leader>(
        loop_, *made->client, clock_, LeaderOptions{"autopilot", "autopilot-controller", identity, kQuick},
        Leader::Listener{[&told] { told.emplace_back("lead"); }, [&told] { told.emplace_back("step down"); },
                         [&told](const Error& why) { told.push_back(why.what); }},
        [] { return 0.5; });
    return made;
  }
  [[nodiscard]] bool run_until(const std::function<bool()>& is_so) {
    return net::testing::run_until(loop_, is_so);
  }

  [[nodiscard]] std::string holder() const { return api_.text_at(kLease, "/spec/holderIdentity"); }

  host::SystemClock clock_;
  net::EventLoop loop_;
  fakes::FakeCluster api_{loop_};
};

TEST_F(LeaderTest, leads_when_nobody_else_does_and_renews) {
  const auto one = candidate("one");
  one->leader->start();
  EXPECT_FALSE(one->leader->is_leader());
  ASSERT_TRUE(run_until([&] { return api_.writes.size() >= 3; }));
  EXPECT_TRUE(one->leader->is_leader());
  EXPECT_THAT(one->told, ElementsAre("lead"));
  EXPECT_EQ(one->leader->holder(), "one");
  EXPECT_EQ(one->leader->transitions(), 0);
}

TEST_F(LeaderTest, two_never_lead_at_once_and_a_lease_given_back_is_taken_at_the_next_look) {
  const auto one = candidate("one");
  const auto two = candidate("two");
  one->leader->start();
  two->leader->start();
  ASSERT_TRUE(run_until([&] { return !one->told.empty() || !two->told.empty(); }));
  Candidate& first = one->told.empty() ? *two : *one;
  Candidate& second = one->told.empty() ? *one : *two;
  EXPECT_FALSE(second.leader->is_leader());
  bool is_released = false;
  first.leader->release([&is_released] { is_released = true; });
  EXPECT_FALSE(first.leader->is_leader());
  ASSERT_TRUE(run_until([&] { return is_released && !second.told.empty(); }));
  EXPECT_THAT(first.told, ElementsAre("lead", "step down"));
  EXPECT_THAT(second.told, ElementsAre("lead"));
  EXPECT_EQ(second.leader->transitions(), 1);
}

TEST_F(LeaderTest, a_leader_that_died_is_followed_when_its_lease_has_ended) {
  auto one = candidate("one");
  one->leader->start();
  ASSERT_TRUE(run_until([&] { return one->leader->is_leader(); }));
  one.reset();
  EXPECT_EQ(holder(), "one");
  const auto two = candidate("two");
  two->leader->start();
  ASSERT_TRUE(run_until([&] { return two->leader->is_leader(); }));
  EXPECT_EQ(holder(), "two");
}

TEST_F(LeaderTest, a_server_that_goes_silent_costs_the_leadership_and_it_comes_back) {
  const auto one = candidate("one");
  one->leader->start();
  ASSERT_TRUE(run_until([&] { return one->leader->is_leader(); }));
  api_.is_silent = true;
  ASSERT_TRUE(run_until([&] { return one->told.size() >= 3; }));
  EXPECT_FALSE(one->leader->is_leader());
  EXPECT_THAT(one->told, ::testing::Contains("step down"));
  EXPECT_THAT(one->leader->problem(), HasSubstr("no answer in 200ms"));
  api_.is_silent = false;
  ASSERT_TRUE(run_until([&] { return one->leader->is_leader(); }));
  EXPECT_THAT(one->leader->problem(), IsEmpty());
}

TEST_F(LeaderTest, without_the_right_it_says_so_once_and_tries_on) {
  api_.refusals["GET"] = 403;
  const auto one = candidate("one");
  one->leader->start();
  ASSERT_TRUE(run_until([&] { return one->leader->failures() >= 3; }));
  ASSERT_THAT(one->told, SizeIs(1));
  EXPECT_THAT(one->told[0], HasSubstr("leases/autopilot-controller: 403: "));
  api_.refusals.clear();
  ASSERT_TRUE(run_until([&] { return one->leader->is_leader(); }));
}

TEST_F(LeaderTest, what_is_no_lease_is_a_problem_and_nothing_to_lead_by) {
  api_.objects[kLease] = R"({"metadata":{"name":"autopilot-controller"},"spec":{"holderIdentity":""}})";
  const auto one = candidate("one");
  one->leader->start();
  ASSERT_TRUE(run_until([&] { return one->leader->failures() >= 2; }));
  EXPECT_FALSE(one->leader->is_leader());
  EXPECT_THAT(one->leader->problem(), HasSubstr("not a Lease"));
  EXPECT_THAT(api_.writes, IsEmpty());
}

}  // namespace

}  // namespace autopilot::kube
