// SPDX-License-Identifier: Apache-2.0

#include "compat/ibm_autopilot/check_answer.hpp"

#include <chrono>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compat/ibm_autopilot/status_request.hpp"

namespace autopilot::compat::ibm_autopilot {

namespace {

Subject gpu(int number) {
  return {SubjectKind::gpu, "0000:" + std::to_string(10 + number) + ":00.0", number, "", ""};
}

// Texts are those that the interface promises, written from its description.
class CheckAnswerTest : public ::testing::Test {
 protected:
  CheckAnswerTest() { snapshot_.node = "node-a"; }

  CheckResult& add(const std::string& check, Health health) {
    CheckResult& result = snapshot_.results.emplace_back();
    result.check = check;
    result.health = health;
    return result;
  }
  void read_all(const std::string& check, const std::string& name, const std::vector<int>& values) {
    Observations observations;
    for (const int value : values) {
      Observation& observation = observations.emplace_back();
      observation.name = name;
      observation.subject = gpu(static_cast<int>(observations.size()) - 1);
      if (value >= 0) observation.value = value != 0;
    }
    add(check, Health::healthy).observations = std::move(observations);
  }
  void say(const std::string& check, const std::string& name, const std::string& word,
           Attributes attributes = {}) {
    Observation observation;
    observation.name = name;
    observation.value = word;
    observation.attributes = std::move(attributes);
    add(check, Health::healthy).observations = Observations{observation};
  }
  void find(CheckResult& result, const Subject& subject, Health health, const std::string& message) {
    Finding& finding = result.findings.emplace_back();
    finding.subject = subject;
    finding.health = health;
    finding.message = message;
  }
  [[nodiscard]] std::string text_of(std::string_view name) const { return answer_of(name, snapshot_).text; }
  [[nodiscard]] Outcome outcome_of(std::string_view name) const { return answer_of(name, snapshot_).outcome; }

