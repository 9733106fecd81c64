// SPDX-License-Identifier: Apache-2.0
#include "agent/compat/test_rights.hpp"

#include <memory>
#include <utility>

namespace autopilot::agent {
namespace {

// One after the other: who it is, is known after the first.
struct Asking {
  CallerRights rights;
  net::HttpRequest request;
  std::vector<std::string> checks;
  std::function<void(const TestRights& found)> on_found;
  TestRights found{};
};

void ask_next(const std::shared_ptr<Asking>& asking) {
  if (asking->checks.empty()) return asking->on_found(asking->found);
  const std::string check = std::move(asking->checks.back());
  asking->checks.pop_back();
  authorize(asking->rights, asking->request, to_create(asking->rights, {"checks", check}),
            [asking, check](const std::string& user, const std::optional<Refusal>& refusal) {
              if (refusal)
                asking->found.refused[check] = refusal->why;
              else
                asking->found.may.insert(check);
              asking->found.user = user.empty() ? caller_name(asking->request.peer) : user;
              ask_next(asking);
            });
}

}  // namespace

void find_test_rights(const CallerRights& rights, bool is_open, const net::HttpRequest& request,
                      const std::vector<std::string>& checks,
                      std::function<void(const TestRights& found)> on_found) {
  if (is_open) return on_found({.user = "anybody", .may = {checks.begin(), checks.end()}});
  if (!has_token(request)) return on_found({});
  ask_next(std::make_shared<Asking>(Asking{rights, request, checks, std::move(on_found)}));
}

}  // namespace autopilot::agent
