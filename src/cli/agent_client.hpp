// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/result.hpp"
#include "core/snapshot.hpp"
#include "net/http.hpp"
#include "net/http_client.hpp"

namespace autopilot::cli {

// Client of the API of the agent on this machine, or at another target. Errors name the remedy.
class AgentClient {
 public:
  explicit AgentClient(net::HttpTarget target) : target_(std::move(target)) {}

  // True when /healthz answers 200 in that time.
  [[nodiscard]] bool answers(Duration patience = std::chrono::seconds{2}) const;
  // True when /readyz answers 200 within 2 s: every check has run once.
  [[nodiscard]] bool is_ready() const;
  // Body of a 2xx response; any other response becomes the Error that it contains.
  [[nodiscard]] Result<std::string> get(const std::string& path,
                                        std::map<std::string, std::string, std::less<>> query = {},
                                        Duration deadline = std::chrono::seconds{10}) const;
  [[nodiscard]] Result<std::string> send(const std::string& method, const std::string& path, std::string body,
                                         Duration deadline = std::chrono::seconds{10}) const;
  [[nodiscard]] Result<NodeSnapshot> node(Duration deadline = std::chrono::seconds{10}) const;
  [[nodiscard]] const net::HttpTarget& target() const { return target_; }

 private:
  [[nodiscard]] bool says_ok(const std::string& path, Duration patience) const;
  [[nodiscard]] Result<std::string> exchange(const net::HttpRequest& request, Duration deadline) const;
  net::HttpTarget target_;
};

}  // namespace autopilot::cli
