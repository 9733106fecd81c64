// SPDX-License-Identifier: Apache-2.0
#include "host/kernel_log/kmsg_protocol.hpp"

#include <gtest/gtest.h>

#include "host/helpers/frame.hpp"

namespace autopilot::host {
namespace {

using namespace std::chrono_literals;

std::string with(const std::string& member, const std::string& value) {
  std::string text = R"({"records":[{)";
  for (const auto& [name, usual] : {std::pair<std::string, std::string>{"sequence", "1"},
                                    {"wall", "2"},
                                    {"mono", "3"},
                                    {"priority", "3"},
                                    {"facility", "0"},
                                    {"injected", "0"},
                                    {"lost", "0"},
                                    {"text", "\"x\""}}) {
    if (name == member && value.empty()) continue;
    if (text.back() != '{') text += ',';
    text += '"' + name + "\":" + (name == member ? value : usual);
  }
  return text + "}]}";
}

TEST(KmsgProtocol, a_record_survives_the_way) {
  SourcedRecord sourced{.record = {}, .lost_before = 7};
  sourced.record.sequence = std::uint64_t{1} << 62U | 5;  // of syslog(2)
  sourced.record.time = {WallTime(123456789ns), MonoTime(-5ns)};
  sourced.record.priority = 3;
  sourced.record.facility = 1;
  sourced.record.injected = true;
  sourced.record.text = "a \"quoted\" \\ text\n with \xc3\xa9 and \x01";
  std::size_t begin = 0;
  const auto records = parse_records(encode_records({sourced}, begin));
  ASSERT_TRUE(records) << records.error().what;
  ASSERT_EQ(records->size(), 1U);
  EXPECT_EQ(begin, 1U);
  const KernelRecord& record = records->front().record;
  EXPECT_EQ(records->front().lost_before, 7U);
  EXPECT_EQ(record.sequence, sourced.record.sequence);
  EXPECT_EQ(record.time.wall, sourced.record.time.wall);
  EXPECT_EQ(record.time.mono, sourced.record.time.mono);
  EXPECT_EQ(record.priority, 3);
  EXPECT_EQ(record.facility, 1);
  EXPECT_TRUE(record.verified);
  EXPECT_TRUE(record.injected);
  EXPECT_EQ(record.text, sourced.record.text);
}

TEST(KmsgProtocol, many_long_records_are_sent_in_several_frames) {
  SourcedRecord longest;
  longest.record.text = std::string(KernelRecord::kMaxText, '\x01');  // six bytes each
  const std::vector<SourcedRecord> all(RecordSource::kMaxBatch, longest);
  std::size_t begin = 0;
  std::size_t answers = 0;
  while (begin < all.size()) {
    const std::size_t before = begin;
    const std::string answer = encode_records(all, begin);
    EXPECT_LT(answer.size() + 1024, kMaxFrame);
    EXPECT_EQ(parse_records(answer)->size(), begin - before);
    ++answers;
  }
  EXPECT_GT(answers, 50U);
  EXPECT_TRUE(parse_records(encode_records(all, begin))->empty());
}

TEST(KmsgProtocol, refuses_what_is_no_record) {
  EXPECT_TRUE(parse_records(with("", "")));
  EXPECT_TRUE(parse_records(R"({"records":[]})"));
  for (const char* member :
       {"sequence", "wall", "mono", "priority", "facility", "injected", "lost", "text"}) {
    for (const char* value : {"", "null", "-1.5", "[]", "\"7\"", "18446744073709551615"}) {
      if (member == std::string_view("text") && value == std::string_view("\"7\"")) continue;
      EXPECT_EQ(parse_records(with(member, value)).error().code, Errc::malformed) << member << value;
    }
  }
  EXPECT_FALSE(parse_records(with("priority", "8")));
  EXPECT_FALSE(parse_records(with("priority", "-1")));
  EXPECT_FALSE(parse_records(with("facility", "8192")));
  EXPECT_FALSE(parse_records(with("injected", "2")));
  EXPECT_FALSE(parse_records(with("text", '"' + std::string(KernelRecord::kMaxText + 1, 'x') + '"')));
  EXPECT_FALSE(parse_records(with("text", "\"\xff\"")));
  for (const std::string_view text : {"", "7", "[]", "{}", R"({"records":7})", R"({"records":[7]})", "{\""})
    EXPECT_EQ(parse_records(text).error().code, Errc::malformed) << text;
  std::string many = R"({"records":[0)";
  for (std::size_t i = 0; i < RecordSource::kMaxBatch; ++i)
    many += ",0";
  EXPECT_EQ(parse_records(many + "]}").error().code, Errc::malformed);
}

TEST(KmsgProtocol, a_witness_is_a_short_word) {
  EXPECT_EQ(parse_witness(encode_witness("/dev/kmsg")).value(), "/dev/kmsg");
  for (const std::string& witness : {std::string(), std::string("a b"), std::string("a\nb"),
                                     std::string("\xc3\xa9"), std::string(65, 'x')})
    EXPECT_FALSE(parse_witness(encode_witness(witness))) << witness;
  EXPECT_FALSE(parse_witness("null"));
  EXPECT_FALSE(parse_witness(R"({"witness":7})"));
}

TEST(KmsgProtocol, patience_has_a_limit) {
  EXPECT_EQ(parse_patience(encode_patience(10s)).value(), 10s);
  EXPECT_FALSE(parse_patience(R"({"patienceMs":-1})"));
  EXPECT_FALSE(parse_patience(R"({"patienceMs":3600001})"));
  EXPECT_FALSE(parse_patience("{}"));
}

}  // namespace
}  // namespace autopilot::host
