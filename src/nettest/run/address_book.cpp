// SPDX-License-Identifier: Apache-2.0
#include "nettest/run/address_book.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "core/parse.hpp"
#include "host/netlink/internet_address.hpp"

namespace autopilot::nettest {
namespace {

constexpr std::size_t kLongestPage = std::size_t{64} << 10;

Result<fleet::Question> question_to(const fleet::Peer& peer,
                                    const std::shared_ptr<const net::TlsContext>& tls) {
  if (peer.lacks_tls) return fail(Errc::unavailable, "its agent does not listen inside TLS yet");
  fleet::Question question;
  question.url = {peer.is_encrypted, peer.address, peer.port, ""};
  question.request.method = "GET";
  question.request.path = api::kNetworkPath;
  // The agent is asked by its address, and its certificate must name its node.
  if (peer.is_encrypted && tls) question.tls = tls->for_server(peer.node);
  return question;
}

// What the names of subjects and lists are made of.
bool is_interface_name(std::string_view name) {
  constexpr std::size_t longest = 15;  // IFNAMSIZ with the zero at its end
  return !name.empty() && name.size() <= longest && std::ranges::all_of(name, [](char c) {
    return is_printable({&c, 1}) && c != ' ' && c != '/' && c != '|' && c != '=';
  });
}

// "mlx5_0/1", likewise.
bool is_port_name(std::string_view name) {
  constexpr std::size_t longest_device = 63;  // IB_DEVICE_NAME_MAX with the zero at its end
  const auto slash = name.rfind('/');
  if (slash == std::string_view::npos || slash == 0 || slash > longest_device) return false;
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
  };
  return name[0] != '-' && std::ranges::all_of(name.substr(0, slash), is_plain) &&
         parse_number<unsigned>(name.substr(slash + 1)).value_or(0) > 0;
}

Result<api::NodeNetwork> network_in(const fleet::Peer& peer, const Result<net::HttpResponse>& answer) {
  if (!answer) return fail(answer.error());
  if (answer->status != 200)
    return fail(Errc::unavailable, "its agent answers with status " + std::to_string(answer->status));
  auto network = TRY(api::parse_node_network(answer->body));
  if (network.node != peer.node)
    return fail(Errc::conflict, "the agent at this address belongs to node " + network.node);
  std::erase_if(network.addresses, [](const api::NetworkAddress& one) {
    return !host::is_host_address(one.address) || !is_interface_name(one.interface);
  });
  std::erase_if(network.rdma, [](const api::RdmaPort& one) { return !is_port_name(one.port); });
  constexpr std::size_t kLongestLeaf = 63;  // of a label
  if (network.leaf.size() > kLongestLeaf || to_printable(network.leaf, kLongestLeaf) != network.leaf)
    network.leaf.clear();
  if (network.addresses.empty()) return fail(Errc::malformed, "its agent names no address of its node");
  return network;
}

}  // namespace

struct AddressBook::Search {
  std::vector<fleet::Peer> wanted;
  std::function<void(std::vector<PeerNetwork>)> done;
  std::vector<fleet::Peer> asked;               // those of them that are, in the order of the sweep
  std::map<std::string, std::string> problems;  // by node
  net::Subscription soon;
  std::optional<fleet::Sweep> sweep;  // last: it calls
};

AddressBook::AddressBook(net::EventLoop& loop, const Clock& clock,
                         std::function<std::shared_ptr<const net::TlsContext>()> tls)
    : loop_(loop), clock_(clock), tls_(std::move(tls)) {}

AddressBook::~AddressBook() = default;

const AddressBook::Entry* AddressBook::known(const fleet::Peer& peer) const {
  const auto found = entries_.find(peer.node);
  return found != entries_.end() && found->second.peer == peer ? &found->second : nullptr;
}

void AddressBook::find(std::vector<fleet::Peer> peers, std::function<void(std::vector<PeerNetwork>)> done) {
  const auto search = std::make_shared<Search>();
  search->wanted = std::move(peers);
  search->done = std::move(done);
  searches_.insert(search);
  std::vector<fleet::Question> questions = questions_of(*search);
  if (questions.empty()) {
    search->soon = loop_.after(Duration{0}, [this, weak = std::weak_ptr(search)] {
      if (const auto known = weak.lock()) end(known);
    });
    return;
  }
  // The set holds the search, and the search the sweep.
  search->sweep.emplace(
      loop_, std::move(questions), fleet::SweepLimits{.deadline = kPatience, .answer_bytes = kLongestPage},
      fleet::Sweep::Listener{.on_answer =
                                 [this, weak = std::weak_ptr(search)](
                                     std::size_t question, const Result<net::HttpResponse>& answer) {
                                   if (const auto known = weak.lock())
                                     take(*known, known->asked[question], answer);
                                 },
                             .on_end =
                                 [this, weak = std::weak_ptr(search)] {
                                   if (const auto known = weak.lock()) end(known);
                                 }});
}

// Requests to the agents whose last answer is older than kRemembered.
std::vector<fleet::Question> AddressBook::questions_of(Search& search) const {
  std::vector<fleet::Question> questions;
  for (const fleet::Peer& peer : search.wanted) {
    const Entry* const entry = known(peer);
    if (entry != nullptr && clock_.now().mono - entry->asked < kRemembered) continue;
    auto question = question_to(peer, tls_ ? tls_() : nullptr);
    if (!question) {
      search.problems[peer.node] = question.error().what;
      continue;
    }
    search.asked.push_back(peer);
    questions.push_back(*std::move(question));
  }
  return questions;
}

void AddressBook::take(Search& search, const fleet::Peer& peer, const Result<net::HttpResponse>& answer) {
  auto network = network_in(peer, answer);
  if (network)
    entries_[peer.node] = {peer, *std::move(network), clock_.now().mono};
  else
    search.problems[peer.node] = network.error().what;
}

void AddressBook::end(const std::shared_ptr<Search>& search) {
  std::vector<PeerNetwork> found;
  for (const fleet::Peer& peer : search->wanted) {
    PeerNetwork one{.peer = peer, .network = {peer.node, "", {}}, .problem = search->problems[peer.node]};
    if (const Entry* const entry = known(peer))
      one.network = entry->network;
    else
      one.network.addresses.push_back({"default", peer.address});
    found.push_back(std::move(one));
  }
  searches_.erase(search);
  search->done(std::move(found));
}

void AddressBook::keep_only(const std::vector<fleet::Peer>& peers) {
  std::set<std::string> nodes;
  for (const fleet::Peer& peer : peers)
    nodes.insert(peer.node);
  std::erase_if(entries_, [&nodes](const auto& one) { return !nodes.contains(one.first); });
}

}  // namespace autopilot::nettest
