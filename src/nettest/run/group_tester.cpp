// SPDX-License-Identifier: Apache-2.0
#include "nettest/run/group_tester.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "nettest/run/group_observations.hpp"
#include "nettest/run/pair_medium.hpp"

namespace autopilot::nettest {
namespace {

// Removes the nodes that take no part, and returns them with the reason. A node without GPUs is only reported
// if the caller named it.
std::map<std::string, std::string> leave_out(std::vector<PeerNetwork>& networks, bool are_named) {
  std::map<std::string, std::string> nodes;
  std::erase_if(networks, [&nodes, are_named](const PeerNetwork& node) {
    if (node.problem.empty() && node.network.gpus > 0) return false;
    if (!node.problem.empty() || are_named)
      nodes[node.peer.node] = node.problem.empty() ? std::string(kByNccl.lack) : node.problem;
    return true;
  });
  std::erase_if(networks, [&nodes, vendor = vendor_of_most(networks)](const PeerNetwork& node) {
    const std::string why = why_not_beside(vendor, node.network);
    if (!why.empty()) nodes[node.peer.node] = why;
    return !why.empty();
  });
  return nodes;
}

}  // namespace

GroupTester::GroupTester(net::EventLoop& loop, const Clock& clock, AddressBook& book, TesterDoors doors,
                         std::shared_ptr<host::TestBoard> board)
    : loop_(loop),
      clock_(clock),
      book_(book),
      doors_(std::move(doors)),
      board_(std::move(board)),
      abandoned_(loop) {}

Status GroupTester::begin(diagnostics::OwnTest::Calls calls) {
  if (asked_) return fail(Errc::conflict, "an all-reduce of many nodes is being made already");
  TRY_STATUS(fleet::check_nodes(calls.reservation));
  if (calls.reservation.size() == 1)
    return fail(Errc::malformed, std::string(kGroupCheck) + " tests nodes together: name two or more");
  if (doors_.choice().most_percent < PairChoice::kAllOfLine)
    return fail(Errc::unavailable, std::string(kByNccl.no_share));
  asked_ = std::move(calls);
  doors_.peers([this, number = ++number_](const Result<std::vector<fleet::Peer>>& peers) {
    if (number == number_) take_peers(peers);
  });
  return {};
}

void GroupTester::take_peers(const Result<std::vector<fleet::Peer>>& peers) {
  if (!asked_) return;
  const auto chosen = peers ? fleet::peers_on(*peers, asked_->reservation) : peers;
  if (!chosen) return end(fail(chosen.error()));
  book_.find(*chosen, [this, number = number_](std::vector<PeerNetwork> networks) {
    if (number == number_) run(std::move(networks));
  });
}

void GroupTester::run(std::vector<PeerNetwork> networks) {
  if (!asked_ || run_) return;
  left_out_ = leave_out(networks, !asked_->reservation.empty());
  if (networks.size() < 2) {
    const std::string why =
        "fewer than two nodes have GPUs of the same vendor: there is no all-reduce to make";
    // A caller that names nodes wants them tested.
    if (!asked_->reservation.empty()) return end(fail(Errc::unsupported, why));
    board_->put(std::string(kGroupCheck), no_groups(clock_.now()));
    return end(Result<std::string>(why));
  }
  run_.emplace(loop_, doors_.tls ? doors_.tls() : nullptr, group_steps(networks),
               GroupRun::Listener{.on_progress =
                                      [this](std::string message) {
                                        if (asked_) asked_->on_progress(std::move(message));
                                      },
                                  .on_end = [this] { end(conclude()); }});
}

Result<std::string> GroupTester::conclude() {
  if (!run_) return fail(Errc::unavailable, "ended before a group was measured");
  GroupsFound found{.groups = run_->found(), .left_out = left_out_};
  const bool has_any = run_->has_any();
  std::ranges::move(run_->rest(), std::back_inserter(found.groups));
  found.left_out.insert(run_->left_out().begin(), run_->left_out().end());
  std::ranges::sort(found.groups, {},
                    [](const GroupFound& one) { return std::pair(!one.group.is_leaf, one.group.name); });
  abandoned_.add(run_->take_exchanges());
  run_.reset();
  if (!has_any) return fail(Errc::unavailable, "ended before a group was measured");
  board_->put(std::string(kGroupCheck), group_observations(found, clock_.now()));
  return group_sentence(found);
}

std::string GroupTester::cancel() {
  if (!run_) {
    asked_.reset();
    return {};
  }
  const auto said = conclude();
  end(said);
  return said.value_or("");
}

void GroupTester::end(const Result<std::string>& said) {
  doors_.look();
  const auto asked = std::exchange(asked_, std::nullopt);
  if (!asked) return;
  // What is known at once ends it from within its beginning, which a test does not.
  loop_.post([on_end = asked->on_end, said] { on_end(said); });
}

}  // namespace autopilot::nettest
