// SPDX-License-Identifier: Apache-2.0
#include "compat/ibm_autopilot/service/test_rights.hpp"

#include <memory>
#include <optional>
#include <utility>

#include "kube/callers/on_behalf.hpp"

namespace autopilot::compat::ibm_autopilot {
namespace {

// One after the other: the first review yields the user.
struct Asking {
  kube::CallerRights rights;
  net::HttpRequest request;
  std::string user_told;  // empty: the request has a token
  std::vector<std::string> checks;
  std::function<void(const TestRights& found)> on_found;
  TestRights found{};
};

void ask_next(const std::shared_ptr<Asking>& asking);

void take(const std::shared_ptr<Asking>& asking, const std::string& check, const kube::Caller& caller,
          const std::optional<kube::Refusal>& refusal) {
  if (refusal)
    asking->found.refused[check] = refusal->why;
  else
    asking->found.may.insert(check);
  asking->found.user = caller.user.empty() ? kube::caller_name(asking->request.peer) : caller.user;
  asking->found.user_text = caller.user_text;
  ask_next(asking);
}

void ask_next(const std::shared_ptr<Asking>& asking) {
  if (asking->checks.empty()) return asking->on_found(asking->found);
  const std::string check = std::move(asking->checks.back());
  asking->checks.pop_back();
  const auto question = kube::to_create(asking->rights, {"checks", check});
  const auto on_authorized = [asking, check](const kube::Caller& caller,
                                             const std::optional<kube::Refusal>& refusal) {
    take(asking, check, caller, refusal);
  };
  if (asking->user_told.empty())
    return kube::authorize(asking->rights, asking->request, question, on_authorized);
  kube::authorize(asking->rights, kube::Credential{"", asking->user_told}, question, on_authorized);
}

}  // namespace

void find_test_rights(const kube::CallerRights& rights, bool is_open, const net::HttpRequest& request,
                      const std::vector<std::string>& checks,
                      std::function<void(const TestRights& found)> on_found) {
  if (is_open) return on_found({.user = "anybody", .may = {checks.begin(), checks.end()}});
  const auto asking = std::make_shared<Asking>(Asking{rights, request, "", checks, std::move(on_found)});
  if (kube::has_token(request)) return ask_next(asking);
  kube::find_user_told(rights, request, [asking](const std::string& user_text) {
    if (user_text.empty()) return asking->on_found({});
    asking->user_told = user_text;
    ask_next(asking);
  });
}

}  // namespace autopilot::compat::ibm_autopilot
