// SPDX-License-Identifier: Apache-2.0
#include "core/history.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autopilot {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

const Subject kGpu{.kind = SubjectKind::gpu, .key = "0000:3b:00.0"};
constexpr Duration kWindow = 10min;

Instant at(Duration since_boot) {
  return {WallTime{std::chrono::hours{24 * 20000} + since_boot}, MonoTime{since_boot}};
}

Observation counter(double value, Duration since_boot) {
  Observation observation;
  observation.name = "ecc.corrected";
  observation.subject = kGpu;
  observation.value = value;
  observation.source = "nvml";
  observation.time = at(since_boot);
  return observation;
}

Observation event(std::uint64_t sequence, Duration since_boot, std::string_view source = "/dev/kmsg") {
  Observation observation;
  observation.name = "xid";
  observation.subject = kGpu;
  observation.value = Value{std::int64_t{79}};
  observation.source = source;
  observation.sequence = sequence;
  observation.time = at(since_boot);
  return observation;
}

std::vector<std::uint64_t> sequences(const History& history) {
  std::vector<std::uint64_t> found;
  for (const auto& entry : history.events())
    found.push_back(*entry.sequence);
  return found;
}

std::optional<Growth> growth_of(const History& history, Duration now, Duration window = kWindow) {
  return history.growth(kGpu, "ecc.corrected", at(now), window);
}

TEST(History, shows_the_latest_round) {
  History history;
  EXPECT_TRUE(history.empty());
  history.add({counter(1, 10s)}, kWindow);
  history.add({counter(2, 20s)}, kWindow);
  EXPECT_EQ(history.rounds(), 2U);
  EXPECT_EQ(history.number(kGpu, "ecc.corrected"), 2.0);
  EXPECT_EQ(history.number(kGpu, "ecc.uncorrected"), std::nullopt);
  EXPECT_EQ(history.number(host_subject(), "ecc.corrected"), std::nullopt);
}

TEST(History, a_value_that_was_not_answered_is_there_as_missing) {
  Observation unanswered = counter(0, 20s);
  unanswered.value.reset();
  unanswered.missing = "timed_out";
  History history;
  history.add({counter(5, 10s)}, kWindow);
  history.add({unanswered}, kWindow);
  ASSERT_NE(history.find(kGpu, "ecc.corrected"), nullptr);
  EXPECT_EQ(history.find(kGpu, "ecc.corrected")->missing, "timed_out");
  EXPECT_EQ(history.number(kGpu, "ecc.corrected"), std::nullopt) << "an old value is not the present one";
  EXPECT_EQ(history.samples(kGpu, "ecc.corrected").size(), 1U);
}

TEST(History, words_and_numbers_are_told_apart) {
  Observation state = counter(0, 10s);
  state.name = "state";
  state.value = Value{std::string("ACTIVE")};
  History history;
  history.add({counter(5, 10s), state}, kWindow);
  EXPECT_EQ(history.word(kGpu, "state"), "ACTIVE");
  EXPECT_EQ(history.number(kGpu, "state"), std::nullopt);
  EXPECT_EQ(history.word(kGpu, "ecc.corrected"), std::nullopt);
}

TEST(History, a_subject_vanishes_with_the_round_that_does_not_name_it) {
  Observation other = counter(1, 10s);
  other.subject.key = "0000:5d:00.0";
  History history;
  history.add({counter(1, 10s), other}, kWindow);
  EXPECT_THAT(history.subjects(SubjectKind::gpu), ElementsAre(kGpu, other.subject));
  history.add({counter(1, 20s)}, kWindow);
  EXPECT_THAT(history.subjects(SubjectKind::gpu), ElementsAre(kGpu));
  EXPECT_TRUE(history.subjects(SubjectKind::disk).empty());
}

TEST(History, a_subject_has_every_name_that_any_observation_gave_it) {
  Observation named = counter(1, 10s);
  named.name = "uuid";
  named.subject.index = 3;
  named.subject.uuid = "GPU-a";
  named.subject.serial = "42";
  History history;
  history.add({counter(1, 10s), named}, kWindow);
  const auto subjects = history.subjects(SubjectKind::gpu);
  ASSERT_EQ(subjects.size(), 1U);
  EXPECT_EQ(subjects[0].index, 3);
  EXPECT_EQ(subjects[0].uuid, "GPU-a");
  EXPECT_EQ(subjects[0].serial, "42");
}

