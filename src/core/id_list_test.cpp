// SPDX-License-Identifier: Apache-2.0
#include "core/id_list.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autopilot {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(IdList, reads_what_the_kernel_writes) {
  EXPECT_THAT(parse_id_list("0-3,8,10-11\n").value(), ElementsAre(0, 1, 2, 3, 8, 10, 11));
  EXPECT_THAT(parse_id_list("0").value(), ElementsAre(0));
  EXPECT_THAT(parse_id_list("\n").value(), IsEmpty());
  EXPECT_EQ(parse_id_list("0-65535").value().size(), kMaxIdsInList);
}

TEST(IdList, anything_else_is_an_error) {
  for (const char* text : {"a", "1-", "-1", "3-1", "1,,2", "0x1", "1 2", "1-2-3", "4294967296"})
    EXPECT_EQ(parse_id_list(text).error().code, Errc::malformed) << text;
  EXPECT_EQ(parse_id_list("0-65536").error().code, Errc::exhausted);
  EXPECT_EQ(parse_id_list("0-2147483647").error().code, Errc::exhausted);
}

}  // namespace
}  // namespace autopilot
