// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/result.hpp"
#include "core/snapshot.hpp"
#include "net/http.hpp"
#include "net/http_client.hpp"

namespace autopilot::cli {

// The agent of this machine (or another target), asked by a verb. Errors name the cure.
class AgentClient {
 public:
  explicit AgentClient(net::HttpTarget target) : target_(std::move(target)) {}

  // True when something accepts connections there.
  [[nodiscard]] bool answers() const;
  // True when each of its checks has looked once.
  [[nodiscard]] bool is_ready() const;
  // The body of a 2xx answer; an error answer becomes its Error.
  [[nodiscard]] Result<std::string> get(const std::string& path,
                                        std::map<std::string, std::string, std::less<>> query = {}) const;
  [[nodiscard]] Result<std::string> send(const std::string& method, const std::string& path, std::string body,
                                         Duration deadline = std::chrono::seconds{10}) const;
  [[nodiscard]] Result<NodeSnapshot> node() const;
  [[nodiscard]] const net::HttpTarget& target() const { return target_; }

 private:
  [[nodiscard]] bool says_ok(const std::string& path) const;
  [[nodiscard]] Result<std::string> exchange(const net::HttpRequest& request, Duration deadline) const;
  net::HttpTarget target_;
};

}  // namespace autopilot::cli
