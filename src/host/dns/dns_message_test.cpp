// SPDX-License-Identifier: Apache-2.0
#include "host/dns/dns_message.hpp"

#include <gtest/gtest.h>

namespace autopilot::host {
namespace {

using namespace std::string_literals;

// Id 0x1234, flags, numbers of questions, answers, authorities and additional records.
std::string header(unsigned flags, unsigned questions, unsigned answers = 0) {
  std::string text = "\x12\x34"s;
  for (const unsigned number : {flags, questions, answers, 0U, 0U}) {
    text += static_cast<char>(number >> 8U);
    text += static_cast<char>(number & 0xffU);
  }
  return text;
}

const std::string kRootNs = "\0\0\2\0\1"s;
// "." NS IN 518400 a.root-servers.net
const std::string kRecord = "\0\0\2\0\1\0\7\xe9\0\0\x14\1a\x0croot-servers\3net\0"s;

Errc code_of(std::string_view packet) {
  const auto answer = parse_dns_answer(packet);
  return answer ? Errc::internal : answer.error().code;
}

TEST(DnsQuestions, are_those_of_the_specification) {
  EXPECT_EQ(make_dns_question(DnsQuestion::root, 0x1234), "\x12\x34\1\0\0\1\0\0\0\0\0\0\0\0\2\0\1"s);
  EXPECT_EQ(make_dns_question(DnsQuestion::version, 0xfffe),
            "\xff\xfe\0\0\0\1\0\0\0\0\0\0\x07version\x04"s + "bind\0\0\x10\0\3"s);
  EXPECT_EQ(make_dns_question(DnsQuestion::status, 0x1234), "\x12\x34\x10\0\0\0\0\0\0\0\0\0"s);
}

TEST(DnsHead, is_that_of_any_answer) {
  const auto refused = parse_dns_head(header(0x8185, 7, 9));
  ASSERT_TRUE(refused) << refused.error().what;
  EXPECT_EQ(refused->id, 0x1234);
  EXPECT_EQ(refused->code, 5);
  EXPECT_EQ(parse_dns_head(header(0x9004, 0))->code, 4);  // of another operation
  EXPECT_EQ(parse_dns_head(header(0x1000, 0)).error().code, Errc::malformed);
  const std::string whole = header(0x8180, 1);
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_EQ(parse_dns_head(std::string_view(whole).substr(0, size)).error().code, Errc::malformed) << size;
}

TEST(DnsAnswer, tells_number_code_and_whether_it_is_whole) {
  const auto answer = parse_dns_answer(header(0x8180, 1, 2) + kRootNs + kRecord + kRecord);
  ASSERT_TRUE(answer) << answer.error().what;
  EXPECT_EQ(answer->id, 0x1234);
  EXPECT_EQ(answer->code, 0);
  EXPECT_FALSE(answer->is_truncated);
  const auto refused = parse_dns_answer(header(0x8185, 1) + kRootNs);
  ASSERT_TRUE(refused) << refused.error().what;
  EXPECT_EQ(refused->code, 5);
}

TEST(DnsAnswer, a_refusal_may_leave_the_question_out_and_an_answer_may_not) {
  for (const unsigned code : {1U, 2U, 4U, 5U})
    EXPECT_EQ(parse_dns_answer(header(0x8180 | code, 0))->code, static_cast<int>(code));
  EXPECT_EQ(code_of(header(0x8180, 0)), Errc::malformed);
}

TEST(DnsAnswer, that_is_truncated_may_end_anywhere_behind_the_question) {
  const std::string cut = kRecord.substr(0, 7);
  const auto answer = parse_dns_answer(header(0x8380, 1, 13) + kRootNs + cut);
  ASSERT_TRUE(answer) << answer.error().what;
  EXPECT_TRUE(answer->is_truncated);
  EXPECT_EQ(code_of(header(0x8380, 1, 13) + "\0\0"s), Errc::malformed);
}

TEST(DnsAnswer, names_may_point_back_and_nowhere_else) {
  const std::string rest = "\0\2\0\1\0\0\0\1\0\0"s;
  EXPECT_TRUE(parse_dns_answer(header(0x8180, 1, 1) + kRootNs + "\xc0\x0c"s + rest));
  EXPECT_TRUE(parse_dns_answer(header(0x8180, 1, 1) + kRootNs + "\1a\xc0\x0c"s + rest));
  // To itself, behind itself, and into the middle of nowhere.
  for (const std::string& name : {"\xc0\x11"s, "\xc0\x20"s, "\xff\xff"s, "\x40"s, "\x80\x01"s}) {
    std::string packet = header(0x8180, 1, 1);
    packet.append(kRootNs).append(name).append(rest);
    EXPECT_EQ(code_of(packet), Errc::malformed);
  }
  std::string endless;
  for (int i = 0; i < 5; ++i)
    endless += "\x3f" + std::string(63, 'a');
  EXPECT_EQ(code_of(header(0x8180, 1, 1) + kRootNs + endless + rest), Errc::malformed);
}

TEST(DnsAnswer, what_is_none_is_malformed) {
  EXPECT_EQ(code_of(make_dns_question(DnsQuestion::root, 0x1234)), Errc::malformed);  // the question itself
  EXPECT_EQ(code_of(header(0xa180, 1) + kRootNs), Errc::malformed);                   // of another operation
  EXPECT_EQ(code_of(header(0x8180, 1) + "\0\0\1\0\1"s), Errc::malformed);             // to another question
  EXPECT_EQ(code_of(header(0x8180, 2) + kRootNs + kRootNs), Errc::malformed);
  EXPECT_EQ(code_of(header(0x8180, 1, 1) + kRootNs), Errc::malformed);  // promises a record
  EXPECT_EQ(code_of(header(0x8180, 1, 0xffff) + kRootNs + kRecord), Errc::malformed);
  EXPECT_EQ(code_of(std::string(600, '\xff')), Errc::malformed);
}

TEST(DnsAnswer, cut_off_at_any_byte_it_is_malformed) {
  const std::string whole = header(0x8180, 1, 1) + kRootNs + kRecord;
  ASSERT_TRUE(parse_dns_answer(whole));
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_EQ(code_of(std::string_view(whole).substr(0, size)), Errc::malformed) << size;
}

}  // namespace
}  // namespace autopilot::host
