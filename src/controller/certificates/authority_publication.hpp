// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "kube/client.hpp"
#include "net/event_loop.hpp"
#include "net/http_session.hpp"

namespace autopilot::controller {

inline constexpr const char* kWebhookConfiguration = "autopilot-preflight";

// Tells the cluster whom to believe: the ConfigMap of the authority, for whoever asks agents or controllers,
// and the webhooks that call the controller's Service, for the API server. Writes only what differs, and only
// while it leads. On the loop's thread.
class AuthorityPublication {
 public:
  // A write that met another one is tried again after that.
  static constexpr Duration kAfterConflict = std::chrono::seconds{1};

  // on_problem: once for each cause in a row.
  AuthorityPublication(net::EventLoop& loop, kube::Client& client, std::string name_space,
                       std::string service, std::function<bool()> is_leader,
                       std::function<void(const Error& why)> on_problem,
                       Duration after_conflict = kAfterConflict);
  AuthorityPublication(const AuthorityPublication&) = delete;
  AuthorityPublication& operator=(const AuthorityPublication&) = delete;
  ~AuthorityPublication() = default;

  // believed: certificates, PEM. To be called again and again: others may write there too. What fails is
  // tried again at the next call.
  void publish(std::string believed);
  // Empty since everything was as it should be.
  [[nodiscard]] const std::string& problem() const { return problem_; }

 private:
  void look_at_map();
  void take_map(const kube::ApiResult<std::string>& answer);
  void look_at_webhooks();
  void take_webhooks(const kube::ApiResult<std::string>& answer);
  // Goes on with `then` after a write that succeeded.
  [[nodiscard]] kube::OnObject after_write(std::function<void()> then);
  void give_up(const Error& why);
  void end();

  net::EventLoop& loop_;
  kube::Client& client_;
  const std::string name_space_;
  const std::string service_;
  const std::function<bool()> is_leader_;
  const std::function<void(const Error& why)> on_problem_;
  const Duration after_conflict_;
  std::string believed_;
  std::string problem_;
  net::Exchange exchange_;
  net::Subscription again_;
};

}  // namespace autopilot::controller
