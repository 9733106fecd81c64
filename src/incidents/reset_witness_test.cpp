// SPDX-License-Identifier: Apache-2.0
#include "incidents/reset_witness.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/incidents/node_state_fixture.hpp"

namespace autopilot::incidents {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

const Subject kFirst = testing::gpu("0000:1b:00.0", "S1");
const Subject kSecond = testing::gpu("0000:43:00.0", "S2");

Observation told(const Subject& gpu, const std::string& name, Value value, int second) {
  Observation observation;
  observation.name = name;
  observation.subject = gpu;
  observation.value = std::move(value);
  observation.time = testing::at(seconds{second});
  return observation;
}
Observation state(const Subject& gpu, int second, const std::string& word = "ok") {
  return told(gpu, "gpu.state", Value{word}, second);
}
Observations both(int second) {
  return {state(kFirst, second), state(kSecond, second)};
}

TEST(ResetWitness, a_gpu_that_one_check_missed_and_another_finds_again_was_reset) {
  ResetWitness witness;
  EXPECT_THAT(witness.note("gpu.ecc", both(0)), IsEmpty());
  EXPECT_THAT(witness.note("gpu.throttle", both(10)), IsEmpty());
  EXPECT_THAT(witness.note("gpu.ecc", {state(kFirst, 20)}), IsEmpty());
  EXPECT_THAT(witness.note("gpu.throttle", both(23)), ElementsAre(kSecond));
  EXPECT_THAT(witness.note("gpu.ecc", both(50)), IsEmpty()) << "told once";
}

TEST(ResetWitness, a_look_that_began_before_the_gpu_went_and_ended_later_is_no_return) {
  ResetWitness witness;
  (void)witness.note("gpu.ecc", both(0));
  (void)witness.note("gpu.ecc", {state(kFirst, 20)});
  EXPECT_THAT(witness.note("gpu.throttle", both(19)), IsEmpty());
  EXPECT_THAT(witness.note("gpu.throttle", both(21)), ElementsAre(kSecond));
  // And one that saw it gone, told after it was found again.
  (void)witness.note("gpu.clocks", both(5));
  EXPECT_THAT(witness.note("gpu.clocks", {state(kFirst, 20)}), IsEmpty());
  EXPECT_THAT(witness.note("gpu.throttle", both(40)), IsEmpty());
}

TEST(ResetWitness, nothing_but_a_reset_ends_the_states_lost_and_reset_required) {
  for (const std::string word : {"lost", "reset_required"}) {
    ResetWitness witness;
    EXPECT_THAT(witness.note("gpu.present", {state(kFirst, 0, word)}), IsEmpty());
    EXPECT_THAT(witness.note("gpu.ecc", {state(kFirst, 5, "unreadable")}), IsEmpty());
    EXPECT_THAT(witness.note("gpu.ecc", {state(kFirst, 9)}), ElementsAre(kFirst)) << word;
  }
  ResetWitness witness;
  (void)witness.note("gpu.present", {state(kFirst, 0, "unresponsive")});
  EXPECT_THAT(witness.note("gpu.present", {state(kFirst, 30)}), IsEmpty());
}

TEST(ResetWitness, a_counter_fell_that_only_a_reset_sets_back) {
  ResetWitness witness;
  for (const std::string name : {"pcie.replays", "throttle.power_cap", "ecc.volatile_corrected"})
    EXPECT_THAT(witness.note("gpu." + name, {told(kFirst, name, Value{std::int64_t{500}}, 0)}), IsEmpty());
  EXPECT_THAT(witness.note("a", {told(kFirst, "ecc.volatile_corrected", Value{std::int64_t{0}}, 30)}),
              IsEmpty())
      << "anybody may clear them";
  EXPECT_THAT(witness.note("b", {told(kFirst, "throttle.power_cap", Value{std::int64_t{3}}, 31)}),
              ElementsAre(kFirst));
  EXPECT_THAT(witness.note("c", {told(kFirst, "pcie.replays", Value{std::int64_t{0}}, 32)}), IsEmpty())
      << "the same reset";
  EXPECT_THAT(witness.note("c", {told(kFirst, "pcie.replays", Value{std::int64_t{2}}, 62)}), IsEmpty());
}

TEST(ResetWitness, another_card_in_the_slot_is_no_reset) {
  ResetWitness witness;
  (void)witness.note("a",
                     {state(kFirst, 0, "lost"), told(kFirst, "pcie.replays", Value{std::int64_t{9}}, 0)});
  const Subject other = testing::gpu(kFirst.key, "S9");
  EXPECT_THAT(witness.note("a", {state(other, 9), told(other, "pcie.replays", Value{std::int64_t{0}}, 9)}),
              IsEmpty());
}

TEST(ResetWitness, a_driver_that_does_not_answer_loses_no_gpu) {
  ResetWitness witness;
  (void)witness.note("a", both(0));
  Observations silent = both(30);
  for (Observation& observation : silent)
    observation.value.reset();
  EXPECT_THAT(witness.note("a", silent), IsEmpty());
  EXPECT_THAT(witness.note("a", {}), IsEmpty());
  EXPECT_THAT(witness.note("a", both(60)), IsEmpty());
}

TEST(ResetWitness, remembers_no_more_gpus_than_its_limit) {
  ResetWitness witness;
  const auto many = [](int second, const std::string& word) {
    Observations all;
    for (std::size_t i = 0; i < 2 * ResetWitness::kMaxGpus; ++i)
      all.push_back(state(testing::gpu("gpu-" + std::to_string(i)), second, word));
    return all;
  };
  (void)witness.note("a", many(0, "lost"));
  EXPECT_EQ(witness.note("a", many(30, "ok")).size(), ResetWitness::kMaxGpus);
}

}  // namespace
}  // namespace autopilot::incidents
