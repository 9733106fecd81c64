// SPDX-License-Identifier: Apache-2.0

#include "nettest/run/ping_tester.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace autopilot::nettest {

namespace {

// The first round of an agent waits for the others of a cluster that starts.
constexpr Duration kFirstRound = std::chrono::seconds{10};
// Length of a turn if no interval is set.
constexpr Duration kOneTurn = std::chrono::minutes{1};

Duration share_of(Duration whole, double share) {
  return std::chrono::duration_cast<Duration>(whole * share);
}

}  // namespace

PingTester::PingTester(net::EventLoop& loop, const Clock& clock, AddressBook& book, std::string node,
                       std::string pod, std::function<PingSettings()> settings, Doors doors,
                       std::function<double()> random, std::shared_ptr<host::TestBoard> board)
    : loop_(loop),
      clock_(clock),
      node_(std::move(node)),
      pod_(std::move(pod)),
      settings_(std::move(settings)),
      doors_(std::move(doors)),
      random_(std::move(random)),
      board_(std::move(board)),
      book_(book),
      turns_(random_()),
      way_back_(loop) {}

void PingTester::start() {
  is_started_ = true;
  if (settings_().every > Duration{0})
    next_ = loop_.after(share_of(kFirstRound, 0.5 + 0.5 * random_()), [this] { begin_next(); });
}

void PingTester::note_settings() {
  if (is_started_ && !is_under_way_ && !asked_) plan_next();
}

void PingTester::plan_next() {
  if (settings_().every <= Duration{0}) return next_.cancel();
  next_ = loop_.after(turns_.until_next(clock_.now().wall, length_of_turn(), random_()),
                      [this] { begin_next(); });
}

// The wall clock may have been set, or run slower than the timer.
void PingTester::begin_next() {
  if (turns_.is_open(clock_.now().wall, length_of_turn()))
    begin_round();
  else
    plan_next();
}

Status PingTester::test_now(diagnostics::OwnTest::Calls calls) {
  if (asked_) return fail(Errc::conflict, "a caller waits for a round of pings already");
  TRY_STATUS(fleet::check_nodes(calls.reservation));
  asked_ = std::move(calls);
  begins_anew_ = is_under_way_;
  if (!is_under_way_) next_ = loop_.after(Duration{0}, [this] { begin_round(); });
  return {};
}

std::vector<Subject> PingTester::with_agents(std::vector<Subject> nodes) const {
  if (!peers_.empty())
    std::erase_if(nodes, [this](const Subject& one) {
      return std::ranges::find(peers_, one.key, &fleet::Peer::node) == peers_.end();
    });
  return nodes;
}

Duration PingTester::length_of_turn() const {
  const Duration every = settings_().every;
  return every > Duration{0} ? every : kOneTurn;
}

bool PingTester::asks_named_nodes() const {
  return asked_ && !begins_anew_ && !asked_->reservation.empty();
}

void PingTester::begin_round() {
  if (is_under_way_) return;
  is_under_way_ = true;
  const WallTime now = clock_.now().wall;
  number_of_round_ = PingTurns::number_at(now, length_of_turn());
  if (!asks_named_nodes()) turns_.note_round(now, length_of_turn());
  round_ = {
      .node = node_, .pod = pod_, .others = 0, .networks = {}, .addresses = {}, .echoes = {}, .ended = {}};
  doors_.peers([this](const Result<std::vector<fleet::Peer>>& peers) { take_peers(peers); });
}

void PingTester::take_peers(const Result<std::vector<fleet::Peer>>& peers) {
  if (peers) peers_ = *peers;
  if (peers_.empty() && !peers) {
    board_->put(std::string(kPingCheck), fail(peers.error()));
    return end_round(fail(peers.error()));
  }
  book_.keep_only(peers_);
  round_.others = static_cast<std::size_t>(
      std::ranges::count_if(peers_, [this](const fleet::Peer& peer) { return peer.node != node_; }));
  auto chosen = choose();
  if (!chosen) return end_round(fail(std::move(chosen).error()));
  if (chosen->empty()) {
    board_->put(std::string(kPingCheck), no_ping_targets(pod_, clock_.now()));
    return end_round(std::string("there is no other node to ask"));
  }
  book_.find(*std::move(chosen), [this](std::vector<PeerNetwork> networks) { ask(std::move(networks)); });
}

Result<std::vector<fleet::Peer>> PingTester::choose() const {
  if (!asked_ || !asks_named_nodes())
    return peers_to_ping(peers_, node_,
                         {.asks_all = settings_().asks_all, .round = number_of_round_, .again = again_});
  std::vector<fleet::Peer> chosen = TRY(fleet::peers_on(peers_, asked_->reservation));
  std::erase_if(chosen, [this](const fleet::Peer& peer) { return peer.node == node_; });
  return chosen;
}

