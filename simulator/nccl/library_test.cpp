// SPDX-License-Identifier: Apache-2.0
#include "nccl/library.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autopilot::simulator::nccl {
namespace {

using testing::HasSubstr;

TEST(NcclTable, every_key_is_read) {
  const auto table = parse_nccl_table(R"(
version: 21805
bus_gigabits_per_second: 12.5
wrong_rank: 3
wrong_word: {rank: 1, call: 4, value: 77}
calls:
  ncclAllReduce: {result: 2, after: 10}
  ncclCommInitRank: {result: hang}
)",
                                      "t.yaml");
  ASSERT_TRUE(table) << table.error().what;
  EXPECT_EQ(table->version, 21805);
  EXPECT_EQ(table->bus_bits_per_second, 12.5e9);
  EXPECT_EQ(table->wrong_rank, 3);
  const WrongWord word = table->wrong_word.value_or(WrongWord{});
  EXPECT_EQ(word.rank, 1);
  EXPECT_EQ(word.call, 4);
  EXPECT_EQ(word.value, 77U);
  EXPECT_EQ(table->calls.at("ncclAllReduce").code, 2);
  EXPECT_EQ(table->calls.at("ncclAllReduce").after, 10);
  EXPECT_EQ(table->calls.at("ncclCommInitRank").kind, cuda::CallFault::Kind::hang);
}

TEST(NcclTable, mistakes_are_named_with_their_line) {
  const std::pair<const char*, const char*> cases[] = {
      {"version: 7\n", "t.yaml:1: `version`: expected a version such as"},
      {"version: 22105\nbus_gigabits_per_second: 0\n",
       "t.yaml:2: `bus_gigabits_per_second`: expected a number above 0"},
      {"calls: {ncclAllReduce: {result: never}}\n", "expected hang, abort or the number of a ncclResult_t"},
      {"wrong_word: {rank: 1, call: 4}\n", "value"},
      {"colour: green\n", "colour"},
  };
  for (const auto& [text, problem] : cases) {
    const auto table = parse_nccl_table(text, "t.yaml");
    ASSERT_FALSE(table) << text;
    EXPECT_THAT(table.error().what, HasSubstr(problem));
  }
}

}  // namespace

}  // namespace autopilot::simulator::nccl
