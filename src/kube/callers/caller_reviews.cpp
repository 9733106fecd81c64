// SPDX-License-Identifier: Apache-2.0
#include "kube/callers/caller_reviews.hpp"

#include <utility>

namespace autopilot::kube {
namespace {

using Decision = CallerReviews::Decision;

// A review that the agent has no permission to request does not decide about the caller: unavailable, not
// denied.
Error could_not_ask(const kube::ApiError& why) {
  return {Errc::unavailable, "the API server could not review the caller: " + why.error.what};
}

Decision of_nobody(Error why) {
  return {false, "", fail(std::move(why)), ""};
}

bool is_answer(const Decision& decision) {
  return decision.allowed || decision.allowed.error().code == Errc::denied;
}

}  // namespace

CallerReviews::CallerReviews(kube::Client& client, const Clock& clock)
    : client_(client),
      answers_(clock, {kRemembered, kMostRemembered, kMostAtOnce},
               of_nobody({Errc::exhausted, "too many callers at once; try again"})) {}

void CallerReviews::ask(const Credential& credential, const kube::AccessQuestion& question,
                        OnDecision on_decision) {
  const Key key{credential, question};
  if (!answers_.ask(key, std::move(on_decision))) return;
  if (credential.token.empty()) return take_user(key, kube::parse_user_text(credential.user_text));
  answers_.hold(
      key, client_.create(
               {kube::kTokenReviews, {}}, kube::token_review_json(credential.token, kTokenAudience),
               [this, key](const kube::ApiResult<std::string>& answer) { take_token_review(key, answer); }));
}

void CallerReviews::take_token_review(const Key& key, const kube::ApiResult<std::string>& answer) {
  if (!answer) return decide(key, of_nobody(could_not_ask(answer.error())));
  take_user(key, kube::parse_token_review(*answer, kTokenAudience));
}

void CallerReviews::take_user(const Key& key, const Result<kube::UserInfo>& user) {
  if (!user) return decide(key, of_nobody(user.error()));
  answers_.hold(key,
                client_.create({kube::kAccessReviews, {}}, kube::access_review_json(*user, std::get<1>(key)),
                               [this, key, user = *user](const kube::ApiResult<std::string>& access) {
                                 take_access(key, user, access);
                               }));
}

void CallerReviews::take_access(const Key& key, const kube::UserInfo& user,
                                const kube::ApiResult<std::string>& answer) {
  Decision decision{true, user.name, {}, kube::user_text(user).value_or("")};
  if (!answer) {
    decision.allowed = fail(could_not_ask(answer.error()));
    return decide(key, decision);
  }
  decision.allowed = kube::parse_access_review(*answer);
  if (!decision.allowed && decision.allowed.error().code == Errc::denied)
    decision.allowed = fail(Errc::denied, user.name + " may not " + kube::to_string(std::get<1>(key)) + ": " +
                                              decision.allowed.error().what);
  decide(key, decision);
}

void CallerReviews::decide(const Key& key, const Decision& decision) {
  answers_.settle(key, decision, is_answer(decision));
}

}  // namespace autopilot::kube
