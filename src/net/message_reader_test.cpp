// SPDX-License-Identifier: Apache-2.0

#include "net/message_reader.hpp"

#include <gtest/gtest.h>
#include <string>

namespace autopilot::net {

namespace {

using Refusal = RequestReader::Refusal;

constexpr std::size_t kRequestHeader = 1024;
constexpr std::size_t kRequestBody = 64;

// A reader whose bodies are accepted as soon as their head is there, as the server does.
class AcceptingReader {
 public:
  std::size_t feed(std::string_view bytes) {
    std::size_t used = reader_.feed(bytes);
    if (!is_accepted_ && reader_.has_head()) {
      is_accepted_ = true;
      reader_.accept_body(kRequestBody);
      if (reader_.refusal() == Refusal::none) used += reader_.feed(bytes.substr(used));
    }
    return used;
  }
  RequestReader* operator->() { return &reader_; }

 private:
  RequestReader reader_{kRequestHeader};
  bool is_accepted_ = false;
};

Refusal refusal_of(const std::string& text) {
  AcceptingReader reader;
  reader.feed(text);
  return reader->refusal();
}

TEST(RequestReader, reads_a_request_byte_by_byte_and_leaves_the_next_one) {
  const std::string text =
      "\r\nPOST /v1/checks/gpu.xid%2F1?view=short&tag=a+b&flag HTTP/1.1\r\nHost: localhost\r\nX-Thing: 1\r\n"
      "x-thing: 2\r\nContent-Length: 5\r\n\r\nhello";
  AcceptingReader reader;
  std::string buffer;
  for (const char c : text) {
    ASSERT_FALSE(reader->is_complete());
    buffer += c;
    buffer.erase(0, reader.feed(buffer));
    ASSERT_EQ(reader->refusal(), Refusal::none) << reader->refusal_text();
  }
  ASSERT_TRUE(reader->is_complete());
  EXPECT_EQ(reader.feed("GET / HTTP/1.1\r\n"), 0U);

  const auto read = reader->head();
  ASSERT_TRUE(read);
  EXPECT_EQ(read->request.method, "POST");
  EXPECT_EQ(read->request.path, "/v1/checks/gpu.xid/1");
  EXPECT_EQ(read->segments, (std::vector<std::string>{"v1", "checks", "gpu.xid/1"}));
  EXPECT_EQ(read->request.query.at("view"), "short");
  EXPECT_EQ(read->request.query.at("tag"), "a b");
  EXPECT_EQ(read->request.query.at("flag"), "");
  EXPECT_EQ(read->request.headers.at("x-thing"), "1, 2");
  EXPECT_EQ(reader->take_body(), "hello");
  EXPECT_TRUE(read->is_keep_alive);
}

TEST(RequestReader, reads_chunked_bodies) {
  AcceptingReader reader;
  reader.feed(
      "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n");
  ASSERT_TRUE(reader->is_complete()) << reader->refusal_text();
  EXPECT_EQ(reader->take_body(), "abcde");
}

TEST(RequestReader, reads_an_empty_chunked_body_that_comes_byte_by_byte) {
  const std::string text = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
  AcceptingReader reader;
  std::string buffer;
  for (const char c : text) {
    ASSERT_FALSE(reader->is_complete());
    buffer += c;
    buffer.erase(0, reader.feed(buffer));
    ASSERT_EQ(reader->refusal(), Refusal::none) << reader->refusal_text();
  }
  ASSERT_TRUE(reader->is_complete());
  EXPECT_EQ(reader->take_body(), "");
}

TEST(RequestReader, http_1_0_closes_and_needs_no_host) {
  AcceptingReader reader;
  reader.feed("GET / HTTP/1.0\r\n\r\n");
  ASSERT_TRUE(reader->is_complete());
  const auto read = reader->head();
  ASSERT_TRUE(read);
  EXPECT_FALSE(read->is_keep_alive);
  EXPECT_EQ(read->minor_version, 0U);
}

TEST(RequestReader, refuses_what_is_no_request) {
  EXPECT_EQ(refusal_of("\x16\x03\x01\x02 TLS hello\r\n\r\n"), Refusal::malformed);
  EXPECT_EQ(refusal_of("GET /\r\n\r\n"), Refusal::malformed);
  EXPECT_EQ(refusal_of("GET / HTTP/2.0\r\n\r\n"), Refusal::malformed);
  EXPECT_EQ(refusal_of("GET / HTTP/1.1\r\nno colon\r\n\r\n"), Refusal::malformed);
  EXPECT_EQ(refusal_of("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n"), Refusal::malformed);
}

TEST(RequestReader, refuses_what_two_servers_could_read_differently) {
  EXPECT_EQ(
      refusal_of(
          "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
      Refusal::malformed);
  EXPECT_EQ(refusal_of("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello"),
            Refusal::malformed);
}

TEST(RequestReader, refuses_a_body_whose_end_the_head_leaves_open) {
  const auto of = [](const std::string& headers) {
    return refusal_of("POST / HTTP/1.1\r\nHost: a\r\n" + headers + "\r\n0\r\n\r\nGET / HTTP/1.1\r\n");
  };
  for (const std::string headers : {"Transfer-Encoding: xchunked\r\n",
                                    "Transfer-Encoding: identity\r\n",
                                    "Transfer-Encoding:\r\n",
                                    "Transfer-Encoding: gzip, chunked\r\n",
                                    "Transfer-Encoding: chunked, identity\r\n",
                                    "Transfer-Encoding: chunked;q=1\r\n",
                                    "Transfer-Encoding: \x0b"
                                    "chunked\r\n",
                                    "Transfer-Encoding : chunked\r\n",
                                    "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
                                    "Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n",
                                    "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
                                    "Transfer-Encoding: xchunked\r\nContent-Length: 5\r\n",
                                    "Content-Length: 5\r\nTransfer-Encoding: xchunked\r\n",
                                    "Content-Length: 5\r\nContent-Length: 5\r\n",
                                    "Content-Length: 5, 5\r\n",
                                    "Content-Length: +5\r\n",
                                    "Content-Length: 0x5\r\n",
                                    "Content-Length: 5 5\r\n",
                                    "Content-Length:\r\n",
                                    "Content-Length: 99999999999999999999\r\n"})
    EXPECT_EQ(of(headers), Refusal::malformed) << headers;
  EXPECT_EQ(refusal_of("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"), Refusal::malformed);
}

TEST(RequestReader, takes_chunked_in_any_case) {
  EXPECT_EQ(refusal_of("POST / HTTP/1.1\r\nHost: a\r\ntransfer-encoding:  Chunked \r\n\r\n0\r\n\r\n"),
            Refusal::none);
}

TEST(RequestReader, uses_nothing_of_a_body_that_was_not_accepted) {
  const std::string head = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n";
  RequestReader reader(kRequestHeader);
  EXPECT_EQ(reader.feed(head + "hello"), head.size());
  ASSERT_TRUE(reader.has_head());
  EXPECT_TRUE(reader.has_body());
  EXPECT_EQ(reader.feed(std::string(2 * kRequestHeader, 'x')), 0U);
  EXPECT_EQ(reader.held_bytes(), std::string().capacity());
  EXPECT_FALSE(reader.is_complete());
  reader.accept_body(5);
  EXPECT_EQ(reader.feed("hello, and more"), 5U);
  ASSERT_TRUE(reader.is_complete());
  EXPECT_EQ(reader.take_body(), "hello");
}

TEST(RequestReader, refuses_too_much) {
  const std::string head = "GET / HTTP/1.1\r\nHost: a\r\n";
  EXPECT_EQ(refusal_of(head + "X: " + std::string(2 * kRequestHeader, 'x')), Refusal::header_too_large);
  EXPECT_EQ(refusal_of(head + "X: " + std::string(2 * kRequestHeader, 'x') + "\r\n\r\n"),
            Refusal::header_too_large);
  EXPECT_EQ(refusal_of("GET /" + std::string(2 * kRequestHeader, 'x')), Refusal::header_too_large);
  EXPECT_EQ(refusal_of("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 65\r\n\r\n"), Refusal::body_too_large);
  const std::string chunked = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
  EXPECT_EQ(refusal_of(chunked + "41\r\n" + std::string(65, 'x') + "\r\n0\r\n\r\n"), Refusal::body_too_large);
  // A chunk size line and a trailer that never end.
  EXPECT_EQ(refusal_of(chunked + "1;" + std::string(2 * kRequestHeader, 'x')), Refusal::header_too_large);
  EXPECT_EQ(refusal_of(chunked + "0\r\nX: " + std::string(2 * kRequestHeader, 'x')),
            Refusal::header_too_large);
}

TEST(RequestReader, refuses_targets_and_hosts_that_mean_nothing) {
  for (const std::string text :
       {"GET /%zz HTTP/1.1\r\nHost: a\r\n\r\n", "GET /%00 HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET / HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", "GET /?a=%4 HTTP/1.1\r\nHost: a\r\n\r\n"}) {
    AcceptingReader reader;
    reader.feed(text);
    ASSERT_TRUE(reader->is_complete()) << text;
    const auto read = reader->head();
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().code, Errc::malformed);
  }
}

TEST(RequestReader, says_once_that_the_client_waits_for_continue) {
  AcceptingReader reader;
  reader.feed("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_TRUE(reader->take_expects_continue());
  EXPECT_FALSE(reader->take_expects_continue());
  reader.feed("hello");
  EXPECT_TRUE(reader->is_complete());
}

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
