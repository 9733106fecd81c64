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

// By which people find what a controller made, as what the chart made.
[[nodiscard]] inline std::map<std::string, std::string, std::less<>> object_labels() {
  return {{"app", "autopilot"},
          {"app.kubernetes.io/name", "autopilot"},
          {"app.kubernetes.io/component", "controller"}};
}

// The authority of an installation: what signs the certificates of controllers and agents, and how it is
// followed by the next. Pure but for the randomness of new keys.

struct AuthorityKeys {
  net::CertifiedKey current;              // signs
  std::optional<net::CertifiedKey> next;  // is believed already, and signs later
  std::string previous;                   // PEM; is believed until it ends; empty: there is none
  friend bool operator==(const AuthorityKeys&, const AuthorityKeys&) = default;
};

struct AuthorityTimes {
  Duration life = std::chrono::hours{24} * 365 * 5;
  // Before the end of the current one: when the next is made, and when it begins to sign. Between the two
  // everybody learns of it; what the current one signed last ends before it does.
  Duration next_before = std::chrono::hours{24} * 90;
  Duration switch_before = std::chrono::hours{24} * 60;
  // A machine whose clock is behind takes it all the same.
  Duration backdated = std::chrono::hours{1};
};

// Of an installation that has none.
[[nodiscard]] Result<AuthorityKeys> new_keys(WallTime now, const AuthorityTimes& times);
// What they have to be at that time: the same where nothing is due. Also where nobody looked for years.
[[nodiscard]] Result<AuthorityKeys> rotated(const AuthorityKeys& keys, WallTime now,
                                            const AuthorityTimes& times);
// Certificates of all that are believed, PEM.
[[nodiscard]] std::string believed(const AuthorityKeys& keys);

// As they stand in the Secret: tls.crt, tls.key, next.crt, next.key, previous.crt, and ca.crt for people.
[[nodiscard]] kube::Texts to_texts(const AuthorityKeys& keys);
// malformed: which of them makes no sense. No error holds a key.
[[nodiscard]] Result<AuthorityKeys> parse_keys(const kube::Texts& texts);

inline constexpr const char* kAuthorityName = "autopilot-authority";  // of the Secret and the ConfigMap

// The authority as the Secret of the namespace has it: every controller reads it, the one that leads makes it
// where it is missing, and the next one in time. A Secret that makes no sense is somebody's mistake: it is
// told and not written over. On the loop's thread.
class AuthorityStore {
 public:
  struct Pace {
    Duration look = std::chrono::seconds{30};
    Duration wait_for_leader = std::chrono::seconds{1};  // to make it
    kube::BackOffTimes after_failures{.first = std::chrono::seconds{1}, .last = std::chrono::minutes{1}};
  };
  struct Listener {
    // At each look that found it: it is so, and may be new.
    std::function<void(const AuthorityKeys& keys)> on_keys;
    // Why there is none, or none that is new: once for each cause in a row.
    std::function<void(const Error& why)> on_problem;
  };

  AuthorityStore(net::EventLoop& loop, kube::Client& client, const Clock& clock,
                 const std::string& name_space, AuthorityTimes times, std::function<bool()> is_leader,
                 Listener listener, std::function<double()> dice, Pace pace);
  AuthorityStore(const AuthorityStore&) = delete;
  AuthorityStore& operator=(const AuthorityStore&) = delete;
  ~AuthorityStore() = default;

  // Looks now, also where it would later: it is the leader that makes what is missing.
  void look();
  // The last ones that were seen.
  [[nodiscard]] const std::optional<AuthorityKeys>& keys() const { return keys_; }
  // Empty since a look succeeded.
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
