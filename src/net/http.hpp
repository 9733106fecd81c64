// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.hpp"

namespace autopilot::net {

// The remote side of a connection.
struct Peer {
  bool is_local_socket = false;  // Unix socket; the kernel provides uid, gid and pid
  bool is_owner = false;         // Unix socket, and root or the user of this process: can start actions
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::int32_t pid = 0;
  std::string address;             // TCP
  bool is_encrypted = false;       // the connection uses TLS
  bool is_verified = false;        // the client sent a certificate that was verified
  std::vector<std::string> names;  // DNS names of the client's verified certificate; empty without one
  std::string user;  // user that the bearer token belongs to, after a TokenReview; empty otherwise
};

struct HttpRequest {
  std::string method;                                       // "GET"
  std::string path;                                         // decoded, without query: "/v1/checks/gpu.xid"
  std::map<std::string, std::string, std::less<>> query;    // decoded; of equal names the first
  std::map<std::string, std::string, std::less<>> headers;  // names in lower case
  std::string body;
  Peer peer;
  std::map<std::string, std::string, std::less<>>
      parameters;  // path parameters of the route: "/v1/checks/{id}"
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;
  std::shared_ptr<const std::string> shared_body =
      nullptr;  // replaces body: bytes that several responses share
};

// One server-sent event.
struct ServerEvent {
  std::string id;
  std::string event;
  std::string data;
};

// HTTP status of an error code: malformed 400, denied 403, not_found 404, conflict 409, unsupported 501,
// unavailable and exhausted 503, timed_out 504, internal 500.
[[nodiscard]] int status_of(Errc code);
// `{"error":{"code":"not_found","message":"..."}}`.
[[nodiscard]] HttpResponse error_response(const Error& error);
[[nodiscard]] HttpResponse error_response(int status, std::string_view code, std::string_view message);

// The token of the header `Authorization: Bearer TOKEN`; empty if the request has none.
[[nodiscard]] std::string bearer_token(const HttpRequest& request);

// The text form of server-sent events. Line ends in id and event become spaces; data can have many lines.
[[nodiscard]] std::string format_event(const ServerEvent& event);

// Parses a stream of bytes into events. Accepts LF, CR and CRLF, skips comments, and drops an unfinished last
// event.
class EventParser {
 public:
  explicit EventParser(std::size_t event_bytes) : event_bytes_(event_bytes) {}

  // Calls `on_event` for every event completed by these bytes until it returns false; returns false then.
  // exhausted: an event is larger than allowed.
  [[nodiscard]] Result<bool> feed(std::string_view bytes,
                                  const std::function<bool(const ServerEvent&)>& on_event);

 private:
  [[nodiscard]] bool end_line(const std::function<bool(const ServerEvent&)>& on_event);

  std::size_t event_bytes_;
  std::string line_;
  std::string last_id_;
  ServerEvent event_;
  bool has_data_ = false;
  bool is_after_cr_ = false;
};

}  // namespace autopilot::net
