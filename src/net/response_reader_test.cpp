// SPDX-License-Identifier: Apache-2.0
#include "net/response_reader.hpp"

#include <gtest/gtest.h>
#include <string>

namespace autopilot::net {
namespace {

constexpr std::size_t kAnswerHeader = 1024;
constexpr std::size_t kAnswerBody = 64;
constexpr const char* kChunkedHead = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

// Feeds `text` in pieces of `piece` bytes and gives back the whole body.
Result<std::string> body_of(ResponseReader& reader, const std::string& text, std::size_t piece) {
  std::string buffer;
  std::string body;
  for (std::size_t at = 0; at < text.size(); at += piece) {
    buffer += text.substr(at, piece);
    buffer.erase(0, TRY(reader.feed(buffer)));
    if (reader.has_head()) body += reader.take_body();
  }
  return body;
}

TEST(ResponseReader, reads_a_chunked_body_in_pieces_of_any_size) {
  const std::string text = std::string(kChunkedHead) + "3\r\nabc\r\n1\r\nd\r\n0\r\n\r\n";
  for (std::size_t piece = 1; piece <= text.size(); ++piece) {
    ResponseReader reader(kAnswerHeader, kAnswerBody, false);
    EXPECT_EQ(body_of(reader, text, piece).value(), "abcd") << piece;
    EXPECT_TRUE(reader.is_complete()) << piece;
  }
}

TEST(ResponseReader, reads_an_empty_chunked_body_in_pieces_of_any_size) {
  const std::string text = std::string(kChunkedHead) + "0\r\n\r\n";
  for (std::size_t piece = 1; piece <= text.size(); ++piece) {
    ResponseReader reader(kAnswerHeader, kAnswerBody, false);
    EXPECT_EQ(body_of(reader, text, piece).value(), "") << piece;
    EXPECT_TRUE(reader.is_complete()) << piece;
  }
}

TEST(ResponseReader, hands_out_a_piece_of_a_stream_before_its_chunk_ends) {
  ResponseReader reader(kAnswerHeader, std::nullopt, false);
  EXPECT_EQ(body_of(reader, std::string(kChunkedHead) + "6\r\nab", 1).value(), "ab");
}

TEST(ResponseReader, a_chunked_body_cut_short_is_an_error) {
  for (const std::string rest : {"", "0", "0\r\n", "0\r\n\r", "3\r\nab"}) {
    ResponseReader reader(kAnswerHeader, kAnswerBody, false);
    ASSERT_TRUE(body_of(reader, kChunkedHead + rest, 1)) << rest;
    EXPECT_FALSE(reader.end()) << rest;
  }
}

TEST(ResponseReader, takes_no_memory_for_a_body_that_is_only_promised) {
  ResponseReader reader(kAnswerHeader, std::nullopt, false);
  const std::string head = "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999\r\n\r\n";
  EXPECT_EQ(body_of(reader, head + "data", 8).value(), "data");
  EXPECT_FALSE(reader.end());
}

TEST(ResponseReader, refuses_a_body_whose_end_the_head_leaves_open) {
  for (const std::string headers :
       {"Transfer-Encoding: xchunked\r\n", "Transfer-Encoding: gzip, chunked\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
        "Content-Length: 5\r\nTransfer-Encoding: xchunked\r\n", "Content-Length: 5\r\nContent-Length: 5\r\n",
        "Content-Length: 5\r\nContent-Length: 6\r\n"}) {
    ResponseReader reader(kAnswerHeader, kAnswerBody, false);
    const auto used = reader.feed("HTTP/1.1 200 OK\r\n" + headers + "\r\nhello");
    ASSERT_FALSE(used) << headers;
    EXPECT_EQ(used.error().code, Errc::malformed) << headers;
  }
}

}  // namespace
}  // namespace autopilot::net
