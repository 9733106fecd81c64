// SPDX-License-Identifier: Apache-2.0
#include "agent/network_tests/group_run.hpp"

#include <utility>

namespace autopilot::agent {
namespace {

std::string sum_up(std::size_t ranks, std::size_t nodes) {
  return ": " + std::to_string(ranks) + " GPUs of " + std::to_string(nodes) + " nodes sum up together";
}

std::string first_words(const std::vector<NodeGroup>& groups) {
  if (groups.size() == 1)
    return groups.front().name + sum_up(ranks_of(groups.front()), groups.front().members.size());
  std::size_t ranks = 0;
  std::size_t nodes = 0;
  for (const NodeGroup& group : groups) {
    ranks += ranks_of(group);
    nodes += group.members.size();
  }
  return "below each of " + std::to_string(groups.size()) + " leaves" + sum_up(ranks, nodes);
}

}  // namespace

GroupRun::GroupRun(net::EventLoop& loop, std::shared_ptr<const net::TlsContext> tls,
                   std::vector<std::vector<NodeGroup>> steps, Listener listener)
    : loop_(loop),
      tls_(std::move(tls)),
      steps_(std::make_move_iterator(steps.begin()), std::make_move_iterator(steps.end())),
      listener_(std::move(listener)),
      way_back_(loop) {
  next_ = loop_.after(Duration{0}, [this] { begin_step(); });
}

void GroupRun::begin_step() {
  if (steps_.empty()) {
    const auto on_end = listener_.on_end;
    return on_end();
  }
  std::vector<NodeGroup> groups = std::move(steps_.front());
  steps_.pop_front();
  listener_.on_progress(first_words(groups));
  for (NodeGroup& group : groups)
    begin({.group = std::move(group)});
  end_step_when_all_have();
}

void GroupRun::begin(Try next) {
  std::erase_if(next.group.members,
                [this](const PeerNetwork& node) { return left_out_.contains(node.peer.node); });
  if (std::string why = why_no_group(next.group); !why.empty())
    return conclude(std::move(next), {}, std::move(why));
  const std::string name = next.group.name;
  next.exchange = std::make_unique<GroupExchange>(
      loop_, tls_, next.group, kSeconds, [this, name](const GroupAnswer& answer) {
        // The exchange that tells is not ended from within.
        way_back_.post()([this, name, answer] { take(name, answer); });
      });
  tries_.insert_or_assign(name, std::move(next));
}

void GroupRun::take(const std::string& name, const GroupAnswer& answer) {
  auto found = tries_.extract(name);
  if (found.empty()) return;
  Try ended = std::move(found.mapped());
  left_out_.insert(answer.refused.begin(), answer.refused.end());
  if (answer.wrong) ended.wrong = answer.wrong;
  if (answer.refused.empty()) {
    conclude(std::move(ended), answer.bus, answer.problem);
  } else if (ended.number == kMostTries) {
    conclude(std::move(ended), {}, "each time another node took no part");
  } else {
    listener_.on_progress(ended.group.name + ": again, without " + answer.refused.begin()->first + ": " +
                          answer.refused.begin()->second);
    begin({.group = std::move(ended.group), .number = ended.number + 1, .wrong = std::move(ended.wrong)});
  }
  end_step_when_all_have();
}

void GroupRun::conclude(Try ended, const std::optional<double>& bus, std::string problem) {
  found_.push_back({std::move(ended.group), bus, std::move(ended.wrong), std::move(problem)});
}

void GroupRun::end_step_when_all_have() {
  if (tries_.empty()) next_ = loop_.after(Duration{0}, [this] { begin_step(); });
}

std::vector<std::unique_ptr<GroupExchange>> GroupRun::take_exchanges() {
  std::vector<std::unique_ptr<GroupExchange>> exchanges;
  for (auto& [name, one] : tries_)
    if (!one.exchange->has_ended()) exchanges.push_back(std::move(one.exchange));
  tries_.clear();
  return exchanges;
}

}  // namespace autopilot::agent