TEST(History, growth_needs_two_samples) {
  History history;
  EXPECT_FALSE(growth_of(history, 10s));
  history.add({counter(5, 10s)}, kWindow);
  EXPECT_FALSE(growth_of(history, 10s));
  history.add({counter(11, 70s)}, kWindow);
  const auto growth = growth_of(history, 70s);
  ASSERT_TRUE(growth);
  EXPECT_EQ(growth->delta, 6);
  EXPECT_EQ(growth->interval, 60s);
  EXPECT_EQ(growth->resets, 0);
  EXPECT_DOUBLE_EQ(growth->per_minute(), 6.0);
}

TEST(History, no_growth_is_a_growth_of_zero) {
  History history;
  history.add({counter(5, 10s)}, kWindow);
  history.add({counter(5, 20s)}, kWindow);
  ASSERT_TRUE(growth_of(history, 20s));
  EXPECT_EQ(growth_of(history, 20s)->delta, 0);
}

TEST(History, growth_bridges_resets) {
  History history;
  history.add({counter(100, 10s)}, kWindow);
  history.add({counter(103, 20s)}, kWindow);
  history.add({counter(2, 30s)}, kWindow);
  history.add({counter(4, 40s)}, kWindow);
  const auto growth = growth_of(history, 40s);
  ASSERT_TRUE(growth);
  EXPECT_EQ(growth->delta, 3 + 2 + 2);
  EXPECT_EQ(growth->resets, 1);
}

TEST(History, growth_keeps_to_its_window) {
  History history;
  history.add({counter(0, 10s)}, kWindow);
  history.add({counter(50, 60s)}, kWindow);
  history.add({counter(51, 120s)}, kWindow);
  EXPECT_EQ(growth_of(history, 120s, 60s)->delta, 1);
  EXPECT_EQ(growth_of(history, 120s, 110s)->delta, 51);
  EXPECT_FALSE(growth_of(history, 120s, 59s));
}

TEST(History, forgets_what_lies_before_the_window) {
  History history;
  history.add({counter(1, 0s), event(1, 0s)}, 60s);
  history.add({counter(2, 30s)}, 60s);
  history.add({counter(3, 61s)}, 60s);
  EXPECT_EQ(history.samples(kGpu, "ecc.corrected").size(), 2U);
  EXPECT_TRUE(history.events().empty());
}

TEST(History, rounds_without_observations_are_forgotten_by_the_owners_clock) {
  History history;
  history.add({event(1, 10s)}, 60s);
  history.add({}, 60s);
  EXPECT_EQ(history.rounds(), 2U);
  EXPECT_THAT(sequences(history), ElementsAre(1));
  history.forget_before(MonoTime{71s} - 60s);
  EXPECT_TRUE(history.events().empty());
}

TEST(History, a_round_from_before_the_latest_is_ignored) {
  History history;
  history.add({counter(2, 20s)}, kWindow);
  history.add({counter(1, 10s)}, kWindow);
  EXPECT_EQ(history.rounds(), 1U);
  EXPECT_EQ(history.number(kGpu, "ecc.corrected"), 2.0);
}

TEST(History, an_event_is_counted_once_however_often_it_is_read) {
  History history;
  history.add({event(7, 10s), event(8, 11s)}, kWindow);
  history.add({event(7, 10s), event(8, 11s), event(9, 12s)}, kWindow);
  EXPECT_THAT(sequences(history), ElementsAre(7, 8, 9));
}

TEST(History, equal_sequences_of_two_sources_are_two_events) {
  History history;
  history.add({event(7, 10s), event(7, 10s, "nvml")}, kWindow);
  EXPECT_EQ(history.events().size(), 2U);
}

TEST(History, events_are_no_samples_and_not_part_of_the_round) {
  History history;
  history.add({counter(1, 10s), event(7, 10s)}, kWindow);
  EXPECT_EQ(history.latest().size(), 1U);
  EXPECT_TRUE(history.samples(kGpu, "xid").empty());
}

TEST(History, an_event_that_is_read_late_is_not_lost) {
  History history;
  history.add({counter(1, 100s)}, kWindow);
  history.add({event(7, 95s)}, kWindow);
  EXPECT_THAT(sequences(history), ElementsAre(7)) << "the kernel's clock is not exactly ours";
}

