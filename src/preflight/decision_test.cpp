// SPDX-License-Identifier: Apache-2.0

#include "preflight/decision.hpp"

#include <functional>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/preflight/gpu_fixture.hpp"

namespace autopilot::preflight {

namespace {

using namespace std::chrono_literals;
using api::PreflightOutcome;
using api::PreflightState;
using ::testing::ElementsAre;
using testing::gpu;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Kind = GateDecision::Kind;

constexpr WallTime kNow{24h * 365};
constexpr std::string_view kTest = "gpu.pcie_bandwidth";
constexpr std::string_view kOther = "gpu.memory_bandwidth";

// A sound node, a pod with two GPUs of it, and proofs of both.
struct Case {
  std::vector<std::string> wanted{std::string(kTest)};
  std::vector<OfferedTest> offered{{std::string(kTest)}, {std::string(kOther)}, {"self_test", true}};
  HeldGpus held{{gpu("a"), gpu("b")}, true, {}};
  NodeSnapshot snapshot;
  std::vector<PassRecord> passes;
  std::map<std::string, MadeTest> made;
  Duration max_age = 24h;
  std::string why_evicted;

  Case() {
    snapshot.verdict = Verdict::pass;
    snapshot.boot_id = "boot";
    snapshot.results.emplace_back().check = "host.clock";
    prove("a", 2h);
    prove("b", 1h);
  }
  void prove(const std::string& key, Duration age, std::string_view test = kTest) {
    add_pass_records(passes, {{"GPU-" + key, std::string(test), kNow - age, "boot", "op-1"}});
  }
  // What a test of both GPUs found.
  void end(Health a, Health b, std::string_view id = kTest) {
    JudgedTest test{std::string(id), "op-7", kNow, {}, {}};
    for (const auto& [key, health] : {std::pair("a", a), std::pair("b", b)}) {
      TestedGpu& tested = test.gpus.emplace_back(TestedGpu{gpu(key), health, {}});
      if (health == Health::healthy) continue;
      Finding& finding = tested.findings.emplace_back();
      finding.subject = gpu(key);
      finding.health = health;
      finding.message = std::string(key) + " is wrong";
    }
    made[std::string(id)] = {"op-7", test, {}};
  }
  [[nodiscard]] GateDecision decide() const {
    return preflight::decide({wanted, offered, held, snapshot, passes, made, max_age, kNow,
                              [](std::string_view) { return nullptr; }, why_evicted});
  }
};

Incident evicting() {
  Incident incident;
  incident.blamed = gpu("c");
  incident.confidence = 0.9;
  incident.action = Action::replace;
  IncidentMember& member = incident.members.emplace_back();
  member.check = "gpu.row_remap";
  member.finding.subject = gpu("c");
  member.finding.health = Health::failed;
  member.finding.message = "GPU 2 has a row that cannot be remapped";
  return incident;
}

struct Row {
  std::string name;
  std::function<void(Case&)> change;
  Kind kind;
  PreflightOutcome outcome;  // of open and refuse
  std::string words;         // in the message
};

class Decision : public ::testing::TestWithParam<Row> {};

const std::vector<Row>& rows() {
  static const std::vector<Row> all{
      {"proofs_open", [](Case&) {}, Kind::open, PreflightOutcome::passed,
       "gpu.pcie_bandwidth passed 2 h ago on the 2 GPUs of this pod"},
      {"proofs_do_not_outweigh_an_evict_that_stays",
       [](Case& one) { one.why_evicted = "EVICT stood here before this agent"; }, Kind::refuse,
       PreflightOutcome::failed, "the node is not fit for pods (EVICT): EVICT stood here before this agent"},
      {"one_gpu_without_a_proof", [](Case& one) { one.passes.pop_back(); }, Kind::run, {}, "waits"},
      {"a_proof_that_is_too_old", [](Case& one) { one.max_age = 2h; }, Kind::run, {}, "waits"},
      {"a_proof_of_just_within_the_age", [](Case& one) { one.max_age = 2h + 1ns; }, Kind::open,
       PreflightOutcome::passed, "2 h ago"},
      {"no_age_is_young_enough",
       [](Case& one) {
         one.max_age = 0s;
         one.prove("a", 0s);
         one.prove("b", 0s);
       },
       Kind::run,
       {},
       "waits"},
      {"a_proof_of_before_the_boot",
       [](Case& one) { one.passes[0].boot_id = "before"; },
       Kind::run,
       {},
       "waits"},
      {"a_proof_of_another_test",
       [](Case& one) {
         one.passes.clear();
         one.prove("a", 1h, kOther);
         one.prove("b", 1h, kOther);
       },
       Kind::run,
       {},
       "waits"},
      {"a_proof_from_a_clock_that_was_ahead",
       [](Case& one) {
         one.prove("a", -1h);
         one.prove("b", -1h);
       },
       Kind::open, PreflightOutcome::passed, "0 s ago"},
      {"a_gpu_whose_uuid_nobody_knows",
       [](Case& one) { one.held.gpus[0].uuid = {}; },
       Kind::run,
       {},
       "waits"},
      {"a_deep_test_is_a_proof_of_itself",
       [](Case& one) {
         one.wanted = {"gpu.diagnosis"};
         one.prove("a", 1h, "deep_test");
         one.prove("b", 3h, "deep_test");
       },
       Kind::open, PreflightOutcome::passed, "gpu.diagnosis passed 3 h ago"},
      {"a_deep_test_is_not_made_for_a_pod", [](Case& one) { one.wanted = {"gpu.diagnosis"}; }, Kind::refuse,
       PreflightOutcome::could_not_look, "no such test that can run while the pod has its GPUs"},
      {"a_test_that_nobody_offers", [](Case& one) { one.wanted = {"gpu.other"}; }, Kind::refuse,
       PreflightOutcome::could_not_look, "gpu.other could not run: this node has no such test"},
      {"no_test_is_asked_for", [](Case& one) { one.wanted.clear(); }, Kind::open, PreflightOutcome::passed,
       "no test is requested"},
      {"a_pod_without_gpus",
       [](Case& one) {
         one.held = {{}, true, {}};
       },
       Kind::open, PreflightOutcome::passed, "has no GPU"},
      {"evict_opens_for_nobody",
       [](Case& one) {
         one.snapshot.verdict = Verdict::evict;
         one.snapshot.incidents = {evicting()};
       },
       Kind::refuse, PreflightOutcome::failed, "(EVICT): GPU 2 has a row that cannot be remapped"},
      {"evict_goes_before_what_is_not_known",
       [](Case& one) {
         one.snapshot.verdict = Verdict::evict;
         one.held = {{}, false, "nobody tells"};
       },
       Kind::refuse, PreflightOutcome::failed, "EVICT"},
      {"warn_opens", [](Case& one) { one.snapshot.verdict = Verdict::warn; }, Kind::open,
       PreflightOutcome::passed, ""},
      {"a_node_that_was_not_looked_at_yet",
       [](Case& one) { one.snapshot.results[0].required = true; },
       Kind::wait,
       {},
       "just begun"},
      {"a_node_that_is_tested_deeply",
       [](Case& one) {
         one.snapshot.verdict = Verdict::testing;
         one.passes.clear();
       },
       Kind::wait,
       {},
       "reserved for a deep test"},
      {"proofs_open_a_node_that_is_tested_deeply", [](Case& one) { one.snapshot.verdict = Verdict::testing; },
       Kind::open, PreflightOutcome::passed, ""},
      {"all_gpus_of_the_node_have_proofs",
       [](Case& one) {
         one.held.are_its_own = false;
         one.held.untestable = "nobody tells";
       },
       Kind::open, PreflightOutcome::passed, "on all 2 GPUs of the node"},
      {"nobody_tells_which_gpus",
       [](Case& one) {
         one.held.are_its_own = false;
         one.held.untestable = "nobody tells";
         one.passes.clear();
       },
       Kind::refuse, PreflightOutcome::could_not_look, "nobody tells"},
      {"a_pod_without_gpus_that_wants_a_test_of_the_host",
       [](Case& one) {
         one.held = {{}, true, {}};
         one.wanted = {std::string(kTest), "self_test"};
       },
       Kind::run,
       {},
       "self_test waits"},
      {"what_is_wrong_with_the_host_is_said_once",
       [](Case& one) {
         one.wanted = {"self_test"};
         JudgedTest test{"self_test", "op-7", kNow, {}, {}};
         TestedGpu& host = test.host.emplace();
         host.health = Health::degraded;
         host.findings.emplace_back().message = "a processor computes wrongly";
         one.made["self_test"] = {"op-7", test, {}};
       },
       Kind::refuse, PreflightOutcome::failed, "self_test failed: a processor computes wrongly"},
      {"nobody_tells_and_no_gpu_is_seen",
       [](Case& one) {
         one.held = {{}, false, "nobody tells"};
       },
       Kind::refuse, PreflightOutcome::could_not_look, "nobody tells"},
      {"a_test_of_the_host_needs_not_to_know_the_gpus",
       [](Case& one) {
         one.held.are_its_own = false;
         one.held.untestable = "nobody tells";
         one.wanted = {"self_test"};
       },
       Kind::run,
       {},
       "self_test waits"},
      {"a_host_that_passed",
       [](Case& one) {
         one.wanted = {"self_test"};
         JudgedTest passed{"self_test", "op-7", kNow, {}, {}};
         passed.host.emplace();
         one.made["self_test"] = {"op-7", passed, {}};
       },
       Kind::open, PreflightOutcome::passed, "self_test passed just now on the node"},
      {"under_way",
       [](Case& one) {
         one.passes.clear();
         one.made[std::string(kTest)] = {"op-7", {}, {}};
       },
       Kind::wait,
       {},
       "is running"},
      {"passed_now",
       [](Case& one) {
         one.passes.clear();
         one.end(Health::healthy, Health::healthy);
       },
       Kind::open, PreflightOutcome::passed, "passed just now on the 2 GPUs of this pod"},
      {"failed_now", [](Case& one) { one.end(Health::healthy, Health::degraded); }, Kind::refuse,
       PreflightOutcome::failed, "gpu.pcie_bandwidth failed: b is wrong"},
      {"both_failed", [](Case& one) { one.end(Health::failed, Health::degraded); }, Kind::refuse,
       PreflightOutcome::failed, "a is wrong (and 1 more GPUs)"},
      {"one_is_not_told_of", [](Case& one) { one.end(Health::healthy, Health::unknown); }, Kind::refuse,
       PreflightOutcome::could_not_look, "b is wrong"},
      {"what_is_proven_goes_before_what_is_not_told",
       [](Case& one) { one.end(Health::unknown, Health::degraded); }, Kind::refuse, PreflightOutcome::failed,
       "b is wrong"},
      {"it_told_nothing",
       [](Case& one) {
         one.passes.clear();
         one.made[std::string(kTest)] = {"op-7", {}, "no end within 60s"};
       },
       Kind::refuse, PreflightOutcome::could_not_look, "no end within 60s"},
      {"one_of_two_is_missing",
       [](Case& one) { one.wanted.emplace_back(kOther); },
       Kind::run,
       {},
       "gpu.memory_bandwidth waits"},
      {"a_failure_is_told_before_the_rest_has_ended",
       [](Case& one) {
         one.wanted.emplace_back(kOther);
         one.end(Health::healthy, Health::failed);
         one.made[std::string(kOther)] = {"op-8", {}, {}};
       },
       Kind::refuse, PreflightOutcome::failed, "b is wrong"},
      {"what_cannot_be_made_waits_for_the_rest",
       [](Case& one) {
         one.wanted = {std::string(kTest), "gpu.other"};
         one.passes.clear();
         one.made[std::string(kTest)] = {"op-7", {}, {}};
       },
       Kind::wait,
       {},
       "gpu.other could not run"},
  };
  return all;
}

TEST_P(Decision, is_this) {
  const Row& row = GetParam();
  Case one;
  row.change(one);
  const GateDecision decision = one.decide();
  EXPECT_EQ(decision.kind, row.kind) << decision.message;
  if (row.kind == Kind::open || row.kind == Kind::refuse) {
    EXPECT_EQ(decision.outcome, row.outcome);
  }
  EXPECT_THAT(decision.message, HasSubstr(row.words));
}

INSTANTIATE_TEST_SUITE_P(Table, Decision, ::testing::ValuesIn(rows()),
                         [](const auto& row) { return row.param.name; });

TEST(GateDecision, says_of_each_test_how_it_is) {
  Case one;
  one.wanted = {std::string(kTest), std::string(kOther), "gpu.other"};
  const GateDecision decision = one.decide();
  EXPECT_THAT(decision.run, ElementsAre(std::string(kOther)));
  ASSERT_EQ(decision.tests.size(), 3U);
  EXPECT_EQ(decision.tests[0].state, PreflightState::fresh);
  EXPECT_EQ(decision.tests[0].age, 2h);
  EXPECT_EQ(decision.tests[1].state, PreflightState::waiting);
  EXPECT_EQ(decision.tests[2].state, PreflightState::could_not_look);
}

TEST(GateDecision, has_the_findings_and_who_says_so) {
  Case one;
  one.snapshot.verdict = Verdict::evict;
  one.snapshot.incidents = {evicting()};
  ASSERT_EQ(one.decide().findings.size(), 1U);
  EXPECT_EQ(one.decide().findings[0].check, "gpu.row_remap");
  Case failed;
  failed.wanted.emplace_back("gpu.other");
  failed.end(Health::healthy, Health::degraded);
  const auto findings = failed.decide().findings;
  ASSERT_EQ(findings.size(), 1U);  // not that the other one could not run
  EXPECT_EQ(findings[0].finding.subject, gpu("b"));
  EXPECT_THAT(Case().decide().findings, IsEmpty());
}

bool is_on_probation_with(const std::string& note) {
  kube::Node node;
  node.meta.annotations["a.example/probation"] = note;
  return is_on_probation(node, "a.example", *parse_time("2026-11-21T03:04:05Z"));
}

TEST(Probation, lasts_until_its_end) {
  EXPECT_FALSE(is_on_probation({}, "a.example", {}));
  EXPECT_TRUE(is_on_probation_with(R"({"plan": "p", "until": "2026-11-21T03:04:06Z"})"));
  EXPECT_FALSE(is_on_probation_with(R"({"plan": "p", "until": "2026-11-21T03:04:05Z"})"));
}

TEST(Probation, what_cannot_be_read_counts) {
  for (const char* note : {"", "soon", "[]", R"({"plan": "p"})", R"({"until": 7})", R"({"until": "soon"})"})
    EXPECT_TRUE(is_on_probation_with(note)) << note;
}

}  // namespace

}  // namespace autopilot::preflight
