// SPDX-License-Identifier: Apache-2.0
#include "jobs/detectors/regression.hpp"

#include <cmath>
#include <functional>
#include <gtest/gtest.h>
#include <limits>
#include <random>

namespace autopilot::jobs {
namespace {

using std::chrono::minutes;

// Minutes of a job with steps of 5 s and correlated noise, seeded.
class NoisyJob {
 public:
  NoisyJob(double sigma, double rho, unsigned seed = 1, RegressionOptions options = {})
      : detector(options), sigma_(sigma), rho_(rho), random_(seed) {}

  void run(int length, double factor = 1) {
    for (int i = 0; i < length; ++i) {
      noise_ = rho_ * noise_ + sigma_ * std::sqrt(1 - rho_ * rho_) * normal_(random_);
      const bool had = detector.present().has_value();
      detector.add({now(), std::log(5 * factor) + noise_, {}, false});
      if (!had && detector.present()) ++raised;
      ++minute;
    }
  }
  // Minutes until a regression is reported; at most `limit`.
  int delay(double factor, int limit) {
    for (int i = 1; i <= limit; ++i) {
      run(1, factor);
      if (detector.present()) return i;
    }
    return limit + 1;
  }
  [[nodiscard]] WallTime now() const { return WallTime{minutes(29453760 + minute)}; }

  RegressionDetector detector;
  int minute = 0;
  int raised = 0;

