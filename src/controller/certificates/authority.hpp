// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "kube/client.hpp"
#include "kube/pacing.hpp"
#include "kube/stored_texts.hpp"
#include "net/certificates.hpp"
#include "net/event_loop.hpp"
#include "net/http_session.hpp"

namespace autopilot::controller {

// Labels of the objects that the controller creates, the same as those of the chart.
[[nodiscard]] inline std::map<std::string, std::string, std::less<>> object_labels() {
  return {{"app", "autopilot"},
          {"app.kubernetes.io/name", "autopilot"},
          {"app.kubernetes.io/component", "controller"}};
}

// The authority of an installation, which signs the certificates of controllers and agents, and its rotation.
// Pure except for the randomness of new keys.

struct AuthorityKeys {
  net::CertifiedKey current;              // signs new certificates
  std::optional<net::CertifiedKey> next;  // trusted already; signs later
  std::string previous;                   // PEM; trusted until it expires; empty: none
  friend bool operator==(const AuthorityKeys&, const AuthorityKeys&) = default;
};

struct AuthorityTimes {
  Duration life = std::chrono::hours{24} * 365 * 5;
  // Time before the end of the current authority at which the next one is created, and at which the next one
  // begins to sign. In between, all clients receive it. The current authority outlives every certificate that
  // it signed.
  Duration next_before = std::chrono::hours{24} * 90;
  Duration switch_before = std::chrono::hours{24} * 60;
  // Accepted by machines whose clocks are slow by up to this time.
  Duration backdated = std::chrono::hours{1};
};

// The first authority of an installation.
[[nodiscard]] Result<AuthorityKeys> new_keys(WallTime now, const AuthorityTimes& times);
// The keys that apply at that time: the same ones unless a rotation is due. Also valid after a gap of years.
[[nodiscard]] Result<AuthorityKeys> rotated(const AuthorityKeys& keys, WallTime now,
                                            const AuthorityTimes& times);
// The certificates of all trusted authorities, PEM.
[[nodiscard]] std::string believed(const AuthorityKeys& keys);

// The content of the Secret: tls.crt, tls.key, next.crt, next.key, previous.crt, and ca.crt for people.
[[nodiscard]] kube::Texts to_texts(const AuthorityKeys& keys);
// malformed: names the invalid entry. Errors contain no key.
[[nodiscard]] Result<AuthorityKeys> parse_keys(const kube::Texts& texts);

inline constexpr const char* kAuthorityName = "autopilot-authority";  // of the Secret and the ConfigMap

// The authority in the Secret of the namespace. Every controller reads it. The leader creates it if it is
// missing, and rotates it. An invalid Secret is a person's mistake: it is reported and not overwritten. On
// the loop's thread.
class AuthorityStore {
 public:
  struct Pace {
    Duration look = std::chrono::seconds{30};
    Duration wait_for_leader =
        std::chrono::seconds{1};  // retry interval while another controller must create it
    kube::BackOffTimes after_failures{.first = std::chrono::seconds{1}, .last = std::chrono::minutes{1}};
  };
  struct Listener {
    // Called after every successful read, also without a change.
    std::function<void(const AuthorityKeys& keys)> on_keys;
    // Why the authority is missing or out of date: once for each consecutive cause.
    std::function<void(const Error& why)> on_problem;
  };

  AuthorityStore(net::EventLoop& loop, kube::Client& client, const Clock& clock,
                 const std::string& name_space, AuthorityTimes times, std::function<bool()> is_leader,
                 Listener listener, std::function<double()> dice, Pace pace);
  AuthorityStore(const AuthorityStore&) = delete;
  AuthorityStore& operator=(const AuthorityStore&) = delete;
  ~AuthorityStore() = default;

  // Reads it now. Call it when this controller becomes the leader, which creates what is missing.
  void look();
  // The keys of the last successful read.
  [[nodiscard]] const std::optional<AuthorityKeys>& keys() const { return keys_; }
  // The last problem; empty since a successful read.
  [[nodiscard]] const std::string& problem() const { return problem_; }

 private:
  void take(const kube::ApiResult<std::string>& answer);
  void take(const kube::StoredTexts& secret);
  void create();
  void write(const kube::StoredTexts& old, const AuthorityKeys& next);
  void take_written(const kube::ApiResult<std::string>& answer);
  void note(const Error& why);
  void retry(const Error& why, std::optional<Duration> retry_after);
  void look_again(std::optional<Duration> retry_after);

  net::EventLoop& loop_;
  kube::Client& client_;
  const Clock& clock_;
  const std::string list_;
  const AuthorityTimes times_;
  const std::function<bool()> is_leader_;
  const Listener listener_;
  const std::function<double()> dice_;
  const Pace pace_;
  std::optional<AuthorityKeys> keys_;
  std::string problem_;
  kube::BackOff failures_;
  net::Exchange exchange_;
  net::Subscription next_;
};

inline constexpr const char* kWebhookConfiguration = "autopilot-preflight";

// Publishes the trusted authorities: in a ConfigMap for clients of agents and controllers, and in the
// configurations of webhooks that call the controller's Service for the API server. Writes only differences,
// and only on the leader. On the loop's thread.
class AuthorityPublication {
 public:
  // Wait after a conflict with another write.
  static constexpr Duration kAfterConflict = std::chrono::seconds{1};

  // on_problem: once for each consecutive cause.
  AuthorityPublication(net::EventLoop& loop, kube::Client& client, std::string name_space,
                       std::string service, std::function<bool()> is_leader,
                       std::function<void(const Error& why)> on_problem,
                       Duration after_conflict = kAfterConflict);
  AuthorityPublication(const AuthorityPublication&) = delete;
  AuthorityPublication& operator=(const AuthorityPublication&) = delete;
  ~AuthorityPublication() = default;

  // believed: certificates, PEM. Call it repeatedly, because other programs can change these objects. A
  // failure is retried at the next call.
  void publish(std::string believed);
  // The last problem; empty since a complete success.
  [[nodiscard]] const std::string& problem() const { return problem_; }

 private:
  void look_at_map();
  void take_map(const kube::ApiResult<std::string>& answer);
  void look_at_webhooks();
  void take_webhooks(const kube::ApiResult<std::string>& answer);
  // Continues with `then` after a successful write.
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
