// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "compat/ibm_autopilot/service/test_rights.hpp"
#include "compat/ibm_autopilot/status_request.hpp"
#include "core/clock.hpp"
#include "core/result.hpp"
#include "fleet/peers.hpp"
#include "fleet/sweep.hpp"

namespace autopilot::compat::ibm_autopilot {

// Reply of one node to GET /status, or the reason why it sent none.
struct NodeReply {
  fleet::Peer peer;  // without an address: no agent is known there
  std::string url;   // of the request
  Result<std::string> body;
};

// Requested form of the replies.
enum class ReplyForm { text, json };

struct FanOutContext {
  net::EventLoop& loop;
  const Clock& clock;
  std::string node;  // this node, which gets no request over the network
  std::function<void(const compat::ibm_autopilot::StatusRequest& request, const TestRights& rights,
                     ReplyForm form, std::function<void(std::string)> done)>
      answer_here;
  // All agents, including this one.
  std::function<void(std::function<void(const Result<std::vector<fleet::Peer>>& peers)> done)> peers;
  // TLS of the requests to other agents; empty, or null: requests go in the clear, and on behalf of no user.
  std::function<std::shared_ptr<const net::TlsContext>()> tls = {};
  // Deadline of each node: long enough for the checks of a busy node.
  Duration node_patience = std::chrono::seconds{30};
  // Deadline of each node that may run tests before it answers.
  Duration test_patience = std::chrono::seconds{30};
  // For all nodes of one question together: within what a server waits for its own answer.
  Duration patience = std::chrono::seconds{50};
};

// GET /status of several nodes at once. Equal questions that come while one is running are one question.
// On the loop's thread.
class FanOut {
 public:
  static constexpr std::size_t kMostRounds = 8;

  struct Listener {
    std::function<void(const NodeReply& reply)> on_reply;  // as they come
    // All of them, in the order in which they were asked for, or why no node could be asked. exhausted: too
    // many questions are running.
    std::function<void(const Result<std::vector<NodeReply>>& replies, Duration took)> on_end;
    // While it returns false, replies and the end wait; empty: always room. A listener that is gone has room.
    std::function<bool()> has_room = {};
  };

  explicit FanOut(FanOutContext context);
  ~FanOut();
  FanOut(const FanOut&) = delete;
  FanOut& operator=(const FanOut&) = delete;

  // rights: which tests this node may make for it, and the user on whose behalf other agents are asked over
  // TLS.
  void ask(const compat::ibm_autopilot::StatusRequest& request, const TestRights& rights, ReplyForm form,
           Listener listener);

 private:
  struct Round;

  void begin(const std::shared_ptr<Round>& round, const Result<std::vector<fleet::Peer>>& peers);
  void ask_here(const std::shared_ptr<Round>& round, std::size_t place);
  void ask_others(const std::shared_ptr<Round>& round, const std::vector<std::size_t>& places);
  void take(const std::shared_ptr<Round>& round, std::size_t place, Result<std::string> body);
  void end_one(const std::shared_ptr<Round>& round);
  void give_up(const std::shared_ptr<Round>& round);
  void end(const std::shared_ptr<Round>& round);
  void hand_out(const std::shared_ptr<Round>& round);

  const FanOutContext context_;
  std::map<std::string, std::shared_ptr<Round>> rounds_;  // by question
  std::set<std::shared_ptr<Round>> late_;  // over, but a listener has no room for all replies yet
};

// `{"node":..,"address":..,"url":..,"statuses":[..],"checks":[..]}`: the reply of the node, and the URL of
// the request. A node without a reply, or with a reply of another form, has "error" in the place of "checks".
[[nodiscard]] std::string to_json(const NodeReply& reply);

// `{"nodes":[],"error":..}`: no node could be asked.
[[nodiscard]] std::string no_replies(const Error& why);

// `{"nodes":[..],"runtimeSeconds":..}`, and `"checks":[..]` with `network`, the JSON of what was asked of the
// network between all of them; empty: nothing.
[[nodiscard]] std::string to_json(const std::vector<NodeReply>& replies, Duration took,
                                  const std::string& network = {});

}  // namespace autopilot::compat::ibm_autopilot
