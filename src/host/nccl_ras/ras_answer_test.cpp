// SPDX-License-Identifier: Apache-2.0
#include "host/nccl_ras/ras_answer.hpp"

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "host/nccl_ras/ras_json.hpp"
#include "tests/support/host/ras_samples.hpp"

namespace autopilot::host::ras_answer_test {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

SampleCommunicator sample() {
  return {.size = 4,
          .ranks = {{0, 100, 12}, {1, 101, 12, "10.0.0.1", 1}, {2, 100, 11, "10.0.0.2"}},
          .missing = {{3, 101, 1, "10.0.0.2", 1}}};
}

TEST(RasAnswer, json_has_the_counts_and_the_place_of_each_rank) {
  const auto answer = parse_ras_answer(sample_json({sample()}));
  ASSERT_TRUE(answer) << answer.error().what;
  EXPECT_EQ(answer->form, RasForm::json);
  EXPECT_EQ(answer->nccl_version, "2.28.9");
  ASSERT_THAT(answer->communicators, SizeIs(1));
  const RasCommunicator& one = answer->communicators.front();
  EXPECT_EQ(one.id, "0x6f1c/0xb7e7:0xb824");
  EXPECT_EQ(one.size, 4);
  EXPECT_FALSE(one.is_closing);
  ASSERT_THAT(one.ranks, SizeIs(3));
  EXPECT_EQ(one.ranks[2].started, 11);
  EXPECT_EQ(one.ranks[2].place.host, "10.0.0.2");
  EXPECT_EQ(one.ranks[1].place.pid, 101);
  EXPECT_EQ(one.ranks[1].place.cuda_dev, 1);
  ASSERT_THAT(one.missing, SizeIs(1));
  EXPECT_TRUE(one.missing[0].is_unresponsive);
  EXPECT_TRUE(one.missing[0].is_dead);
}

TEST(RasAnswer, json_of_2_28_9_lacks_a_comma_in_missing_ranks) {
  SampleCommunicator two = sample();
  two.size = 5;
  two.missing.push_back({4, 102, 0, "10.0.0.2", 2});
  const auto answer = parse_ras_answer(sample_json({two}, ""));
  ASSERT_TRUE(answer) << answer.error().what;
  ASSERT_THAT(answer->communicators.at(0).missing, SizeIs(2));
  EXPECT_FALSE(answer->communicators[0].missing[1].is_dead);
}

TEST(RasAnswer, commas_are_added_only_where_values_touch) {
  EXPECT_EQ(with_missing_commas(R"({"a": 1 "b": -1e-3 "c": "x\" y" "d": [{} {}]})"),
            R"({"a": 1 ,"b": -1e-3 ,"c": "x\" y" ,"d": [{} ,{}]})");
  const std::string good = R"({"a":[1,2.5,-3,true,null],"b":{"c":"d, e"}})";
  EXPECT_EQ(with_missing_commas(good), good);
  EXPECT_EQ(with_missing_commas("\"open"), "\"open");
}

TEST(RasAnswer, unknown_members_are_ignored) {
  std::string text = sample_json({sample()});
  text.insert(text.find("\"size\""), "\"progress\": {\"a\": [1, {}]}, ");
  EXPECT_TRUE(parse_ras_answer(text));
}

TEST(RasAnswer, a_communicator_that_closes_is_marked) {
  SampleCommunicator closing = sample();
  closing.is_aborted = true;
  EXPECT_TRUE(parse_ras_answer(sample_json({closing}))->communicators[0].is_closing);
}

TEST(RasAnswer, text_names_the_rank_that_is_behind) {
  const auto answer = parse_ras_answer(sample_text_mismatch());
  ASSERT_TRUE(answer) << answer.error().what;
  EXPECT_EQ(answer->form, RasForm::text);
  EXPECT_EQ(answer->nccl_version, "2.26.2");
  ASSERT_THAT(answer->communicators, SizeIs(1));
  const RasCommunicator& one = answer->communicators.front();
  EXPECT_EQ(one.id, "fa93daea854b060b/AllReduce");
  EXPECT_EQ(one.size, 8);
  ASSERT_THAT(one.ranks, SizeIs(8));
  for (const RasRank& rank : one.ranks)
    EXPECT_EQ(rank.started, rank.rank == 5 ? 638 : 640) << rank.rank;
  EXPECT_EQ(one.ranks[5].place.pid, 4716);
  EXPECT_EQ(one.ranks[5].place.host, "10.0.0.2");
  EXPECT_EQ(one.ranks[5].place.cuda_dev, 1);
}

