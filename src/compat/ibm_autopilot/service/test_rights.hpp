// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "kube/callers/guard.hpp"
#include "net/http.hpp"

namespace autopilot::compat::ibm_autopilot {

// Which tests may be made for a request, by our ids of active checks.
struct TestRights {
  std::string user;  // for whom
  std::set<std::string> may = {};
  std::map<std::string, std::string> refused = {};  // and in a sentence why not
  std::string user_text = {};  // for other agents, which find out themselves what the user may

  [[nodiscard]] bool any() const { return !may.empty(); }
};

// A request needs a token, or an agent that names the user on whose behalf it asks; otherwise no review is
// requested and no test is allowed, unless is_open. Calls back at once, or later; the request may be gone
// then.
void find_test_rights(const kube::CallerRights& rights, bool is_open, const net::HttpRequest& request,
                      const std::vector<std::string>& checks,
                      std::function<void(const TestRights& found)> on_found);

}  // namespace autopilot::compat::ibm_autopilot
