// SPDX-License-Identifier: Apache-2.0
#include "nettest/run/group_run.hpp"

#include <algorithm>
#include <utility>

#include "nettest/run/way_back.hpp"

namespace autopilot::nettest {
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
        // The exchange is not destroyed from within its callback.
        way_back_.post()([this, name, answer] { take(name, answer); });
      });
  tries_.insert_or_assign(name, std::move(next));
}

void GroupRun::take(const std::string& name, const GroupAnswer& answer) {
  auto found = tries_.extract(name);
  if (found.empty()) return;
  Try ended = std::move(found.mapped());
  ended.exchange.reset();
  if (answer.wrong && (!ended.wrong || ended.wrong->node.empty())) ended.wrong = answer.wrong;
  if (!answer.refused.empty())
    try_again(std::move(ended), answer);
  else if (answer.is_cause_unknown && !ended.wrong && !ended.is_repeated)
    repeat(std::move(ended), answer.problem);
  else
    conclude(std::move(ended), answer.bus, answer.problem);
  end_step_when_all_have();
}

// The first member was asked alone to wait, and refused; now the next member is to wait.
void GroupRun::ask_another_to_wait(Try next) {
  std::vector<PeerNetwork>& members = next.group.members;
  next.moved.insert(members.front().peer.node);
  std::ranges::rotate(members, members.begin() + 1);
  begin(std::move(next));
}

void GroupRun::try_again(Try ended, const GroupAnswer& answer) {
  const std::string waiter = ended.group.members.front().peer.node;
  const bool were_all_asked = answer.refused.size() > 1 || !answer.refused.contains(waiter);
  if (!were_all_asked && answer.in_use.contains(waiter) && !ended.moved.contains(waiter))
    return ask_another_to_wait(std::move(ended));
  bool waits = false;
  for (const auto& [node, why] : answer.refused)
    if (answer.in_use.contains(node) && ended.waited_for.insert(node).second)
      waits = true;
    else
      left_out_.emplace(node, why);
  listener_.on_progress(ended.group.name + ": again" +
                        (waits ? "" : ", without the nodes that take no part") + ": " +
                        answer.refused.begin()->second);
  if (waits) return pause(std::move(ended));
  if (were_all_asked && ended.number == kMostTries)
    return conclude(std::move(ended), {}, "each time other nodes took no part");
  if (were_all_asked) ++ended.number;
  begin(std::move(ended));
}

void GroupRun::repeat(Try ended, const std::string& problem) {
  listener_.on_progress(ended.group.name + ": again: " + problem);
  ended.is_repeated = true;
  begin(std::move(ended));
}

void GroupRun::pause(Try next) {
  const std::string name = next.group.name;
  next.pause = loop_.after(listener_.before_again, [this, name] {
    auto found = tries_.extract(name);
    begin(std::move(found.mapped()));
    end_step_when_all_have();
  });
  tries_.insert_or_assign(name, std::move(next));
}

void GroupRun::conclude(Try ended, const std::optional<double>& bus, std::string problem) {
  std::ranges::sort(ended.group.members, {}, [](const PeerNetwork& one) { return one.peer.node; });
  found_.push_back({std::move(ended.group), bus, std::move(ended.wrong), std::move(problem)});
}

void GroupRun::end_step_when_all_have() {
  if (tries_.empty()) next_ = loop_.after(Duration{0}, [this] { begin_step(); });
}

std::vector<GroupFound> GroupRun::rest() const {
  std::vector<GroupFound> rest;
  for (const auto& [name, one] : tries_)
    rest.push_back({one.group, {}, one.wrong, std::string(kEndedBefore)});
  for (const std::vector<NodeGroup>& step : steps_)
    for (const NodeGroup& group : step)
      rest.push_back({group, {}, {}, std::string(kEndedBefore)});
  return rest;
}

bool GroupRun::has_any() const {
  return !found_.empty() ||
         std::ranges::any_of(tries_, [](const auto& one) { return one.second.wrong.has_value(); });
}

std::vector<std::unique_ptr<GroupExchange>> GroupRun::take_exchanges() {
  std::vector<std::unique_ptr<GroupExchange>> exchanges;
  for (auto& [name, one] : tries_)
    if (one.exchange && !one.exchange->has_ended()) exchanges.push_back(std::move(one.exchange));
  tries_.clear();
  return exchanges;
}

}  // namespace autopilot::nettest
