// SPDX-License-Identifier: Apache-2.0
#include "collect/flight_recorder/dump.hpp"

#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>

#include "collect/flight_recorder/pickle.hpp"
#include "tests/support/host/run_program.hpp"

namespace autopilot::collect::dump_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

// The pickle that Python makes of an expression.
std::string pickled(const std::string& expression, int protocol, const std::string& before = "") {
  std::string bytes;
  const std::string problem =
      host::run_program({"python3", "-c",
                         "import pickle, sys\n" + before + "\nsys.stdout.buffer.write(pickle.dumps(" +
                             expression + ", " + std::to_string(protocol) + "))"},
                        &bytes);
  EXPECT_EQ(problem, "");
  return bytes;
}

// Two process groups in the shape of PyTorch 2.5. The ring has lost the newest entries of group 0.
constexpr const char* kDump = R"({
  'version': '2.4',
  'pg_config': {'0': {'name': '0', 'desc': 'default_pg', 'ranks': '[0, 1, 2, 3]'},
                '7': {'name': '7', 'desc': 'tp', 'ranks': '[2, 3]'}},
  'pg_status': {'0': {'last_enqueued_collective': 12, 'last_started_collective': 12, 'last_completed_collective': 11},
                '5': {'last_enqueued_collective': 3, 'last_started_collective': -1, 'last_completed_collective': -1}},
  'entries': [{'pg_id': 0, 'process_group': ('0', 'default_pg'), 'collective_seq_id': 10, 'p2p_seq_id': 0,
               'is_p2p': False, 'profiling_name': 'nccl:all_reduce', 'input_sizes': [[1024, 2**33]], 'state': 'completed',
               'duration_ms': 1.5, 'time_discovered_completed_ns': None, 'frames': []},
              {'pg_id': 5, 'process_group': ('7', 'tp'), 'collective_seq_id': 4, 'is_p2p': False, 'state': 'scheduled',
               'profiling_name': 'nccl:broadcast'},
              {'pg_id': 5, 'process_group': ('7', 'tp'), 'collective_seq_id': 3, 'is_p2p': False, 'state': 'started',
               'profiling_name': 'nccl:all_reduce'},
              {'pg_id': 5, 'process_group': ('7', 'tp'), 'collective_seq_id': 99, 'p2p_seq_id': 8, 'is_p2p': True,
               'state': 'started', 'profiling_name': 'nccl:recv 0<-1'}]})";

