// SPDX-License-Identifier: Apache-2.0
#include "jobs/peer_watch.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>

namespace autopilot::jobs {
namespace {

constexpr Duration kStale = std::chrono::minutes(3);
constexpr std::uint32_t kNoRow = NodeTelemetry::kMaxRows;

bool concerns(const NodeRecord& node, std::string_view nic, int gpu) {
  const auto found = std::ranges::find(node.nics, nic, &NicOfNode::name);
  if (found == node.nics.end() || found->gpus.empty()) return true;
  return std::ranges::find(found->gpus, gpu) != found->gpus.end();
}

}  // namespace

void PeerWatch::add_group(Table table, std::vector<std::uint32_t> entities) {
  if (entities.size() < 2) return;
  Group group{table, std::move(entities), {}};
  group.hosts.reserve(group.entities.size());
  for (const std::uint32_t entity : group.entities)
    group.hosts.push_back(places_[static_cast<std::size_t>(table)][entity].node);
  groups_.push_back(std::move(group));
}

void PeerWatch::group_members(const Membership& members, const Roles& roles) {
  std::vector<std::vector<std::uint32_t>> gpus(static_cast<std::size_t>(std::max(roles.count, 0)));
  auto processes = gpus;
  for (std::uint32_t at = 0; at < members.members().size(); ++at) {
    const Member& member = members.members()[at];
    const bool has_gpu = member.gpu >= 0 && static_cast<std::uint32_t>(member.gpu) < kNoRow;
    places_[static_cast<std::size_t>(Table::gpu)].push_back(
        {member.node, has_gpu ? static_cast<std::uint32_t>(member.gpu) : kNoRow, at});
    places_[static_cast<std::size_t>(Table::process)].push_back({member.node, kNoRow, at});
    const int role = at < roles.role.size() ? roles.role[at] : Roles::kNoPeers;
    if (role == Roles::kNoPeers) continue;
    if (has_gpu) gpus[static_cast<std::size_t>(role)].push_back(at);
    processes[static_cast<std::size_t>(role)].push_back(at);
  }
  for (auto& group : gpus)
    add_group(Table::gpu, std::move(group));
  for (auto& group : processes)
    add_group(Table::process, std::move(group));
}

void PeerWatch::group_nics(const Membership& members, const Fleet& fleet) {
  std::vector<std::vector<std::uint32_t>> rails;
  auto& places = places_[static_cast<std::size_t>(Table::nic)];
  std::vector<std::uint32_t> first_member(fleet.size(), 0);
  for (std::uint32_t at = static_cast<std::uint32_t>(members.members().size()); at-- > 0;)
    first_member[members.members()[at].node] = at;
  for (const std::uint32_t number : members.nodes()) {
    const FleetNode& node = fleet.node(number);
    for (std::size_t rail = 0; rail < node.telemetry.nics().size(); ++rail) {
      if (rails.size() <= rail) rails.resize(rail + 1);
      rails[rail].push_back(static_cast<std::uint32_t>(places.size()));
      places.push_back({number, static_cast<std::uint32_t>(rail), first_member[number]});
    }
  }
  for (auto& rail : rails)
    add_group(Table::nic, std::move(rail));
}

void PeerWatch::group_hosts(const Membership& members, const Roles& roles) {
  std::map<int, std::vector<std::uint32_t>> groups;
  auto& places = places_[static_cast<std::size_t>(Table::host)];
  std::vector<bool> is_placed;
  for (std::uint32_t at = 0; at < members.members().size(); ++at) {
    const Member& member = members.members()[at];
    if (is_placed.size() <= member.node) is_placed.resize(member.node + 1, false);
    if (is_placed[member.node]) continue;
    is_placed[member.node] = true;
    groups[at < roles.role.size() ? roles.role[at] : Roles::kNoPeers].push_back(
        static_cast<std::uint32_t>(places.size()));
    places.push_back({member.node, 0, at});
  }
  for (auto& [role, group] : groups)
    add_group(Table::host, std::move(group));
}

void PeerWatch::regroup(const Membership& members, const Fleet& fleet, const Roles& roles) {
  for (auto& places : places_)
    places.clear();
  groups_.clear();
  hits_.clear();
  scores_.clear();
  group_members(members, roles);
  group_nics(members, fleet);
  group_hosts(members, roles);
  histories_.assign(peer_rules().size(), {});
  for (std::size_t rule = 0; rule < peer_rules().size(); ++rule)
    histories_[rule].resize(places_[static_cast<std::size_t>(info(peer_rules()[rule].metric).table)].size());
}

void PeerWatch::locate_processes(const Membership& members, const Fleet& fleet) {
  for (Place& place : places_[static_cast<std::size_t>(Table::process)]) {
    const Member& member = members.members()[place.member];
    const auto row = fleet.node(member.node).telemetry.process_row(members.job(), member.rank);
    place.row = row ? static_cast<std::uint32_t>(*row) : kNoRow;
  }
}

float PeerWatch::value_of(const PeerRule& rule, const Place& place, const Fleet& fleet, WallTime end) const {
  const FleetNode& node = fleet.node(place.node);
  const MetricInfo& metric = info(rule.metric);
  if (place.row == kNoRow) return kMissing;
  // Load of a node that two jobs share does not describe one of them.
  const bool is_of_node = metric.table == Table::host || metric.table == Table::nic;
  if (is_of_node && rule.sign != Sign::fault && node.jobs.size() > 1) return kMissing;
  const float value = node.telemetry.over_minute(rule.metric, place.row, end);
  if (metric.kind != ValueKind::count) return value;
  return per_minute(value, static_cast<float>(to_seconds(node.telemetry.covered(end))));
}

void PeerWatch::compare(std::size_t rule_number, const Fleet& fleet, const SignalWeights* weights,
                        WallTime end) {
  const PeerRule& shipped = peer_rules()[rule_number];
  const PeerRule rule = with_margin(shipped, weights);
  const HistoryRule& history_rule = persistent_ ? rule.history : kWithoutHistory;
  const auto& places = places_[static_cast<std::size_t>(info(rule.metric).table)];
  for (const Group& group : groups_) {
    if (group.table != info(rule.metric).table) continue;
    values_.clear();
    for (const std::uint32_t entity : group.entities)
      values_.push_back(value_of(rule, places[entity], fleet, end));
    find_outliers(values_, group.hosts, rule, scratch_, comparison_);
    auto next_hit = comparison_.hits.begin();
    const bool is_comparable = comparison_.known >= (rule.comparison == Comparison::exact ? 2U : 4U);
    for (std::uint32_t position = 0; position < group.entities.size(); ++position) {
      const bool is_hit = next_hit != comparison_.hits.end() && next_hit->member == position;
      const bool is_unknown =
          !is_comparable || std::isnan(values_[position]) || (is_hit && comparison_.is_group_event);
      const Minute minute = is_unknown ? Minute::unknown : is_hit ? Minute::hit : Minute::clear;
      const std::uint32_t entity = group.entities[position];
      const auto key = std::pair(static_cast<std::uint32_t>(rule_number), entity);
      const bool deviates = histories_[rule_number][entity].add(minute, history_rule);
      if (minute == Minute::hit)
        hits_[key] = {{&shipped,
                       next_hit->value,
                       comparison_.median,
                       comparison_.threshold,
                       next_hit->z,
                       comparison_.known,
                       {}},
                      end};
      else if (minute == Minute::clear && !deviates)
        hits_.erase(key);
      if (is_hit) ++next_hit;
    }
    if (collects_scores_ && has_learnable_margin(shipped.signal)) score(rule_number, group, fleet, end);
  }
}

void PeerWatch::score(std::size_t rule_number, const Group& group, const Fleet& fleet, WallTime end) {
  const PeerRule& rule = peer_rules()[rule_number];
  const auto& places = places_[static_cast<std::size_t>(info(rule.metric).table)];
  const std::vector<float> multiples = margins_reached(values_, rule, scratch_);
  for (std::size_t position = 0; position < multiples.size(); ++position) {
    const std::uint32_t entity = group.entities[position];
    scores_.add({static_cast<std::uint32_t>(rule_number), entity}, rule,
                fleet.node(places[entity].node).record.node, multiples[position], end);
  }
}

PeerWatch::Deviations PeerWatch::collect(const Membership& members, const Fleet& fleet, WallTime end) const {
  Deviations found;
  for (const auto& [key, hit] : hits_) {
    const auto [rule, entity] = key;
    // What no longer deviates accuses for this time at most, although its history is still full of hits.
    if (!histories_[rule][entity].deviates() || end - hit.time > kStale) continue;
    const Table table = info(hit.deviation.rule->metric).table;
    const Place& place = places_[static_cast<std::size_t>(table)][entity];
    if (table == Table::gpu || table == Table::process) {
      found[place.member].push_back(hit.deviation);
      continue;
    }
    const FleetNode& node = fleet.node(place.node);
    for (const std::uint32_t at : members.on(place.node)) {
      const Member& member = members.members()[at];
      Deviation deviation = hit.deviation;
      if (table == Table::nic) {
        deviation.nic = node.telemetry.nics()[place.row];
        if (!concerns(node.record, deviation.nic, member.gpu)) continue;
      }
      found[at].push_back(deviation);
    }
  }
  return found;
}

std::vector<Suspect> PeerWatch::minute(const Membership& members, const Fleet& fleet, const JobCondition& job,
                                       const SignalWeights* weights, WallTime end) {
  locate_processes(members, fleet);
  for (std::size_t rule = 0; rule < peer_rules().size(); ++rule)
    compare(rule, fleet, weights, end);
  std::map<std::uint32_t, std::vector<std::pair<int, Blame>>> by_node;
  for (const auto& [at, deviations] : collect(members, fleet, end)) {
    const Member& member = members.members()[at];
    by_node[member.node].emplace_back(
        member.rank, judge_rank(fleet.node(member.node).record.node, member.gpu, deviations, job, end));
  }
  std::vector<Suspect> suspects;
  const auto add = [&](const Blame& blame, int rank) {
    auto found =
        std::ranges::find(suspects, blame.culprit, [](const Suspect& each) { return each.blame.culprit; });
    if (found == suspects.end()) found = suspects.insert(suspects.end(), {blame, {}});
    found->ranks.push_back(rank);
  };
  for (const auto& [number, ranks] : by_node) {
    std::vector<Blame> blames(members.on(number).size());
    for (std::size_t at = 0; at < ranks.size(); ++at)
      blames[at] = ranks[at].second;
    const std::optional<Blame> joined = join_node(blames);
    for (const auto& [rank, blame] : ranks)
      if (joined)
        add(*joined, rank);
      else if (blame.culprit.is_accused())
        add(blame, rank);
  }
  return suspects;
}

}  // namespace autopilot::jobs
