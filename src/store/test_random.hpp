// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <random>

namespace autopilot::store::testing {

// The same in every run; others with --gtest_random_seed=N.
inline std::mt19937 random_numbers() {
  return std::mt19937(static_cast<unsigned>(::testing::UnitTest::GetInstance()->random_seed()));
}

}  // namespace autopilot::store::testing
