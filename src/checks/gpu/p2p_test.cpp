// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <string>

#include "tests/support/checks/gpu_check_fixture.hpp"

namespace autopilot::checks {
namespace {

class P2pTest : public MeasuredTest {
 protected:
  // Four GPUs, of each of which `direct` others are reached without the host; `rate` of each pair.
  template <typename Rate>
  Findings findings(std::int64_t direct, const Rate& rate) {
    says("p2p.outcome", host_subject(), std::string("measured"));
    for (int from = 0; from < 4; ++from) {
      says("p2p.peers", from, std::int64_t{3});
      says("p2p.direct", from, direct);
      for (int to = 0; to < 4; ++to)
        if (from != to)
          says("p2p.write", {SubjectKind::link, gpu(from).key + "|" + gpu(to).key, {}, "", ""},
               rate(from, to));
    }
    return find_check("gpu.p2p")->judge(input());
  }
};

TEST_F(P2pTest, a_slow_pair_is_told_with_both_ends) {
  const Findings found = findings(3, [](int from, int to) { return from == 1 && to == 2 ? 9.0 : 380.0; });
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].reason, "p2p_pair_slow");
  EXPECT_EQ(found[0].message,
            "the path between GPU 0000:11:00.0 and GPU 0000:12:00.0 is slow: write 9 GB/s, at least 152 "
            "expected from other pairs");
}

TEST_F(P2pTest, a_gpu_that_is_slow_with_all_is_told_once) {
  const Findings found = findings(3, [](int from, int to) { return from == 1 || to == 1 ? 9.0 : 380.0; });
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].reason, "p2p_gpu_slow");
  EXPECT_EQ(found[0].subject, gpu(1));
  EXPECT_EQ(found[0].message,
            "the path between GPU 1 (0000:11:00.0) and each of its peers is slow: write 9 GB/s, at least 152 "
            "expected from other pairs");
}

TEST_F(P2pTest, pairs_of_which_nobody_tells_the_access_are_not_compared) {
  EXPECT_TRUE(findings(2, [](int from, int to) { return from == 1 || to == 1 ? 9.0 : 380.0; }).empty());
}

}  // namespace
}  // namespace autopilot::checks
