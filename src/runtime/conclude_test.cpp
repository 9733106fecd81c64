// SPDX-License-Identifier: Apache-2.0
#include "runtime/conclude.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdexcept>

#include "incidents/finding_tracker.hpp"
#include "incidents/verdict.hpp"
#include "tests/fakes/told_name_servers.hpp"

namespace autopilot::runtime {
namespace {

using namespace std::chrono_literals;
using host::NameServerOutcome;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Result<checks::Observed> never_observed(const host::Host&, const checks::Request&) {
  return fail(Errc::internal, "not called");
}

Findings failed_when_above_one(const checks::JudgeInput& input) {
  if (input.history.number(host_subject(), "count").value_or(0) <= 1) return {};
  Finding finding;
  finding.health = Health::failed;
  finding.reason = "too_many";
  return {finding};
}

Findings throws(const checks::JudgeInput&) {
  throw std::runtime_error("index out of range");
}

checks::Check check_with(Findings (*judge)(const checks::JudgeInput&)) {
  checks::Check check{{}, never_observed, judge};
  check.info.id = "test.count";
  check.info.rights = {"CAP_SYSLOG"};
  return check;
}

checks::Observed one_count(std::int64_t value, MonoTime at) {
  Observation observation;
  observation.name = "count";
  observation.value = value;
  observation.time.mono = at;
  return {{observation}, {"sysfs"}, LogParts::none, std::nullopt, 0};
}

Findings concluded(const checks::Check& check, Result<checks::Observed> observed, History& history) {
  return conclude(check, std::move(observed), 10min, {}, catalog::Catalog{}, {}, history);
}

TEST(Conclude, an_answer_that_makes_no_sense_is_never_silent) {
  History history;
  const auto check = check_with([](const checks::JudgeInput&) { return Findings{}; });
  Observation refused;
  refused.name = "row_remap.failed";
  refused.subject.kind = SubjectKind::gpu;
  refused.subject.key = "0000:3b:00.0";
  refused.missing = "malformed";
  refused.attributes = {{"error", std::string("row_remap.failed is 7")}};
  const auto findings = concluded(check, checks::Observed{{refused}, {}, LogParts::none, {}, 0}, history);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].health, Health::unknown);
  EXPECT_EQ(findings[0].reason, "malformed_answer");
  EXPECT_EQ(findings[0].subject.key, "0000:3b:00.0");
  EXPECT_EQ(findings[0].message, "row_remap.failed is 7");
  const auto own = check_with([](const checks::JudgeInput& input) {
    Finding finding;
    finding.subject = input.history.latest()[0].subject;
    finding.health = Health::unknown;
    finding.reason = "could_not_look";
    finding.message = "GPU 3 cannot be read: row_remap.failed is 7";
    return Findings{finding};
  });
  const auto told = concluded(own, checks::Observed{{refused}, {}, LogParts::none, {}, 0}, history);
  EXPECT_EQ(told.size(), 1U) << "the judge tells it itself";
}

TEST(SecondLook, is_wanted_where_the_reason_asks_again_and_nothing_is_raised) {
  Finding worn_out;
  worn_out.health = Health::failed;
  worn_out.reason = "row_remap_failed";
  Finding down = worn_out;
  down.reason = "nvlink_down";
  Finding unseen = worn_out;
  unseen.health = Health::unknown;
  Finding wish = worn_out;
  wish.reason = "gpu_recovery_wanted";
  Finding milder_wish = wish;
  milder_wish.health = Health::degraded;
  const auto wants = [](const Findings& said, const Findings& raised) {
    return needs_confirmation(said, raised, catalog::builtin());
  };
  EXPECT_TRUE(wants({worn_out}, {}));
  EXPECT_TRUE(wants({down, worn_out}, {down}));
  EXPECT_TRUE(wants({wish}, {milder_wish})) << "it got worse";
  EXPECT_FALSE(wants({worn_out}, {worn_out}));
  EXPECT_FALSE(wants({milder_wish}, {wish}));
  EXPECT_FALSE(wants({down}, {})) << "a link may come back by itself";
  EXPECT_FALSE(wants({unseen}, {}));
  EXPECT_FALSE(wants({}, {worn_out}));
}

