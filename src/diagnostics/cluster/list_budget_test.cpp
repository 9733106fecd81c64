// SPDX-License-Identifier: Apache-2.0
#include "diagnostics/cluster/list_budget.hpp"

#include <gtest/gtest.h>
#include <vector>

namespace autopilot::diagnostics {
namespace {

using namespace std::chrono_literals;

constexpr MonoTime kStart{1h};

TEST(ListBudget, gives_as_many_as_are_left_at_once) {
  ListBudget budget;
  EXPECT_EQ(budget.next(2, kStart), kStart);
  budget.take(2, kStart);
  EXPECT_EQ(budget.next(2, kStart + 1s), kStart + 1s);
}

TEST(ListBudget, then_one_waits_until_the_oldest_are_a_minute_old) {
  ListBudget budget;
  budget.take(2, kStart);
  budget.take(2, kStart + 20s);
  EXPECT_EQ(budget.next(2, kStart + 30s), kStart + ListBudget::kWindow);
  EXPECT_EQ(budget.next(4, kStart + 30s), kStart + 20s + ListBudget::kWindow);
  const MonoTime later = kStart + ListBudget::kWindow;
  EXPECT_EQ(budget.next(2, later), later);
  budget.take(2, later);
  EXPECT_EQ(budget.next(2, later), kStart + 20s + ListBudget::kWindow);
}

TEST(ListBudget, in_no_minute_are_more_than_its_most_whoever_asks) {
  ListBudget budget;
  std::vector<MonoTime> gone;
  MonoTime now = kStart;
  for (int i = 0; i < 50; ++i) {
    now = budget.next(i % 3 == 0 ? 1 : 2, now);
    for (int list = 0; list < (i % 3 == 0 ? 1 : 2); ++list)
      gone.push_back(now);
    budget.take(i % 3 == 0 ? 1 : 2, now);
    now += 3s;
  }
  for (std::size_t i = ListBudget::kMaxLists; i < gone.size(); ++i)
    EXPECT_GE(gone[i] - gone[i - ListBudget::kMaxLists], 1min);
}

}  // namespace
}  // namespace autopilot::diagnostics
