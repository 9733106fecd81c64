// SPDX-License-Identifier: Apache-2.0
#include "cli/output/node_page.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/parse.hpp"

namespace autopilot::cli {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr WallTime kPageNow{1'800'000'000s};

Observation about_gpu(std::string_view name, const Subject& gpu, Value value) {
  Observation observation;
  observation.name = name;
  observation.subject = gpu;
  observation.value = std::move(value);
  return observation;
}

Subject gpu_at(int index) {
  return {SubjectKind::gpu, "0000:6" + std::to_string(index) + ":00.0", index, "",
          "165030000" + std::to_string(index)};
}

CheckResult result_of(std::string check, Health health, Findings findings = {}) {
  CheckResult result;
  result.check = std::move(check);
  result.health = health;
  result.completed = kPageNow - 5s;
  result.findings = std::move(findings);
  return result;
}

Finding finding_about(Subject subject, Health health, std::string reason, std::string message) {
  Finding finding;
  finding.subject = std::move(subject);
  finding.health = health;
  finding.reason = std::move(reason);
  finding.message = std::move(message);
  finding.since = kPageNow - 3h;
  finding.last_seen = kPageNow - 5s;
  return finding;
}

// Eight healthy GPUs; two checks do not apply.
NodeSnapshot healthy_node(int gpus = 8) {
  NodeSnapshot node;
  node.node = "gpu-017";
  node.time = kPageNow;
  node.health = Health::healthy;
  node.verdict = Verdict::pass;
  CheckResult temperature = result_of("gpu.temperature", Health::healthy);
  Observations seen;
  for (int i = 0; i < gpus; ++i) {
    seen.push_back(about_gpu("gpu.model", gpu_at(i), std::string("NVIDIA H100 80GB HBM3")));
    seen.push_back(about_gpu("temperature.gpu", gpu_at(i), 38.0 + i));
  }
  temperature.observations = seen;
  node.results.push_back(temperature);
  node.results.push_back(result_of("gpu.xid", Health::healthy));
  node.results.push_back(result_of("storage.raid", Health::unsupported));
  node.results.push_back(result_of("network.efa", Health::unsupported));
  return node;
}

// GPU 3 fell off the bus: a record of the kernel, which has no index.
NodeSnapshot failed_node() {
  NodeSnapshot node = healthy_node();
  node.health = Health::failed;
  node.verdict = Verdict::evict;
  Subject gpu = gpu_at(3);
  gpu.index.reset();
  Finding finding = finding_about(gpu, Health::failed, "gpu_fallen_off_bus",
                                  "GPU 0000:63:00.0: Xid 79: The GPU is no longer reachable over PCIe.");
  finding.evidence = {{"code", std::int64_t{79}}};
  finding.action = Action::power_cycle;
  node.results[1] = result_of("gpu.xid", Health::failed, {finding});
  Incident& incident = node.incidents.emplace_back();
  incident.id = "dd90c519-1";
  incident.check = "gpu.xid";
  incident.reason = finding.reason;
  incident.blamed = gpu;
  incident.health = Health::failed;
  incident.action = finding.action;
  incident.summary = finding.message;
  incident.opened = kPageNow - 2h;
  incident.members = {{"gpu.xid", finding, false, {}}};
  return node;
}

std::string page_text(const NodeSnapshot& node, PageView view = {}) {
  view.now = node.time;
  return render_page(page_of(node), view);
}

std::string words_of(const std::string& page) {
  std::string text;
  for (const auto word : split_words(page))
    text.append(word).append(" ");
  return text;
}

TEST(NodePage, a_healthy_node_is_a_line_its_gpus_and_a_line_for_everything_else) {
  EXPECT_EQ(page_text(healthy_node(2)),
            "gpu-017  healthy  verdict PASS  checked 5s ago\n\n"
            "GPU  MODEL                  SERIAL      TEMP  HEALTH\n"
            "0    NVIDIA H100 80GB HBM3  1650300000  38 C  healthy\n"
            "1    NVIDIA H100 80GB HBM3  1650300001  39 C  healthy\n\n"
            "gpu.temperature, gpu.xid ran and found nothing; 2 do not apply to this machine\n(see --all)\n");
}

TEST(NodePage, the_first_line_has_the_verdict_and_its_reason_and_the_problem_follows) {
  const std::string page = page_text(failed_node());
  EXPECT_THAT(
      page,
      StartsWith("gpu-017  failed: GPU 3 Xid 79: A GPU fell off the bus\nverdict EVICT  checked 5s ago\n\n"
                 "failed    GPU 3 (0000:63:00.0): Xid 79: The GPU is no longer reachable over\n"
                 "          PCIe. For 3h.\n"
                 "          What to do: Drain the node and power-cycle it. If it repeats in the\n"));
  EXPECT_THAT(words_of(page), HasSubstr("(explain: xid 79; ack: dd90c519-1)"));
  EXPECT_THAT(page, Not(HasSubstr("SIMULATED")));
  // The incident contains the finding.
  EXPECT_EQ(page.find("no longer reachable"), page.rfind("no longer reachable"));
}

TEST(NodePage, the_age_is_that_of_the_evidence_and_a_condition_that_is_gone_has_its_end) {
  NodeSnapshot node = failed_node();
  node.incidents[0].state = IncidentState::recovering;
  auto& finding = node.incidents[0].members[0].finding;
  finding.clears_when = "when the GPU is reset or the machine reboots";
  finding.last_seen = kPageNow - 20min;
  EXPECT_THAT(
      words_of(page_text(node)),
      HasSubstr("For 3h. Not seen since 07:40 UTC; open until the GPU is reset or the machine reboots."));
  node.incidents[0].members[0].finding.last_seen = kPageNow - 24h;
  node.incidents[0].members[0].finding.clears_when = "12h after the last occurrence";
  EXPECT_THAT(words_of(page_text(node)),
              HasSubstr("Not seen since 2027-01-14 08:00 UTC; closes 12h after the last occurrence."));
}

TEST(NodePage, an_action_of_the_error_replaces_the_cure_and_has_its_command) {
  NodeSnapshot node = failed_node();
  node.incidents[0].action = Action::run_diagnostics;
  EXPECT_THAT(page_text(node),
              AllOf(HasSubstr("What to do: Run diagnostics.\n"), HasSubstr("Command: autopilot test")));
}

TEST(NodePage, incidents_precede_findings_and_failed_precedes_degraded) {
  NodeSnapshot node = failed_node();
  node.results.push_back(
      result_of("host.clock", Health::degraded,
                {finding_about(host_subject(), Health::degraded, "clock_not_synchronised", "no NTP")}));
  node.results.push_back(
      result_of("storage.nvme", Health::failed,
                {finding_about({SubjectKind::disk, "nvme0", {}, "", ""}, Health::failed, "x", "is dead")}));
  const std::string page = page_text(node);
  EXPECT_LT(page.find("Xid 79: The GPU"), page.find("nvme0: is dead."));
  EXPECT_LT(page.find("nvme0: is dead."), page.find("no NTP."));
}

TEST(NodePage, unknown_checks_are_one_line_for_each_cause) {
  NodeSnapshot node = healthy_node();
  node.coverage.missing_rights = {"CAP_SYSLOG"};
  for (const char* check : {"gpu.xid", "host.kernel"})
    node.results.push_back(
        result_of(check, Health::unknown,
                  {finding_about(host_subject(), Health::unknown, "not_permitted", "/dev/kmsg: denied")}));
  node.results.push_back(
      result_of("gpu.ecc", Health::unknown,
                {finding_about(gpu_at(1), Health::unknown, "timed_out", "no answer after 10s")}));
  const std::string page = page_text(node);
  EXPECT_THAT(words_of(page),
              HasSubstr(" unknown missing permission CAP_SYSLOG: gpu.xid, host.kernel; autopilot "
                        "doctor shows how to get it "));
  EXPECT_THAT(page, HasSubstr("\nunknown   gpu.ecc: no answer after 10s\n"));
}

TEST(NodePage, many_unknown_checks_are_wrapped_and_counted) {
  NodeSnapshot node = healthy_node();
  for (int i = 0; i < 12; ++i)
    node.results.push_back(
        result_of("storage.number" + std::to_string(i), Health::unknown,
                  {finding_about(host_subject(), Health::unknown, "timed_out", "no answer after 10s")}));
  const std::string page = page_text(node);
  EXPECT_THAT(words_of(page),
              HasSubstr("storage.number6, storage.number7, and 4 more: no answer after 10s "));
  EXPECT_THAT(page, Not(HasSubstr("...")));
}

TEST(NodePage, a_diagnostic_that_was_not_started_does_apply_to_the_machine) {
  NodeSnapshot node = healthy_node();
  node.results.push_back(result_of("gpu.sdc", Health::unsupported,
                                   {finding_about(host_subject(), Health::unsupported, "not_present",
                                                  "not started: autopilot test gpu.sdc")}));
  EXPECT_THAT(words_of(page_text(node)),
              HasSubstr("2 do not apply to this machine, 1 diagnostic was not started (autopilot test; see "
                        "--all)"));
}

TEST(NodePage, further_problems_are_counted_in_the_first_line) {
  NodeSnapshot node = failed_node();
  node.results.push_back(
      result_of("host.clock", Health::degraded,
                {finding_about(host_subject(), Health::degraded, "clock_not_synchronised", "no NTP")}));
  for (const std::size_t width : {40U, 80U})
    EXPECT_THAT(split(page_text(node, {.width = width}), '\n').front(), EndsWith(", and 1 more"));
  EXPECT_EQ(short_status(page_of(node)), "failed: GPU 3 Xid 79, and 1 more");
}

// An observation of the GPU at 0000:6<slot>, that age ago, when the driver gave it that index.
Observation seen_at(int slot, int index, Duration age) {
  Subject gpu = gpu_at(slot);
  gpu.index = index;
  Observation seen = about_gpu("gpu.model", gpu, std::string("H100"));
  seen.time.wall = kPageNow - age;
  return seen;
}

// The driver lists GPUs at the slots now; an older check has read all of four GPUs before.
NodeSnapshot renumbered_node(std::vector<int> slots) {
  NodeSnapshot node = failed_node();
  Observations old;
  for (int slot = 0; slot < 4; ++slot)
    old.push_back(seen_at(slot, slot, 10min));
  Observations now;
  for (std::size_t i = 0; i < slots.size(); ++i)
    now.push_back(seen_at(slots[i], static_cast<int>(i), 5s));
  Observation count = about_gpu("driver.gpu_count", host_subject(), static_cast<std::int64_t>(slots.size()));
  count.time.wall = kPageNow - 5s;
  now.push_back(count);
  node.results[0].observations = now;
  node.results.push_back(result_of("gpu.pcie_link", Health::healthy));
  node.results[node.results.size() - 1].observations = old;
  return node;
}

TEST(NodePage, an_index_that_another_gpu_has_now_is_not_shown_for_the_lost_gpu) {
  NodeSnapshot node = renumbered_node({0, 2, 3});
  Subject lost = gpu_at(1);
  node.incidents[0].blamed = node.incidents[0].members[0].finding.subject = lost;
  node.incidents[0].summary = "GPU 1 (0000:61:00.0): Xid 79: The GPU is no longer reachable over PCIe.";
  node.results[1] = result_of("gpu.xid", Health::failed, {node.incidents[0].members[0].finding});
  const std::string page = page_text(node);
  EXPECT_THAT(page, AllOf(HasSubstr("failed: GPU 0000:61:00.0 Xid 79"),
                          HasSubstr("\nfailed    GPU 0000:61:00.0: Xid 79: "), Not(HasSubstr("GPU 1 "))));
  EXPECT_THAT(page, HasSubstr("GPU  ADDRESS       MODEL  SERIAL      HEALTH\n"
                              "0    0000:60:00.0  H100   1650300000  healthy\n"
                              "-    0000:61:00.0  H100   1650300001  failed\n"
                              "1    0000:62:00.0  H100   1650300002  healthy\n"
                              "2    0000:63:00.0  H100   1650300003  healthy\n"));
}

TEST(NodePage, a_lost_gpu_keeps_an_index_that_no_other_gpu_has) {
  const std::string page = page_text(renumbered_node({0, 1, 2}));
  EXPECT_THAT(page, AllOf(HasSubstr("failed: GPU 3 Xid 79"), HasSubstr("\n3    0000:63:00.0  H100")));
}

TEST(NodePage, a_required_check_that_could_not_run_is_the_reason) {
  NodeSnapshot node = healthy_node();
  node.health = Health::unknown;
  CheckResult driver =
      result_of("gpu.driver", Health::unknown,
                {finding_about(host_subject(), Health::unknown, "timed_out", "the driver does not answer")});
  driver.required = true;
  node.results.push_back(driver);
  EXPECT_THAT(page_text(node),
              StartsWith("gpu-017  unknown: gpu.driver could not run: the driver does not answer\n"));
  EXPECT_EQ(short_status(page_of(node)), "unknown: gpu.driver");
}

TEST(NodePage, more_than_16_gpus_are_the_unhealthy_and_a_count) {
  NodeSnapshot node = failed_node();
  Observations seen;
  for (int i = 0; i < 20; ++i) {
    Subject gpu = gpu_at(i % 10);
    gpu.key = "0000:" + std::to_string(60 + i) + ":00.0";
    gpu.index = i;
    seen.push_back(about_gpu("temperature.gpu", gpu, 40.0));
  }
  node.results[0].observations = seen;
  const std::string page = page_text(node);
  EXPECT_THAT(page, HasSubstr("\n3    1650300003  40 C  failed\n19 more GPUs are healthy, at 40 to 40 C.\n"));
}

TEST(NodePage, a_gpu_shows_its_user) {
  NodeSnapshot node = healthy_node(1);
  GpuUser user;
  user.pid = 4200;
  user.process = "python3";
  user.owner.pod_namespace = "ml";
  user.owner.pod = "train-0";
  CheckResult users = result_of("gpu.processes", Health::healthy);
  users.observations = Observations{to_observation(user, gpu_at(0), "/proc", {})};
  node.results.push_back(users);
  EXPECT_THAT(page_text(node), AllOf(HasSubstr("USED BY\n"), HasSubstr("healthy  ml/train-0\n")));
}

TEST(NodePage, every_width_is_kept) {
  NodeSnapshot node = failed_node();
  node.simulated = true;
  node.results.push_back(
      result_of("host.kernel", Health::unknown,
                {finding_about(host_subject(), Health::unknown, "not_permitted", std::string(300, 'x'))}));
  for (const std::size_t width : {40U, 80U, 200U}) {
    const std::string page = page_text(node, {.width = width});
    for (const auto line : split(page, '\n'))
      EXPECT_LE(line.size(), width) << line;
    EXPECT_THAT(page, AllOf(HasSubstr("failed"), HasSubstr("What to do:"), HasSubstr("verdict EVICT"),
                            HasSubstr("SIMULATED")));
    EXPECT_THAT(page, Not(HasSubstr("\033")));
  }
  EXPECT_THAT(page_text(node, {.color = true}), HasSubstr("\033[1;31mfailed"));
}

TEST(NodePage, a_low_terminal_keeps_the_first_problem) {
  NodeSnapshot node = failed_node();
  for (int i = 0; i < 30; ++i)
    node.results.push_back(
        result_of("storage.nvme", Health::degraded,
                  {finding_about({SubjectKind::disk, "nvme" + std::to_string(i), {}, "", ""},
                                 Health::degraded, "x", "is worn")}));
  for (const std::size_t height : {10U, 22U, 30U}) {
    const std::string page = page_text(node, {.height = height});
    EXPECT_LE(split(page, '\n').size(), height + 1) << page;
    EXPECT_THAT(page, AllOf(HasSubstr("What to do: Drain the node"), HasSubstr("more problem")));
  }
}

TEST(NodePage, escape_sequences_from_a_machine_never_reach_the_terminal) {
  NodeSnapshot node = failed_node();
  node.node = "evil\033[2J";
  node.incidents[0].summary = "x\033]0;owned\a y";
  node.results[2] = result_of("storage.raid", Health::unknown,
                              {finding_about(host_subject(), Health::unknown, "y", "\033[2J")});
  EXPECT_THAT(page_text(node), Not(HasSubstr("\033")));
}

TEST(ShortStatus, is_a_few_words) {
  EXPECT_EQ(short_status(page_of(healthy_node())), "ok");
  NodeSnapshot node = failed_node();
  EXPECT_EQ(short_status(page_of(node)), "failed: GPU 3 Xid 79");
  node.simulated = true;
  EXPECT_EQ(short_status(page_of(node)), "failed: GPU 3 Xid 79 SIMULATED");
  node = healthy_node();
  node.health = Health::degraded;
  node.results.push_back(
      result_of("host.clock", Health::degraded,
                {finding_about(host_subject(), Health::degraded, "clock_not_synchronised", "no NTP")}));
  EXPECT_EQ(short_status(page_of(node)), "degraded 1");
}

}  // namespace
}  // namespace autopilot::cli
