// SPDX-License-Identifier: Apache-2.0
#include "collect/progress/step_lines.hpp"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace autopilot::collect::step_lines_test {
namespace {

using jobs::Edge;
using jobs::Phase;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr WallTime kStart{seconds{1'800'000'000}};

class Log {
 public:
  explicit Log(std::string_view pattern = {}) : lines_(*StepLines::create({"ml/llama", 0}, pattern)) {}

  void add(std::string_view line, Duration after = seconds{1}) {
    time_ += after;
    lines_.add({time_, line}, records);
  }
  [[nodiscard]] std::vector<jobs::StepRecord> steps() const { return of<jobs::StepRecord>(); }
  [[nodiscard]] std::vector<jobs::PhaseRecord> phases() const { return of<jobs::PhaseRecord>(); }
  [[nodiscard]] std::vector<std::int64_t> numbers() const {
    std::vector<std::int64_t> numbers;
    for (const auto& step : steps())
      numbers.push_back(step.step);
    return numbers;
  }

  std::vector<jobs::Record> records;

 private:
  template <class T>
  [[nodiscard]] std::vector<T> of() const {
    std::vector<T> found;
    for (const auto& record : records)
      if (const T* held = std::get_if<T>(&record)) found.push_back(*held);
    return found;
  }
  StepLines lines_;
  WallTime time_ = kStart;
};

std::string numbered(std::string_view before, std::int64_t number, std::string_view behind) {
  return std::string(before) + std::to_string(number) + std::string(behind);
}

TEST(StepLines, a_step_has_job_rank_time_duration_and_loss) {
  Log log;
  log.add(
      " iteration       10/     500 | elapsed time per iteration (ms): 812.3 | lm loss: 2.3E+00 | loss "
      "scale: 1.0 |");
  const auto steps = log.steps();
  ASSERT_EQ(steps.size(), 1U);
  EXPECT_EQ(steps[0].job, "ml/llama");
  EXPECT_EQ(steps[0].rank, 0);
  EXPECT_EQ(steps[0].step, 10);
  EXPECT_EQ(steps[0].time, kStart + seconds{1});
  EXPECT_NEAR(steps[0].step_s.value_or(0), 0.8123, 1e-9);
  EXPECT_NEAR(steps[0].loss.value_or(0), 2.3, 1e-9);
}

TEST(StepLines, a_step_that_several_ranks_print_counts_once) {
  Log log;
  for (int step = 1; step <= 5; ++step)
    for (int rank = 0; rank < 8; ++rank)
      log.add(numbered(numbered("[rank", rank, "]: step: "), step, "  tps: 7,282"), milliseconds{10});
  EXPECT_EQ(log.numbers(), (std::vector<std::int64_t>{1, 2, 3, 4, 5}));
}

TEST(StepLines, tokens_of_a_step_follow_from_the_rate) {
  Log log;
  log.add("step: 10  loss: 6.0  tps: 1,000");
  log.add("step: 20  loss: 6.0  tps: 1,000", seconds{20});
  const auto steps = log.steps();
  ASSERT_EQ(steps.size(), 2U);
  EXPECT_FALSE(steps[0].tokens);
  EXPECT_NEAR(steps[1].tokens.value_or(0), 2000, 1e-6);
}

TEST(StepLines, a_loss_that_is_not_a_number_is_reported) {
  Log log;
  log.add("iter 1: loss nan, time 1.0ms");
  log.add("iter 2: loss inf, time 1.0ms");
  ASSERT_EQ(log.steps().size(), 2U);
  EXPECT_TRUE(std::isnan(log.steps()[0].loss.value_or(0)));
  EXPECT_TRUE(std::isnan(log.steps()[1].loss.value_or(0)));
}

TEST(StepLines, the_loss_of_transformers_belongs_to_the_step_of_its_bar) {
  Log log;
  log.add(" 10%|#         | 10/100 [00:10<01:30,  1.00it/s]");
  log.add("{'loss': 1.25, 'grad_norm': 0.5, 'learning_rate': 1e-05, 'epoch': 0.1}");
  const auto steps = log.steps();
  ASSERT_EQ(steps.size(), 2U);
  EXPECT_EQ(steps[1].step, 10);
  EXPECT_EQ(steps[1].loss, 1.25);
}

TEST(StepLines, without_a_bar_lines_with_a_loss_are_counted) {
  Log log;
  for (int i = 1; i <= 4; ++i)
    log.add("{'loss': 1.25, 'learning_rate': 1e-05, 'epoch': 0.1}", seconds{30});
  EXPECT_EQ(log.numbers(), (std::vector<std::int64_t>{2, 3, 4}));
}

TEST(StepLines, a_bar_that_begins_again_with_each_epoch_goes_on_counting) {
  Log log;
  for (int epoch = 0; epoch < 2; ++epoch)
    for (int step = 1; step <= 3; ++step)
      log.add("100%|####| " + std::to_string(step) + "/3 [00:01<00:02,  1.00it/s]");
  EXPECT_EQ(log.numbers(), (std::vector<std::int64_t>{1, 2, 3, 4, 5, 6}));
  Log stated;
  for (int epoch = 1; epoch <= 2; ++epoch)
    for (int step = 50; step <= 100; step += 50)
      stated.add("Epoch [" + std::to_string(epoch) + "][" + std::to_string(step) +
                 "/100] time: 0.5, data_time: 0.1, loss: 1.0");
  EXPECT_EQ(stated.numbers(), (std::vector<std::int64_t>{50, 100, 150, 200}));
  Log keras;
  for (int epoch = 1; epoch <= 2; ++epoch) {
    keras.add(numbered("Epoch ", epoch, "/5"));
    keras.add("1/2 [=====>....] - ETA: 2s - loss: 0.6931");
    keras.add("2/2 [==========] - 0s 12ms/step - loss: 0.6900");
  }
  EXPECT_EQ(keras.numbers(), (std::vector<std::int64_t>{1, 2, 3, 4}));
}

TEST(StepLines, a_bar_of_an_evaluation_does_not_replace_the_bar_of_the_training) {
  Log log;
  log.add("  1%|          | 500/50000 [08:20<13:45:00,  1.00it/s]");
  for (int step = 1; step <= 50; ++step)
    log.add("  2%|          | " + std::to_string(step) + "/50 [00:01<00:20,  4.00it/s]");
  log.add("  1%|          | 501/50000 [08:21<13:45:00,  1.00it/s]");
  EXPECT_EQ(log.numbers(), (std::vector<std::int64_t>{500, 501}));
}

TEST(StepLines, steps_of_a_training_replace_the_bar_of_its_preparation) {
  Log log;
  for (int i = 1; i <= 20; ++i)
    log.add("  2%|          | " + std::to_string(i * 50) + "/1000 [00:01<00:20,  4.00it/s]");
  const std::size_t prepared = log.numbers().size();
  for (int step = 1; step <= 5; ++step)
    log.add(numbered("step ", step, " | loss 2.0 | lr 1e-4"));
  const auto numbers = log.numbers();
  EXPECT_EQ(prepared, 20U);
  ASSERT_EQ(numbers.size(), 24U);  // the second step proves it
  EXPECT_TRUE(std::is_sorted(numbers.begin(), numbers.end()));
}

TEST(StepLines, a_step_word_without_a_value_needs_three_rising_lines) {
  Log log;
  log.add("finished iteration 5");
  log.add("finished iteration 6");
  EXPECT_TRUE(log.records.empty());
  log.add("finished iteration 7");
  log.add("finished iteration 8");
  EXPECT_EQ(log.numbers(), (std::vector<std::int64_t>{7, 8}));
}

TEST(StepLines, a_number_that_rises_by_a_constant_is_learned) {
  Log log;
  for (int i = 1; i <= 9; ++i)
    log.add(numbered("Fortschritt ", i * 16, " Beispiele, Genauigkeit 0.51"), milliseconds{2500});
  EXPECT_TRUE(log.records.empty());
  log.add("Fortschritt 160 Beispiele, Genauigkeit 0.51", milliseconds{2500});
  log.add("Fortschritt 176 Beispiele, Genauigkeit 0.52", milliseconds{2500});
  EXPECT_EQ(log.numbers(), (std::vector<std::int64_t>{160, 176}));
}

TEST(StepLines, a_clock_is_not_progress) {
  Log log;
  for (int i = 1; i <= 40; ++i) {
    log.add(numbered("status ok, running for ", i * 10, " units"), seconds{10});
    log.add(numbered("t=", 1'700'000'000'000 + i * 10'000, " memory 80 percent"), milliseconds{0});
    log.add(numbered("waiting for peers, round ", i, ""), milliseconds{0});
    log.add("node1:4711:4811 [0] NCCL INFO comm " + std::to_string(i), milliseconds{0});
  }
  EXPECT_TRUE(log.records.empty());
}

TEST(StepLines, a_configured_pattern_is_followed_before_all_others) {
  Log log(R"(Schritt (?P<step>\d+) Dauer (?P<step_s>[0-9.]+) Verlust (?P<loss>\S+) T (?P<tokens>\d+))");
  log.add("step 900 | loss 2.0 | lr 1e-4");
  log.add("Schritt 7 Dauer 0.5 Verlust 2.25 T 4096");
  log.add("Schritt 8 Dauer 0.5 Verlust NaN T 4096");
  log.add("Schritt 9 Dauer 0.5 Verlust 2.25 T 4096");
  const auto steps = log.steps();
  ASSERT_GE(steps.size(), 3U);
  EXPECT_EQ(steps.back().step_s, 0.5);
  EXPECT_EQ(steps.back().tokens, 4096);
  EXPECT_EQ(steps.back().loss, 2.25);
}

TEST(StepLines, a_pattern_that_cannot_work_is_refused_with_the_reason) {
  const auto refusal = [](std::string_view pattern) {
    const auto made = StepLines::create({"ml/llama", 0}, pattern);
    return made ? std::string() : made.error().what;
  };
  EXPECT_NE(refusal("step (").find("RE2"), std::string::npos);
  EXPECT_NE(refusal("step ([0-9]+)").find("(?P<step>"), std::string::npos);
  EXPECT_NE(refusal(std::string(2000, 'x')).find("shorten"), std::string::npos);
  EXPECT_NE(refusal("(?P<step>((((((((((((((((((a)b)c)d)e)f)g)h)i)j)k)l)m)n)o)p)q)r))").find("16"),
            std::string::npos);
}

TEST(StepLines, a_checkpoint_that_states_only_its_beginning_ends_with_the_next_step) {
  Log log;
  log.add("step 10 loss 2.0 lr 1e-4");
  log.add("Saving checkpoint to /ckpt/10");
  log.add("step 11 loss 2.0 lr 1e-4", seconds{30});
  const auto phases = log.phases();
  ASSERT_EQ(phases.size(), 2U);
  EXPECT_EQ(phases[0].edge, Edge::begin);
  EXPECT_EQ(phases[1].edge, Edge::end);
  EXPECT_EQ(phases[1].phase, Phase::checkpoint);
  EXPECT_EQ(phases[1].time - phases[0].time, seconds{30});
}

TEST(StepLines, a_checkpoint_that_all_ranks_state_is_one) {
  Log log;
  for (const int step : {10, 20}) {
    log.add(numbered("step ", step, " loss 2.0 lr 1e-4"));
    for (int rank = 0; rank < 8; ++rank)
      log.add("saving checkpoint at iteration 10 to /ckpt", milliseconds{1});
    for (int rank = 0; rank < 8; ++rank)
      log.add("successfully saved checkpoint from iteration 10 to /ckpt", milliseconds{1});
  }
  EXPECT_EQ(log.phases().size(), 4U);
}

TEST(StepLines, event_lines_state_steps_and_phases) {
  Log log;
  log.add(R"([2026-01-01T00:00:00.000000] [a1] [trainer] [#step] [BEGIN] {"global_step": 41})");
  log.add(R"([2026-01-01T00:00:01.500000] [a1] [trainer] [#step] [END] {"global_step": 41})");
  log.add(
      R"([2026-01-01T00:00:01.600000] [a2] [trainer] [#log] [INSTANT] {"global_step": 41, "logs": {"loss": 1.5}})");
  log.add(R"([2026-01-01T00:00:02.000000] [a3] [trainer] [#save] [BEGIN] {"global_step": 41})");
  log.add(R"([2026-01-01T00:00:09.000000] [a3] [trainer] [#save] [END] {"global_step": 41})");
  log.add(R"([2026-01-01T00:00:09.000000] [a4] [trainer] [#evaluate] [BEGIN] {"global_step": 41})");
  log.add(R"([2026-01-01T00:00:19.000000] [a4] [trainer] [#evaluate] [END] {"global_step": 41})");
  log.add(R"([2026-01-01T00:00:19.000000] [a5] [trainer] [load_ckpt] [BEGIN] {})");
  log.add(R"([2026-01-01T00:00:29.000000] [a5] [trainer] [load_ckpt] [END] {})");
  const auto steps = log.steps();
  ASSERT_EQ(steps.size(), 2U);
  EXPECT_EQ(steps[0].step, 41);
  EXPECT_NEAR(steps[0].step_s.value_or(0), 1.5, 1e-6);
  EXPECT_EQ(steps[1].loss, 1.5);
  ASSERT_EQ(log.phases().size(), 6U);
  EXPECT_EQ(log.phases()[0].phase, Phase::checkpoint);
  EXPECT_EQ(log.phases()[2].phase, Phase::evaluate);
  EXPECT_EQ(log.phases()[5].phase, Phase::load);
}

TEST(StepLines, a_step_number_that_jumps_is_not_believed) {
  Log log;
  log.add("step 10 loss 2.0 lr 1e-4");
  log.add("step 1800000000 loss 2.0 lr 1e-4");
  log.add("step 11 loss 2.0 lr 1e-4");
  EXPECT_EQ(log.numbers(), (std::vector<std::int64_t>{10, 11}));
}

TEST(StepLines, a_job_that_starts_again_from_its_checkpoint_is_followed) {
  Log log;
  for (const int step : {100, 101, 102, 50, 51, 52, 53})
    log.add(numbered("step ", step, " loss 2.0 lr 1e-4"));
  EXPECT_EQ(log.numbers(), (std::vector<std::int64_t>{100, 101, 102, 52, 53}));
}

TEST(StepLines, a_time_since_the_start_is_no_duration_of_a_step) {
  Log log;
  for (int step = 1; step <= 20; ++step)
    log.add("step " + std::to_string(step) + " loss 2.0 time " + std::to_string(step * 3) + ".5s",
            seconds{3});
  EXPECT_FALSE(log.steps().back().step_s);
}

TEST(StepLines, when_the_leading_counter_ends_another_one_leads_and_steps_still_rise) {
  Log log;
  for (int step = 1; step <= 3; ++step)
    log.add(numbered("global_step ", step, " loss 2.0"));
  for (int step = 1; step <= 40; ++step)
    log.add(numbered("iter ", step, ": loss 2.0, time 10.0s"), seconds{10});
  const auto numbers = log.numbers();
  EXPECT_GT(numbers.size(), 20U);
  EXPECT_TRUE(std::is_sorted(numbers.begin(), numbers.end()));
}

TEST(StepLines, a_log_with_a_thousand_shapes_is_bounded) {
  Log log;
  for (int i = 0; i < 5000; ++i)
    log.add(std::string(static_cast<std::size_t>(i % 997 + 1), static_cast<char>('a' + i % 26)) + " step " +
                std::to_string(i) + " lr " + std::to_string(i),
            milliseconds{1});
  EXPECT_LE(log.records.size(), 5000U);
}

}  // namespace
}  // namespace autopilot::collect::step_lines_test
