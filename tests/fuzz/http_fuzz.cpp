// SPDX-License-Identifier: Apache-2.0
// Input from outside in src/net: requests, answers, event streams, Host and Origin. The first byte selects
// the kind; the second the size of the pieces in which it arrives.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "net/http.hpp"
#include "net/message_reader.hpp"
#include "net/router.hpp"
#include "tests/fuzz/targets.hpp"

namespace autopilot::http_fuzz {
namespace {

constexpr std::size_t kHeaderBytes = 512;
constexpr std::size_t kBodyBytes = 256;

void require(bool condition) {
  if (!condition) std::abort();
}

void read_requests(std::string_view text, std::size_t piece) {
  net::Router router;
  router.add("GET", "/v1/checks/{id}", [](const net::HttpRequest&, net::Responder) {}, {});
  const net::HostPolicy policy("127.0.0.1", {"node.example"});
  std::string buffer;
  while (!text.empty()) {
    net::RequestReader reader(kHeaderBytes);
    bool is_accepted = false;
    while (!text.empty() && !reader.is_complete()) {
      buffer += text.substr(0, piece);
      text.remove_prefix(std::min(piece, text.size()));
      const std::size_t used = reader.feed(buffer);
      require(used <= buffer.size());
      buffer.erase(0, used);
      if (reader.has_head() && !is_accepted) {
        is_accepted = true;
        reader.accept_body(kBodyBytes);
        if (reader.refusal() == net::RequestReader::Refusal::none) buffer.erase(0, reader.feed(buffer));
      }
      static_cast<void>(reader.take_expects_continue());
      if (reader.refusal() != net::RequestReader::Refusal::none) return;
      require(reader.is_complete() || buffer.size() <= kHeaderBytes);
    }
    if (!reader.is_complete()) return;
    auto read = reader.head();
    require(reader.take_body().size() <= kBodyBytes);
    if (!read) continue;
    require(read->request.path.starts_with('/'));
    const auto origin = read->request.headers.find("origin");
    static_cast<void>(policy.check(read->request.headers["host"],
                                   origin == read->request.headers.end() ? nullptr : &origin->second));
    const auto match = router.find(read->request.method, read->segments);
    require(match.handler != nullptr || match.status == 404 || match.status == 405);
  }
}

void read_response(std::string_view text, std::size_t piece, bool is_endless) {
  net::ResponseReader reader(kHeaderBytes, is_endless ? std::nullopt : std::optional(kBodyBytes), false);
  net::EventParser events(kBodyBytes);
  std::string buffer;
  while (!text.empty() && !reader.is_complete()) {
    buffer += text.substr(0, piece);
    text.remove_prefix(std::min(piece, text.size()));
    const auto used = reader.feed(buffer);
    if (!used) return;
    buffer.erase(0, *used);
    if (!reader.has_head()) continue;
    static_cast<void>(reader.head());
    const auto body = reader.take_body();
    const auto goes_on = events.feed(body, [](const net::ServerEvent&) { return true; });
    if (!goes_on) return;
  }
  static_cast<void>(reader.end());
}

void read_events(std::string_view text, std::size_t piece) {
  net::EventParser parser(kBodyBytes);
  while (!text.empty()) {
    const auto result = parser.feed(text.substr(0, piece), [](const net::ServerEvent& event) {
      require(event.data.size() <= kBodyBytes);
      return event.event != "stop";
    });
    if (!result || !*result) return;
    text.remove_prefix(std::min(piece, text.size()));
  }
}

}  // namespace

int run(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::string text(data + 2, data + size);
  const std::size_t piece = std::max<std::size_t>(data[1], 1);
  switch (data[0] % 4) {
    case 0:
      read_requests(text, piece);
      break;
    case 1:
      read_response(text, piece, false);
      break;
    case 2:
      read_response(text, piece, true);
      break;
    default:
      read_events(text, piece);
      break;
  }
  return 0;
}

}  // namespace autopilot::http_fuzz
