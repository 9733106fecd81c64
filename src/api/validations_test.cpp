// SPDX-License-Identifier: Apache-2.0
#include "api/validations.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>

#include "tests/support/api/validation_samples.hpp"

namespace autopilot::api {
namespace {

using api::testing::sample_validations;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

TEST(ApiValidations, read_back) {
  const std::string text = to_json(sample_validations());
  const auto read = parse_validations(text);
  ASSERT_TRUE(read) << read.error().what;
  EXPECT_EQ(to_json(*read), text);
  ASSERT_THAT(read->validations, SizeIs(1));
  EXPECT_THAT(read->validations[0].gpus, ElementsAre(0, 3));
  EXPECT_EQ(read->validations[0].record.place.node, "n0");
  EXPECT_EQ(read->waiting, 3);
}

TEST(ApiValidations, name_the_place_of_a_wrong_member) {
  std::string text = to_json(sample_validations());
  text.replace(text.find("\"quick\""), 7, "\"slow\"");
  EXPECT_THAT(parse_validations(text).error().what, HasSubstr("validations[0].depth"));
  EXPECT_FALSE(parse_validations("{}"));
  EXPECT_FALSE(parse_validations(""));
}

}  // namespace
}  // namespace autopilot::api
