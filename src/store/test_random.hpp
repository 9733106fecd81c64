// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <random>

namespace autopilot::store::testing {

// A generator for one test, equal in every run; change it with --gtest_random_seed=N.
inline std::mt19937 random_numbers(unsigned test) {
  return std::mt19937(test + static_cast<unsigned>(GTEST_FLAG_GET(random_seed)));
}

}  // namespace autopilot::store::testing
