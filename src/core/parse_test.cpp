// SPDX-License-Identifier: Apache-2.0

#include "core/parse.hpp"

#include <cstdint>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autopilot {

namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(ParseNumber, takes_whole_texts_only) {
  EXPECT_EQ(parse_number<int>("-12"), -12);
  EXPECT_EQ(parse_number<std::uint64_t>("18446744073709551615"), UINT64_MAX);
  for (const auto* text : {"", " 1", "1 ", "1\n", "+1", "1.0", "0x10", "one", "18446744073709551616", "-1"})
    EXPECT_EQ(parse_number<std::uint64_t>(text), std::nullopt) << text;
  EXPECT_EQ(parse_number<std::uint8_t>("256"), std::nullopt);
}

TEST(ParseNumber, a_real_number_is_finite) {
  EXPECT_EQ(parse_number<double>("0.5"), 0.5);
  EXPECT_EQ(parse_number<double>("-1e3"), -1000.0);
  for (const auto* text : {"", "nan", "inf", "-inf", "infinity", "1e999", "0.5 ", ".", "0x1p3"})
    EXPECT_EQ(parse_number<double>(text), std::nullopt) << text;
}

TEST(ParseHex, takes_both_spellings) {
  EXPECT_EQ(parse_hex<unsigned>("0x1f"), 0x1fU);
  EXPECT_EQ(parse_hex<unsigned>("1F"), 0x1fU);
  EXPECT_EQ(parse_hex<std::uint16_t>("0X10de"), 0x10de);
  for (const auto* text : {"", "0x", "0x0x1", "x1f", "0x1g", "0x100000000"})
    EXPECT_EQ(parse_hex<std::uint32_t>(text), std::nullopt) << text;
}

TEST(Trim, removes_white_space_at_both_ends) {
  EXPECT_EQ(trim(" \t a b \r\n"), "a b");
  EXPECT_EQ(trim("   "), "");
  EXPECT_EQ(trim(""), "");
}

TEST(Split, keeps_empty_parts) {
  EXPECT_THAT(split("a,,b,", ','), ElementsAre("a", "", "b", ""));
  EXPECT_THAT(split("", ','), ElementsAre(""));
}

TEST(SplitWords, drops_empty_parts) {
  EXPECT_THAT(split_words("  4: ACTIVE\t \n"), ElementsAre("4:", "ACTIVE"));
  EXPECT_THAT(split_words(" \n"), IsEmpty());
  EXPECT_THAT(split_words(""), IsEmpty());
}

TEST(ToLower, touches_ascii_letters_only) {
  EXPECT_EQ(to_lower("NVRM: Xid \xc3\x84"), "nvrm: xid \xc3\x84");
}

TEST(ToPrintable, marks_every_byte_that_does_not_stand_for_itself) {
  EXPECT_TRUE(is_printable("GPU 0 ~"));
  EXPECT_EQ(to_printable("GPU 0 ~"), "GPU 0 ~");
  EXPECT_FALSE(is_printable("tab\t"));
  EXPECT_FALSE(is_printable("\x7f"));
  EXPECT_FALSE(is_printable("\xc3\xa4"));
  EXPECT_EQ(to_printable("a\tb\x7f\xc3\xa4\n"), "a?b????");
}

TEST(ToPrintable, keeps_the_beginning_of_what_is_too_long) {
  EXPECT_EQ(to_printable("abc\x01"
                         "def",
                         4),
            "abc?");
  EXPECT_EQ(to_printable("", 4), "");
}

TEST(ToUtf8, keeps_what_is_valid) {
  const std::string_view valid = "plain, \xc3\xa4, \xe2\x82\xac, \xf0\x9f\x98\x80";
  EXPECT_EQ(to_utf8(valid), valid);
}

TEST(ToUtf8, marks_every_byte_that_is_not) {
  const std::string mark = "\xef\xbf\xbd";
  EXPECT_EQ(to_utf8("a\xff"
                    "b"),
            "a" + mark + "b");
  EXPECT_EQ(to_utf8("\xc3"), mark);                                   // cut short
  EXPECT_EQ(to_utf8("\xc0\xaf"), mark + mark);                        // overlong '/'
  EXPECT_EQ(to_utf8("\xed\xa0\x80"), mark + mark + mark);             // surrogate
  EXPECT_EQ(to_utf8("\xf4\x90\x80\x80"), mark + mark + mark + mark);  // beyond Unicode
  EXPECT_EQ(to_utf8("\xe2\x82z"), mark + mark + "z");
}

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
