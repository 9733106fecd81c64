// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "kube/callers/caller_reviews.hpp"
#include "net/http_server.hpp"

namespace autopilot::kube {

// Who may do something here. Used on the loop's thread.
struct CallerRights {
  std::string name_space;  // of the agents: where a Role gives the right
  std::string node;        // what it may be given for
  // CallerReviews::ask. Empty: there is no cluster to ask, and nobody but the Unix socket may.
  std::function<void(const Credential& credential, const kube::AccessQuestion& question,
                     CallerReviews::OnDecision on_decision)>
      ask;
  // Whether one of these names is that of a node which has an agent; errors as check_agent.
  std::function<void(const std::vector<std::string>& names, std::function<void(const Status& is_agent)> done)>
      find_agent = {};
};

// What somebody must be allowed to `create` in the group autopilot.ibm.com: {"checks", "gpu.xid"},
// {"operations", ""}, {"incidents", "ack"}. No such resource exists; RBAC rules name it all the same.
struct VirtualResource {
  std::string resource;
  std::string subresource;
};

[[nodiscard]] kube::AccessQuestion to_create(const CallerRights& rights, const VirtualResource& what);

// Why a request is not served.
struct Refusal {
  int status = 403;
  Errc code = Errc::denied;
  std::string why;
};
// Whose token the request has; nobody's over the Unix socket, whose peers may everything.
struct Caller {
  std::string user;
  std::string user_text;  // see CallerReviews::Decision
};
using OnAuthorized = std::function<void(const Caller& caller, const std::optional<Refusal>& refusal)>;

// Whether the sender of a request may do that. Calls back at once, or later; the request may be gone then.
void authorize(const CallerRights& rights, const net::HttpRequest& request,
               const kube::AccessQuestion& question, OnAuthorized on_authorized);

// The same of somebody for whom another agent asks; see callers/on_behalf.hpp.
void authorize(const CallerRights& rights, const Credential& credential, const kube::AccessQuestion& question,
               OnAuthorized on_authorized);

// Lets pass whoever comes over the Unix socket, and over TCP those with a token (Authorization: Bearer) whose
// user may; request.peer.user tells the handler who. A token is taken over TLS, and over plain TCP from this
// machine's own loopback alone, which is where port-forward and exec come from: elsewhere it would have been
// in the clear.
//   401 no token, or nobody's; 403 not from here, or not allowed; 503 the cluster could not be asked
[[nodiscard]] net::Handler guarded(const CallerRights& rights,
                                   std::function<VirtualResource(const net::HttpRequest&)> what,
                                   net::Handler handler);

// It came inside TLS, from a client whose certificate was verified, and there is somebody to ask whether the
// names of that are those of an agent (CallerRights::find_agent).
[[nodiscard]] bool may_be_of_agent(const CallerRights& rights, const net::HttpRequest& request);
[[nodiscard]] bool has_token(const net::HttpRequest& request);
// Of `Authorization: Bearer TOKEN`; empty: there is none.
[[nodiscard]] std::string token_of(const net::HttpRequest& request);
[[nodiscard]] net::HttpResponse answer_of(const Refusal& refusal);
// Over the Unix socket or over the loopback.
[[nodiscard]] bool is_of_this_machine(const net::Peer& peer);
// "alice" of a token, "uid 1000" of the socket.
[[nodiscard]] std::string caller_name(const net::Peer& peer);

}  // namespace autopilot::kube
