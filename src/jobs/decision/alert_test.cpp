// SPDX-License-Identifier: Apache-2.0
#include "jobs/decision/alert.hpp"

#include <algorithm>
#include <chrono>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>
#include <set>
#include <sstream>
#include <string>

#include "jobs/decision/alert_text.hpp"

namespace autopilot::jobs {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::Not;

const WallTime kAlertOnset{std::chrono::seconds(1767225600)};

JobFinding slow_finding() {
  JobFinding finding;
  finding.job = "ml/llama-7f3a";
  finding.effect = Effect::slow;
  finding.culprit = {EntityKind::gpu, "gpu-001", 3, {}};
  finding.ranks = {27};
  finding.cause = "clock";
  finding.probability = 0.93;
  finding.onset = kAlertOnset;
  finding.detected = kAlertOnset + 8min;
  finding.slowdown = 0.16;
  finding.summary = "GPU 3 runs at a lower clock than its peers of equal role.";
  Evidence evidence;
  evidence.family = Family::clock;
  evidence.signal = "sm_clock_low";
  evidence.text = "SM clock 1410 MHz; median of the peers 1755 MHz; threshold 1667 MHz";
  evidence.log_odds = 3;
  finding.evidence = {evidence};
  finding.ruled_out = {"an imbalance of pipeline stages", "a checkpoint"};
  finding.decision.choice = Choice::swap_at_checkpoint;
  finding.decision.loss_continue = 5.75;
  finding.decision.loss_checkpoint = 0.28;
  finding.decision.loss_now = 0.5;
  finding.decision.since_checkpoint = 0.25;
  finding.decision.to_checkpoint = 0.25;
  finding.decision.restart = 0.25;
  finding.decision.goodput_loss = 0.138;
  finding.decision.probability = 0.93;
  finding.decision.horizon = 57.5;
  finding.decision.because = "Swapping the node at the next checkpoint costs 0.28 h; continuing costs 5.75 h";
  finding.id = finding_id(finding.job, finding.effect, finding.culprit, finding.onset);
  finding.severity = severity_of(finding);
  return finding;
}

JobState llama() {
  JobState state;
  state.job = "ml/llama-7f3a";
  state.ranks = 512;
  state.nodes = 64;
  state.step_s = 3.6;
  state.not_seen = {"ends of processes"};
  return state;
}

JobFinding raised_again(Duration after, Effect effect = Effect::slow) {
  JobFinding finding = slow_finding();
  finding.effect = effect;
  finding.onset = kAlertOnset + after;
  finding.id = finding_id(finding.job, finding.effect, finding.culprit, finding.onset);
  return finding;
}

std::string unwrapped(const std::string& text) {
  std::istringstream words(text);
  std::string all;
  for (std::string word; words >> word;)
    all += (all.empty() ? "" : " ") + word;
  return all;
}

TEST(Alert, an_id_is_stable_and_tells_findings_apart) {
  const Entity gpu{EntityKind::gpu, "a", 3, {}};
  EXPECT_EQ(finding_id("j", Effect::slow, gpu, kAlertOnset), "f5ced0b44e10df8b");
  std::set<std::string> ids;
  for (const std::string job : {"j", "jj"})
    for (const Effect effect : {Effect::slow, Effect::hang})
      for (const Entity& entity :
           {gpu, Entity{EntityKind::host, "a", -1, {}}, Entity{EntityKind::gpu, "a3", -1, {}}})
        for (const Duration after : {0s, 1s})
          ids.insert(finding_id(job, effect, entity, kAlertOnset + after));
  EXPECT_EQ(ids.size(), 24U);
}

TEST(Alert, the_text_answers_what_since_when_who_and_what_to_do) {
  const Alert alert = make_alert(slow_finding(), llama(), AlertKind::raised, kAlertOnset + 12min);
  EXPECT_EQ(alert.title, "GPU 3 of gpu-001 slows ml/llama-7f3a by 16 %");
  EXPECT_EQ(alert.severity, Severity::page);
  const std::string body = unwrapped(alert.body);
  for (const char* part :
       {"Since 2026-01-01T00:00:00Z (12 min), detected after 8 min", "16 % longer, now 3.60 s",
        "-14 % goodput", "70.6 GPU-hours", "rank 27", "probability 0.93", "clock +3.0: SM clock 1410 MHz",
        "1755 MHz", "1667 MHz", "Ruled out: an imbalance of pipeline stages; a checkpoint",
        "swap the node at the next checkpoint", "recommended, not done",
        "continue 5.75 h, swap 0.28 h, stop now 0.50 h", "horizon 57.50 h",
        "Act before the checkpoint at 2026-01-01T00:27:00Z", "kubectl cordon gpu-001",
        "autopilot test gpu.compute --node gpu-001", "It is wrong if", "Not seen: ends of processes"}) {
    EXPECT_THAT(body, HasSubstr(part));
  }
}

TEST(Alert, the_text_fits_on_a_screen) {
  JobFinding finding = slow_finding();
  std::string words;
  for (int i = 0; i < 500; ++i)
    words += "word ";
  finding.summary = finding.decision.because = finding.evidence[0].text = words;
  finding.evidence.resize(50, finding.evidence[0]);
  finding.ruled_out.resize(50, words);
  finding.ranks.resize(5000, 12345);
  JobState state = llama();
  state.not_seen.resize(50, words);
  const Alert alert = make_alert(finding, state, AlertKind::raised, kAlertOnset + 12min);
  EXPECT_LE(std::count(alert.body.begin(), alert.body.end(), '\n') + 1, 40);
  EXPECT_THAT(alert.body, HasSubstr("kubectl cordon gpu-001"));
  std::istringstream lines(alert.body);
  for (std::string line; std::getline(lines, line);)
    EXPECT_LE(line.size(), 80U) << line;
}

TEST(Alert, a_strange_name_reaches_no_command_and_no_terminal) {
  JobFinding finding = slow_finding();
  finding.culprit.node = "gpu-001; rm -rf /\x1b[31m\n";
  const Alert alert = make_alert(finding, llama(), AlertKind::raised, kAlertOnset);
  EXPECT_THAT(alert.body, Not(HasSubstr("kubectl")));
  EXPECT_THAT(alert.body + alert.title, Not(HasSubstr("\x1b")));
  EXPECT_FALSE(is_safe_in_shell("-o"));
  EXPECT_FALSE(is_safe_in_shell(""));
}

TEST(Alert, no_node_is_named_if_none_is_accused) {
  JobFinding finding = slow_finding();
  finding.culprit = {};
  finding.effect = Effect::hang;
  finding.slowdown = std::numeric_limits<double>::quiet_NaN();
  const Alert alert = make_alert(finding, llama(), AlertKind::raised, kAlertOnset);
  EXPECT_EQ(alert.title, "ml/llama-7f3a hangs; the culprit is unknown");
  EXPECT_THAT(alert.body, Not(HasSubstr("cordon")));
  EXPECT_THAT(alert.body, HasSubstr("autopilot network test"));
  EXPECT_THAT(alert.body, HasSubstr("512 GPU-hours"));
}

TEST(Alert, a_page_is_for_jobs_without_progress_and_actions_that_are_due) {
  JobFinding finding = slow_finding();
  EXPECT_EQ(severity_of(finding), Severity::page);
  finding.decision.choice = Choice::keep_running;
  EXPECT_EQ(severity_of(finding), Severity::ticket);
  finding.probability = 0.3;
  EXPECT_EQ(severity_of(finding), Severity::info);
  finding.effect = Effect::regression;
  EXPECT_EQ(severity_of(finding), Severity::ticket);
  finding.effect = Effect::none;
  EXPECT_EQ(severity_of(finding), Severity::info);
  finding.effect = Effect::hang;
  EXPECT_EQ(severity_of(finding), Severity::page);
  finding.resolved = kAlertOnset;
  EXPECT_EQ(severity_of(finding), Severity::info);
}

TEST(Alert, the_end_states_the_cost) {
  JobFinding finding = slow_finding();
  finding.resolved = kAlertOnset + 2h;
  EXPECT_NEAR(lost_gpu_hours(finding, 512, kAlertOnset + 50h), 512 * 2 * 0.16 / 1.16, 1e-6);
  const Alert alert = make_alert(finding, llama(), AlertKind::resolved, kAlertOnset + 2h);
  EXPECT_THAT(alert.title, HasSubstr("Over: GPU 3 of gpu-001"));
  EXPECT_THAT(alert.body, HasSubstr("It cost 141.2 GPU-hours"));
  EXPECT_THAT(alert.body, HasSubstr("uncordon gpu-001"));
  finding.slowdown = std::nullopt;
  EXPECT_THAT(make_alert(finding, llama(), AlertKind::resolved, kAlertOnset).body, HasSubstr("unknown"));
  finding.effect = Effect::hang;  // the work since the checkpoint is lost as well
  EXPECT_NEAR(lost_gpu_hours(finding, 100, kAlertOnset), 100 * 2.25, 1e-9);
  EXPECT_EQ(lost_gpu_hours(finding, -1, kAlertOnset), 0);
}

TEST(Alerts, a_finding_is_sent_once_and_its_end_once) {
  Alerts alerts;
  JobFinding finding = slow_finding();
  EXPECT_TRUE(alerts.offer(finding, llama(), kAlertOnset));
  EXPECT_FALSE(alerts.offer(finding, llama(), kAlertOnset + 59min));
  const auto again = alerts.offer(finding, llama(), kAlertOnset + 61min);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->kind, AlertKind::changed);
  finding.resolved = kAlertOnset + 70min;
  const auto end = alerts.offer(finding, llama(), kAlertOnset + 70min);
  ASSERT_TRUE(end);
  EXPECT_EQ(end->kind, AlertKind::resolved);
  EXPECT_EQ(end->severity, Severity::info);
  EXPECT_FALSE(alerts.offer(finding, llama(), kAlertOnset + 71min));
  EXPECT_EQ(alerts.suppressed(), 2U);
}

