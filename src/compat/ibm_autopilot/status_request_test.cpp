// SPDX-License-Identifier: Apache-2.0

#include "compat/ibm_autopilot/status_request.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autopilot::compat::ibm_autopilot {

namespace {

StatusRequest read(const QueryParameters& query) {
  return read_status_request(query).value();
}

TEST(StatusRequest, what_is_not_said_has_the_values_that_clients_know) {
  const StatusRequest request = read({});
  EXPECT_EQ(request.host, "all");
  EXPECT_EQ(request.checks, "all");
  EXPECT_EQ(request.job, "None");
  EXPECT_EQ(request.node_label, "None");
  EXPECT_EQ(request.batch, 0U);
  EXPECT_EQ(request.dcgm_level, "1");
  EXPECT_EQ(request.ping_nodes, "all");
  EXPECT_FALSE(request.wants_iperf);
}

TEST(StatusRequest, an_empty_value_is_none) {
  const StatusRequest request = read({{"host", ""}, {"check", ""}, {"batch", ""}, {"r", ""}});
  EXPECT_EQ(request.host, "all");
  EXPECT_EQ(request.checks, "all");
  EXPECT_EQ(request.dcgm_level, "1");
}

TEST(StatusRequest, iperf_is_taken_out_of_a_list_and_nothing_else) {
  for (const auto& [list, rest] : QueryParameters{{"iperf", ""},
                                                  {"ping,iperf", "ping"},
                                                  {"iperf,pciebw", "pciebw"},
                                                  {"pciebw,iperf,remapped", "pciebw,remapped"}}) {
    EXPECT_TRUE(read({{"check", list}}).wants_iperf);
    EXPECT_EQ(read({{"check", list}}).checks, rest);
  }
  EXPECT_FALSE(read({{"check", "iperf3"}}).wants_iperf);
}

TEST(StatusRequest, the_network_test_says_again_what_it_is_asked_with) {
  EXPECT_EQ(network_test_line(read({{"check", "iperf"}})), "Running iperf3 on hosts all or job None\n\n");
  EXPECT_EQ(network_test_line(read({{"check", "iperf"}, {"host", "a,b"}, {"job", "ns:x=y"}})),
            "Running iperf3 on hosts a,b or job ns:x=y\n\n");
}

TEST(StatusRequest, a_batch_is_a_number) {
  EXPECT_EQ(read({{"batch", "12"}}).batch, 12U);
  for (const char* wrong : {"-1", "x", "1.5", "99999999999"})
    EXPECT_EQ(read_status_request({{"batch", wrong}}).error().what,
              "Invalid batch, must be a number of nodes. Got " + std::string(wrong));
}

TEST(StatusRequest, a_host_is_a_name) {
  EXPECT_TRUE(read_status_request({{"host", "node-1.example, node_2"}}));
  for (const char* wrong : {"a'b", "a\nb", "a/b", "{a}"})
    EXPECT_FALSE(read_status_request({{"host", wrong}})) << wrong;
}

TEST(StatusRequest, an_agent_is_asked_for_what_concerns_it) {
  EXPECT_EQ(path_of(read({{"check", "remapped,pvc"}, {"r", "3"}}), "a"), "/status?host=a&check=remapped,pvc");
  EXPECT_EQ(path_of(read({{"check", "dcgm"}, {"r", "3"}}), "a"), "/status?host=a&check=dcgm&r=3");
  EXPECT_EQ(path_of(read({{"check", "ping"}, {"job", "ns:a=b"}, {"pingnodes", "b,c"}}), "a"),
            "/status?host=a&check=ping&job=ns:a=b&pingnodes=b,c");
  // Everything has no parameters of its own.
  EXPECT_EQ(path_of(read({{"check", "all"}, {"r", "3"}}), "a"), "/status?host=a");
}

TEST(StatusRequest, a_question_has_limits) {
  std::string hosts = "a";
  for (std::size_t i = 1; i < kMaxHosts; ++i)
    hosts += ",a";
  EXPECT_TRUE(read_status_request({{"host", hosts}}));
  EXPECT_FALSE(read_status_request({{"host", hosts + ",a"}}));
  EXPECT_FALSE(read_status_request({{"check", std::string(kMaxChecks, ',')}}));
  for (const char* name : {"check", "job", "nodelabel", "r", "pingnodes"}) {
    EXPECT_TRUE(read_status_request({{name, std::string(kMaxParameter, 'x')}})) << name;
    EXPECT_EQ(read_status_request({{name, std::string(kMaxParameter + 1, 'x')}}).error().what,
              "Invalid " + std::string(name) + ", must have at most 512 characters");
  }
}

TEST(StatusRequest, nothing_that_is_echoed_has_lines_of_its_own) {
  const StatusRequest request =
      read({{"job", "a:b\nNode Status: OK"}, {"nodelabel", "x\ry"}, {"check", "a\nb"}});
  EXPECT_EQ(request.job.find('\n'), std::string::npos);
  EXPECT_EQ(request.node_label.find('\r'), std::string::npos);
  EXPECT_EQ(request.checks.find('\n'), std::string::npos);
}

TEST(StatusRequest, hosts_are_asked_once_each_in_their_order) {
  const std::vector<std::string> nodes{"a", "b"};
  EXPECT_EQ(asked_hosts(read({}), nodes), nodes);
  EXPECT_EQ(asked_hosts(read({{"host", "c, a,,c"}}), nodes), (std::vector<std::string>{"c", "a"}));
}

TEST(StatusRequest, a_job_is_a_namespace_and_a_selector) {
  EXPECT_EQ(read_job("ns:job-name=a:b").value(), (std::pair<std::string, std::string>{"ns", "job-name=a:b"}));
  // A namespace becomes part of a path of the API server.
  for (const char* wrong :
       {"ns", "ns:", ":a=b", ":", "../secrets:a=b", "a/b:a=b", "a?b:a=b", "Ns:a=b", "a%2f:a=b", "a.b:a=b"})
    EXPECT_EQ(read_job(wrong).error().what,
              "Invalid job definition, must be namespace:label=value. Got " + std::string(wrong));
}

TEST(StatusRequest, nodes_that_are_found_are_asked_beside_those_that_are_named) {
  const auto hosts = [](const QueryParameters& query, const std::set<std::string>& nodes) {
    const auto asked = with_nodes(read(query), nodes);
    return asked ? asked->host : asked.error().what;
  };
  EXPECT_EQ(hosts({}, {"a"}), "all");
  EXPECT_EQ(hosts({{"host", "b"}}, {"a"}), "b");
  EXPECT_EQ(hosts({{"nodelabel", "x"}}, {"a", "b"}), "a,b");
  EXPECT_EQ(hosts({{"nodelabel", "x"}}, {}), "");
  EXPECT_EQ(hosts({{"job", "n:x"}, {"host", "b, c"}}, {"a", "b"}), "b,c,a");
  std::set<std::string> many;
  for (std::size_t i = 0; i <= kMaxHosts; ++i)
    many.insert("n" + std::to_string(i));
  EXPECT_EQ(hosts({{"nodelabel", "x"}}, many), "Too many nodes are selected: 1001, but the limit is 1000");
}

TEST(StatusRequest, only_the_name_of_this_node_alone_is_local) {
  EXPECT_TRUE(is_local(read({{"host", "node-a"}}), "node-a"));
  for (const char* host : {"node-b", "node-a,node-b", "all", "node-a,"})
    EXPECT_FALSE(is_local(read({{"host", host}}), "node-a"));
}

TEST(StatusRequest, the_first_lines_say_who_is_asked) {
  EXPECT_EQ(asking_line(read({{"host", "a,b"}, {"nodelabel", "rack=7"}})),
            "Asking to run on remote node(s) a,b or with node label rack=7\n\n");
  EXPECT_EQ(asking_line(read({})), "Asking to run on remote node(s) all or with node label None\n\n");
}

using ::testing::ElementsAre;

TEST(StatusWords, a_reply_without_failures_is_ok) {
  EXPECT_THAT(status_words("\n[[ DCGM ]] SUCCESS\ncheck not supported: nic"), ElementsAre("OK"));
  EXPECT_THAT(status_words(""), ElementsAre("OK"));
  EXPECT_THAT(status_words("[[ PCIEBW ]] SKIP: GPU in use by a/b"), ElementsAre("OK"));
}

TEST(StatusWords, every_line_with_a_tag_and_a_failure_is_a_word) {
  EXPECT_THAT(
      status_words("[[ PCIEBW ]] FAIL\n[[ REMAPPED ROWS ]] FAIL\nFAIL\n[[ DCGM ]] ABORT\n[GPU POWER] FAIL\n"
                   "[PING] At least one node unreachable. FAIL\n"
                   "[[ GPU-MEM ]] Health Check unsuccessful. FAIL.\n[PVC Create-Delete] FAIL\n"
                   "Server Disconnected. ABORT"),
      ElementsAre("PCIE Failed", "REMAPPED ROWS Failed", "DCGM Failed", "GPU POWER Failed", "PING Failed",
                  "GPU MEM Test Failed", "PVC Create-Delete Test Failed", "Connection to Server Failed"));
}

TEST(StatusWords, the_first_tag_of_the_list_decides_and_what_repeats_is_repeated) {
  EXPECT_THAT(status_words("DCGM and PCIE FAIL\n[[ DCGM ]] ABORT\n[[ DCGM ]] FAIL"),
              ElementsAre("PCIE Failed", "DCGM Failed", "DCGM Failed"));
}

TEST(StatusWords, small_letters_say_nothing) {
  EXPECT_THAT(status_words("[[ DCGM ]] fail abort\n[[ dcgm ]] FAIL"), ElementsAre("OK"));
}

}  // namespace

}  // namespace autopilot::compat::ibm_autopilot