TEST(RasAnswer, text_names_dead_ranks) {
  const auto answer = parse_ras_answer(sample_text_dead());
  ASSERT_TRUE(answer) << answer.error().what;
  ASSERT_THAT(answer->communicators, SizeIs(1));
  const RasCommunicator& one = answer->communicators.front();
  EXPECT_EQ(one.size, 8);
  ASSERT_THAT(one.missing, SizeIs(1));
  EXPECT_EQ(one.missing[0].rank, 7);
  EXPECT_TRUE(one.missing[0].is_dead);
}

TEST(RasAnswer, ranks_of_two_unnamed_halves_have_unknown_counts) {
  std::string text = sample_text_mismatch();
  text.resize(text.find("  7 ranks"));
  text += "  4 ranks have launched up to operation 640\n  4 ranks have not launched any operations\n";
  const auto answer = parse_ras_answer(text);
  ASSERT_THAT(answer->communicators, SizeIs(1));
  for (const RasRank& rank : answer->communicators[0].ranks)
    EXPECT_FALSE(rank.started);
}

TEST(RasAnswer, a_named_group_has_the_count_of_its_head) {
  std::string text = sample_text_mismatch();
  text.resize(text.find("  7 ranks"));
  text +=
      "  6 ranks have launched up to operation 641\n  2 ranks have launched up to operation 640\n"
      "  Rank 2 -- GPU 2 (NVML 6) managed by process 12 on node 10.0.0.1\n"
      "  Rank 3 -- [process information not found]\n";
  const auto answer = parse_ras_answer(text);
  ASSERT_THAT(answer->communicators, SizeIs(1));
  const RasCommunicator& one = answer->communicators[0];
  EXPECT_EQ(one.ranks[2].started, 640);
  EXPECT_EQ(one.ranks[2].place.nvml_dev, 6);
  EXPECT_EQ(one.ranks[3].started, 640);
  EXPECT_EQ(one.ranks[4].started, 641);
}

TEST(RasAnswer, a_healthy_text_has_no_communicators) {
  std::string text = sample_text_mismatch();
  text.resize(text.find("#0-0"));
  EXPECT_THAT(parse_ras_answer(text)->communicators, SizeIs(0));
}

TEST(RasAnswer, anything_else_is_malformed) {
  for (const std::string text :
       {"", "hello", "{", "{}", R"({"communicators":[{}]})", R"({"communicators":[1]})",
        R"({"communicators":[{"hash":"a","size":0,"ranks":[]}]})",
        R"({"communicators":[{"hash":"a","size":1,"ranks":[{"rank":1}]}]})",
        R"({"communicators":[{"hash":"a","size":2,"ranks":[{"rank":1},{"rank":1}]}]})"}) {
    const auto answer = parse_ras_answer(text);
    ASSERT_FALSE(answer) << text;
    EXPECT_EQ(answer.error().code, Errc::malformed) << text;
  }
  EXPECT_FALSE(parse_ras_answer(std::string("\x80\0\xff{[", 5)));
}

TEST(RasAnswer, has_limits) {
  EXPECT_EQ(parse_ras_answer(std::string(kMaxRasBytes + 1, ' ')).error().code, Errc::exhausted);
  EXPECT_EQ(parse_ras_answer(R"({"communicators":[{"hash":"a","size":4097,"ranks":[]}]})").error().code,
            Errc::exhausted);
  std::string many = R"({"communicators":[)";
  for (std::size_t i = 0; i <= kMaxRasCommunicators; ++i)
    many += std::string(i == 0 ? "" : ",") + R"({"hash":")" + std::to_string(i) + R"(","size":1,"ranks":[]})";
  EXPECT_EQ(parse_ras_answer(many + "]}").error().code, Errc::exhausted);
  // Each section of the text form is expanded to all ranks of its communicator.
  std::string text = "Group #\n 0 99 1 1 4096 4096 RUNNING MISMATCH\n";
  for (int i = 0; i < 20; ++i)
    text += "#0-" + std::to_string(i) + " (" + std::to_string(i) +
            ") MISMATCH\nranks have different AllReduce operation counts\n";
  const auto answer = parse_ras_answer(text);
  ASSERT_FALSE(answer);
  EXPECT_THAT(answer.error().what, HasSubstr("65536 ranks"));
}

}  // namespace
}  // namespace autopilot::host::ras_answer_test
