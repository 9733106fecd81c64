// SPDX-License-Identifier: Apache-2.0
#include "report/node_report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "incidents/finding_state.hpp"
#include "report/node_report_reader.hpp"
#include "report/report_cuts.hpp"
#include "tests/support/api/test_samples.hpp"
#include "tests/support/incidents/node_state_fixture.hpp"

namespace autopilot::report {
namespace {

using incidents::NodeState;
using incidents::SavedState;
using incidents::WrittenVerdict;
using incidents::testing::at;
using incidents::testing::finding;
using incidents::testing::gpu;
using incidents::testing::kBoot;
using incidents::testing::kNextBoot;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

// What an agent knows when it reports.
struct Known {
  NodeSnapshot snapshot = api::testing::sample_node();
  SavedState saved;
  WrittenVerdict written;
  std::vector<PassRecord> pass_records;
  std::string node_uid = "6f1c8e2a-0000-4000-8000-000000000001";

  [[nodiscard]] std::string text() const {
    return report_text({snapshot, saved, written, pass_records, "autopilot", node_uid});
  }
};

// An incident with one finding behind it, as the state machine keeps them.
void add_incident(SavedState& saved, int number, const std::string& message = "the GPU does not answer") {
  Incident incident;
  incident.id = "0123abcd-" + std::to_string(number);
  incident.check = "gpu.present";
  incident.reason = "lost";
  incident.blamed = gpu("0000:" + std::to_string(10 + number % 80) + ":00.0");
  incident.health = Health::failed;
  incident.summary = message;
  incident.opened = incident.updated = at(seconds{number}).wall;
  Finding one = finding(incident.blamed, "lost");
  one.message = message;
  incident.members = {{"gpu.present", one, false, std::nullopt}};
  incidents::Memory memory;
  memory.incident = incident.id;
  saved.findings.push_back({"gpu.present", one, std::string(kBoot), to_text(memory)});
  saved.incidents.push_back(std::move(incident));
}

std::vector<std::string> ids(const std::vector<Incident>& incidents) {
  std::vector<std::string> ids;
  for (const Incident& one : incidents)
    ids.push_back(one.id);
  return ids;
}

NodeReport read(const Known& known) {
  auto report = parse_report(known.text());
  EXPECT_TRUE(report) << report.error().what;
  return report.value_or(NodeReport{});
}

TEST(NodeReport, says_whose_it_is_and_what_stands_on_the_node) {
  Known known;
  known.written = {Verdict::evict, {{"0123abcd-1", std::nullopt, false}}};
  const std::string text = known.text();
  EXPECT_THAT(text, StartsWith(R"({"apiVersion":"autopilot.ibm.com/v1alpha1","kind":"NodeHealthReport",)"
                               R"("metadata":{"name":"node-1","namespace":"autopilot","ownerReferences":)"
                               R"([{"apiVersion":"v1","kind":"Node","name":"node-1","uid":"6f1c8e2a-)"));
  EXPECT_THAT(text, HasSubstr(R"("verdict":"WARN","written":{"verdict":"EVICT","evicting":[)"
                              R"({"incident":"0123abcd-1","acknowledged":false}]})"));
  EXPECT_THAT(text, HasSubstr(R"("coverage":{"looked":14,"of":15,"summary":"14 of 15",)"));
  EXPECT_EQ(text, known.text()) << "equal input is equal text";
  known.node_uid.clear();
  EXPECT_THAT(known.text(), Not(HasSubstr("ownerReferences")));
  EXPECT_EQ(report_path("autopilot", "node-1"),
            "/apis/autopilot.ibm.com/v1alpha1/namespaces/autopilot/nodehealthreports/node-1");
}

TEST(NodeReport, a_new_agent_goes_on_with_the_incidents_of_the_old_one) {
  incidents::testing::Reasons reasons;
  reasons.add("lost", catalog::ClearRule::reboot);
  reasons.add("hot", catalog::ClearRule::acknowledged);
  const std::vector<catalog::Cause> causes;
  NodeState old(reasons.lookup(), causes, std::string(kBoot));
  const auto gpus = std::vector{gpu("0000:3b:00.0", "S1"), gpu("0000:86:00.0", "S2")};
  (void)old.complete_round("gpu.present", at(seconds{1}),
                           {finding(gpus[0], "lost"), finding(gpus[1], "lost")}, {});
  (void)old.complete_round("gpu.temperature", at(seconds{2}), {finding(gpus[1], "hot", Health::degraded)},
                           {});
  (void)old.acknowledge("0123abcd-1", {"alice (uid 1000)", at(seconds{3}).wall, "ordered"}, at(seconds{3}));
  Known known;
  known.saved = old.save();
  ASSERT_THAT(known.saved.incidents, SizeIs(3));
  GpuUser candidate;
  candidate.owner.pod = "train-a";
  candidate.owner.candidate_by = "api";
  known.saved.incidents[0].gpu_users = {candidate};

  const NodeReport report = read(known);
  NodeState next(reasons.lookup(), causes, std::string(kBoot));
  EXPECT_TRUE(next.restore(report.saved, at(seconds{10})).empty()) << "nothing is news";
  EXPECT_EQ(ids(next.incidents()), ids(old.incidents()));
  EXPECT_EQ(next.incidents()[0].acknowledged.value_or(Acknowledgement{}).by, "alice (uid 1000)");
  EXPECT_EQ(next.findings("gpu.present").size(), 2U);
  // The pod is gone, and no agent saw it since.
  (void)next.complete_round("gpu.present", at(seconds{10}),
                            {finding(gpus[0], "lost"), finding(gpus[1], "lost")}, {});
  ASSERT_THAT(next.incidents()[0].gpu_users, SizeIs(1));
  EXPECT_EQ(next.incidents()[0].gpu_users[0].owner.pod, "train-a");
  EXPECT_EQ(next.incidents()[0].gpu_users[0].owner.candidate_by, "api");
  EXPECT_EQ(next.save().next_incident, old.save().next_incident);
  // What is gone is held, and clears by its own rule.
  (void)next.complete_round("gpu.temperature", at(seconds{11}), {}, {});
  ASSERT_THAT(next.findings("gpu.temperature"), SizeIs(1));
  EXPECT_TRUE(next.findings("gpu.temperature")[0].held);
  EXPECT_TRUE(next.acknowledge("0123abcd-3", {"bob", {}, "cooled"}, at(seconds{12})));
  EXPECT_THAT(ids(next.incidents()), ElementsAre("0123abcd-1", "0123abcd-2"));
}

TEST(NodeReport, of_another_boot_is_taken_like_a_journal_of_another_boot) {
  incidents::testing::Reasons reasons;
  reasons.add("lost", catalog::ClearRule::reboot);
  const std::vector<catalog::Cause> causes;
  NodeState old(reasons.lookup(), causes, std::string(kBoot));
  (void)old.complete_round("gpu.present", at(seconds{1}), {finding(gpu("0000:3b:00.0"), "lost")}, {});
  Known known;
  known.saved = old.save();
  NodeState next(reasons.lookup(), causes, std::string(kNextBoot));
  const Instant soon_after_boot{at(std::chrono::hours{48}).wall, MonoTime{seconds{5}}};
  (void)next.restore(read(known).saved, soon_after_boot);
  EXPECT_THAT(next.incidents(), SizeIs(1)) << "nobody has looked since the boot";
  known.saved = next.save();
  EXPECT_THAT(read(known).saved.findings, SizeIs(1)) << "older than the boot, and told again";
  (void)next.complete_round("gpu.present", at(seconds{11}), {}, {});
  EXPECT_THAT(next.incidents(), IsEmpty()) << "a reboot is what clears it";
}

TEST(NodeReport, keeps_verdict_pass_records_and_every_member_of_an_incident) {
  Known known;
  known.written = {Verdict::evict,
                   {{"0123abcd-1", std::nullopt, false}, {"predecessor", api::testing::sample_time(), true}}};
  known.pass_records = {{"GPU-1", "gpu.memory", api::testing::sample_time(), std::string(kBoot), "op-1"},
                        {"GPU-2", "gpu.memory", api::testing::sample_time(5), std::string(kBoot), "op-2"}};
  Incident whole = api::testing::sample_incident();
  whole.state = IncidentState::open;
  whole.closed.reset();
  known.saved.incidents = {whole};
  known.saved.next_incident = 17;
  const NodeReport report = read(known);
  EXPECT_EQ(report.node, "node-1");
  EXPECT_TRUE(report.simulated);
  EXPECT_EQ(report.boot_id, known.snapshot.boot_id);
  EXPECT_EQ(report.written, known.written);
  EXPECT_EQ(report.saved.next_incident, 17U);
  ASSERT_THAT(report.pass_records, SizeIs(2));
  EXPECT_EQ(report.pass_records[0].gpu_uuid, "GPU-2") << "the newest first";
  EXPECT_EQ(report.pass_records[0].time, known.pass_records[1].time);
  ASSERT_THAT(report.saved.incidents, SizeIs(1));
  EXPECT_EQ(api::to_json(report.saved.incidents[0]), api::to_json(whole));
}

TEST(NodeReport, says_why_evict_stays_where_no_incident_does) {
  const NodeSnapshot snapshot = api::testing::sample_node();
  const incidents::SavedState saved;
  const incidents::WrittenVerdict written{
      Verdict::evict, {{"predecessor", api::testing::sample_time(), false}}, {}};
  const std::string text = report_text({.snapshot = snapshot,
                                        .saved = saved,
                                        .written = written,
                                        .pass_records = {},
                                        .name_space = "autopilot",
                                        .node_uid = {},
                                        .why_evicted = "EVICT stood here before"});
  EXPECT_THAT(text, HasSubstr(R"("written":{"verdict":"EVICT","why":"EVICT stood here before",)"));
  EXPECT_THAT(text, HasSubstr(R"("worstIncident":"EVICT stood here before")"));
}

TEST(NodeReport, puts_what_evicts_first_then_the_newest_and_says_how_many_are_left_out) {
  Known known;
  for (int i = 0; i < 400; ++i)
    add_incident(known.saved, i, std::string(500, 'x'));
  known.written = {Verdict::evict, {{"0123abcd-3", std::nullopt, false}}};
  const std::string text = known.text();
  EXPECT_LE(text.size(), kMaxReportBytes);
  const NodeReport report = read(known);
  const std::size_t told = report.saved.incidents.size();
  ASSERT_GT(told, 3U);
  EXPECT_EQ(report.saved.incidents[0].id, "0123abcd-3");
  EXPECT_EQ(report.saved.incidents[1].id, "0123abcd-399");
  EXPECT_EQ(report.saved.incidents[2].id, "0123abcd-398");
  EXPECT_THAT(text, HasSubstr("\"incidentsLeftOut\":" + std::to_string(400 - told)));
  EXPECT_EQ(report.saved.findings.size(), told) << "each with its finding";
}

// What a machine says may be long, and of signs that JSON spells with six.
TEST(NodeReport, fits_whatever_the_machine_says) {
  for (const std::string& sign :
       {std::string("\""), std::string("\x01"), std::string("\xff"), std::string("ä")}) {
    std::string flood;
    while (flood.size() < 5000)
      flood += sign;
    Known known;
    for (int i = 0; i < 40; ++i)
      add_incident(known.saved, i, flood);
    Incident& first = known.saved.incidents.front();
    for (int i = 0; i < 60; ++i) {
      first.members.push_back(first.members.front());
      for (int entry = 0; entry < 60; ++entry)
        first.members.back().finding.evidence.emplace_back("line" + std::to_string(entry), flood);
    }
    for (int i = 0; i < 300; ++i) {
      CheckResult result;
      result.check = "custom." + std::to_string(i);
      result.health = Health::failed;
      result.findings = {known.saved.findings.front().finding};
      known.snapshot.results.push_back(result);
      known.snapshot.coverage.missing_rights.push_back("CAP_" + std::to_string(i));
      known.pass_records.push_back({"GPU-" + std::to_string(i), "gpu.memory", {}, "b", "o"});
      known.written.evicting.push_back({"0123abcd-" + std::to_string(i), std::nullopt, false});
    }
    EXPECT_LE(known.text().size(), kMaxReportBytes);
    const NodeReport report = read(known);
    EXPECT_FALSE(report.saved.incidents.empty());
    EXPECT_THAT(known.text(), HasSubstr("\"checksLeftOut\":"));
    EXPECT_THAT(known.text(), HasSubstr("\"passRecordsLeftOut\":"));
  }
}

TEST(NodeReport, names_the_gpus_with_the_worst_that_is_said_of_each) {
  Known known;
  CheckResult present;
  present.check = "gpu.present";
  present.health = Health::healthy;
  Observation seen;
  seen.subject = api::testing::sample_gpu();
  present.observations = Observations{seen};
  CheckResult link;
  link.check = "gpu.nvlink";
  link.health = Health::failed;
  Subject part;
  part.kind = SubjectKind::nvlink;
  part.key = "0000:3b:00.0/2";
  link.findings = {finding(part, "down", Health::failed)};
  known.snapshot.results = {present, link};
  EXPECT_THAT(known.text(),
              HasSubstr(R"("gpus":[{"key":"0000:3b:00.0","index":3,"uuid":"GPU-8e1fa1b0-0000-4000-8000-)"
                        R"(000000000003","serial":"1650000000003","health":"failed"}])"));
  EXPECT_THAT(known.text(), HasSubstr(R"("message":"nvlink/0000:3b:00.0/2: down")"));
}

TEST(NodeReport, is_news_only_when_more_than_times_changed) {
  Known known;
  add_incident(known.saved, 1);
  const std::string before = known.text();
  known.snapshot.time += seconds{30};
  known.snapshot.results[0].completed += seconds{30};
  known.saved.incidents[0].updated += seconds{30};
  known.saved.findings[0].state = "m1 0123abcd-1 0 0 5 5 5 5 0 0 0";
  EXPECT_NE(before, known.text());
  EXPECT_FALSE(is_news(before, known.text()));
  EXPECT_FALSE(is_news(before, before));
  known.saved.incidents[0].state = IncidentState::recovering;
  EXPECT_TRUE(is_news(before, known.text()));
  EXPECT_TRUE(is_news(before, ""));
  EXPECT_TRUE(is_news("", before));
  EXPECT_TRUE(is_news(R"({"a":"x\"y"})", R"({"a":"x\"z"})"));
  EXPECT_FALSE(is_news(R"("cut off \)", R"("cut off \)"));
}

TEST(ShortTexts, end_between_two_characters) {
  EXPECT_EQ(short_text("short", 10), "short");
  EXPECT_EQ(short_text("0123456789", 10), "0123456789");
  EXPECT_EQ(short_text("0123456789a", 10), "0123456...");
  EXPECT_EQ(short_text("012345ääää", 10), "012345...") << "half a character is none";
  EXPECT_EQ(short_text("a\nb\x7f", 10), "a b ");
  EXPECT_EQ(short_text("\xff\xff\xff\xff\xff", 10), "\xef\xbf\xbd\xef\xbf\xbd...");
}

TEST(ShortIncidents, keep_the_cause_and_what_stands) {
  Incident incident = api::testing::sample_incident();
  const IncidentMember standing{"gpu.ecc", finding(gpu("a"), "standing"), false, std::nullopt};
  const IncidentMember over{"gpu.ecc", finding(gpu("b"), "over"), true, WallTime{}};
  incident.members = {over, over, standing, over, standing, over};
  incident.further = 1;
  const Incident cut = short_incident(incident, {100, 10, 100, 3, 1});
  ASSERT_THAT(cut.members, SizeIs(3));
  EXPECT_EQ(cut.members[0].finding.reason, "over");
  EXPECT_EQ(cut.members[1].finding.reason, "standing");
  EXPECT_EQ(cut.members[2].finding.reason, "standing");
  EXPECT_EQ(cut.further, 4);
  ASSERT_THAT(cut.gpu_users, SizeIs(1));
  EXPECT_EQ(cut.gpu_users[0].owner.pod, "idle-0") << "the last that came";
}

}  // namespace
}  // namespace autopilot::report