TEST(Conclude, judges_the_round_that_was_just_seen) {
  History history;
  const auto check = check_with(failed_when_above_one);
  EXPECT_TRUE(concluded(check, one_count(1, MonoTime{1s}), history).empty());
  EXPECT_EQ(health_of(concluded(check, one_count(2, MonoTime{2s}), history)), Health::failed);
}

TEST(Conclude, keeps_the_largest_number_in_mind_beyond_the_window_and_over_a_restart) {
  auto check = check_with([](const checks::JudgeInput&) { return Findings{}; });
  check.info.baselines = {"count"};
  History history;
  const auto largest = [&] { return history.number(host_subject(), "count.largest"); };
  concluded(check, one_count(400, MonoTime{1s}), history);
  EXPECT_EQ(largest(), 400);
  concluded(check, one_count(200, MonoTime{1h}), history);
  EXPECT_EQ(largest(), 400);
  concluded(check, one_count(800, MonoTime{2h}), history);
  EXPECT_EQ(largest(), 800);

  const SharedObservations journaled = history.latest();
  history = History();
  for (const Observation& observation : journaled)
    history.restore(observation);
  concluded(check, one_count(200, MonoTime{3h}), history);
  EXPECT_EQ(largest(), 800);
}

TEST(Conclude, an_error_is_unknown_and_never_healthy) {
  History history;
  const auto findings = concluded(check_with(failed_when_above_one),
                                  fail(Errc::timed_out, "statfs /data: no answer in 2s"), history);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(health_of(findings), Health::unknown);
  EXPECT_EQ(findings[0].reason, "timed_out");
  EXPECT_THAT(findings[0].message, HasSubstr("/data"));
  EXPECT_TRUE(history.empty());
}

TEST(Conclude, a_denied_look_names_the_missing_right) {
  History history;
  const auto findings = concluded(check_with(failed_when_above_one),
                                  fail(Errc::denied, "/dev/kmsg: Permission denied"), history);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].reason, "not_permitted");
  EXPECT_THAT(findings[0].message, HasSubstr("CAP_SYSLOG"));
}

TEST(Conclude, a_denied_look_is_counted_with_its_missing_right) {
  const auto check = check_with(failed_when_above_one);
  CheckResult result;
  result.check = check.info.id;
  result.completed = WallTime{1s};
  result.findings = {cannot_look(check.info, {Errc::denied, "/dev/kmsg: Permission denied"})};
  result.health = health_of(result.findings);
  const auto coverage = incidents::coverage_of(CheckResults{result}, std::vector{check.info});
  EXPECT_EQ(coverage.looked, 0);
  EXPECT_EQ(coverage.of, 1);
  EXPECT_THAT(coverage.missing_rights, testing::ElementsAre("CAP_SYSLOG"));
}

TEST(Conclude, evidence_that_nothing_is_there_is_unsupported) {
  History history;
  const auto findings =
      concluded(check_with(failed_when_above_one), fail(Errc::unsupported, "no NVIDIA GPU"), history);
  EXPECT_EQ(health_of(findings), Health::unsupported);
}

TEST(Conclude, an_exception_of_a_judge_is_unknown) {
  History history;
  const auto findings = concluded(check_with(throws), one_count(1, MonoTime{1s}), history);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].health, Health::unknown);
  EXPECT_EQ(findings[0].reason, "check_bug");
}

TEST(HealthOf, one_unsupported_device_among_healthy_ones_is_healthy) {
  Finding finding;
  finding.health = Health::unsupported;
  finding.subject = {SubjectKind::gpu, "0000:3b:00.0", 0, "", ""};
  EXPECT_EQ(health_of({finding}), Health::healthy);
}

