// SPDX-License-Identifier: Apache-2.0
#include "host/helpers/message.hpp"

#include <gtest/gtest.h>

namespace autopilot::host {
namespace {

using namespace std::chrono_literals;

TEST(Frame, is_read_in_any_pieces) {
  const std::string stream = encode_frame("one").value() + encode_frame(std::string(70000, 'x')).value();
  for (const std::size_t piece : {std::size_t{1}, std::size_t{3}, std::size_t{4096}, stream.size()}) {
    FrameReader reader;
    std::vector<std::string> bodies;
    for (std::size_t at = 0; at < stream.size(); at += piece) {
      reader.add(std::string_view(stream).substr(at, piece));
      for (auto body = reader.next().value(); body; body = reader.next().value())
        bodies.push_back(*body);
    }
    ASSERT_EQ(bodies.size(), 2U);
    EXPECT_EQ(bodies[0], "one");
    EXPECT_EQ(bodies[1].size(), 70000U);
    EXPECT_EQ(reader.pending(), 0U);
  }
}

TEST(Frame, has_a_limit_at_both_ends) {
  EXPECT_TRUE(encode_frame(std::string(kMaxFrame, 'x')).has_value());
  EXPECT_EQ(encode_frame(std::string(kMaxFrame + 1, 'x')).error().code, Errc::exhausted);
  EXPECT_FALSE(encode_frame("").has_value());
  for (const std::string_view header :
       {std::string_view("\0\x10\0\1", 4), std::string_view("\xff\xff\xff\xff", 4),
        std::string_view("\0\0\0\0", 4)}) {
    FrameReader reader;
    reader.add(header);
    EXPECT_EQ(reader.next().error().code, Errc::malformed);
  }
}

TEST(Message, survives_the_way_there_and_back) {
  const HelperRequest request{
      .id = 7, .method = "stat\"fs\n", .params = R"({"path":"/a"})", .timeout = 1500ms};
  const HelperRequest read = decode_request(encode_request(request)).value();
  EXPECT_EQ(read.id, 7U);
  EXPECT_EQ(read.method, request.method);
  EXPECT_EQ(read.params, request.params);
  EXPECT_EQ(read.timeout, request.timeout);

  const HelperAnswer answer = decode_answer(encode_answer({.id = 8, .result = std::string("[1,2]")})).value();
  EXPECT_EQ(answer.id, 8U);
  EXPECT_EQ(answer.result.value(), "[1,2]");
  const HelperAnswer refusal =
      decode_answer(encode_answer({.id = 9, .result = fail(Errc::denied, "no \"right\"")})).value();
  EXPECT_EQ(refusal.result.error().code, Errc::denied);
  EXPECT_EQ(refusal.result.error().what, "no \"right\"");
}

TEST(Message, that_is_none_is_malformed) {
  for (const std::string_view text :
       {"", "[]", "{", "null", R"({"id":1})", R"({"version":2,"id":1,"result":1})",
        R"({"version":1,"result":1})", R"({"version":1,"id":-1,"result":1})", R"({"version":1,"id":1})",
        R"({"version":1,"id":1,"result":1,"error":{"code":"denied","what":""}})",
        R"({"version":1,"id":1,"error":{"code":"nonsense","what":""}})", R"({"version":1,"id":1,"error":[]})",
        R"({"version":1,"id":1,"error":{"code":"denied"}})", R"({"version":1,"id":"1","result":1})"})
    EXPECT_EQ(decode_answer(text).error().code, Errc::malformed) << text;
  for (const std::string_view text :
       {"", R"({"version":1,"id":1,"method":"a","params":1})",
        R"({"version":1,"id":1,"method":"a","timeoutMs":5})",
        R"({"version":1,"id":1,"method":1,"timeoutMs":5,"params":1})",
        R"({"version":1,"id":1,"method":"a","timeoutMs":99999999999,"params":1})"})
    EXPECT_EQ(decode_request(text).error().code, Errc::malformed) << text;
  EXPECT_FALSE(decode_answer(R"({"version":1,"id":1,"result":)" + std::string(100000, '[')).has_value());
}

TEST(TextMessage, is_read_back_as_it_was) {
  for (const std::string text : {"", "eth0", "a \"b\"\n\\c", "\xFF\xFE"})
    EXPECT_EQ(text_in(make_text_message(text)), text);
}

TEST(TextMessage, is_nothing_else) {
  for (const char* message : {"", "7", "null", "{\"text\":\"a\"}", "[\"a\"]", "\"a", "\"a\" \"b\""})
    EXPECT_FALSE(text_in(message)) << message;
}

}  // namespace
}  // namespace autopilot::host
