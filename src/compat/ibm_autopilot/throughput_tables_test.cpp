// SPDX-License-Identifier: Apache-2.0
#include "compat/ibm_autopilot/throughput_tables.hpp"

#include <gtest/gtest.h>
#include <optional>

#include "compat/ibm_autopilot/check_answer.hpp"
#include "compat/ibm_autopilot/status_words.hpp"

namespace autopilot::compat::ibm_autopilot {
namespace {

// Texts are those that the interface promises, written from its description.
class ThroughputTablesTest : public ::testing::Test {
 protected:
  ThroughputTablesTest() { snapshot_.node = "node-a"; }

  // In bits per second; no value: it could not be measured.
  static Observation pair(const std::string& source, const std::string& destination,
                          const std::optional<Value>& value, const std::string& interface = "net1-0") {
    std::string key = "node-" + source;
    key.append("/").append(interface).append("|node-").append(destination).append("/").append(interface);
    Observation observation;
    observation.name = "bandwidth.received";
    observation.subject = {SubjectKind::link, key, std::nullopt, "", ""};
    observation.value = value;
    observation.attributes = {{"source", "node-" + source},
                              {"source_pod", "autopilot-" + source},
                              {"destination", "node-" + destination},
                              {"destination_pod", "autopilot-" + destination},
                              {"interface", interface}};
    return observation;
  }
  CheckResult& received(Observations pairs, const std::string& outcome = "measured") {
    Observation& ended = pairs.emplace_back();
    ended.name = "bandwidth.outcome";
    ended.value = outcome;
    ended.attributes = {{"testedAt", "2026-01-15T06:21:00.000Z"}};
    CheckResult& result = add(Health::healthy);
    result.observations = std::move(pairs);
    return result;
  }
  CheckResult& add(Health health) {
    CheckResult& result = snapshot_.results.emplace_back();
    result.check = "network.bandwidth";
    result.health = health;
    return result;
  }
  static void find(CheckResult& result, Health health, const std::string& message) {
    Finding& finding = result.findings.emplace_back();
    finding.health = health;
    finding.message = message;
  }
  [[nodiscard]] std::string text() const { return answer_of("iperf", snapshot_).text; }
  [[nodiscard]] Outcome outcome() const { return answer_of("iperf", snapshot_).outcome; }
  static std::string row(const std::vector<std::string>& cells) {
    std::string line;
    for (const std::string& cell : cells)
      line += cell + std::string(40 - cell.size(), ' ');
    return line + "\n";
  }

  static constexpr std::int64_t kGigabit = 1'000'000'000;
  const std::string beginning_ =
      "[NETWORK] - [IPERF] - [INFO] : Result of 2026-01-15T06:21:00.000Z; authenticate to run now.\n";
  NodeSnapshot snapshot_;
};

TEST_F(ThroughputTablesTest, a_table_for_each_network_in_gigabits) {
  received(Observations{pair("b", "a", 94'120'000'000), pair("a", "b", 990'000'000),
                        pair("a", "c", 40 * kGigabit), pair("c", "a", std::int64_t{0}),
                        pair("a", "b", 1.5e9, "net1-1")});
  EXPECT_EQ(outcome(), Outcome::passed);
  EXPECT_EQ(text(),
            beginning_ +
                "[NETWORK] - [IPERF] - [INFO] : Running Interface net1-0\n"
                "[NETWORK] - [IPERF] - [INFO] : Running Interface net1-1\n"
                "Network Throughput net1-0:\n" +
                row({"src/dst", "autopilot-a_on_node-a", "autopilot-b_on_node-b", "autopilot-c_on_node-c"}) +
                row({"autopilot-a_on_node-a", "N/A", "0.99", "40.0"}) +
                row({"autopilot-b_on_node-b", "94.12", "N/A", "N/A"}) +
                row({"autopilot-c_on_node-c", "0.0", "N/A", "N/A"}) + "\nNetwork Throughput net1-1:\n" +
                row({"src/dst", "autopilot-a_on_node-a", "autopilot-b_on_node-b"}) +
                row({"autopilot-a_on_node-a", "N/A", "1.5"}) +
                "\nOverall Network Interface Average Bandwidth:\n"
                "net1-0 Average Bandwidth Gb/s: 33.78\nnet1-1 Average Bandwidth Gb/s: 1.50\n");
  EXPECT_EQ(status_words(text()), std::vector<std::string>{"OK"});
}

TEST_F(ThroughputTablesTest, a_pair_of_which_nothing_arrives_fails) {
  find(received(Observations{pair("a", "b", std::int64_t{0}), pair("b", "a", kGigabit)}), Health::degraded,
       "nothing arrives");
  EXPECT_EQ(outcome(), Outcome::failed);
  EXPECT_TRUE(
      text().ends_with("net1-0 Average Bandwidth Gb/s: 0.50\n[NETWORK] - [IPERF] - [ERROR] : "
                       "Nothing arrives from at least one node. FAIL\n"));
  EXPECT_EQ(status_words(text()), std::vector<std::string>{"IPERF Failed"});
}

TEST_F(ThroughputTablesTest, a_pair_that_could_not_be_measured_is_no_zero) {
  CheckResult& result = received(Observations{pair("a", "b", kGigabit), pair("b", "a", std::nullopt)});
  find(result, Health::unknown, "timed out");
  EXPECT_EQ(outcome(), Outcome::aborted);
  EXPECT_NE(text().find(row({"autopilot-b_on_node-b", "nan", "N/A"})), std::string::npos);
  EXPECT_TRUE(
      text().ends_with("net1-0 Average Bandwidth Gb/s: 1.00\n[NETWORK] - [IPERF] - [ERROR] : "
                       "Not all could be measured. ABORT\n"));
}

TEST_F(ThroughputTablesTest, nothing_that_was_measured_aborts) {
  find(received(Observations{pair("a", "b", std::nullopt)}), Health::unknown, "timed out");
  EXPECT_EQ(text(), beginning_ + "[NETWORK] - [IPERF] - [INFO] : ABORT\n!! timed out. ABORT.\n");
  EXPECT_EQ(status_words(text()), std::vector<std::string>{"IPERF Failed"});
  snapshot_.results.clear();
  received({}, "no_targets");
  EXPECT_EQ(outcome(), Outcome::aborted);
  EXPECT_TRUE(text().ends_with("[NETWORK] - [IPERF] - [ERROR] : No nodes found. ABORT\n"));
}

TEST_F(ThroughputTablesTest, long_names_have_columns_of_their_own_and_decide_no_status) {
  const std::string name(50, 'x');
  received(Observations{pair("a", name, kGigabit), pair("PING FAIL\n", "DCGM ABORT", kGigabit)});
  EXPECT_NE(text().find(name + "_on_node-" + name + " "), std::string::npos);
  EXPECT_EQ(status_words(text()), std::vector<std::string>{"OK"});
}

TEST_F(ThroughputTablesTest, a_network_that_was_not_tested_yet_is_said_to_be_so) {
  add(Health::unsupported);
  EXPECT_TRUE(text().starts_with("[NETWORK] - [IPERF] - [INFO] : SKIP: not yet run: ")) << text();
  EXPECT_EQ(status_words(text()), std::vector<std::string>{"OK"});
}

}  // namespace
}  // namespace autopilot::compat::ibm_autopilot
