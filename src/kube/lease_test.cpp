// SPDX-License-Identifier: Apache-2.0
#include "kube/lease.hpp"

#include <gtest/gtest.h>
#include <limits>
#include <string>

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

}  // namespace
}  // namespace autopilot::kube
