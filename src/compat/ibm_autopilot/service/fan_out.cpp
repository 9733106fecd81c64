// SPDX-License-Identifier: Apache-2.0

#include "compat/ibm_autopilot/service/fan_out.hpp"

#include <algorithm>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <optional>
#include <utility>

#include "kube/callers/on_behalf.hpp"
#include "net/url.hpp"

namespace autopilot::compat::ibm_autopilot {

namespace ibm = compat::ibm_autopilot;

// One running question.
struct FanOut::Round {
  struct Listening {
    Listener listener;
    std::size_t given = 0;  // of `answered`
    bool has_ended = false;
  };

  std::string key;
  ibm::StatusRequest request;
  TestRights rights;
  ReplyForm form = ReplyForm::text;
  MonoTime began{};
  Duration took{};
  std::vector<Listening> listening;
  Result<std::vector<NodeReply>> replies = std::vector<NodeReply>();  // in order of the nodes
  std::vector<std::size_t> answered;                                  // places, as they came
  std::size_t open = 0;                                               // what must end before this has ended
  bool is_over = false;
  net::Subscription patience;
  net::Subscription next_try;  // while a listener has no room
  std::optional<fleet::Sweep> sweep;
};

namespace {

constexpr std::size_t kMostNodesAtOnce = 64;
constexpr Duration kLookForRoom = std::chrono::milliseconds{10};

// Two users with the same permissions here may have different permissions on other nodes: separate keys.
std::string key_of(const ibm::StatusRequest& request, const TestRights& rights, ReplyForm form) {
  std::string key(form == ReplyForm::json ? "json" : "text");
  for (const std::string& check : rights.may)
    key.append(" ").append(check);
  key.append("\n").append(rights.user_text);
  for (const auto& [check, why] : rights.refused)
    key.append("\n").append(check).append(" ").append(why);
  for (const std::string& part : {request.host, request.job, request.node_label, request.checks,
                                  std::to_string(request.batch), request.dcgm_level, request.ping_nodes})
    key.append("\n").append(part);
  return key;
}

std::string url_of(const fleet::Peer& peer, const ibm::StatusRequest& request) {
  const std::string at =
      peer.address.empty() ? peer.node : net::to_string(net::IpPort{peer.address, peer.port});
  return (peer.is_encrypted ? "https://" : "http://") + at + ibm::path_of(request, peer.node);
}

fleet::Question question_of(const fleet::Peer& peer, const ibm::StatusRequest& request, ReplyForm form) {
  fleet::Question question;
  question.url = {peer.is_encrypted, peer.address, peer.port, ""};
  question.request.method = "GET";
  question.request.path = "/status";
  for (auto& [name, value] : ibm::parameters_of(request, peer.node))
    question.request.query[name] = std::move(value);
  if (form == ReplyForm::json) question.request.headers["accept"] = "application/json";
  return question;
}

Result<std::string> body_of(Result<net::HttpResponse> answer) {
  if (!answer) return fail(std::move(answer).error());
  if (answer->status != 200)
    return fail(Errc::unavailable, "the agent answered with " + std::to_string(answer->status));
  return std::move(answer->body);
}

// Why an agent that would be asked over the network is not; nothing: it is.
std::optional<Error> why_not_asked(const fleet::Peer& peer) {
  if (peer.address.empty()) return Error{Errc::not_found, "no agent is known on a node of this name"};
  if (!peer.lacks_tls) return std::nullopt;
  return Error{Errc::unavailable, "no TLS yet at " + peer.node +
                                      ": its agent is from before TLS was turned on, and is not asked in the "
                                      "clear; it answers when its pod has been replaced"};
}

std::vector<std::string> names_of(const std::vector<fleet::Peer>& peers) {
  std::vector<std::string> names;
  for (const fleet::Peer& peer : peers)
    names.push_back(peer.node);
  return names;
}

}  // namespace

FanOut::FanOut(FanOutContext context) : context_(std::move(context)) {}

FanOut::~FanOut() = default;

void FanOut::ask(const ibm::StatusRequest& request, const TestRights& rights, ReplyForm form,
                 Listener listener) {
  const std::string key = key_of(request, rights, form);
  if (const auto known = rounds_.find(key); known != rounds_.end()) {
    known->second->listening.push_back({std::move(listener)});
    return hand_out(known->second);
  }
  if (rounds_.size() + late_.size() >= kMostRounds)
    return listener.on_end(fail(Errc::exhausted, "Too many questions at once; ask again"), Duration{0});
  const auto round = std::make_shared<Round>();
  round->key = key;
  round->request = request;
  round->rights = rights;
  round->form = form;
  round->began = context_.clock.now().mono;
  round->listening.push_back({std::move(listener)});
  rounds_[key] = round;
  round->patience = context_.loop.after(context_.patience, [this, weak = std::weak_ptr(round)] {
    if (const auto known = weak.lock()) give_up(known);
  });
  context_.peers([this, weak = std::weak_ptr(round)](const Result<std::vector<fleet::Peer>>& peers) {
    if (const auto known = weak.lock()) begin(known, peers);
  });
}

void FanOut::begin(const std::shared_ptr<Round>& round, const Result<std::vector<fleet::Peer>>& peers) {
  if (round->is_over) return;
  if (!peers) {
    round->replies = fail(peers.error());
    return end(round);
  }
  round->open = 1;  // nothing is over before all are asked
  for (const std::string& host : ibm::asked_hosts(round->request, names_of(*peers))) {
    const auto peer = std::ranges::find(*peers, host, &fleet::Peer::node);
    NodeReply& reply = round->replies->emplace_back();
    reply.peer = peer == peers->end() ? fleet::Peer{host, "", 0} : *peer;
    reply.url = url_of(reply.peer, round->request);
  }
  std::vector<std::size_t> others;
  for (std::size_t place = 0; place < round->replies->size(); ++place) {
    const fleet::Peer& peer = (*round->replies)[place].peer;
    if (peer.node == context_.node)
      ask_here(round, place);
    else if (auto why = why_not_asked(peer))
      take(round, place, fail(*std::move(why)));
    else
      others.push_back(place);
  }
  if (!others.empty()) ask_others(round, others);
  end_one(round);
}

void FanOut::ask_here(const std::shared_ptr<Round>& round, std::size_t place) {
  ++round->open;
  context_.answer_here(round->request, round->rights, round->form,
                       [this, weak = std::weak_ptr(round), place](auto body) {
                         const auto known = weak.lock();
                         if (!known) return;
                         take(known, place, std::move(body));
                         end_one(known);
                       });
}

void FanOut::ask_others(const std::shared_ptr<Round>& round, const std::vector<std::size_t>& places) {
  ++round->open;
  const bool may_test = !round->rights.user_text.empty();
  std::vector<fleet::Question> questions;
  const auto tls = context_.tls ? context_.tls() : nullptr;
  for (const std::size_t place : places) {
    const fleet::Peer& peer = (*round->replies)[place].peer;
    fleet::Question& question = questions.emplace_back(question_of(peer, round->request, round->form));
    if (!peer.is_encrypted || !tls) continue;
    // Asked by its address, it must all the same be the agent of that node.
    question.tls = tls->for_server(peer.node);
    if (may_test) question.request.headers[kube::kOnBehalfOf] = round->rights.user_text;
  }
  const std::size_t batch = round->request.batch;
  fleet::SweepLimits limits;
  limits.at_once = batch == 0 ? kMostNodesAtOnce : std::min(batch, kMostNodesAtOnce);
  limits.deadline = may_test ? context_.test_patience : context_.node_patience;
  // The round holds the sweep.
  round->sweep.emplace(context_.loop, std::move(questions), limits,
                       fleet::Sweep::Listener{[this, weak = std::weak_ptr(round), places](
                                                  std::size_t question, Result<net::HttpResponse> answer) {
                                                if (const auto known = weak.lock())
                                                  take(known, places[question], body_of(std::move(answer)));
                                              },
                                              [this, weak = std::weak_ptr(round)] {
                                                if (const auto known = weak.lock()) end_one(known);
                                              }});
}

void FanOut::take(const std::shared_ptr<Round>& round, std::size_t place, Result<std::string> body) {
  if (round->is_over) return;
  (*round->replies)[place].body = std::move(body);
  round->answered.push_back(place);
  hand_out(round);
}

void FanOut::end_one(const std::shared_ptr<Round>& round) {
  if (!round->is_over && --round->open == 0) end(round);
}

// Nodes without a reply get the error timed_out.
void FanOut::give_up(const std::shared_ptr<Round>& round) {
  for (std::size_t place = 0; place < round->replies->size(); ++place)
    if (std::ranges::find(round->answered, place) == round->answered.end())
      take(round, place, fail(Errc::timed_out, "no answer in time"));
  const bool is_list_missing = round->open == 0;
  if (is_list_missing) round->replies = fail(Errc::timed_out, "the list of agents was not answered in time");
  end(round);
}

void FanOut::end(const std::shared_ptr<Round>& round) {
  round->is_over = true;
  round->took = context_.clock.now().mono - round->began;
  rounds_.erase(round->key);
  late_.insert(round);
  hand_out(round);
}

// To each as much as it has room for.
void FanOut::hand_out(const std::shared_ptr<Round>& round) {
  bool is_all_told = true;
  for (Round::Listening& one : round->listening) {
    const auto has_room = [&listener = one.listener] { return !listener.has_room || listener.has_room(); };
    while (one.given < round->answered.size() && has_room())
      one.listener.on_reply((*round->replies)[round->answered[one.given++]]);
    const bool is_behind = one.given < round->answered.size();
    if (round->is_over && !is_behind && !std::exchange(one.has_ended, true))
      one.listener.on_end(round->replies, round->took);
    is_all_told = is_all_told && !is_behind;
  }
  if (is_all_told && round->is_over) {
    late_.erase(round);
    // What calls this may belong to it.
    context_.loop.post([round] {});
  }
  if (is_all_told) return round->next_try.cancel();
  round->next_try = context_.loop.after(kLookForRoom, [this, weak = std::weak_ptr(round)] {
    if (const auto known = weak.lock()) hand_out(known);
  });
}

namespace json = boost::json;

namespace {

json::object failed(const std::string& why) {
  return {{"statuses", {"Connection to Server Failed"}}, {"error", why}};
}

json::object answer_of(const NodeReply& reply) {
  if (!reply.body) return failed(reply.body.error().what);
  boost::system::error_code error;
  json::value said = json::parse(*reply.body, error);
  if (error || !said.is_object() || !said.as_object().contains("checks"))
    return failed("its answer is not of the form that was asked for");
  return std::move(said).as_object();
}

json::object object_of(const NodeReply& reply) {
  json::object object = answer_of(reply);
  object["node"] = reply.peer.node;
  object["address"] = reply.peer.address;
  object["url"] = reply.url;
  return object;
}

}  // namespace

std::string to_json(const NodeReply& reply) {
  return json::serialize(object_of(reply));
}

std::string no_replies(const Error& why) {
  return json::serialize(json::object{{"nodes", json::array{}}, {"error", why.what}});
}

std::string to_json(const std::vector<NodeReply>& replies, Duration took, const std::string& network) {
  json::array nodes;
  for (const NodeReply& reply : replies)
    nodes.push_back(object_of(reply));
  json::object object{{"nodes", std::move(nodes)}, {"runtimeSeconds", to_seconds(took)}};
  boost::system::error_code error;
  if (json::value said = json::parse(network, error); !error) object["checks"] = json::array{std::move(said)};
  return json::serialize(object);
}

}  // namespace autopilot::compat::ibm_autopilot
