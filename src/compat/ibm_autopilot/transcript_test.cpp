// SPDX-License-Identifier: Apache-2.0
#include "compat/ibm_autopilot/transcript.hpp"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace autopilot::compat::ibm_autopilot
