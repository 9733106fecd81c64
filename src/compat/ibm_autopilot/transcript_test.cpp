// SPDX-License-Identifier: Apache-2.0

#include "compat/ibm_autopilot/transcript.hpp"

#include <gtest/gtest.h>
#include <optional>

#include "compat/ibm_autopilot/check_answer.hpp"
#include "compat/ibm_autopilot/status_request.hpp"

namespace autopilot::compat::ibm_autopilot {

namespace {

AskedNode asked_node(const std::string& node, const std::string& address, const std::string& reply) {
  return {node, address, "http://" + address + ":3333/status?host=" + node + "&check=pciebw", reply};
}

// Byte for byte what the interface has promised since there is one.
TEST(Transcript, one_block_for_each_node_and_a_summary) {
  const std::string text = transcript(
      {asked_node("node-b", "10.1.0.7", "\n[[ DCGM ]] SUCCESS\n"),
       asked_node("node-a", "10.1.0.8",
                  "[[ PCIEBW ]] Briefings completed. Continue with PCIe Bandwidth evaluation.\n[[ PCIEBW ]] "
                  "FAIL\nHost  node-a\n12.3 3.3\n")},
      std::chrono::milliseconds{1500});
  EXPECT_EQ(text,
            "Initiated connection to ['http://10.1.0.7:3333/status?host=node-b&check=pciebw'].\n"
            "Initiated connection to ['http://10.1.0.8:3333/status?host=node-a&check=pciebw'].\n"
            "\n"
            "Autopilot Endpoint: 10.1.0.7\n"
            "Node: node-b\n"
            "url(s): http://10.1.0.7:3333/status?host=node-b&check=pciebw\n"
            "Response:\n"
            "\n"
            "[[ DCGM ]] SUCCESS\n"
            "\n"
            "Node Status: OK\n"
            "-------------------------------------\n"
            "\n"
            "\n"
            "Autopilot Endpoint: 10.1.0.8\n"
            "Node: node-a\n"
            "url(s): http://10.1.0.8:3333/status?host=node-a&check=pciebw\n"
            "Response:\n"
            "[[ PCIEBW ]] Briefings completed. Continue with PCIe Bandwidth evaluation.\n"
            "[[ PCIEBW ]] FAIL\n"
            "Host  node-a\n"
            "12.3 3.3\n"
            "\n"
            "Node Status: PCIE Failed\n"
            "-------------------------------------\n"
            "\n"
            "Node Summary:\n"
            "\n"
            "{'node-a': ['PCIE Failed'], 'node-b': ['OK']}\n"
            "\n"
            "runtime: 1.500000 sec\n");
}

std::string summary_of(const std::string& text) {
  const auto begin = text.find('{');
  return text.substr(begin, text.find('}') + 1 - begin);
}

TEST(Transcript, a_summary_that_is_too_long_for_a_line_has_a_line_for_each_node) {
  // 80 columns hold the first, and not the second.
  EXPECT_EQ(summary_of(transcript({asked_node("gpu-node-with-a-long-name-21", "1.1.1.1", ""),
                                   asked_node("gpu-node-with-a-long-name-22", "1.1.1.1", "")},
                                  Duration{})),
            "{'gpu-node-with-a-long-name-21': ['OK'], 'gpu-node-with-a-long-name-22': ['OK']}");
  EXPECT_EQ(summary_of(transcript({asked_node("gpu-node-with-a-long-name-22", "1.1.1.1", ""),
                                   asked_node("gpu-node-with-a-longer-name-1", "1.1.1.1", "")},
                                  Duration{})),
            "{'gpu-node-with-a-long-name-22': ['OK'],\n 'gpu-node-with-a-longer-name-1': ['OK']}");
}

TEST(Transcript, words_that_are_too_long_for_a_line_have_a_line_each) {
  const std::string reply = "[[ DCGM ]] ABORT\n[[ REMAPPED ROWS ]] FAIL\n[[ PCIEBW ]] FAIL\n[GPU POWER] FAIL";
  EXPECT_EQ(summary_of(transcript({asked_node("node-a", "1.1.1.1", reply)}, Duration{})),
            "{'node-a': ['DCGM Failed',\n"
            "            'REMAPPED ROWS Failed',\n"
            "            'PCIE Failed',\n"
            "            'GPU POWER Failed']}");
}

TEST(Transcript, words_beside_a_long_name_are_broken_behind_blanks) {
  const std::string reply = "[[ PVC ]] FAIL\n[GPU POWER] FAIL";
  const std::string name(43, 'n');  // with one letter more the last bracket would be in column 81
  EXPECT_EQ(summary_of(transcript({asked_node(name, "1.1.1.1", no_reply(""))}, Duration{})),
            "{'nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn': ['Connection to Server Failed']}");
  EXPECT_EQ(summary_of(transcript({asked_node(name + "n", "1.1.1.1", no_reply(""))}, Duration{})),
            "{'nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn': ['Connection to Server '\n"
            "                                                  'Failed']}");
  EXPECT_EQ(summary_of(transcript({asked_node(name + "n", "1.1.1.1", reply)}, Duration{})),
            "{'nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn': ['PVC Create-Delete Test '\n"
            "                                                  'Failed',\n"
            "                                                  'GPU POWER Failed']}");
  EXPECT_EQ(summary_of(transcript({asked_node(std::string(70, 'n'), "1.1.1.1", reply)}, Duration{})),
            "{'" + std::string(70, 'n') + "': ['PVC '\n" + std::string(76, ' ') + "'Create-Delete '\n" +
                std::string(76, ' ') + "'Test '\n" + std::string(76, ' ') + "'Failed',\n" +
                std::string(76, ' ') + "'GPU '\n" + std::string(76, ' ') + "'POWER '\n" +
                std::string(76, ' ') + "'Failed']}");
}

TEST(Transcript, a_node_without_a_reply_has_failed) {
  const std::string text =
      transcript({asked_node("node-a", "10.1.0.8", no_reply("no answer within 5 s: DCGM"))}, Duration{});
  EXPECT_NE(text.find("Response:\nServer Disconnected. ABORT\nno answer within 5 s: dcgm\nNode Status: "
                      "Connection to Server Failed\n"),
            std::string::npos)
      << text;
}

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
