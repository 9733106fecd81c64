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

// By what somebody is known: a token, or the word of another agent, which has asked whose the token was.
struct Credential {
  std::string token;
  std::string user_text;  // kube::user_text, where there is no token
  friend auto operator<=>(const Credential&, const Credential&) = default;
};

// Whether somebody may do something, as the API server of the cluster says: it is asked whose the token is,
// then what that user may. Yes and no are remembered for kRemembered, what could not be asked
// is not. On the loop's thread. A token is kept no longer than its answer, and told nobody else.
class CallerReviews {
 public:
  // user: whose the token is. denied: it is nobody's (is_known false) or its user may not. Others: the server
  // could not be asked, or does not answer such questions of ours.
  struct Decision {
    bool is_known = false;  // `user` is
    std::string user;
    Status allowed;
    std::string user_text{};  // of the user, for other agents; empty: too long to be told
  };
  using OnDecision = std::function<void(const Decision& decision)>;

  static constexpr Duration kRemembered = std::chrono::seconds{10};
  static constexpr std::size_t kMostRemembered = 64;  // beyond, the oldest goes
  // Beyond: exhausted. What else the agent asks of the API server must find room beside them.
  static constexpr std::size_t kMostAtOnce = 4;

  CallerReviews(kube::Client& client, const Clock& clock);

  // Answers at once what it remembers. `on_decision` may ask again, but not end this.
  void ask(const Credential& credential, const kube::AccessQuestion& question, OnDecision on_decision);

 private:
  using Key = std::tuple<Credential, kube::AccessQuestion>;  // who, and what for

  void take_token_review(const Key& key, const kube::ApiResult<std::string>& answer);
  void take_user(const Key& key, const Result<kube::UserInfo>& user);
  void take_access(const Key& key, const kube::UserInfo& user, const kube::ApiResult<std::string>& answer);
  void decide(const Key& key, const Decision& decision);

  kube::Client& client_;
  kube::SharedAnswers<Key, Decision> answers_;
};

}  // namespace autopilot::kube
