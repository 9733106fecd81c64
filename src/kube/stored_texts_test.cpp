// SPDX-License-Identifier: Apache-2.0
#include "kube/stored_texts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autopilot::kube {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;

TEST(StoredTexts, a_secret_is_read_as_it_was_written) {
  const std::string text = secret_json({.name = "keys", .labels = {{"app", "autopilot"}}},
                                       "kubernetes.io/tls", {{"tls.key", "\x01k"}});
  EXPECT_EQ(text,
            R"({"apiVersion":"v1","kind":"Secret","metadata":{"name":"keys","labels":{"app":"autopilot"}},)"
            R"("data":{"tls.key":"AWs="},"type":"kubernetes.io/tls"})");
  const auto secret = parse_secret(text);
  ASSERT_TRUE(secret) << secret.error().what;
  EXPECT_THAT(secret->texts, ElementsAre(Pair("tls.key", "\x01k")));
}

TEST(StoredTexts, a_config_map_is_read_as_it_was_written) {
  const auto map = parse_config_map(config_map_json({.name = "public"}, {{"ca.crt", "a \"text\"\n"}}));
  ASSERT_TRUE(map) << map.error().what;
  EXPECT_EQ(map->meta.name, "public");
  EXPECT_THAT(map->texts, ElementsAre(Pair("ca.crt", "a \"text\"\n")));
}

TEST(StoredTexts, a_patch_changes_only_the_version_that_was_read_and_takes_away_what_is_gone) {
  StoredTexts old{.meta = {.name = "keys", .version = "7"}, .texts = {{"gone", "g"}, {"stays", "s"}}};
  EXPECT_EQ(secret_patch_json(old, {{"stays", "t"}}),
            R"({"metadata":{"resourceVersion":"7"},"data":{"stays":"dA==","gone":null}})");
  EXPECT_EQ(config_map_patch_json(old, {{"stays", "t"}}),
            R"({"metadata":{"resourceVersion":"7"},"data":{"stays":"t","gone":null}})");
}

TEST(StoredTexts, what_cannot_be_understood_is_named_and_not_shown) {
  for (const char* text : {"", "[]", "{}", R"({"kind":"ConfigMap"})"})
    EXPECT_FALSE(parse_secret(text)) << text;
  const auto bad =
      parse_secret(R"({"kind":"Secret","metadata":{"name":"keys"},"data":{"tls.key":"s3cret!"}})");
  ASSERT_FALSE(bad);
  EXPECT_THAT(bad.error().what, HasSubstr("tls.key is not base64"));
  EXPECT_THAT(bad.error().what, Not(HasSubstr("s3cret")));
  EXPECT_TRUE(parse_secret(R"({"kind":"Secret"})")->texts.empty());
}

}  // namespace
}  // namespace autopilot::kube
