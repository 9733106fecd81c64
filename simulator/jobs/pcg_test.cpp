// SPDX-License-Identifier: Apache-2.0
#include "simulator/jobs/pcg.hpp"

#include <cmath>
#include <gtest/gtest.h>

namespace autopilot::simulated_jobs {
namespace {

// The first numbers of the reference implementation, seed 42, stream 54.
TEST(Pcg, gives_the_numbers_of_the_reference) {
  Pcg random(42, 54);
  EXPECT_EQ(random.next(), 0xa15c02b7U);
  EXPECT_EQ(random.next(), 0x7b47f409U);
  EXPECT_EQ(random.next(), 0xba1d3330U);
}

TEST(Pcg, streams_differ) {
  Pcg a(1, 1);
  Pcg b(1, 2);
  EXPECT_NE(a.next(), b.next());
}

TEST(Pcg, seeds_that_follow_each_other_give_unrelated_numbers) {
  int low = 0;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    Pcg random = Pcg::mixed(seed, 1);
    random.next();
    if (random.uniform() < 0.15) ++low;
  }
  EXPECT_NEAR(low, 300, 60);
}

TEST(Pcg, noise_has_mean_0_and_deviation_1) {
  Pcg random(7, 7);
  double sum = 0;
  double squares = 0;
  constexpr int kDraws = 100'000;
  for (int i = 0; i < kDraws; ++i) {
    const double x = static_cast<double>(random.noise());
    sum += x;
    squares += x * x;
    ASSERT_LT(std::abs(x), 3.5);
  }
  EXPECT_NEAR(sum / kDraws, 0, 0.02);
  EXPECT_NEAR(squares / kDraws, 1, 0.02);
}

TEST(Pcg, the_logarithm_and_the_wave_are_exact_enough) {
  for (const double x : {1e-9, 0.1, 0.5, 0.7072, 1.0, 2.0, 1234.5})
    EXPECT_NEAR(natural_log(x), std::log(x), 1e-7 * (1 + std::abs(std::log(x)))) << x;
  EXPECT_DOUBLE_EQ(wave(0), 0);
  EXPECT_DOUBLE_EQ(wave(0.25), 1);
  EXPECT_DOUBLE_EQ(wave(-0.25), -1);
}

TEST(Pcg, a_poisson_number_is_limited) {
  Pcg random(3, 3);
  EXPECT_EQ(random.poisson(0), 0);
  EXPECT_EQ(random.poisson(NAN), 0);
  EXPECT_EQ(random.poisson(1e9), 100'000);
}

}  // namespace
}  // namespace autopilot::simulated_jobs