TEST(History, an_event_from_a_clock_ahead_does_not_shut_out_the_next_round) {
  History history;
  history.add({counter(1, 100s), event(7, 105s)}, kWindow);
  history.add({counter(2, 101s)}, kWindow);
  EXPECT_EQ(history.number(kGpu, "ecc.corrected"), 2.0);
}

TEST(History, events_of_several_sources_are_in_order_of_time) {
  History history;
  history.add({event(1, 10s), event(2, 30s)}, kWindow);
  history.add({event(1, 20s, "nvml")}, kWindow);
  EXPECT_THAT(sequences(history), ElementsAre(1, 1, 2));
}

TEST(History, a_restored_sample_gives_growth_over_a_restart) {
  History history;
  history.restore(counter(90, 10s));
  EXPECT_TRUE(history.empty());
  EXPECT_EQ(history.number(kGpu, "ecc.corrected"), std::nullopt);
  history.add({counter(100, 70s)}, kWindow);
  ASSERT_TRUE(growth_of(history, 70s));
  EXPECT_EQ(growth_of(history, 70s)->delta, 10);
}

TEST(History, a_series_has_a_limit) {
  History history;
  for (std::size_t number = 0; number <= History::kMaxSamplesPerSeries; ++number)
    history.add({counter(1, std::chrono::milliseconds{number + 1})}, kWindow);
  EXPECT_EQ(history.samples(kGpu, "ecc.corrected").size(), History::kMaxSamplesPerSeries);
  EXPECT_EQ(history.samples(kGpu, "ecc.corrected").front().time, MonoTime{2ms}) << "the oldest goes";
  EXPECT_EQ(history.dropped(), 1U);
}

TEST(History, the_number_of_series_has_a_limit) {
  Observations round;
  for (std::size_t number = 0; number <= History::kMaxSeries; ++number) {
    round.push_back(counter(1, 10s));
    round.back().name = std::to_string(number);
  }
  History history;
  history.add(std::move(round), kWindow);
  EXPECT_EQ(history.dropped(), 1U);
  EXPECT_EQ(history.samples(kGpu, "0").size(), 1U);
  EXPECT_TRUE(history.samples(kGpu, std::to_string(History::kMaxSeries)).empty());
}

TEST(History, the_number_of_events_has_a_limit_and_the_oldest_goes) {
  Observations round;
  for (std::uint64_t number = 0; number <= History::kMaxEvents; ++number)
    round.push_back(event(number, 10s + std::chrono::milliseconds{number}));
  History history;
  history.add(std::move(round), kWindow);
  EXPECT_EQ(history.events().size(), History::kMaxEvents);
  EXPECT_EQ(*history.events().front().sequence, 1U);
  EXPECT_EQ(history.dropped(), 1U);
}

TEST(History, a_storm_does_not_push_out_what_was_told_once) {
  History history;
  Observation cause = event(0, 10s);
  cause.value = std::int64_t{79};
  history.add_event(cause);
  for (std::uint64_t number = 1; number <= 3 * History::kMaxEvents; ++number) {
    Observation consequence = event(number, 10s + std::chrono::milliseconds{number});
    consequence.value = std::int64_t{45};
    history.add_event(std::move(consequence));
  }
  EXPECT_EQ(history.events().size(), History::kMaxEvents);
  EXPECT_EQ(*history.events().front().sequence, 0U);
  EXPECT_EQ(*history.events()[1].sequence, 2 * History::kMaxEvents + 2) << "the oldest of the storm went";
  history.forget_before(MonoTime{10s + 1ms});
  EXPECT_EQ(history.events().size(), History::kMaxEvents - 1);
}

TEST(History, gives_words_back_as_they_were_said) {
  History history;
  const auto said = [](const char* word, Duration since_boot) {
    Observation observation;
    observation.name = "state";
    observation.subject = kGpu;
    observation.value = std::string(word);
    observation.time = at(since_boot);
    return Observations{observation};
  };
  history.add(said("active", 1s), 10min);
  history.add(said("down", 2s), 10min);
  history.add(said("active", 3s), 10min);
  std::vector<std::string> words;
  for (const Sample& sample : history.samples(kGpu, "state"))
    words.push_back(to_string(sample.value));
  EXPECT_EQ(words, (std::vector<std::string>{"active", "down", "active"}));
  EXPECT_FALSE(history.growth(kGpu, "state", at(4s), 10min));
}

}  // namespace
}  // namespace autopilot
