// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "api/network.hpp"
#include "core/clock.hpp"
#include "fleet/peers.hpp"
#include "fleet/sweep.hpp"
#include "net/event_loop.hpp"
#include "net/tls.hpp"

namespace autopilot::nettest {

// Addresses of a node: the answer of its agent, or else only the address at which the agent is asked.
struct PeerNetwork {
  fleet::Peer peer;
  api::NodeNetwork network;
  std::string problem;  // why the agent did not answer; empty: it answered, now or before
};

// Addresses of other nodes, as their agents report them. An answer counts for kRemembered, and longer if the
// agent no longer answers, because it is needed most then. On the loop's thread.
class AddressBook {
 public:
  static constexpr Duration kRemembered = std::chrono::minutes{10};
  // A page of a node is small, and an agent answers from memory.
  static constexpr Duration kPatience = std::chrono::seconds{5};

  // tls: see FanOutContext.
  AddressBook(net::EventLoop& loop, const Clock& clock,
              std::function<std::shared_ptr<const net::TlsContext>()> tls);
  AddressBook(const AddressBook&) = delete;
  AddressBook& operator=(const AddressBook&) = delete;
  ~AddressBook();

  // Calls back, not from within, with what is known of each, in their order.
  void find(std::vector<fleet::Peer> peers, std::function<void(std::vector<PeerNetwork> networks)> done);
  // Forgets all other agents.
  void keep_only(const std::vector<fleet::Peer>& peers);

 private:
  struct Entry {
    fleet::Peer peer;
    api::NodeNetwork network;
    MonoTime asked{};
  };

  struct Search;

  [[nodiscard]] const Entry* known(const fleet::Peer& peer) const;
  [[nodiscard]] std::vector<fleet::Question> questions_of(Search& search) const;
  void take(Search& search, const fleet::Peer& peer, const Result<net::HttpResponse>& answer);
  void end(const std::shared_ptr<Search>& search);

  net::EventLoop& loop_;
  const Clock& clock_;
  const std::function<std::shared_ptr<const net::TlsContext>()> tls_;
  std::map<std::string, Entry> entries_;        // by node
  std::set<std::shared_ptr<Search>> searches_;  // running; last: they call
};

}  // namespace autopilot::nettest