void PingTester::ask(std::vector<PeerNetwork> networks) {
  round_.networks = std::move(networks);
  round_.addresses = ping_addresses(round_.networks);
  EchoPlan plan;
  plan.echoes = settings_().echoes;
  plan.tcp_port = round_.networks.front().peer.port;
  for (const PingAddress& one : round_.addresses)
    plan.addresses.push_back(one.address);
  if (asked_) asked_->on_progress(std::to_string(plan.addresses.size()) + " addresses are asked");
  const bool is_taken =
      doors_.submit([this, plan = std::move(plan), ask = doors_.ask, post = way_back_.post()] {
        post([this, echoes = ask(plan)] { take_echoes(echoes); });
      });
  if (!is_taken) take_echoes(fail(Errc::exhausted, "the round of pings before has not come back"));
}

void PingTester::take_echoes(Result<std::vector<PeerEcho>> echoes) {
  if (!echoes) {
    board_->put(std::string(kPingCheck), fail(echoes.error()));
    return end_round(fail(std::move(echoes).error()));
  }
  round_.echoes = *std::move(echoes);
  round_.ended = clock_.now();
  board_->put(std::string(kPingCheck), ping_observations(round_));
  const auto again = nodes_to_ask_again(round_);
  again_ = {again.begin(),
            again.begin() + static_cast<std::ptrdiff_t>(std::min(again.size(), kMostAskedAgain))};
  end_round(ping_sentence(round_));
}

void PingTester::end_round(const Result<std::string>& said) {
  is_under_way_ = false;
  plan_next();
  doors_.look();
  if (!asked_) return;
  if (std::exchange(begins_anew_, false)) {
    next_ = loop_.after(Duration{0}, [this] { begin_round(); });
    return;
  }
  const auto on_end = asked_->on_end;
  asked_.reset();
  // The peers may have been known at once, and a test does not end from within its beginning.
  loop_.post([on_end, said] { on_end(said); });
}

namespace {

// Of a turn: all places, and what a round may be later than its own. The rest is for a round to end.
constexpr double kPlaces = 0.8;
constexpr double kJitter = 0.1;

}  // namespace

PingTurns::Turn PingTurns::turn_at(WallTime now, Duration length) {
  const Duration since = now.time_since_epoch();
  const bool is_partial = since < Duration{0} && since % length != Duration{0};
  return {since / length - (is_partial ? 1 : 0), length};
}

std::uint64_t PingTurns::number_at(WallTime now, Duration length) {
  return static_cast<std::uint64_t>(turn_at(now, length).number);
}

// If the clock was set back by more, the earlier numbers were wrong.
bool PingTurns::is_new(const Turn& turn) const {
  return !last_ || last_->length != turn.length || turn.number > last_->number ||
         turn.number < last_->number - 1;
}

bool PingTurns::is_open(WallTime now, Duration length) const {
  return is_new(turn_at(now, length));
}

void PingTurns::note_round(WallTime now, Duration length) {
  last_ = turn_at(now, length);
}

Duration PingTurns::until_next(WallTime now, Duration length, double jitter) const {
  const Turn turn = turn_at(now, length);
  const auto next = last_ && !is_new(turn) ? last_->number + 1 : turn.number;
  const auto place = std::chrono::duration_cast<Duration>(length * (kPlaces * place_ + kJitter * jitter));
  return std::max(Duration{0}, next * length + place - now.time_since_epoch());
}

namespace {

// All agents must have the same.
constexpr std::uint64_t kSeed = 0x70696e67;

}  // namespace

std::vector<fleet::Peer> peers_to_ping(std::vector<fleet::Peer> peers, const std::string& self,
                                       const PingChoice& choice) {
  std::ranges::sort(peers, {}, &fleet::Peer::node);
  const auto own = std::ranges::find(peers, self, &fleet::Peer::node);
  const auto place = static_cast<NodeNumber>(own - peers.begin());
  std::set<std::size_t> chosen;
  const bool asks_few = peers.size() > PingChoice::kAskAll && !choice.asks_all && own != peers.end();
  if (asks_few) {
    const ContactRounds rounds(peers.size(), PingChoice::kPerRound, kSeed);
    for (const NodeNumber target : rounds.targets(place, choice.round % rounds.cycle()))
      chosen.insert(target);
  }
  for (std::size_t i = 0; i < peers.size(); ++i)
    if (!asks_few || choice.again.contains(peers[i].node)) chosen.insert(i);
  std::vector<fleet::Peer> targets;
  for (const std::size_t i : chosen)
    if (peers[i].node != self) targets.push_back(std::move(peers[i]));
  return targets;
}

}  // namespace autopilot::nettest
