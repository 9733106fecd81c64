// SPDX-License-Identifier: Apache-2.0
#include "store/postgres.hpp"

#include <gtest/gtest.h>

namespace autopilot::store::postgres {
namespace {

TEST(UnknownOption, is_named_from_a_url_or_keywords) {
  EXPECT_EQ(unknown_option("invalid URI query parameter: \"nonsense\"\n", "postgresql://u:pw@h/d?nonsense=1"),
            "nonsense");
  EXPECT_EQ(unknown_option("invalid connection option \"passwrd\"\n", "host=h passwrd=secret"), "passwrd");
}

TEST(UnknownOption, is_never_a_part_of_a_password) {
  EXPECT_EQ(unknown_option("invalid connection option \"cret\"\n", "host=h password=se cret=x"), "");
  EXPECT_EQ(unknown_option("invalid URI query parameter: \"cret\"\n", "postgresql://h/?password=se&cret=x"),
            "");
  EXPECT_EQ(unknown_option("invalid URI query parameter: \"cret\"\n", "postgresql://u:12?cret=x@h/d"), "");
  EXPECT_EQ(unknown_option("invalid connection option \"s3cret\"\n", "host=h s3cret=x"), "");
  EXPECT_EQ(unknown_option("missing \"=\" after \"cret\"\n", "host=h cret"), "");
}

}  // namespace
}  // namespace autopilot::store::postgres
