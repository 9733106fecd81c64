// SPDX-License-Identifier: Apache-2.0
#include "controller/certificates/authority_keys.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string_view>

namespace autopilot::controller {
namespace {

using std::chrono::hours;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr WallTime kBegin{hours{24} * 20'000};
constexpr AuthorityTimes kTimes{
    .life = hours{1000}, .next_before = hours{90}, .switch_before = hours{60}, .backdated = hours{1}};

AuthorityKeys begun() {
  return new_keys(kBegin, kTimes).value();
}
AuthorityKeys at(const AuthorityKeys& keys, int hour) {
  return rotated(keys, kBegin + hours{hour}, kTimes).value();
}
std::size_t certificates_in(std::string_view pem) {
  std::size_t count = 0;
  for (auto from = pem.find("BEGIN CERT"); from != std::string_view::npos;
       from = pem.find("BEGIN CERT", from + 1))
    ++count;
  return count;
}

TEST(AuthorityKeys, a_new_one_counts_from_an_hour_ago_for_its_life) {
  const auto validity = net::validity_of(begun().current.certificate);
  EXPECT_EQ(validity->from, kBegin - hours{1});
  EXPECT_EQ(validity->until, kBegin + hours{1000});
  EXPECT_EQ(certificates_in(believed(begun())), 1);
}

TEST(AuthorityKeys, nothing_changes_for_most_of_its_life) {
  const AuthorityKeys keys = begun();
  EXPECT_EQ(at(keys, 0), keys);
  EXPECT_EQ(at(keys, 909), keys);
}

TEST(AuthorityKeys, the_next_one_is_believed_before_it_signs_and_the_last_until_it_ends) {
  const AuthorityKeys first = begun();
  const AuthorityKeys prepared = at(first, 910);
  EXPECT_EQ(prepared.current, first.current);
  ASSERT_TRUE(prepared.next);
  EXPECT_EQ(certificates_in(believed(prepared)), 2);
  EXPECT_EQ(at(prepared, 939), prepared);

  const AuthorityKeys switched = at(prepared, 940);
  EXPECT_EQ(switched.current, *prepared.next);
  EXPECT_FALSE(switched.next);
  EXPECT_EQ(switched.previous, first.current.certificate);
  EXPECT_EQ(at(switched, 999), switched);

  const AuthorityKeys alone = at(switched, 1000);
  EXPECT_THAT(alone.previous, IsEmpty());
  EXPECT_EQ(alone.current, switched.current);
}

TEST(AuthorityKeys, whoever_looks_late_gets_what_counts_now) {
  const AuthorityKeys first = begun();
  const AuthorityKeys late = at(first, 950);
  EXPECT_NE(late.current, first.current);
  EXPECT_EQ(late.previous, first.current.certificate);
  const AuthorityKeys very_late = at(at(first, 910), 50'000);
  EXPECT_GT(net::validity_of(very_late.current.certificate)->until, kBegin + hours{50'900});
  EXPECT_THAT(very_late.previous, IsEmpty());
  EXPECT_EQ(at(very_late, 50'000), very_late);
}

TEST(AuthorityKeys, the_secret_holds_all_of_them) {
  for (const AuthorityKeys& keys : {begun(), at(begun(), 910), at(begun(), 950)}) {
    const auto read = parse_keys(to_texts(keys));
    ASSERT_TRUE(read) << read.error().what;
    EXPECT_EQ(*read, keys);
    EXPECT_EQ(to_texts(keys).at("ca.crt"), believed(keys));
  }
}

TEST(AuthorityKeys, what_makes_no_sense_is_named_and_no_key_is_shown) {
  const kube::Texts good = to_texts(at(begun(), 910));
  const auto why = [&good](std::string_view name, const std::string& text) {
    kube::Texts texts = good;
    texts.insert_or_assign(std::string(name), text);
    const auto read = parse_keys(texts);
    return read ? "it was read" : read.error().what;
  };
  EXPECT_THAT(why("tls.crt", ""), HasSubstr("tls.crt and tls.key: "));
  EXPECT_THAT(why("tls.key", good.at("next.key")), HasSubstr("tls.crt and tls.key: "));
  EXPECT_THAT(why("next.key", "s3cret"), HasSubstr("next.crt and next.key: "));
  EXPECT_THAT(why("next.key", "s3cret"), Not(HasSubstr("s3cret")));
  EXPECT_THAT(why("previous.crt", "x"), HasSubstr("previous.crt: "));
  EXPECT_FALSE(parse_keys({}));
}

}  // namespace
}  // namespace autopilot::controller
