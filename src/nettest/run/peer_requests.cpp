// SPDX-License-Identifier: Apache-2.0
#include "nettest/run/peer_requests.hpp"

#include <utility>

#include "api/v1.hpp"

namespace autopilot::nettest {

net::ServerUrl url_of(const fleet::Peer& peer) {
  return {peer.is_encrypted, peer.address, peer.port, ""};
}

std::shared_ptr<const net::TlsContext> tls_for(const std::shared_ptr<const net::TlsContext>& tls,
                                               const fleet::Peer& peer) {
  return tls && peer.is_encrypted ? tls->for_server(peer.node) : nullptr;
}

net::HttpRequest request_of(std::string method, std::string path, std::string body) {
  net::HttpRequest request;
  request.method = std::move(method);
  request.path = std::move(path);
  request.body = std::move(body);
  return request;
}

net::HttpRequest end_request_of(const std::string& servers) {
  return request_of("DELETE", std::string(api::kServersPath) + "/" + servers, "");
}

Result<std::string> body_of(const std::string& node, const Result<net::HttpResponse>& answer) {
  if (!answer) return fail(answer.error().code, node + ": " + answer.error().what);
  if (answer->status == 200) return answer->body;
  constexpr int kConflict = 409;
  return fail(
      answer->status == kConflict ? Errc::conflict : Errc::denied,
      node + ": " + api::parse_error(answer->body).what + " (status " + std::to_string(answer->status) + ")");
}

}  // namespace autopilot::nettest
