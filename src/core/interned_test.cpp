// SPDX-License-Identifier: Apache-2.0
#include "core/interned.hpp"

#include <gtest/gtest.h>
#include <sstream>
#include <thread>
#include <vector>

namespace autopilot {
namespace {

TEST(Interned, a_text_is_kept_once) {
  const Interned first("nvlink.crc_errors");
  const Interned second(std::string("nvlink.crc_") + "errors");
  EXPECT_EQ(&first.text(), &second.text());
  EXPECT_EQ(first, second);
  EXPECT_EQ(first, "nvlink.crc_errors");
  EXPECT_NE(first, Interned("nvlink.replays"));
}

TEST(Interned, the_empty_text_is_the_one_of_no_value) {
  const Interned none;
  EXPECT_TRUE(none.empty());
  EXPECT_EQ(none, Interned(""));
  EXPECT_EQ(none.text(), "");
  EXPECT_EQ(none.size(), 0U);
}

TEST(Interned, values_live_on_their_own) {
  Interned kept;
  {
    const Interned first("seconds");
    Interned copy = first;
    kept = copy;
    const Interned moved = std::move(copy);
    EXPECT_EQ(moved, "seconds");
  }
  EXPECT_EQ(kept, "seconds");
  const Interned& itself = kept;
  kept = itself;
  EXPECT_EQ(kept, "seconds");
}

TEST(Interned, is_ordered_and_written_as_its_text) {
  EXPECT_LT(Interned("b"), Interned("c"));
  EXPECT_LT(Interned(), Interned("a"));
  EXPECT_EQ("unit " + Interned("bytes") + ".", "unit bytes.");
  std::ostringstream out;
  out << Interned("bytes");
  EXPECT_EQ(out.str(), "bytes");
}

// Under the thread sanitizer: texts come and go in two threads at once.
TEST(Interned, is_for_all_threads) {
  const auto make_and_drop = [] {
    for (int i = 0; i < 20'000; ++i) {
      Interned kept("text " + std::to_string(i % 7));
      const Interned copy = kept;
      kept = {};
      ASSERT_EQ(copy, "text " + std::to_string(i % 7));
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i)
    threads.emplace_back(make_and_drop);
  for (std::thread& thread : threads)
    thread.join();
}

}  // namespace
}  // namespace autopilot