TEST(Alerts, a_more_severe_finding_does_not_wait) {
  Alerts alerts;
  JobFinding finding = slow_finding();
  finding.severity = Severity::ticket;
  EXPECT_TRUE(alerts.offer(finding, llama(), kAlertOnset));
  finding.severity = Severity::page;
  const auto alert = alerts.offer(finding, llama(), kAlertOnset + 1min);
  ASSERT_TRUE(alert);
  EXPECT_EQ(alert->kind, AlertKind::changed);
}

TEST(Alerts, an_end_without_a_begin_is_not_sent) {
  Alerts alerts;
  JobFinding finding = slow_finding();
  finding.resolved = kAlertOnset;
  EXPECT_FALSE(alerts.offer(finding, llama(), kAlertOnset));
}

TEST(Alerts, a_finding_that_comes_and_goes_is_sent_a_few_times) {
  Alerts alerts;
  int sent = 0;
  std::string last;
  for (int i = 0; i < 20; ++i) {
    const Duration after = i * 5min;
    if (const auto alert = alerts.offer(raised_again(after), llama(), kAlertOnset + after)) {
      ++sent;
      last = alert->body;
    }
  }
  EXPECT_EQ(sent, 4);
  EXPECT_THAT(last, HasSubstr("comes and goes"));
  EXPECT_TRUE(alerts.offer(raised_again(0s, Effect::hang), llama(), kAlertOnset + 90min));  // another finding
  EXPECT_TRUE(alerts.offer(raised_again(170min), llama(), kAlertOnset + 170min));  // after a calm hour
  EXPECT_TRUE(alerts.offer(raised_again(24h), llama(), kAlertOnset + 24h));
}

TEST(Alerts, memory_is_limited) {
  AlertLimits limits;
  limits.remembered = 10;
  Alerts alerts(limits);
  for (int i = 0; i < 100; ++i) {
    JobFinding finding = slow_finding();
    finding.culprit.gpu = i;
    finding.id = std::to_string(i);
    EXPECT_TRUE(alerts.offer(finding, llama(), kAlertOnset + i * 1s));
  }
  JobFinding first = slow_finding();
  first.id = "0";
  first.resolved = kAlertOnset;
  EXPECT_FALSE(alerts.offer(first, llama(), kAlertOnset + 200s));  // forgotten
  first.id = "99";
  EXPECT_TRUE(alerts.offer(first, llama(), kAlertOnset + 200s));
}

TEST(AlertText, words_are_wrapped_and_long_ones_kept) {
  EXPECT_EQ(wrap("a bb ccc", 4, 1), "a bb\n ccc");
  EXPECT_EQ(wrap("abcdefgh", 4, 1), "abcdefgh");
  EXPECT_EQ(wrap("", 4, 1), "");
}

}  // namespace
}  // namespace autopilot::jobs
