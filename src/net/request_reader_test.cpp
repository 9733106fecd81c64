// SPDX-License-Identifier: Apache-2.0
#include "net/request_reader.hpp"

#include <gtest/gtest.h>
#include <string>

namespace autopilot::net {
namespace {

using Refusal = RequestReader::Refusal;

constexpr std::size_t kRequestHeader = 1024;
constexpr std::size_t kRequestBody = 64;

Refusal refusal_of(const std::string& text) {
  RequestReader reader(kRequestHeader, kRequestBody);
  reader.feed(text);
  return reader.refusal();
}

TEST(RequestReader, reads_a_request_byte_by_byte_and_leaves_the_next_one) {
  const std::string text =
      "\r\nPOST /v1/checks/gpu.xid%2F1?view=short&tag=a+b&flag HTTP/1.1\r\nHost: localhost\r\nX-Thing: 1\r\n"
      "x-thing: 2\r\nContent-Length: 5\r\n\r\nhello";
  RequestReader reader(kRequestHeader, kRequestBody);
  std::string buffer;
  for (const char c : text) {
    ASSERT_FALSE(reader.is_complete());
    buffer += c;
    buffer.erase(0, reader.feed(buffer));
    ASSERT_EQ(reader.refusal(), Refusal::none) << reader.refusal_text();
  }
  ASSERT_TRUE(reader.is_complete());
  EXPECT_EQ(reader.feed("GET / HTTP/1.1\r\n"), 0U);

  const auto read = reader.take();
  ASSERT_TRUE(read);
  EXPECT_EQ(read->request.method, "POST");
  EXPECT_EQ(read->request.path, "/v1/checks/gpu.xid/1");
  EXPECT_EQ(read->segments, (std::vector<std::string>{"v1", "checks", "gpu.xid/1"}));
  EXPECT_EQ(read->request.query.at("view"), "short");
  EXPECT_EQ(read->request.query.at("tag"), "a b");
  EXPECT_EQ(read->request.query.at("flag"), "");
  EXPECT_EQ(read->request.headers.at("x-thing"), "1, 2");
  EXPECT_EQ(read->request.body, "hello");
  EXPECT_TRUE(read->is_keep_alive);
}

TEST(RequestReader, reads_chunked_bodies) {
  RequestReader reader(kRequestHeader, kRequestBody);
  reader.feed(
      "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n");
  ASSERT_TRUE(reader.is_complete()) << reader.refusal_text();
  EXPECT_EQ(reader.take()->request.body, "abcde");
}

TEST(RequestReader, reads_an_empty_chunked_body_that_comes_byte_by_byte) {
  const std::string text = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
  RequestReader reader(kRequestHeader, kRequestBody);
  std::string buffer;
  for (const char c : text) {
    ASSERT_FALSE(reader.is_complete());
    buffer += c;
    buffer.erase(0, reader.feed(buffer));
    ASSERT_EQ(reader.refusal(), Refusal::none) << reader.refusal_text();
  }
  ASSERT_TRUE(reader.is_complete());
  EXPECT_EQ(reader.take()->request.body, "");
}

TEST(RequestReader, http_1_0_closes_and_needs_no_host) {
  RequestReader reader(kRequestHeader, kRequestBody);
  reader.feed("GET / HTTP/1.0\r\n\r\n");
  ASSERT_TRUE(reader.is_complete());
  const auto read = reader.take();
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
    RequestReader reader(kRequestHeader, kRequestBody);
    reader.feed(text);
    ASSERT_TRUE(reader.is_complete()) << text;
    const auto read = reader.take();
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().code, Errc::malformed);
  }
}

TEST(RequestReader, says_once_that_the_client_waits_for_continue) {
  RequestReader reader(kRequestHeader, kRequestBody);
  reader.feed("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_TRUE(reader.take_expects_continue());
  EXPECT_FALSE(reader.take_expects_continue());
  reader.feed("hello");
  EXPECT_TRUE(reader.is_complete());
}

}  // namespace
}  // namespace autopilot::net
