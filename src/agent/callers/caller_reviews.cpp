// SPDX-License-Identifier: Apache-2.0
#include "agent/callers/caller_reviews.hpp"

#include <algorithm>
#include <utility>

namespace autopilot::agent {
namespace {

// Of the server's own words about us: what an agent may not ask says nothing of the caller.
Error could_not_ask(const kube::ApiError& why) {
  return {Errc::unavailable, "whose the token is, and what for, cannot be asked: " + why.error.what};
}

bool is_answer(const Status& allowed) {
  return allowed || allowed.error().code == Errc::denied;
}

}  // namespace

// Those under way are never the oldest: they are not remembered yet.
void CallerReviews::make_room() {
  const MonoTime now = clock_.now().mono;
  const auto is_decided = [](const auto& one) { return one.second.waiting.empty(); };
  std::erase_if(reviews_, [&](const auto& one) { return is_decided(one) && one.second.until <= now; });
  if (reviews_.size() < kMostRemembered) return;
  const auto oldest = std::ranges::min_element(
      reviews_, {}, [&](const auto& one) { return is_decided(one) ? one.second.until : MonoTime::max(); });
  if (is_decided(*oldest)) reviews_.erase(oldest);
}

std::size_t CallerReviews::under_way() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(reviews_, [](const auto& one) { return !one.second.waiting.empty(); }));
}

void CallerReviews::ask(const std::string& token, const kube::AccessQuestion& question,
                        OnDecision on_decision) {
  const Key key{token, question};
  const auto found = reviews_.find(key);
  const bool is_known = found != reviews_.end();
  if (is_known && !found->second.waiting.empty())
    return found->second.waiting.push_back(std::move(on_decision));
  if (is_known && clock_.now().mono < found->second.until) {
    const Decision decision = found->second.decision;
    return on_decision(decision);
  }
  if (under_way() >= kMostAtOnce)
    return on_decision({false, "", fail(Errc::exhausted, "too many callers at once; try again")});
  make_room();
  Review& review = reviews_[key];
  review.decision = {};
  review.waiting.push_back(std::move(on_decision));
  review.exchange =
      client_.create({kube::kTokenReviews, {}}, kube::token_review_json(token, kTokenAudience),
                     [this, key](const kube::ApiResult<std::string>& answer) { take_user(key, answer); });
}

void CallerReviews::take_user(const Key& key, const kube::ApiResult<std::string>& answer) {
  if (!answer) return decide(key, fail(could_not_ask(answer.error())));
  auto user = kube::parse_token_review(*answer, kTokenAudience);
  if (!user) return decide(key, fail(std::move(user).error()));
  Review& review = reviews_.at(key);
  review.decision.is_known = true;
  review.decision.user = user->name;
  review.exchange =
      client_.create({kube::kAccessReviews, {}}, kube::access_review_json(*user, std::get<1>(key)),
                     [this, key](const kube::ApiResult<std::string>& access) { take_access(key, access); });
}

void CallerReviews::take_access(const Key& key, const kube::ApiResult<std::string>& answer) {
  if (!answer) return decide(key, fail(could_not_ask(answer.error())));
  auto allowed = kube::parse_access_review(*answer);
  if (!allowed && allowed.error().code == Errc::denied)
    allowed = fail(Errc::denied, reviews_.at(key).decision.user + " may not " +
                                     kube::to_string(std::get<1>(key)) + ": " + allowed.error().what);
  decide(key, std::move(allowed));
}

// Whoever is told may ask again, and what is remembered may go meanwhile.
void CallerReviews::decide(const Key& key, Status allowed) {
  Review& review = reviews_.at(key);
  review.decision.allowed = std::move(allowed);
  review.until = clock_.now().mono + kRemembered;
  const auto waiting = std::exchange(review.waiting, {});
  const Decision decision = review.decision;
  if (!is_answer(decision.allowed)) reviews_.erase(key);
  for (const OnDecision& told : waiting)
    told(decision);
}

}  // namespace autopilot::agent
