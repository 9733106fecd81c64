// SPDX-License-Identifier: Apache-2.0
#include "controller/agent_node.hpp"

#include "config/forms.hpp"
#include "kube/reviews.hpp"

namespace autopilot::controller {
namespace {

constexpr const char* kNodeOfToken = "authentication.kubernetes.io/node-name";

Result<std::string> node_named_by(const kube::UserInfo& user, const std::string& account) {
  if (user.name != account)
    return fail(Errc::denied, user.name + " is not an agent; agents use the account " + account);
  const auto nodes = user.extra.find(kNodeOfToken);
  if (nodes == user.extra.end() || nodes->second.size() != 1 || !config::is_dns_name(nodes->second.front()))
    return fail(Errc::denied,
                "the token contains no node; use the token of a pod, on Kubernetes 1.30 or later");
  return nodes->second.front();
}

}  // namespace

std::string agent_account(const std::string& name_space) {
  return "system:serviceaccount:" + name_space + ":autopilot";
}

NoAgent no_token() {
  return {
      401,
      {Errc::denied, std::string("this needs `Authorization: Bearer TOKEN` with a token for the audience ") +
                         kube::kTokenAudience}};
}

tl::expected<std::string, NoAgent> node_of_agent(const kube::ApiResult<std::string>& review,
                                                 const std::string& account) {
  // The server's refusal of our own request is not about the caller.
  const auto could_not_ask = [](const Error& why) {
    return tl::unexpected(NoAgent{503, {Errc::unavailable, "cannot check the token: " + why.what}});
  };
  if (!review) return could_not_ask(review.error().error);
  const auto user = kube::parse_token_review(*review, kube::kTokenAudience);
  if (!user && user.error().code != Errc::denied) return could_not_ask(user.error());
  if (!user) return tl::unexpected(NoAgent{401, user.error()});
  const auto node = node_named_by(*user, account);
  if (!node) return tl::unexpected(NoAgent{403, node.error()});
  return *node;
}

}  // namespace autopilot::controller