  NodeSnapshot snapshot_;
};

TEST_F(CheckAnswerTest, no_pending_remap) {
  read_all("gpu.row_remap", "row_remap.pending", {0, 0, 0, 0});
  EXPECT_EQ(outcome_of("remapped"), Outcome::passed);
  EXPECT_EQ(text_of("remapped"),
            "\n[[ REMAPPED ROWS ]] Briefings completed. Continue with remapped rows evaluation.\n"
            "[[ REMAPPED ROWS ]] SUCCESS\nHost  node-a\nDetected NVIDIA GPU: 0 1 2 3 Total: 4\n0 0 0 0\n");
}

TEST_F(CheckAnswerTest, a_look_that_is_not_of_now_says_of_when_it_is) {
  read_all("gpu.row_remap", "row_remap.pending", {0});
  snapshot_.results[0].completed = WallTime{std::chrono::seconds{1'700'000'000}};
  const WallTime later = snapshot_.results[0].completed + std::chrono::seconds{1};
  EXPECT_EQ(answer_of("remapped", snapshot_, {snapshot_.results[0].completed}).result_of, std::nullopt);
  EXPECT_EQ(answer_of("remapped", snapshot_, {later}).text,
            "\n[[ REMAPPED ROWS ]] Briefings completed. Continue with remapped rows evaluation.\n"
            "[[ REMAPPED ROWS ]] Result of 2023-11-14T22:13:20.000Z; a new run is in progress.\n"
            "[[ REMAPPED ROWS ]] SUCCESS\nHost  node-a\nDetected NVIDIA GPU: 0 Total: 1\n0\n");
}

TEST_F(CheckAnswerTest, of_two_tests_of_dcgm_the_last_one_answers) {
  say("gpu.diagnosis", "deep_test.outcome", "fatal", {{"finished", "2026-11-22T13:05:09Z"}});
  EXPECT_EQ(answer_of("dcgm", snapshot_).check, "gpu.diagnosis");
  say("gpu.dcgm", "dcgm.result", "passed", {{"testedAt", "2026-11-23T13:05:09Z"}});
  const CheckAnswer answer = answer_of("dcgm", snapshot_);
  EXPECT_EQ(answer.check, "gpu.dcgm");
  EXPECT_EQ(answer.text,
            "\n[[ DCGM ]] Briefings completed. Continue with dcgm evaluation.\n"
            "[[ DCGM ]] Result of 2026-11-23T13:05:09.000Z; authenticate to run now.\n[[ DCGM ]] SUCCESS\n");
}

TEST_F(CheckAnswerTest, dcgm_on_a_machine_without_deep_tests) {
  find(add("gpu.diagnosis", Health::unsupported), host_subject(), Health::unsupported, "deep tests are off");
  find(add("gpu.dcgm", Health::unsupported), host_subject(), Health::unsupported,
       "not started: autopilot test gpu.dcgm");
  EXPECT_EQ(text_of("dcgm"), "[[ DCGM ]] SKIP: not yet run: autopilot test gpu.dcgm\n");
  snapshot_.results.pop_back();
  say("gpu.dcgm", "dcgm.result", "fatal", {{"testedAt", "2026-11-23T13:05:09Z"}});
  EXPECT_EQ(outcome_of("dcgm"), Outcome::failed);
  EXPECT_EQ(status_words(text_of("dcgm")), std::vector<std::string>{"DCGM Failed"});
  snapshot_.results.pop_back();
  find(add("gpu.dcgm", Health::unknown), host_subject(), Health::unknown, "dcgmi is not there");
  EXPECT_EQ(outcome_of("dcgm"), Outcome::aborted);
  EXPECT_NE(text_of("dcgm").find("[[ DCGM ]] ABORT\n"), std::string::npos);
}

TEST_F(CheckAnswerTest, a_gpu_in_use_is_no_failure_of_dcgm) {
  say("gpu.dcgm", "dcgm.outcome", "in_use", {{"by", "process 4242 on GPU 3"}});
  EXPECT_EQ(outcome_of("dcgm"), Outcome::skipped);
  EXPECT_EQ(text_of("dcgm"), "[[ DCGM ]] SKIP: GPU in use by process 4242 on gpu 3\n");
}

TEST_F(CheckAnswerTest, a_pending_remap) {
  read_all("gpu.row_remap", "row_remap.pending", {0, 1, 0, 0});
  EXPECT_EQ(outcome_of("remapped"), Outcome::failed);
  EXPECT_EQ(text_of("remapped"),
            "\n[[ REMAPPED ROWS ]] Briefings completed. Continue with remapped rows evaluation.\n"
            "[[ REMAPPED ROWS ]] FAIL\nHost  node-a\nDetected NVIDIA GPU: 0 1 2 3 Total: 4\nFAIL\n0 1 0 0\n");
  EXPECT_EQ(status_words(text_of("remapped")), std::vector<std::string>{"REMAPPED ROWS Failed"});
}

TEST_F(CheckAnswerTest, rows_have_other_faults_too) {
  read_all("gpu.row_remap", "row_remap.pending", {0, 0});
  find(snapshot_.results[0], gpu(1), Health::failed, "GPU 1 has no rows to spare");
  EXPECT_EQ(outcome_of("remapped"), Outcome::failed);
  EXPECT_TRUE(text_of("remapped").ends_with("FAIL\n0 1\n"));
}

TEST_F(CheckAnswerTest, half_of_a_reading_is_none) {
  read_all("gpu.row_remap", "row_remap.pending", {0});
  Observations observations = snapshot_.results[0].observations.all();
  observations.push_back(observations.front());
  observations.back().name = "row_remap.failed";
  observations.back().value.reset();
  snapshot_.results[0].observations = observations;
  EXPECT_EQ(outcome_of("remapped"), Outcome::aborted);
}

TEST_F(CheckAnswerTest, a_gpu_that_could_not_be_read_is_not_healthy) {
  read_all("gpu.row_remap", "row_remap.pending", {0, -1});
  find(snapshot_.results[0], gpu(1), Health::unknown, "GPU 1: the driver does not answer");
  EXPECT_EQ(outcome_of("remapped"), Outcome::aborted);
  EXPECT_EQ(text_of("remapped"),
            "!! GPU 1: the driver does not answer. ABORT.\n[[ REMAPPED ROWS ]] ABORT\n"
            "!! GPU 1: the driver does not answer. ABORT.\n");
  EXPECT_EQ(status_words(text_of("remapped")), std::vector<std::string>{"REMAPPED ROWS Failed"});
}

TEST_F(CheckAnswerTest, a_gpu_that_could_not_be_read_hides_no_failure) {
  read_all("gpu.row_remap", "row_remap.pending", {1, -1});
  EXPECT_EQ(outcome_of("remapped"), Outcome::failed);
  EXPECT_TRUE(text_of("remapped").ends_with("Total: 2\nFAIL\n1 nan\n"));
}

TEST_F(CheckAnswerTest, a_gpu_of_which_nothing_is_known_is_not_left_out) {
  read_all("gpu.row_remap", "row_remap.pending", {0});
  find(snapshot_.results[0], gpu(1), Health::unknown, "GPU 1: its state is lost");
  EXPECT_EQ(outcome_of("remapped"), Outcome::aborted);
  snapshot_.results.clear();
  read_all("gpu.row_remap", "row_remap.pending", {1});
  find(snapshot_.results[0], gpu(1), Health::unknown, "GPU 1: its state is lost");
  EXPECT_TRUE(text_of("remapped").ends_with("Detected NVIDIA GPU: 0 1 Total: 2\nFAIL\n1 nan\n"));
}

TEST_F(CheckAnswerTest, a_gpu_that_is_gone_is_not_healthy) {
  read_all("gpu.row_remap", "row_remap.pending", {0});
  find(add("gpu.present", Health::failed), gpu(1), Health::failed, "GPU 1 has fallen off the bus");
  EXPECT_EQ(outcome_of("remapped"), Outcome::aborted);
  EXPECT_TRUE(text_of("remapped").starts_with("!! GPU 1 has fallen off the bus. ABORT.\n"));
}

TEST_F(CheckAnswerTest, where_nothing_can_be_remapped_there_is_nothing_to_say) {
  find(add("gpu.row_remap", Health::unsupported), host_subject(), Health::unsupported,
       "no GPU in the PCI tree");
  EXPECT_EQ(outcome_of("remapped"), Outcome::skipped);
  EXPECT_EQ(text_of("remapped"), "[[ REMAPPED ROWS ]] SKIP: no GPU in the PCI tree\n");
  EXPECT_EQ(status_words(text_of("remapped")), std::vector<std::string>{"OK"});
  // Unless one should be there.
  find(add("gpu.present", Health::failed), host_subject(), Health::failed, "8 GPUs are expected, 0 are here");
  EXPECT_EQ(outcome_of("remapped"), Outcome::aborted);
}

TEST_F(CheckAnswerTest, tests_that_were_not_made_yet_are_said_to_be_so_or_unset) {
  find(add("gpu.diagnosis", Health::unsupported), host_subject(), Health::unsupported, "none is\nASKED for");
  EXPECT_EQ(outcome_of("dcgm"), Outcome::skipped);
  EXPECT_EQ(text_of("dcgm"), "[[ DCGM ]] SKIP: not yet run: none is asked for\n");
  EXPECT_EQ(status_words(text_of("dcgm")), std::vector<std::string>{"OK"});
  find(add("storage.pvc", Health::unsupported), host_subject(), Health::unsupported, "not asked for");
  EXPECT_EQ(outcome_of("pvc"), Outcome::skipped);
  EXPECT_EQ(text_of("pvc"), "Storage class not set. Cannot run. ABORT");
}

TEST_F(CheckAnswerTest, a_check_that_has_not_looked_is_aborted) {
  add("gpu.row_remap", Health::unknown);
  EXPECT_EQ(text_of("remapped"),
            "!! the check has not run yet. ABORT.\n[[ REMAPPED ROWS ]] ABORT\n!! the check has not run yet. "
            "ABORT.\n");
}

TEST_F(CheckAnswerTest, why_a_check_could_not_look_names_no_other_check) {
  find(add("gpu.throttle", Health::unknown), host_subject(), Health::unknown, "DCGM and PCIE");
  EXPECT_EQ(text_of("gpupower"), "[[GPU POWER]] ABORT\n!! dcgm and pcie. ABORT.\n");
  EXPECT_EQ(status_words(text_of("gpupower")), std::vector<std::string>{"GPU POWER Failed"});
}

TEST_F(CheckAnswerTest, a_gpu_that_its_hardware_slows_down) {
  read_all("gpu.throttle", "clocks.hw_slowdown", {0, 0, 1, 0});
  EXPECT_EQ(text_of("gpupower"),
            "\n[[GPU POWER]] Briefings completed. Continue with power cap evaluation.\n"
            "[GPU POWER] Detected NVIDIA GPU: 0 1 2 3 Total: 4\n[GPU POWER] FAIL\n0 0 1 0\n");
  EXPECT_EQ(status_words(text_of("gpupower")), std::vector<std::string>{"GPU POWER Failed"});
}

TEST_F(CheckAnswerTest, gpus_at_their_speed) {
  read_all("gpu.throttle", "clocks.hw_slowdown", {0, 0});
  EXPECT_EQ(text_of("gpupower"),
            "\n[[GPU POWER]] Briefings completed. Continue with power cap evaluation.\n"
            "[GPU POWER] Detected NVIDIA GPU: 0 1 Total: 2\n[GPU POWER] SUCCESS\n0 0\n");
}

TEST_F(CheckAnswerTest, the_last_deep_test_and_when_it_was) {
  say("gpu.diagnosis", "deep_test.outcome", "passed", {{"finished", "2026-11-22T13:05:09Z"}});
  EXPECT_EQ(text_of("dcgm"),
            "\n[[ DCGM ]] Briefings completed. Continue with dcgm evaluation.\n"
            "[[ DCGM ]] Result of 2026-11-22T13:05:09.000Z; authenticate to run now.\n[[ DCGM ]] SUCCESS\n");
  EXPECT_EQ(status_words(text_of("dcgm")), std::vector<std::string>{"OK"});
}

TEST_F(CheckAnswerTest, a_deep_test_that_failed) {
  say("gpu.diagnosis", "deep_test.outcome", "fatal", {{"finished", "2026-11-22T13:05:09Z"}});
  EXPECT_EQ(outcome_of("dcgm"), Outcome::failed);
  EXPECT_EQ(text_of("dcgm"),
            "\n[[ DCGM ]] Briefings completed. Continue with dcgm evaluation.\n"
            "[[ DCGM ]] Result of 2026-11-22T13:05:09.000Z; authenticate to run now.\nHost node-a\n"
            "[[ DCGM ]] FAIL\n");
  EXPECT_EQ(status_words(text_of("dcgm")), std::vector<std::string>{"DCGM Failed"});
}

TEST_F(CheckAnswerTest, without_a_deep_test_nothing_is_healthy) {
  find(add("gpu.diagnosis", Health::unknown), host_subject(), Health::unknown,
       "no deep test of this node has ended yet");
  EXPECT_EQ(outcome_of("dcgm"), Outcome::aborted);
  EXPECT_EQ(status_words(text_of("dcgm")), std::vector<std::string>{"DCGM Failed"});
}

TEST_F(CheckAnswerTest, a_claim_that_got_a_volume) {
  say("storage.pvc", "pvc.outcome", "bound", {{"testedAt", "2026-11-22T13:05:09Z"}});
  EXPECT_EQ(text_of("pvc"),
            "[PVC Create-Delete] Result of 2026-11-22T13:05:09.000Z; authenticate to run now.\n"
            "[PVC Create-Delete] PVC SUCCESS");
}

TEST_F(CheckAnswerTest, a_claim_that_got_none_and_one_that_could_not_be_made) {
  say("storage.pvc", "pvc.outcome", "not_bound");
  EXPECT_EQ(text_of("pvc"), "[PVC Create-Delete] FAIL");
  EXPECT_EQ(status_words(text_of("pvc")), std::vector<std::string>{"PVC Create-Delete Test Failed"});
  snapshot_.results.clear();
  say("storage.pvc", "pvc.outcome", "no_class");
  EXPECT_EQ(text_of("pvc"), "Create PVC Failed. ABORT");
  EXPECT_EQ(outcome_of("pvc"), Outcome::aborted);
}

// What a test said at 13:05:09, and one that was asked for.
class TestsNowTest : public CheckAnswerTest {
 protected:
  [[nodiscard]] CheckAnswer ask(std::string_view name, const std::string& check, const TestRun& run) const {
    return answer_of(name, snapshot_, {.tests = {{check, run}}});
  }
};

TEST_F(TestsNowTest, a_test_of_now_says_nothing_of_its_age) {
  say("storage.pvc", "pvc.outcome", "bound", {{"testedAt", "2026-11-22T13:05:09Z"}});
  const CheckAnswer answer = ask("pvc", "storage.pvc", {.began = *parse_time("2026-11-22T13:05:09Z")});
  EXPECT_TRUE(answer.is_fresh);
  EXPECT_EQ(answer.text, "[PVC Create-Delete] PVC SUCCESS");
}

TEST_F(TestsNowTest, a_result_of_before_the_test_is_none_of_it) {
  say("storage.pvc", "pvc.outcome", "bound", {{"testedAt", "2026-11-22T13:05:09Z"}});
  const CheckAnswer answer = ask("pvc", "storage.pvc", {.began = *parse_time("2026-11-22T13:05:10Z")});
  EXPECT_FALSE(answer.is_fresh);
  EXPECT_EQ(answer.text,
            "[PVC Create-Delete] Result of 2026-11-22T13:05:09.000Z; not run: the test gave no result.\n"
            "[PVC Create-Delete] PVC SUCCESS");
}

TEST_F(TestsNowTest, why_a_test_was_not_made_is_said_and_is_no_word_of_its_result) {
  say("storage.pvc", "pvc.outcome", "bound", {{"testedAt", "2026-11-22T13:05:09Z"}});
  EXPECT_EQ(ask("pvc", "storage.pvc", {.not_run = "Bob FAIL\nABORT"}).text,
            "[PVC Create-Delete] Result of 2026-11-22T13:05:09.000Z; not run: bob fail abort.\n"
            "[PVC Create-Delete] PVC SUCCESS");
  snapshot_.results.clear();
  find(add("gpu.diagnosis", Health::unknown), host_subject(), Health::unknown, "none has ended yet");
  const CheckAnswer answer = ask("dcgm", "gpu.diagnosis", {.not_run = "the node is cordoned"});
  EXPECT_EQ(answer.outcome, Outcome::aborted);
  EXPECT_TRUE(answer.text.starts_with("[[ DCGM ]] not run: the node is cordoned.\n")) << answer.text;
}

TEST_F(TestsNowTest, a_gpu_in_use_is_neither_a_failure_nor_an_abort) {
  say("gpu.diagnosis", "deep_test.outcome", "passed", {{"finished", "2026-11-22T13:05:09Z"}});
  const TestRun run{.not_run = "GPU in use by ml/train-0", .is_in_use = true};
  const CheckAnswer answer = ask("dcgm", "gpu.diagnosis", run);
  EXPECT_EQ(answer.outcome, Outcome::skipped);
  EXPECT_EQ(answer.text, "[[ DCGM ]] SKIP: GPU in use by ml/train-0\n");
  EXPECT_EQ(status_words(answer.text), std::vector<std::string>{"OK"});
}

TEST_F(TestsNowTest, a_gpu_that_is_known_to_be_bad_stays_so_while_it_is_in_use) {
  say("gpu.diagnosis", "deep_test.outcome", "fatal", {{"finished", "2026-11-22T13:05:09Z"}});
  const TestRun run{.not_run = "GPU in use by ml/train-0", .is_in_use = true};
  const CheckAnswer answer = ask("dcgm", "gpu.diagnosis", run);
  EXPECT_EQ(answer.outcome, Outcome::failed);
  EXPECT_EQ(answer.text,
            "\n[[ DCGM ]] Briefings completed. Continue with dcgm evaluation.\n"
            "[[ DCGM ]] Result of 2026-11-22T13:05:09.000Z; not run: gpu in use by ml/train-0.\nHost node-a\n"
            "[[ DCGM ]] FAIL\n");
}

TEST_F(CheckAnswerTest, names_without_a_check_here_are_not_supported) {
  for (const char* name : {"iperf", "", "Remapped", " remapped"}) {
    EXPECT_EQ(outcome_of(name), Outcome::not_supported);
    EXPECT_EQ(text_of(name), "check not supported: " + std::string(name));
  }
}

// As an active test left it.
Observation left(const std::string& name, const Subject& subject, Value value, Attributes attributes = {}) {
  Observation observation;
  observation.name = name;
  observation.subject = subject;
  observation.value = std::move(value);
  observation.attributes = std::move(attributes);
  observation.attributes.emplace_back("testedAt", "2026-01-15T06:21:00.000Z");
  return observation;
}

class ProbeAnswerTest : public CheckAnswerTest {
 protected:
  CheckResult& measured(const std::vector<double>& rates, const std::string& outcome = "measured",
                        Attributes attributes = {}) {
    Observations observations{left("pcie_bandwidth.outcome", host_subject(), outcome, std::move(attributes))};
    for (std::size_t i = rates.size(); i-- > 0;)
      observations.push_back(
          left("pcie_bandwidth.host_to_device", gpu(static_cast<int>(i)), Value(rates[i])));
    CheckResult& result = add("gpu.pcie_bandwidth", Health::healthy);
    result.observations = std::move(observations);
    return result;
  }
  static constexpr const char* kOfWhen = " Result of 2026-01-15T06:21:00.000Z; authenticate to run now.\n";
};

TEST_F(ProbeAnswerTest, pcie_bandwidth_of_all_gpus_is_the_last_line) {
  measured({55.2, 55.21, 3.1, 55.2});
  EXPECT_EQ(outcome_of("pciebw"), Outcome::passed);
  EXPECT_EQ(text_of("pciebw"),
            std::string("[[ PCIEBW ]] Briefings completed. Continue with PCIe Bandwidth evaluation.\n"
                        "[[ PCIEBW ]]") +
                kOfWhen + "SUCCESS\nHost  node-a\n55.2 55.2 3.1 55.2\n");
  EXPECT_EQ(status_words(text_of("pciebw")), std::vector<std::string>{"OK"});
}

TEST_F(ProbeAnswerTest, a_slow_link_fails_as_it_is_documented) {
  find(measured({55.2, 3.1}), gpu(1), Health::degraded, "GPU 1 takes 3.1 GB/s");
  EXPECT_EQ(outcome_of("pciebw"), Outcome::failed);
  EXPECT_TRUE(text_of("pciebw").ends_with("[[ PCIEBW ]] FAIL\nHost  node-a\n55.2 3.1\n"));
  EXPECT_EQ(status_words(text_of("pciebw")), std::vector<std::string>{"PCIE Failed"});
}

TEST_F(ProbeAnswerTest, a_gpu_in_use_is_neither_fail_nor_abort) {
  measured({55.2, 55.2}, "in_use", {{"by", "team-a/train-0"}});
  EXPECT_EQ(outcome_of("pciebw"), Outcome::skipped);
  EXPECT_EQ(text_of("pciebw"),
            std::string("[[ PCIEBW ]]") + kOfWhen + "[[ PCIEBW ]] SKIP: GPU in use by team-a/train-0\n");
  EXPECT_EQ(status_words(text_of("pciebw")), std::vector<std::string>{"OK"});
}

TEST_F(ProbeAnswerTest, a_gpu_in_use_hides_no_link_that_was_slow) {
  find(measured({55.2, 3.1}, "in_use", {{"by", "team-a/train-0"}}), gpu(1), Health::degraded,
       "GPU 1 is slow");
  EXPECT_EQ(outcome_of("pciebw"), Outcome::failed);
  EXPECT_TRUE(text_of("pciebw").ends_with(
      "[[ PCIEBW ]] FAIL\nHost  node-a\n55.2 3.1\nNot tested again: GPU in use by team-a/train-0\n"));
  EXPECT_EQ(status_words(text_of("pciebw")), std::vector<std::string>{"PCIE Failed"});
}

TEST_F(ProbeAnswerTest, what_others_wrote_decides_no_status) {
  measured({55.2}, "in_use", {{"by", "x/FAIL\nPCIE FAIL"}});
  EXPECT_EQ(status_words(text_of("pciebw")), std::vector<std::string>{"OK"});
  const Subject node{SubjectKind::peer, "DCGM-FAIL", std::nullopt, "", ""};
  add("network.ping", Health::healthy).observations =
      Observations{left("ping.outcome", host_subject(), "ended", {{"pod", "FAIL\nDCGM FAIL"}}),
                   left("ping.silent", node, std::int64_t{0}, {{"addresses", "eth0=10.1.0.7\nDCGM=ABORT"}})};
  EXPECT_EQ(status_words(text_of("ping")), std::vector<std::string>{"OK"});
}

TEST_F(ProbeAnswerTest, what_could_not_be_measured_aborts) {
  CheckResult& result = add("gpu.pcie_bandwidth", Health::unknown);
  find(result, host_subject(), Health::unknown, "CUDA error 802");
  EXPECT_EQ(outcome_of("pciebw"), Outcome::aborted);
  EXPECT_EQ(text_of("pciebw"), "[[ PCIEBW ]] ABORT\n!! CUDA error 802. ABORT.\n");
  EXPECT_EQ(status_words(text_of("pciebw")), std::vector<std::string>{"PCIE Failed"});
}

TEST_F(ProbeAnswerTest, no_rate_at_all_is_no_success) {
  CheckResult& result = measured({0.0});
  for (Observation one : result.observations)
    if (one.name == "pcie_bandwidth.host_to_device") {
      one.value.reset();
      one.missing = "not_supported";
      result.observations = Observations{left("pcie_bandwidth.outcome", host_subject(), "measured"), one};
    }
  result.health = Health::unsupported;
  result.findings = {};
  find(result, host_subject(), Health::unsupported, "this machine has nothing to test");
  EXPECT_EQ(outcome_of("pciebw"), Outcome::aborted);
  EXPECT_TRUE(
      text_of("pciebw").ends_with("[[ PCIEBW ]] ABORT\n!! this machine has nothing to test. ABORT.\n"))
      << text_of("pciebw");
}

TEST_F(ProbeAnswerTest, why_it_aborts_is_one_line) {
  CheckResult& result = add("gpu.pcie_bandwidth", Health::unknown);
  find(result, host_subject(), Health::unknown, "CUDA error 802\n!! FAIL");
  EXPECT_EQ(text_of("pciebw"), "[[ PCIEBW ]] ABORT\n!! CUDA error 802 !! FAIL. ABORT.\n");
}

TEST_F(ProbeAnswerTest, a_gpu_that_is_gone_makes_no_test_that_nobody_asked_for) {
  add("gpu.pcie_bandwidth", Health::unsupported);
  find(add("gpu.present", Health::failed), gpu(1), Health::failed, "GPU 1 has fallen off the bus");
  EXPECT_EQ(outcome_of("pciebw"), Outcome::skipped);
  EXPECT_THAT(text_of("pciebw"), ::testing::StartsWith("[[ PCIEBW ]] SKIP: not yet run: "));
}

TEST_F(ProbeAnswerTest, gpu_memory) {
  Observations observations{left("compute.outcome", host_subject(), "measured"),
                            left("compute.host_to_device_pinned", gpu(0), 55.2),
                            left("compute.device_to_host_pinned", gpu(0), 54.8),
                            left("compute.daxpy", gpu(0), 2890.04),
                            left("compute.dgemm", gpu(0), 51.4),
                            left("compute.bf16", gpu(0), 480.0),
                            left("compute.temperature", gpu(0), std::int64_t{61}),
                            left("compute.power", gpu(0), 652.0),
                            left("compute.sm_clock", gpu(0), std::int64_t{1755}),
                            left("compute.wrong", gpu(0), std::int64_t{0}),
                            left("compute.daxpy", gpu(1), 640.0)};
  CheckResult& result = add("gpu.compute", Health::healthy);
  result.observations = observations;
  EXPECT_TRUE(text_of("gpumem").ends_with("[[ GPU-MEM ]] Health Check successful\n"));
  EXPECT_EQ(outcome_of("gpumem"), Outcome::passed);
  for (const char* failed : {"daxpy,dgemm", "results"}) {
    find(snapshot_.results[0], gpu(1), Health::degraded, "GPU 1 is slow");
    snapshot_.results[0].findings.back().evidence.emplace_back("failed", failed);
  }
  EXPECT_EQ(outcome_of("gpumem"), Outcome::failed);
  EXPECT_EQ(text_of("gpumem"),
            std::string("[[ GPU-MEM ]] Briefings completed. Continue with memory evaluation.\n"
                        "[[ GPU-MEM ]]") +
                kOfWhen +
                "[[ GPU-MEM ]] Health Check unsuccessful. FAIL.\n"
                " GPU H2D(p)  H2D   D2H(p)  D2H   daxpy  dgemm   temp     power     smMHz\n"
                "   0   55.2    nan   54.8    nan  2890.0   51.4   61.0   652.0   1755.0\n"
                "   1    nan    nan    nan    nan   640.0    nan    nan     nan      nan\n"
                "Summary of GPU errors:\n GPU 1: daxpy,dgemm,results\n");
  EXPECT_EQ(status_words(text_of("gpumem")), std::vector<std::string>{"GPU MEM Test Failed"});
}

TEST_F(ProbeAnswerTest, ping_names_every_address) {
  const auto asked = [](const std::string& node, const std::string& addresses, std::int64_t silent,
                        Attributes attributes) {
    attributes.emplace_back("addresses", addresses);
    return left("ping.silent", {SubjectKind::peer, node, std::nullopt, "", ""}, silent,
                std::move(attributes));
  };
  const std::string beginning = std::string(
                                    "[PING] Pod running ping:  autopilot-x1\n"
                                    "[PING] Starting: collecting node list\n"
                                    "Creating a list of interfaces and IPs\n"
                                    "[PING] Running ping tests for every interface\n"
                                    "[PING]") +
                                kOfWhen;
  CheckResult& result = add("network.ping", Health::healthy);
  result.observations =
      Observations{left("ping.outcome", host_subject(), "ended", {{"pod", "autopilot-x1"}}),
                   asked("node-b", "eth0=10.1.0.7 net1-0=10.2.0.7 ib0=10.3.0.7", 0, {{"unasked", "ib0"}})};
  EXPECT_EQ(text_of("ping"), beginning +
                                 "Node node-b 10.1.0.7 eth0 0\nNode node-b 10.2.0.7 net1-0 0\n"
                                 "[PING] all nodes reachable. success\n");
  result.observations =
      Observations{left("ping.outcome", host_subject(), "ended", {{"pod", "autopilot-x1"}}),
                   asked("node-b", "eth0=10.1.0.7 net1-0=10.2.0.7", 1, {{"silent", "net1-0"}})};
  find(result, {SubjectKind::peer, "node-b", std::nullopt, "", ""}, Health::degraded, "node-b");
  EXPECT_EQ(text_of("ping"), beginning +
                                 "Node node-b 10.1.0.7 eth0 0\nNode node-b 10.2.0.7 net1-0 1\n"
                                 "[PING] At least one node unreachable. FAIL\n");
  EXPECT_EQ(status_words(text_of("ping")), std::vector<std::string>{"PING Failed"});
}

// The lines and the gauge say that all of them answer.
TEST_F(ProbeAnswerTest, ping_passes_where_a_way_is_odd_and_all_answer) {
  CheckResult& result = add("network.ping", Health::degraded);
  result.observations = Observations{left("ping.outcome", host_subject(), "ended"),
                                     left("ping.silent", {SubjectKind::peer, "node-b", std::nullopt, "", ""},
                                          std::int64_t{0}, {{"addresses", "eth0=10.1.0.7"}})};
  find(result, {SubjectKind::link, "node-a/eth0|node-b/eth0", std::nullopt, "", ""}, Health::degraded,
       "the path from eth0 to node-b takes 30 ms longer than other paths");
  EXPECT_EQ(outcome_of("ping"), Outcome::passed);
  EXPECT_TRUE(
      text_of("ping").ends_with("Node node-b 10.1.0.7 eth0 0\n[PING] all nodes reachable. success\n"));
  EXPECT_EQ(status_words(text_of("ping")), std::vector<std::string>{"OK"});
}

TEST_F(ProbeAnswerTest, ping_of_a_single_node_aborts) {
  add("network.ping", Health::healthy).observations =
      Observations{left("ping.outcome", host_subject(), "no_targets")};
  EXPECT_EQ(outcome_of("ping"), Outcome::aborted);
  EXPECT_TRUE(text_of("ping").ends_with("[PING] No nodes found. ABORT\n"));
}

using ::testing::ElementsAre;

TEST(CheckNames, all_anywhere_is_the_list_of_those_that_run_from_time_to_time) {
  const std::vector<std::string> periodic{"remapped", "gpupower"};
  EXPECT_EQ(named_checks("all", periodic), periodic);
  EXPECT_EQ(named_checks("pvc,all", periodic), periodic);
  EXPECT_THAT(named_checks("pvc,,remapped", periodic), ElementsAre("pvc", "", "remapped"));
}

TEST(CheckNames, names_are_case_sensitive) {
  EXPECT_EQ(find_check("remapped")->check, "gpu.row_remap");
  EXPECT_EQ(find_check("Remapped"), nullptr);
  EXPECT_EQ(find_check(""), nullptr);
}

TEST(CheckNames, the_limit_of_the_bandwidth_is_told_as_it_is) {
  EXPECT_EQ(preamble_of(*find_check("pciebw"), 4), "Requesting pcie test with bw: 4\n");
  EXPECT_EQ(preamble_of(*find_check("pciebw"), 4.5), "Requesting pcie test with bw: 4.5\n");
}

TEST(InvasiveText, names_the_labels_and_says_when_nothing_begins) {
  EXPECT_EQ(
      invasive_text("autopilot.ibm.com", 3, ""),
      "Launching invasive health checks. Their results are in the labels autopilot.ibm.com/gpuhealth and "
      "autopilot.ibm.com/dcgm.level.3 of the node.\n");
  EXPECT_EQ(invasive_text("a.b", 2, "Bob may\nnot"),
            "Not launching invasive health checks: bob may not. Results of earlier ones are in the labels "
            "a.b/gpuhealth and a.b/dcgm.level.2 of the node.\n");
}

}  // namespace

}  // namespace autopilot::compat::ibm_autopilot
