// SPDX-License-Identifier: Apache-2.0
#include "cli/agent_client.hpp"

#include <utility>

#include "api/v1.hpp"

namespace autopilot::cli {

bool AgentClient::answers(Duration patience) const {
  return says_ok("/healthz", patience);
}

bool AgentClient::is_ready() const {
  return says_ok("/readyz", std::chrono::seconds{2});
}

bool AgentClient::says_ok(const std::string& path, Duration patience) const {
  net::ClientLimits limits;
  limits.deadline = patience;
  net::HttpRequest request;
  request.method = "GET";
  request.path = path;
  const auto response = net::send_request(target_, request, limits);
  return response && response->status == 200;
}

Result<std::string> AgentClient::exchange(const net::HttpRequest& request, Duration deadline) const {
  net::ClientLimits limits;
  limits.deadline = deadline;
  auto response = net::send_request(target_, request, limits);
  if (!response) {
    Error error = response.error();
    if (error.code == Errc::unavailable || error.code == Errc::not_found)
      error.what = "no agent answers (" + error.what +
                   "); start it (sudo systemctl start autopilot, or: autopilot agent), or check without an "
                   "agent (autopilot check)";
    return fail(std::move(error));
  }
  if (response->status >= 200 && response->status < 300) return std::move(response->body);
  return fail(api::parse_error(response->body));
}

Result<std::string> AgentClient::get(const std::string& path,
                                     std::map<std::string, std::string, std::less<>> query,
                                     Duration deadline) const {
  net::HttpRequest request;
  request.method = "GET";
  request.path = path;
  request.query = std::move(query);
  request.headers["accept"] = "application/json";
  return exchange(request, deadline);
}

Result<std::string> AgentClient::send(const std::string& method, const std::string& path, std::string body,
                                      Duration deadline) const {
  net::HttpRequest request;
  request.method = method;
  request.path = path;
  request.body = std::move(body);
  if (!request.body.empty()) request.headers["content-type"] = "application/json";
  return exchange(request, deadline);
}

Result<NodeSnapshot> AgentClient::node(Duration deadline) const {
  const auto body = TRY(get("/v1/node", {}, deadline));
  return api::parse_node(body);
}

}  // namespace autopilot::cli
