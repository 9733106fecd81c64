// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "controller/certificates/authority_keys.hpp"
#include "core/clock.hpp"
#include "core/result.hpp"
#include "kube/client.hpp"
#include "kube/pacing.hpp"
#include "kube/stored_texts.hpp"
#include "net/event_loop.hpp"
#include "net/http_session.hpp"

namespace autopilot::controller {

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

}  // namespace autopilot::controller
