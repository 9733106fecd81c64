// SPDX-License-Identifier: Apache-2.0

#include "nettest/run/bandwidth_run.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "diagnostics/operations/operations.hpp"
#include "nettest/plan/rounds.hpp"
#include "nettest/run/left_out.hpp"
#include "nettest/run/observation_writer.hpp"
#include "nettest/run/pair_medium.hpp"

namespace autopilot::nettest {

namespace {

// Each direction of a pair: three rounds of kMostAtOnce pairs end within a minute and a half.
constexpr std::size_t kLeastSeconds = 3;
constexpr std::size_t kMostSeconds = 8;
static_assert(kMostSeconds <= api::kMostTestSeconds);

// " at 25 Gbit/s", of nodes whose lines are not all the same.
std::string rate_text(std::size_t rate) {
  constexpr std::size_t kMegabit = 1'000'000;
  constexpr std::size_t kGigabit = 1000 * kMegabit;
  if (rate == 0) return " at an unknown rate";
  return rate % kGigabit == 0 ? " at " + std::to_string(rate / kGigabit) + " Gbit/s"
                              : " at " + std::to_string(rate / kMegabit) + " Mbit/s";
}

std::string count_of_pairs(std::size_t count) {
  return std::to_string(count) + (count == 1 ? " pair is" : " pairs are");
}

std::vector<double> samples_of(const api::BandwidthWay& way, std::size_t wanted) {
  std::vector<double> samples = way.samples;
  if (samples.empty()) samples = {way.received};
  samples = means_of(std::move(samples), wanted);
  for (double& sample : samples)
    sample = std::max(sample, kNothingArrived);
  return samples;
}

Missing missing_for(const std::string& reason) {
  // The server was asked to listen and did: a refusal now is not a fault of the line.
  constexpr std::array<std::string_view, 11> kRefusals{
      "busy",      "denied",     "port_taken",    "refused",   "no_route", "no_program",
      "no_driver", "no_library", "peer_vanished", "no_memory", "no_cuda"};
  if (std::ranges::find(kRefusals, reason) != kRefusals.end()) return Missing::refused;
  if (reason == "unreachable" || reason == "timed_out") return Missing::no_answer;
  return Missing::timed_out;
}

std::string problem_of(const Result<api::BandwidthAnswer>& answer) {
  return problem_text(answer ? answer->error : answer.error().what);
}

}  // namespace

Result<Fabric> fabric_of(const std::vector<PeerNetwork>& networks, const PairMedium& medium,
                         bool needs_rates) {
  std::vector<std::vector<Line>> lines;
  std::map<std::string, std::set<std::size_t>> rates;
  for (const PeerNetwork& network : networks) {
    lines.push_back(medium.lines_of(network.network));
    if (needs_rates) std::erase_if(lines.back(), [](const Line& line) { return line.rate == 0; });
    for (const Line& line : lines.back())
      rates[line.interface].insert(line.rate);
  }
  std::vector<FabricNode> nodes;
  std::map<std::string, std::size_t> rails;
  for (std::size_t i = 0; i < networks.size(); ++i) {
    FabricNode& node = nodes.emplace_back();
    node.name = networks[i].peer.node;
    node.leaf = networks[i].network.leaf;
    for (const Line& line : lines[i]) {
      const std::string rail =
          rates[line.interface].size() > 1 ? line.interface + rate_text(line.rate) : line.interface;
      node.nics.push_back({.rail = rail, .interface = line.interface, .line_rate = {}});
      ++rails[rail];
    }
  }
  const bool has_pair = std::ranges::any_of(rails, [](const auto& rail) { return rail.second > 1; });
  if (!has_pair)
    return fail(Errc::unsupported,
                "no two nodes have an " + std::string(medium.line) + ": there is no pair to test");
  return Fabric::create(std::move(nodes));
}

std::size_t seconds_each_way(const PairTest& test) {
  return std::clamp(test.flows.size(), kLeastSeconds, kMostSeconds);
}

PairResult pair_result_of(std::uint32_t id, std::size_t samples, const Result<api::BandwidthAnswer>& answer) {
  PairResult result{.id = id, .forward = {}, .backward = {}};
  if (!answer) {
    result.missing = answer.error().code == Errc::timed_out ? Missing::timed_out : Missing::refused;
    return result;
  }
  const std::optional<api::BandwidthWay>& to_peer = answer->to_peer;
  const std::optional<api::BandwidthWay>& from_peer = answer->from_peer;
  if (!to_peer || !from_peer) {
    result.missing = missing_for(answer->reason);
    return result;
  }
  result.forward = samples_of(*to_peer, samples);
  result.backward = samples_of(*from_peer, samples);
  return result;
}

BandwidthRun::BandwidthRun(net::EventLoop& loop, std::shared_ptr<const net::TlsContext> tls,
                           const PairMedium& medium, std::vector<PeerNetwork> networks, PairRun run,
                           int most_percent, Listener listener)
    : loop_(loop),
      tls_(std::move(tls)),
      medium_(medium),
      networks_(std::move(networks)),
      run_(std::move(run)),
      most_percent_(most_percent),
      listener_(std::move(listener)),
      way_back_(loop) {
  next_ = loop_.after(Duration{0}, [this] { begin_round(); });
}

// Both lines are of one rate. 0: what they carry.
std::uint64_t BandwidthRun::most_of(const PairTest& test) const {
  if (most_percent_ == PairChoice::kAllOfLine) return 0;
  const std::vector<Line> lines = medium_.lines_of(networks_[test.source].network);
  const auto line =
      std::ranges::find(lines, run_.fabric().nic(test.rail, test.source)->interface, &Line::interface);
  return line == lines.end()
             ? 0
             : line->rate / PairChoice::kAllOfLine * static_cast<std::uint64_t>(most_percent_);
}

Result<PairExchange::Wish> BandwidthRun::wish_of(const PairTest& test) const {
  auto wish =
      medium_.wish_of(networks_[test.source], run_.fabric().nic(test.rail, test.source)->interface,
                      networks_[test.destination], run_.fabric().nic(test.rail, test.destination)->interface);
  if (!wish) return wish;
  wish->seconds = seconds_each_way(test);
  wish->most = most_of(test);
  return wish;
}

void BandwidthRun::begin_round() {
  const std::vector<PairTest> tests = run_.next_round();
  if (tests.empty()) {
    const auto on_end = listener_.on_end;
    return on_end();
  }
  ++round_;
  begin_all(tests, false);
}

// again: a host that was busy with other tests may have answered too late.
void BandwidthRun::begin_all(const std::vector<PairTest>& tests, bool again) {
  is_again_ = again;
  std::string said = "round " + std::to_string(round_) + ": " + count_of_pairs(tests.size()) + " measured";
  if (again) said += " again: " + why_again_;
  listener_.on_progress(std::move(said));
  waiting_.assign(tests.begin(), tests.end());
  begin_waiting();
}

void BandwidthRun::begin_waiting() {
  while (!waiting_.empty() && exchanges_.size() < kMostAtOnce) {
    begin(waiting_.front());
    waiting_.pop_front();
  }
}

void BandwidthRun::begin(const PairTest& test) {
  auto wish = wish_of(test);
  std::unique_ptr<PairExchange>& exchange = exchanges_[test.id];
  if (!wish) return way_back_.post()([this, test, why = wish.error()] { take(test, fail(why), {}); });
  exchange = std::make_unique<PairExchange>(
      loop_, tls_, *std::move(wish),
      [this, test](const Result<api::BandwidthAnswer>& answer, const std::string& refused_by) {
        // The exchange is not destroyed from within its callback.
        way_back_.post()([this, test, answer, refused_by] { take(test, answer, refused_by); });
      });
}

void BandwidthRun::take(const PairTest& test, const Result<api::BandwidthAnswer>& answer,
                        const std::string& refused_by) {
  if (exchanges_.erase(test.id) == 0) return;
  if (answer && answer->reason == api::kWrongResult) wrong_[test.id] = wrong_sum_of(test, *answer);
  const bool is_missing = !answer || !answer->reason.empty();
  if (is_missing && !is_again_) {
    if (again_.empty()) why_again_ = problem_of(answer);
    is_one_busy_ = is_one_busy_ || !refused_by.empty();
    again_.push_back(test);
  } else {
    take_result(test, answer);
    if (!refused_by.empty()) leave(refused_by);
  }
  begin_waiting();
  if (!exchanges_.empty()) return;
  if (again_.empty())
    begin_round();
  else
    next_ = loop_.after(std::exchange(is_one_busy_, false) ? listener_.before_again : Duration{0},
                        [this] { begin_all(std::exchange(again_, {}), true); });
}

void BandwidthRun::take_result(const PairTest& test, const Result<api::BandwidthAnswer>& answer) {
  // All seconds take the same path through the fabric: below different switches they are one sample of it.
  const bool is_cross = run_.fabric().locality(test.source, test.destination) == Locality::cross_leaf;
  const PairResult result = pair_result_of(test.id, is_cross ? 1 : test.flows.size(), answer);
  if (result.missing) problems_[test.id] = problem_of(answer);
  const auto latency = answer ? answer->latency : std::nullopt;
  if (latency) latencies_[test.id] = *latency;
  // It is a result of a test that was made, and so it is taken.
  (void)run_.take(result);
}

WrongSum BandwidthRun::wrong_sum_of(const PairTest& test, const api::BandwidthAnswer& answer) const {
  const NodeNumber at = answer.wrong_at == api::kWrongHere ? test.source : test.destination;
  return {problem_of(answer), answer.wrong_at.empty() ? "" : networks_[at].peer.node};
}

std::vector<std::unique_ptr<PairExchange>> BandwidthRun::take_pairs() {
  std::vector<std::unique_ptr<PairExchange>> pairs;
  for (auto& [id, exchange] : exchanges_)
    if (exchange != nullptr && !exchange->has_ended()) pairs.push_back(std::move(exchange));
  exchanges_.clear();
  return pairs;
}

// A job has begun on that node: measurements beside it do not count.
void BandwidthRun::leave(const std::string& node) {
  const auto found = std::ranges::find(networks_, node, [](const PeerNetwork& one) { return one.peer.node; });
  if (found != networks_.end()) (void)run_.leave(static_cast<NodeNumber>(found - networks_.begin()));
}

namespace {

api::PlannedRail rail_of(const Fabric& fabric, RailNumber rail) {
  api::PlannedRail planned{.rail = fabric.rails()[rail], .nodes = {}};
  for (NodeNumber node = 0; node < fabric.nodes().size(); ++node)
    if (fabric.nic(rail, node) != nullptr) planned.nodes.push_back(fabric.nodes()[node].name);
  return planned;
}

// The servers of each test begin and end; each direction runs one second before it counts.
std::size_t seconds_of(const std::vector<PairTest>& tests) {
  constexpr std::size_t kAround = 2;
  std::size_t longest = 0;
  for (const PairTest& test : tests)
    longest = std::max(longest, 2 * (seconds_each_way(test) + 1) + kAround);
  return longest * ((tests.size() + BandwidthRun::kMostAtOnce - 1) / BandwidthRun::kMostAtOnce);
}

PairSettings settings_of(const PairMedium& medium, const PairChoice& choice) {
  PairSettings settings = medium.settings;
  settings.all_pairs = choice.all_pairs;
  settings.seed += choice.turn;
  return settings;
}

// If all pairs take longer than a test may, their result comes too late, or never.
Status check_length(PairRun run, const PairMedium& medium, const PairChoice& choice) {
  if (!choice.all_pairs) return {};
  const std::size_t rounds = all_pairs_rounds(run.fabric(), settings_of(medium, choice));
  const std::size_t seconds = seconds_of(run.next_round());
  if (std::chrono::seconds{rounds * seconds} <= diagnostics::Operations::kMaxDeadline) return {};
  return fail(Errc::exhausted, "all pairs take " + std::to_string(rounds) + " rounds of about " +
                                   std::to_string(seconds) + " s, and no test takes longer than " +
                                   format_duration(diagnostics::Operations::kMaxDeadline));
}

}  // namespace

Result<PairRun> plan_run(std::vector<PeerNetwork>& networks, const PairMedium& medium,
                         const PairChoice& choice) {
  std::erase_if(networks, [](const PeerNetwork& network) { return !network.problem.empty(); });
  const bool needs_rates = choice.most_percent < PairChoice::kAllOfLine;
  auto fabric = fabric_of(networks, medium, needs_rates);
  if (!fabric && needs_rates && fabric_of(networks, medium, false))
    return fail(Errc::unavailable, std::string(medium.no_share));
  if (!fabric) return fail(fabric.error());
  auto run = PairRun::create(*std::move(fabric), settings_of(medium, choice));
  const Status may_begin = run ? check_length(*run, medium, choice) : fail(run.error());
  if (!may_begin && may_begin.error().code == Errc::exhausted)
    return fail(Errc::exhausted,
                may_begin.error().what + ": name fewer (--nodes), or set network.all_pairs to false");
  return run;
}

api::BandwidthPlan plan_of(const std::vector<PeerNetwork>& found, const PairMedium& medium, PairRun run,
                           const PairChoice& choice) {
  const std::vector<PairTest> tests = run.next_round();
  const Fabric& fabric = run.fabric();
  api::BandwidthPlan plan{.rails = {},
                          .pairs = {},
                          .seconds = seconds_of(tests),
                          .rounds = 1,
                          .most_percent = static_cast<std::size_t>(choice.most_percent),
                          .left_out = {}};
  if (choice.all_pairs) plan.rounds = all_pairs_rounds(fabric, settings_of(medium, choice));
  for (RailNumber rail = 0; rail < fabric.rails().size(); ++rail)
    plan.rails.push_back(rail_of(fabric, rail));
  for (const PairTest& test : tests)
    plan.pairs.push_back(
        {fabric.rails()[test.rail], fabric.nodes()[test.source].name, fabric.nodes()[test.destination].name});
  for (const LeftOut& left : left_out_of(found, medium, fabric, false))
    plan.left_out.push_back({left.node, reason_of(left, medium)});
  return plan;
}

}  // namespace autopilot::nettest
