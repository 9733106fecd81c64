// SPDX-License-Identifier: Apache-2.0
#include "controller/reconcilers/held_nodes.hpp"

#include <iterator>
#include <utility>

#include "telemetry/log.hpp"

namespace autopilot::controller {
namespace {

using kube::ApiOutcome;

// No node has such a name.
constexpr const char* kMore = "_more";

std::string line_of(const World& world, const Hold& hold) {
  std::string line = "since " + format_time(hold.since) + " by plan " + hold.plan;
  if (const LedgerEntry* plan = world.entry(hold.plan)) line += ": " + plan->cause;
  return line;
}

}  // namespace

kube::Texts held_nodes(const World& world, std::size_t most) {
  kube::Texts held;
  for (const auto& one : world.nodes()) {
    const Node& node = one.second;
    if (node.held && node.is_unschedulable) held.emplace(one.first, line_of(world, *node.held));
  }
  if (held.size() <= most) return held;
  const std::string others = std::to_string(held.size() - most) + " others";
  while (held.size() > most)
    held.erase(std::prev(held.end()));
  held.emplace(kMore, others);
  return held;
}

HeldNodes::HeldNodes(net::EventLoop& loop, kube::Client& client, const std::string& name_space,
                     std::function<bool()> is_leader, Duration after_failure)
    : loop_(loop),
      client_(client),
      path_(kube::config_maps_path(name_space) + "/" + kHeldNodesName),
      is_leader_(std::move(is_leader)),
      after_failure_(after_failure) {}

void HeldNodes::show(kube::Texts held) {
  wanted_ = std::move(held);
  if (is_leader_() && shown_ != wanted_ && !exchange_.is_active() && !again_.is_active()) look();
}

void HeldNodes::look() {
  exchange_ = client_.get({path_, {}}, [this](const kube::ApiResult<std::string>& answer) { take(answer); });
}

void HeldNodes::take(const kube::ApiResult<std::string>& answer) {
  if (!is_leader_()) return;
  if (!answer) {
    if (answer.error().verdict.outcome != ApiOutcome::not_found) return look_later(answer.error().error);
    again_ = loop_.after(after_failure_, [this] { look(); });
    return;
  }
  const auto map = kube::parse_config_map(*answer);
  if (!map) return look_later(map.error());
  shown_ = map->texts;
  if (shown_ == wanted_) return problem_.clear();
  exchange_ = client_.patch({path_, {}}, kube::Patch::merge, kube::config_map_patch_json(*map, wanted_),
                            [this](const kube::ApiResult<std::string>& written) { take_written(written); });
}

void HeldNodes::take_written(const kube::ApiResult<std::string>& answer) {
  if (!answer) {
    shown_.reset();
    if (answer.error().verdict.outcome != ApiOutcome::conflict) look_later(answer.error().error);
    return;
  }
  problem_.clear();
  const auto map = kube::parse_config_map(*answer);
  shown_ = map ? std::optional(map->texts) : std::nullopt;
}

void HeldNodes::look_later(const Error& why) {
  if (std::exchange(problem_, why.what) != why.what)
    telemetry::log_warning("the list of held nodes is not written", {{"cause", why.what}});
  again_ = loop_.after(after_failure_, [this] { look(); });
}

}  // namespace autopilot::controller
