// SPDX-License-Identifier: Apache-2.0
#include "agent/network_tests/bandwidth_tester.hpp"

#include <set>
#include <utility>

#include "agent/network_tests/bandwidth_observations.hpp"

namespace autopilot::agent {
namespace {

// A test of iperf3 gives a sample each second, and has one way through the fabric for each pair. TCP is less
// even than RDMA, and hosts have other work: a tenth less is nobody's fault.
fleet::PairSettings pair_settings() {
  fleet::PairSettings settings;
  settings.least_loss = 0.1;
  settings.cross_flows = settings.samples;
  settings.most_samples = 8;
  return settings;
}

// A share of them cannot be told. Whether there are any.
bool leave_out_unknown_rates(std::vector<PeerNetwork>& networks) {
  std::size_t count = 0;
  for (PeerNetwork& network : networks)
    count += std::erase_if(network.network.addresses,
                           [](const api::NetworkAddress& one) { return one.rate == 0; });
  return count > 0;
}

}  // namespace

BandwidthTester::BandwidthTester(net::EventLoop& loop, const Clock& clock, AddressBook& book, Doors doors,
                                 std::shared_ptr<host::TestBoard> board)
    : loop_(loop),
      clock_(clock),
      book_(book),
      doors_(std::move(doors)),
      board_(std::move(board)),
      way_back_(loop) {}

Status BandwidthTester::begin(runtime::OwnTest::Calls calls) {
  if (asked_) return fail(Errc::conflict, "bandwidth between nodes is being measured already");
  TRY_STATUS(check_nodes(calls.reservation));
  std::set<std::string> names;
  for (const Subject& node : calls.reservation)
    names.insert(node.key);
  if (names.size() == 1)
    return fail(Errc::malformed, "network.bandwidth tests nodes in pairs: name two or more");
  asked_ = std::move(calls);
  doors_.peers([this, number = ++number_](const Result<std::vector<Peer>>& peers) {
    if (number == number_) take_peers(peers);
  });
  return {};
}

void BandwidthTester::take_peers(const Result<std::vector<Peer>>& peers) {
  if (!asked_) return;
  const auto chosen = peers ? peers_on(*peers, asked_->reservation) : peers;
  if (!chosen) return end(fail(chosen.error()));
  book_.find(*chosen, [this, number = number_](std::vector<PeerNetwork> networks) {
    if (number == number_) run(std::move(networks));
  });
}

// Of nodes whose agents do not say where they are reached nothing can be asked.
void BandwidthTester::run(std::vector<PeerNetwork> networks) {
  if (!asked_ || run_) return;
  std::erase_if(networks, [](const PeerNetwork& network) { return !network.problem.empty(); });
  const int most_percent = doors_.most_percent();
  const bool leaves_out = most_percent < BandwidthRun::kAllOfLine && leave_out_unknown_rates(networks);
  auto fabric = fabric_of(networks);
  if (!fabric && leaves_out)
    return end(fail(Errc::unavailable,
                    "of too many lines nobody knows the rate, of which network.most_percent "
                    "allows a share: there is no pair to test"));
  if (!fabric) {
    if (fabric.error().code == Errc::unsupported)
      board_->put(std::string(kBandwidthCheck), no_bandwidth_targets(clock_.now()));
    return end(fabric.error().code == Errc::unsupported ? Result<std::string>(fabric.error().what)
                                                        : fail(fabric.error()));
  }
  auto pairs = fleet::PairRun::create(*std::move(fabric), pair_settings());
  if (!pairs) return end(fail(pairs.error()));
  run_.emplace(loop_, doors_.tls ? doors_.tls() : nullptr, std::move(networks), *std::move(pairs),
               most_percent,
               BandwidthRun::Listener{.on_progress =
                                          [this](std::string message) {
                                            if (asked_) asked_->on_progress(std::move(message));
                                          },
                                      .on_end = [this] { conclude(); }});
}

void BandwidthTester::conclude() {
  if (!run_) return;
  const BandwidthRun& run = *run_;
  BandwidthFound found{
      .fabric = run.fabric(), .verdict = run.verdict(), .problems = run.problems(), .pods = {}};
  for (const PeerNetwork& network : run.networks())
    found.pods.push_back(network.network.pod);
  abandon(run_->take_pairs());
  run_.reset();
  if (found.verdict.measured == 0 && !found.problems.empty()) {
    const std::string& problem = found.problems.begin()->second;
    board_->put(std::string(kBandwidthCheck), fail(Errc::unavailable, problem));
    return end(fail(Errc::unavailable, problem));
  }
  if (found.verdict.measured == 0) return end(fail(Errc::unavailable, "ended before a pair was measured"));
  board_->put(std::string(kBandwidthCheck), bandwidth_observations(found, clock_.now()));
  end(bandwidth_sentence(found));
}

// Their interfaces would be in use until these tests are over, and the next run would not find them idle.
void BandwidthTester::abandon(std::vector<std::unique_ptr<PairExchange>> pairs) {
  for (std::unique_ptr<PairExchange>& pair : pairs) {
    const auto place = abandoned_.insert(abandoned_.end(), std::move(pair));
    (*place)->abandon([this, place] { way_back_.post()([this, place] { abandoned_.erase(place); }); });
  }
}

void BandwidthTester::cancel() {
  if (!asked_) return;
  if (run_) return conclude();
  asked_.reset();
}

void BandwidthTester::end(const Result<std::string>& said) {
  doors_.look();
  const auto asked = std::exchange(asked_, std::nullopt);
  if (!asked) return;
  // What is known at once ends it from within its beginning, which a test does not.
  loop_.post([on_end = asked->on_end, said] { on_end(said); });
}

}  // namespace autopilot::agent
