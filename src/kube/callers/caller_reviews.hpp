// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstddef>
#include <functional>
#include <string>
#include <tuple>

#include "core/clock.hpp"
#include "kube/caches.hpp"
#include "kube/client.hpp"
#include "kube/reviews.hpp"

namespace autopilot::kube {

using kube::kTokenAudience;

// Identifies a caller: a token, or the user that another agent names after it reviewed the token.
struct Credential {
  std::string token;
  std::string user_text;  // kube::user_text, where there is no token
  friend auto operator<=>(const Credential&, const Credential&) = default;
};

// Whether a caller has a permission, as the API server of the cluster decides: a token review yields the
// user, an access review the permission. Granted and denied are remembered for kRemembered, failed reviews
// are not. On the loop's thread. A token is kept no longer than its answer, and sent only to the API server.
class CallerReviews {
 public:
  // user: the user of the token. denied: the token is not valid (is_known false), or its user lacks the
  // permission. Other errors: the review failed, or the agent has no permission to request reviews.
  struct Decision {
    bool is_known = false;  // `user` is
    std::string user;
    Status allowed;
    std::string user_text{};  // of the user, for other agents; empty: too long to be sent
  };
  using OnDecision = std::function<void(const Decision& decision)>;

  static constexpr Duration kRemembered = std::chrono::seconds{10};
  static constexpr std::size_t kMostRemembered = 64;  // beyond, the oldest goes
  // Beyond: exhausted. Leaves room for the agent's other requests to the API server.
  static constexpr std::size_t kMostAtOnce = 4;

  CallerReviews(kube::Client& client, const Clock& clock);

  // Calls back at once with a remembered decision. `on_decision` may call ask(), but must not destroy this.
  void ask(const Credential& credential, const kube::AccessQuestion& question, OnDecision on_decision);

 private:
  using Key = std::tuple<Credential, kube::AccessQuestion>;  // caller, and question

  void take_token_review(const Key& key, const kube::ApiResult<std::string>& answer);
  void take_user(const Key& key, const Result<kube::UserInfo>& user);
  void take_access(const Key& key, const kube::UserInfo& user, const kube::ApiResult<std::string>& answer);
  void decide(const Key& key, const Decision& decision);

  kube::Client& client_;
  kube::SharedAnswers<Key, Decision> answers_;
};

}  // namespace autopilot::kube
