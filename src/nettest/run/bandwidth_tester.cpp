// SPDX-License-Identifier: Apache-2.0
#include "nettest/run/bandwidth_tester.hpp"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "nettest/run/bandwidth_observations.hpp"
#include "nettest/run/bandwidth_run.hpp"

namespace autopilot::nettest {
namespace {

// A pair was tried, and nothing came through between the two: that is a finding, though nothing was measured.
bool is_silent(const Verdict& verdict) {
  return std::ranges::any_of(verdict.cells,
                             [](const Cell& cell) { return cell.missing == Missing::no_answer; });
}

}  // namespace

BandwidthTester::BandwidthTester(net::EventLoop& loop, const Clock& clock, const PairMedium& medium,
                                 AddressBook& book, TesterDoors doors, std::shared_ptr<host::TestBoard> board)
    : loop_(loop),
      clock_(clock),
      medium_(medium),
      book_(book),
      doors_(std::move(doors)),
      board_(std::move(board)),
      abandoned_(loop) {}

Status BandwidthTester::begin(diagnostics::OwnTest::Calls calls) {
  if (asked_) return fail(Errc::conflict, "bandwidth between nodes is being measured already");
  TRY_STATUS(fleet::check_nodes(calls.reservation));
  std::set<std::string> names;
  for (const Subject& node : calls.reservation)
    names.insert(node.key);
  if (names.size() == 1)
    return fail(Errc::malformed, std::string(medium_.check) + " tests nodes in pairs: name two or more");
  asked_ = std::move(calls);
  doors_.peers([this, number = ++number_](const Result<std::vector<fleet::Peer>>& peers) {
    if (number == number_) take_peers(peers);
  });
  return {};
}

void BandwidthTester::plan(const std::vector<Subject>& nodes, OnPlan done) {
  std::string names;
  for (const Subject& node : nodes)
    names += node.key + ",";
  std::erase_if(plans_, [now = clock_.now().mono](const auto& one) {
    return one.second.answer && one.second.until < now;
  });
  if (const auto found = plans_.find(names); found != plans_.end()) {
    const std::optional<Result<api::BandwidthPlan>>& made = found->second.answer;
    if (!made) return found->second.waiting.push_back(std::move(done));
    return loop_.post([done = std::move(done), answer = *made] { done(answer); });
  }
  if (plans_.size() >= kMostPlans)
    return loop_.post([done = std::move(done)] {
      done(fail(Errc::exhausted, "too many plans are asked for; try again in some seconds"));
    });
  plans_[names].waiting.push_back(std::move(done));
  make_plan(nodes, names);
}

PairChoice BandwidthTester::next_choice() const {
  PairChoice choice = doors_.choice();
  choice.turn = begun_;
  return choice;
}

void BandwidthTester::make_plan(const std::vector<Subject>& nodes, const std::string& names) {
  doors_.peers([this, nodes, names](const Result<std::vector<fleet::Peer>>& peers) {
    const auto chosen = peers ? fleet::peers_on(*peers, nodes) : peers;
    if (!chosen) return take_plan(names, fail(chosen.error()));
    book_.find(*chosen, [this, names](const std::vector<PeerNetwork>& found) {
      std::vector<PeerNetwork> networks = found;
      const PairChoice choice = next_choice();
      auto run = plan_run(networks, medium_, choice);
      take_plan(names, run ? Result<api::BandwidthPlan>(plan_of(found, medium_, *std::move(run), choice))
                           : fail(run.error()));
    });
  });
}

void BandwidthTester::take_plan(const std::string& names, const Result<api::BandwidthPlan>& plan) {
  Plan& made = plans_[names];
  made.answer = plan;
  made.until = clock_.now().mono + kPlanRemembered;
  for (const OnPlan& done : std::exchange(made.waiting, {}))
    done(plan);
}

void BandwidthTester::take_peers(const Result<std::vector<fleet::Peer>>& peers) {
  if (!asked_) return;
  const auto chosen = peers ? fleet::peers_on(*peers, asked_->reservation) : peers;
  if (!chosen) return end(fail(chosen.error()));
  book_.find(*chosen, [this, number = number_](std::vector<PeerNetwork> networks) {
    if (number == number_) run(std::move(networks));
  });
}

void BandwidthTester::run(std::vector<PeerNetwork> networks) {
  if (!asked_ || run_) return;
  const PairChoice choice = next_choice();
  const std::vector<PeerNetwork> found = networks;
  auto pairs = plan_run(networks, medium_, choice);
  // A caller that names nodes wants them tested.
  if (!pairs && pairs.error().code == Errc::unsupported && asked_->reservation.empty()) {
    board_->put(std::string(medium_.check), no_bandwidth_targets(clock_.now()));
    return end(Result<std::string>(pairs.error().what));
  }
  if (!pairs) return end(fail(pairs.error()));
  left_out_ = left_out_of(found, medium_, pairs->fabric(), !asked_->reservation.empty());
  run_.emplace(loop_, doors_.tls ? doors_.tls() : nullptr, medium_, std::move(networks), *std::move(pairs),
               choice.most_percent,
               BandwidthRun::Listener{.on_progress =
                                          [this](std::string message) {
                                            if (asked_) asked_->on_progress(std::move(message));
                                          },
                                      .on_end = [this] { end(conclude()); }});
  ++begun_;
  std::erase_if(plans_, [](const auto& one) { return one.second.answer; });
}

Result<std::string> BandwidthTester::conclude() {
  if (!run_) return fail(Errc::unavailable, "ended before a pair was measured");
  const BandwidthRun& run = *run_;
  BandwidthFound found{.fabric = run.fabric(),
                       .verdict = run.verdict(),
                       .problems = run.problems(),
                       .wrong = run.wrong(),
                       .pods = {},
                       .latencies = run.latencies(),
                       .is_line_node = medium_.is_line_node,
                       .left_out = std::exchange(left_out_, {})};
  std::ranges::move(ended_before(found.verdict, run.fabric()), std::back_inserter(found.left_out));
  for (const PeerNetwork& network : run.networks())
    found.pods.push_back(network.network.pod);
  abandoned_.add(run_->take_pairs());
  run_.reset();
  const bool says_nothing = found.verdict.measured == 0 && found.wrong.empty() && !is_silent(found.verdict);
  if (says_nothing && !found.problems.empty()) {
    const std::string& problem = found.problems.begin()->second;
    board_->put(std::string(medium_.check), fail(Errc::unavailable, problem));
    return fail(Errc::unavailable, problem);
  }
  if (says_nothing) return fail(Errc::unavailable, "ended before a pair was measured");
  board_->put(std::string(medium_.check), bandwidth_observations(found, clock_.now()));
  return bandwidth_sentence(found);
}

std::string BandwidthTester::cancel() {
  if (!run_) {
    asked_.reset();
    return {};
  }
  const auto said = conclude();
  end(said);
  return said.value_or("");
}

void BandwidthTester::end(const Result<std::string>& said) {
  doors_.look();
  const auto asked = std::exchange(asked_, std::nullopt);
  if (!asked) return;
  // What is known at once ends it from within its beginning, which a test does not.
  loop_.post([on_end = asked->on_end, said] { on_end(said); });
}

}  // namespace autopilot::nettest
