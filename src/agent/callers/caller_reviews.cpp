// SPDX-License-Identifier: Apache-2.0
#include "agent/callers/caller_reviews.hpp"

#include <utility>

namespace autopilot::agent {
namespace {

using Decision = CallerReviews::Decision;

// Of the server's own words about us: what an agent may not ask says nothing of the caller.
Error could_not_ask(const kube::ApiError& why) {
  return {Errc::unavailable, "whose the token is, and what for, cannot be asked: " + why.error.what};
}

Decision of_nobody(Error why) {
  return {false, "", fail(std::move(why))};
}

bool is_answer(const Decision& decision) {
  return decision.allowed || decision.allowed.error().code == Errc::denied;
}

}  // namespace

CallerReviews::CallerReviews(kube::Client& client, const Clock& clock)
    : client_(client),
      answers_(clock, {kRemembered, kMostRemembered, kMostAtOnce},
               of_nobody({Errc::exhausted, "too many callers at once; try again"})) {}

void CallerReviews::ask(const std::string& token, const kube::AccessQuestion& question,
                        OnDecision on_decision) {
  const Key key{token, question};
  if (!answers_.ask(key, std::move(on_decision))) return;
  answers_.hold(key, client_.create({kube::kTokenReviews, {}}, kube::token_review_json(token, kTokenAudience),
                                    [this, key](const kube::ApiResult<std::string>& answer) {
                                      take_user(key, answer);
                                    }));
}

void CallerReviews::take_user(const Key& key, const kube::ApiResult<std::string>& answer) {
  if (!answer) return decide(key, of_nobody(could_not_ask(answer.error())));
  const auto user = kube::parse_token_review(*answer, kTokenAudience);
  if (!user) return decide(key, of_nobody(user.error()));
  answers_.hold(key,
                client_.create({kube::kAccessReviews, {}}, kube::access_review_json(*user, std::get<1>(key)),
                               [this, key, name = user->name](const kube::ApiResult<std::string>& access) {
                                 take_access(key, name, access);
                               }));
}

void CallerReviews::take_access(const Key& key, const std::string& user,
                                const kube::ApiResult<std::string>& answer) {
  if (!answer) return decide(key, {true, user, fail(could_not_ask(answer.error()))});
  auto allowed = kube::parse_access_review(*answer);
  if (!allowed && allowed.error().code == Errc::denied)
    allowed = fail(Errc::denied,
                   user + " may not " + kube::to_string(std::get<1>(key)) + ": " + allowed.error().what);
  decide(key, {true, user, std::move(allowed)});
}

void CallerReviews::decide(const Key& key, const Decision& decision) {
  answers_.settle(key, decision, is_answer(decision));
}

}  // namespace autopilot::agent