 private:
  double sigma_, rho_;
  double noise_ = 0;
  std::mt19937 random_;
  std::normal_distribution<double> normal_{0, 1};
};

TEST(Regression, a_slower_job_is_reported_with_its_loss_and_onset) {
  NoisyJob job(0.01, 0.3);
  job.run(120);
  ASSERT_TRUE(job.detector.has_baseline());
  EXPECT_NEAR(*job.detector.baseline_s(), 5, 0.05);
  const WallTime change = job.now();
  EXPECT_LE(job.delay(1.2, 30), 6);
  ASSERT_TRUE(job.detector.present());
  const RegressionFinding& found = *job.detector.present();
  EXPECT_NEAR(found.goodput_loss, 1 - 1 / 1.2, 0.02);
  EXPECT_NEAR(found.before_s, 5, 0.1);
  EXPECT_NEAR(found.after_s, 6, 0.1);
  EXPECT_LE(std::chrono::abs(found.onset - change), minutes(2));
  EXPECT_GE(found.detected - found.onset, minutes(5));
  EXPECT_GT(found.confidence, 0.95);
  EXPECT_FALSE(found.is_early);
}

TEST(Regression, minutes_in_which_a_job_comes_to_its_end_do_not_count_after_its_restart) {
  NoisyJob job(0.01, 0.3);
  job.run(120);
  job.run(4, 1.3);
  job.detector.interrupt();
  job.run(3, 1.3);
  EXPECT_FALSE(job.detector.present());
  job.run(10);
  EXPECT_FALSE(job.detector.present());
  EXPECT_LE(job.delay(1.3, 30), 6) << "the baseline remains";
  job.detector.interrupt();
  EXPECT_TRUE(job.detector.present());
}

TEST(Regression, five_per_cent_are_found) {
  for (unsigned seed = 1; seed <= 10; ++seed) {
    NoisyJob job(0.01, 0.5, seed);
    job.run(300);
    EXPECT_LE(job.delay(1.05, 60), 30) << seed;
  }
}

TEST(Regression, correlated_noise_of_a_day_raises_nothing) {
  for (const double rho : {0.0, 0.3, 0.5, 0.7}) {
    for (unsigned seed = 1; seed <= 5; ++seed) {
      NoisyJob job(0.03, rho, seed);
      job.run(1440);
      EXPECT_EQ(job.raised, 0) << rho << " seed " << seed;
    }
  }
}

TEST(Regression, without_whitening_correlated_noise_raises_false_alarms) {
  RegressionOptions options;
  options.uses_whitening = false;
  int raised = 0;
  for (unsigned seed = 1; seed <= 5; ++seed) {
    NoisyJob job(0.03, 0.7, seed, options);
    job.run(1440);
    raised += job.raised;
  }
  EXPECT_GT(raised, 5);
}

TEST(Regression, a_change_of_two_per_cent_is_not_reported) {
  NoisyJob job(0.004, 0.2);
  job.run(120);
  job.run(600, 1.02);
  EXPECT_EQ(job.raised, 0);
  EXPECT_NEAR(*job.detector.baseline_s(), 5.1, 0.05) << "it is the new level";
  EXPECT_LE(job.delay(1.02 * 1.1, 30), 12);
}

TEST(Regression, a_faster_job_is_not_a_regression) {
  NoisyJob job(0.01, 0.3);
  job.run(120);
  job.run(300, 0.7);
  EXPECT_EQ(job.raised, 0);
  EXPECT_NEAR(*job.detector.baseline_s(), 3.5, 0.1);
  EXPECT_LE(job.delay(0.9, 30), 8) << "it was faster before";
}

TEST(Regression, single_slow_minutes_are_not_a_regression) {
  NoisyJob job(0.01, 0.3);
  job.run(120);
  for (int i = 0; i < 30; ++i) {
    job.run(1, 3);
    job.run(9);
  }
  EXPECT_EQ(job.raised, 0);
}

TEST(Regression, the_end_is_reported_and_a_second_one_is_found) {
  NoisyJob job(0.01, 0.3);
  job.run(120);
  job.delay(1.15, 30);
  job.run(60, 1.15);
  ASSERT_TRUE(job.detector.present());
  EXPECT_FALSE(job.detector.ended());
  const WallTime end = job.now();
  job.run(8);
  EXPECT_FALSE(job.detector.present());
  ASSERT_TRUE(job.detector.ended());
  EXPECT_LE(*job.detector.ended() - end, minutes(6));
  job.run(60);
  EXPECT_LE(job.delay(1.15, 30), 8);
}

TEST(Regression, a_regression_that_gets_worse_is_kept_up_to_date) {
  NoisyJob job(0.01, 0.3);
  job.run(120);
  job.delay(1.1, 30);
  job.run(30, 1.4);
  ASSERT_TRUE(job.detector.present());
  EXPECT_NEAR(job.detector.present()->goodput_loss, 1 - 1 / 1.4, 0.02);
}

TEST(Regression, a_large_change_is_found_in_the_first_hour) {
  for (unsigned seed = 1; seed <= 10; ++seed) {
    NoisyJob job(0.02, 0.5, seed);
    job.run(20);
    EXPECT_LE(job.delay(1.25, 30), 12) << seed;
    EXPECT_TRUE(job.detector.present()->is_early);
    EXPECT_FALSE(job.detector.has_baseline());
    job.run(10);
    EXPECT_FALSE(job.detector.present()) << "it is over";
    job.run(60);
    EXPECT_TRUE(job.detector.has_baseline());
  }
}

TEST(Regression, a_job_that_slows_by_half_after_a_few_minutes_is_reported) {
  for (unsigned seed = 1; seed <= 10; ++seed) {
    NoisyJob job(0.02, 0.5, seed);
    job.run(4);
    EXPECT_LE(job.delay(1.8, 30), 11) << seed;
    EXPECT_NEAR(job.detector.present()->before_s, 5, 0.3);
    NoisyJob slower(0.02, 0.5, seed);
    slower.run(4);
    slower.run(60, 1.2);
    EXPECT_EQ(slower.raised, 0) << "a warm-up of a few minutes explains a smaller change; seed " << seed;
  }
}

TEST(Regression, a_change_within_the_first_hour_does_not_become_the_baseline) {
  NoisyJob job(0.01, 0.3);
  job.run(40);
  job.run(30, 1.1);
  ASSERT_TRUE(job.detector.present());
  EXPECT_NEAR(job.detector.present()->before_s, 5, 0.1);
}

TEST(Regression, a_larger_batch_is_not_a_regression) {
  RegressionDetector detector;
  std::mt19937 random(4);
  std::normal_distribution<double> normal(0, 1);
  for (int i = 0; i < 600; ++i) {
    const double work = std::log(1e6) + 0.1 * normal(random) + (i > 300 ? std::log(1.5) : 0);
    detector.add({WallTime{minutes(i)}, work - std::log(2e5) + 0.01 * normal(random), work, false});
    EXPECT_FALSE(detector.present()) << i;
  }
  for (int i = 600; i < 620; ++i)
    detector.add({WallTime{minutes(i)}, std::log(5 * 1.3), std::log(1e6), false});
  EXPECT_TRUE(detector.present()) << "the same work takes longer";
}

TEST(Regression, minutes_that_are_left_out_or_unknown_do_not_count) {
  NoisyJob job(0.01, 0.3);
  job.run(120);
  for (int i = 0; i < 60; ++i, ++job.minute) {
    job.detector.add({job.now(), std::log(50), {}, true});
    job.detector.add({job.now(), std::nan(""), {}, false});
    job.detector.add({job.now(), std::numeric_limits<double>::infinity(), {}, false});
    job.detector.add({job.now(), -std::numeric_limits<double>::infinity(), {}, false});
  }
  EXPECT_FALSE(job.detector.present());
  EXPECT_LE(job.delay(1.2, 30), 6) << "after a gap the detector works on";
}

TEST(Regression, equal_times_and_a_minute_of_the_past) {
  NoisyJob job(0, 0);
  job.run(1000);
  EXPECT_EQ(job.raised, 0);
  job.detector.add({WallTime{}, std::log(500), {}, false});
  EXPECT_EQ(job.delay(1.05, 30), 5);
}

TEST(Regression, memory_is_limited) {
  NoisyJob job(0.03, 0.3);
  for (int i = 0; i < 200; ++i) {
    job.run(10, 1 + 0.01 * (i % 7));
    EXPECT_LE(job.detector.held(), RegressionDetector::kMaxHeld);
  }
}

}  // namespace
}  // namespace autopilot::jobs