void expect_dump(const Result<FlightDump>& dump) {
  ASSERT_TRUE(dump) << dump.error().what;
  EXPECT_EQ(dump->version, "2.4");
  ASSERT_THAT(dump->groups, SizeIs(2));
  EXPECT_EQ(dump->groups[0].name, "0");
  EXPECT_EQ(dump->groups[0].description, "default_pg");
  EXPECT_THAT(dump->groups[0].ranks, ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(dump->groups[0].enqueued, 12);
  EXPECT_EQ(dump->groups[0].completed, 11);
  EXPECT_THAT(dump->groups[1].ranks, ElementsAre(2, 3));
  EXPECT_EQ(dump->groups[1].enqueued, 4) << "sends and receives do not count";
  EXPECT_EQ(dump->groups[1].completed, std::nullopt);
  EXPECT_FALSE(dump->groups[0].open_collective);
  ASSERT_TRUE(dump->groups[1].open_collective && dump->groups[1].open_p2p);
  EXPECT_EQ(dump->groups[1].open_collective->name, "nccl:all_reduce") << "the oldest one";
  EXPECT_EQ(dump->groups[1].open_collective->sequence, 3);
  EXPECT_EQ(dump->groups[1].open_collective->state, "started");
  EXPECT_EQ(dump->groups[1].open_p2p->name, "nccl:recv 0<-1");
  EXPECT_EQ(dump->groups[1].open_p2p->sequence, 8);
}

TEST(FlightDump, a_collective_that_the_group_has_completed_is_not_open) {
  const auto dump = parse_flight_dump(
      R"({"pg_config":{"0":{"ranks":"[0]"}},"pg_status":{"0":{"last_completed_collective":5}},)"
      R"("entries":[{"process_group":["0",""],"collective_seq_id":5,"state":"started"}]})");
  ASSERT_TRUE(dump) << dump.error().what;
  EXPECT_FALSE(dump->groups.at(0).open_collective);
}

TEST(FlightDump, pickles_of_all_protocols_are_read) {
  for (const int protocol : {2, 3, 4, 5})
    expect_dump(parse_flight_dump(pickled(kDump, protocol)));
}

TEST(FlightDump, json_is_read) {
  std::string text;
  ASSERT_EQ(host::run_program({"python3", "-c", std::string("import json\nprint(json.dumps(") + kDump + "))"},
                              &text),
            "");
  expect_dump(parse_flight_dump(text));
}

TEST(FlightDump, a_large_dump_with_shared_values_is_read) {
  const std::string bytes = pickled(
      "{'entries': [{'process_group': pg, 'collective_seq_id': i, 'state': 'completed', 'frames': frames} "
      "for i in range(5000)]}",
      2,
      "pg = ('0', 'default_pg')\nframes = [{'name': 'f', 'filename': 'x.py', 'line': i} for i in range(50)]");
  const auto dump = parse_flight_dump(bytes);
  ASSERT_TRUE(dump) << dump.error().what;
  EXPECT_EQ(dump->groups.at(0).completed, 4999);
}

TEST(Pickle, nothing_is_executed) {
  for (const auto& [expression, opcode] : {std::pair{"E()", "GLOBAL"}, {"print", "GLOBAL"}}) {
    for (const int protocol : {0, 2, 4}) {
      const auto dump = parse_pickle(pickled(expression, protocol,
                                             "import os\nclass E:\n  def __reduce__(self): return "
                                             "(os.system, ('touch /tmp/autopilot-was-executed',))"));
      ASSERT_FALSE(dump);
      EXPECT_EQ(dump.error().code, Errc::unsupported);
      EXPECT_THAT(dump.error().what, HasSubstr(opcode));
    }
  }
  EXPECT_FALSE(std::filesystem::exists("/tmp/autopilot-was-executed"));
  EXPECT_THAT(parse_pickle(std::string("\x80\x02)R.", 5)).error().what, HasSubstr("REDUCE"));
  EXPECT_THAT(parse_pickle("P1\n.").error().what, HasSubstr("PERSID"));
}

TEST(Pickle, values_are_those_of_python) {
  const auto value =
      parse_pickle(pickled("[-1, 255, 65536, -2**40, 2**80, 1.5, True, None, 'ä', b'x', (), {1: 2}]", 4));
  ASSERT_TRUE(value) << value.error().what;
  const PickleList& list = *(*value)->list();
  ASSERT_THAT(list, SizeIs(12));
  EXPECT_EQ(list[0]->integer(), -1);
  EXPECT_EQ(list[2]->integer(), 65536);
  EXPECT_EQ(list[3]->integer(), -(std::int64_t{1} << 40));
  EXPECT_EQ(list[4]->integer(), std::nullopt) << "more than 64 bits";
  EXPECT_EQ(std::get<double>(list[5]->value), 1.5);
  EXPECT_EQ(*list[8]->text(), "ä");
  EXPECT_EQ(list[11]->dict()->at(0).second->integer(), 2);
}

TEST(Pickle, has_limits) {
  EXPECT_EQ(parse_pickle(std::string(2000, ']') + std::string(1999, 'a') + ".").error().code,
            Errc::exhausted);
  EXPECT_EQ(parse_pickle(std::string(100, ' '), {.bytes = 99}).error().code, Errc::exhausted);
  EXPECT_EQ(parse_pickle(std::string(100, 'N'), {.values = 50}).error().code, Errc::exhausted);
  EXPECT_EQ(parse_pickle(std::string(100, '('), {.memory = 50}).error().code, Errc::exhausted);
  EXPECT_EQ(parse_flight_dump(std::string(DumpLimits::kMaxBytes + 1, '{')).error().code, Errc::exhausted);
  // A short text that grows: every value names the one before twice.
  std::string bomb = "]q";
  bomb += '\0';
  for (char i = 0; i < 60; ++i)
    bomb += std::string("](h") + i + 'h' + i + "eq" + static_cast<char>(i + 1);
  EXPECT_TRUE(parse_pickle(bomb + ".")) << "is shared, not copied";
}

TEST(Pickle, a_value_that_contains_itself_is_refused) {
  EXPECT_EQ(parse_pickle(pickled("l", 2, "l = []\nl.append(l)")).error().code, Errc::unsupported);
  EXPECT_EQ(parse_pickle(pickled("l", 2, "l = [[]]\nl[0].append(l)")).error().code, Errc::unsupported);
}

TEST(FlightDump, anything_else_is_malformed) {
  for (const std::string text : {"", ".", "a.", "(.", "hello", "{", "[1]", "{}", "K\x01.", "\xff\xff"})
    EXPECT_EQ(parse_flight_dump(text).error().code, Errc::malformed) << text;
  const std::string whole = pickled(kDump, 4);
  for (std::size_t length = 0; length < whole.size(); length += 7)
    EXPECT_FALSE(parse_flight_dump(whole.substr(0, length))) << length;
}

}  // namespace
}  // namespace autopilot::collect::dump_test
