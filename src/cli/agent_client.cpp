// SPDX-License-Identifier: Apache-2.0
#include "cli/agent_client.hpp"

#include <filesystem>
#include <grp.h>
#include <sys/stat.h>
#include <system_error>
#include <utility>

#include "api/v1.hpp"

namespace autopilot::cli {

namespace {

constexpr const char* kStart =
    "; start it (sudo systemctl start autopilot, or: autopilot agent), or check without an agent (autopilot "
    "check)";

// "use sudo", and the group that may use the socket, if there is one.
std::string access_remedy(const std::string& path) {
  struct stat status {};
  constexpr mode_t kGroupAccess = S_IRGRP | S_IWGRP;
  if (::stat(path.c_str(), &status) != 0 || (status.st_mode & kGroupAccess) != kGroupAccess ||
      status.st_gid == 0)
    return "; use sudo";
  const struct group* owner = ::getgrgid(status.st_gid);
  const std::string name = owner == nullptr ? std::to_string(status.st_gid) : owner->gr_name;
  return "; use sudo, or join the group " + name + " of the socket (sudo usermod -aG " + name +
         " USER, then log in again)";
}

Error with_remedy(Error error, const net::HttpTarget& target) {
  std::error_code unknown;
  const bool is_missing =
      !target.socket_path.empty() && !std::filesystem::exists(target.socket_path, unknown) && !unknown;
  if (is_missing)
    error.what = "no agent runs here: " + target.socket_path + " does not exist" + kStart;
  else if (error.code == Errc::denied && !target.socket_path.empty())
    error.what += access_remedy(target.socket_path);
  else if (error.code == Errc::unavailable || error.code == Errc::not_found)
    error.what = "no agent answers (" + error.what + ")" + kStart;
  return error;
}

}  // namespace

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
    return fail(with_remedy(response.error(), target_));
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
