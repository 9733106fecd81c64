// SPDX-License-Identifier: Apache-2.0
#include "probes/gpu/run/patience.hpp"

#include <gtest/gtest.h>

namespace autopilot::probes::gpu {
namespace {

TEST(Patience, a_thread_between_two_calls_does_not_hang) {
  const Watch watch;
  Patience patience(watch, 0);
  EXPECT_FALSE(patience.is_over());
  EXPECT_FALSE(patience.is_over());
}

TEST(Patience, a_hanging_call_is_named) {
  Watch watch;
  Patience patience(watch, 0);
  const InCall in_call(watch, "cuInit");
  EXPECT_FALSE(patience.is_over());  // a call that was not there before
  EXPECT_TRUE(patience.is_over());
  EXPECT_EQ(patience.text(), "cuInit has not returned for 0 s");
}

TEST(Patience, the_kernel_that_was_launched_last_is_named) {
  Watch watch;
  watch.kernel = "spin";
  Patience patience(watch, 0);
  const InCall in_call(watch, "cuStreamSynchronize");
  EXPECT_FALSE(patience.is_over());
  EXPECT_TRUE(patience.is_over());
  EXPECT_EQ(patience.text(), "cuStreamSynchronize has not returned for 0 s; the last kernel was spin");
}

TEST(Patience, the_other_gpu_of_a_call_is_named) {
  Watch watch;
  watch.peer = "GPU-2";
  Patience patience(watch, 0);
  const InCall in_call(watch, "cuCtxCreate_v2");
  EXPECT_FALSE(patience.is_over());
  EXPECT_TRUE(patience.is_over());
  EXPECT_EQ(patience.text(), "cuCtxCreate_v2 has not returned for 0 s, with GPU-2");
}

TEST(Patience, many_short_calls_are_not_a_long_one) {
  Watch watch;
  Patience patience(watch, 0);
  for (int i = 0; i < 3; ++i) {
    const InCall in_call(watch, "cuLaunchKernel");
    EXPECT_FALSE(patience.is_over());
  }
}

TEST(Patience, a_call_has_its_time) {
  Watch watch;
  Patience patience(watch, 3600);
  const InCall in_call(watch, "cuInit");
  EXPECT_FALSE(patience.is_over());
  EXPECT_FALSE(patience.is_over());
}

}  // namespace
}  // namespace autopilot::probes::gpu