TEST(HealthOf, what_was_injected_does_not_count) {
  Finding failed;
  failed.health = Health::failed;
  failed.injected = true;
  EXPECT_EQ(health_of({failed}), Health::healthy);
}

TEST(HealthOf, failed_outranks_unknown_and_unknown_outranks_degraded) {
  Finding failed;
  failed.health = Health::failed;
  Finding unknown;
  unknown.health = Health::unknown;
  Finding degraded;
  degraded.health = Health::degraded;
  EXPECT_EQ(health_of({degraded, unknown}), Health::unknown);
  EXPECT_EQ(health_of({unknown, failed, degraded}), Health::failed);
  EXPECT_EQ(health_of({}), Health::healthy);
}

// network.dns on a network without the Internet, with what stays of it.
class NameServersOfAClosedNetwork : public ::testing::Test {
 protected:
  // One round in which both say the same; what stands after it, "subject reason".
  std::vector<std::string> round(NameServerOutcome outcome) {
    servers_.seen =
        host::NameServersSeen{true,
                              {{.address = "192.0.2.53", .outcome = outcome, .code = host::kServerFailure},
                               {.address = "192.0.2.54", .outcome = outcome, .code = host::kServerFailure}}};
    empty_.clock.advance(60s);
    const Instant now = empty_.clock.now();
    auto observed = check_.observe(host_, {.now = now, .deadline = now.mono + check_.info.deadline});
    const Observations observations = observed ? observed->observations : Observations{};
    const Findings findings =
        conclude(check_, std::move(observed), check_.info.window, now, catalog::builtin(), {}, history_);
    static_cast<void>(tracker_.complete_round(check_.info.id, now, findings, observations));
    std::vector<std::string> standing;
    for (const Finding& finding : tracker_.findings(check_.info.id))
      standing.push_back(to_string(finding.subject) + " " + finding.reason);
    return standing;
  }

  const checks::Check& check_ = *checks::find_check("network.dns");
  fakes::EmptyHost empty_;
  fakes::ToldNameServers servers_;
  host::Host host_ = fakes::host_with(empty_, servers_);
  History history_;
  incidents::FindingTracker tracker_{
      [](std::string_view reason) { return catalog::builtin().reason(reason); }, "boot"};
};

TEST_F(NameServersOfAClosedNetwork, are_no_longer_silent_once_they_answer) {
  static_cast<void>(round(NameServerOutcome::closed));
  EXPECT_THAT(round(NameServerOutcome::closed),
              ElementsAre("peer/192.0.2.53 name_server_silent", "peer/192.0.2.54 name_server_silent",
                          "host no_name_server"));
  static_cast<void>(round(NameServerOutcome::answered));
  EXPECT_THAT(round(NameServerOutcome::answered), IsEmpty());
  EXPECT_THAT(round(NameServerOutcome::helpless), IsEmpty());
}

TEST_F(NameServersOfAClosedNetwork, do_not_keep_what_another_boot_said_of_them) {
  incidents::SavedFinding saved{.check = "network.dns", .finding = {}, .boot_id = "earlier", .state = ""};
  saved.finding.subject = {SubjectKind::peer, "192.0.2.53", {}, {}, {}};
  saved.finding.health = Health::degraded;
  saved.finding.reason = "name_server_failing";
  tracker_.restore({saved}, empty_.clock.now());
  // As long as nothing of the server is seen, nothing is known to be over.
  for (int i = 0; i < 3; ++i)
    EXPECT_THAT(round(NameServerOutcome::silent), Contains("peer/192.0.2.53 name_server_failing"));
  static_cast<void>(round(NameServerOutcome::answered));
  EXPECT_THAT(round(NameServerOutcome::answered), IsEmpty());
}

}  // namespace
}  // namespace autopilot::runtime
