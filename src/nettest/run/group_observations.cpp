// SPDX-License-Identifier: Apache-2.0
#include "nettest/run/group_observations.hpp"

#include <cstdint>
#include <utility>

#include "checks/judgement.hpp"
#include "nettest/run/observation_writer.hpp"

namespace autopilot::nettest {
namespace {

std::string members_of(const NodeGroup& group) {
  std::string text;
  for (std::size_t i = 0; i < group.members.size() && i < kMostMembersTold; ++i)
    text += (i == 0 ? "" : ", ") + group.members[i].peer.node;
  if (group.members.size() > kMostMembersTold)
    text += " and " + std::to_string(group.members.size() - kMostMembersTold) + " more";
  return text;
}

void add_wrong(const NodeGroup& group, const WrongSum& wrong, ObservationWriter& writer) {
  const std::string& name = wrong.node.empty() ? group.name : wrong.node;
  Observation& told = writer.add(subject_of(SubjectKind::peer, name), "group.wrong", 1.0, "");
  told.attributes = {{"group", group.name}, {"members", members_of(group)}, {"problem", wrong.problem}};
}

void add_group(const GroupFound& found, ObservationWriter& writer) {
  if (const auto& wrong = found.wrong) return add_wrong(found.group, *wrong, writer);
  Observation& told = writer.add(subject_of(SubjectKind::peer, found.group.name), "group.bus",
                                 found.bus.value_or(0), "bits_per_second");
  told.attributes = {{"kind", std::string(found.group.is_leaf ? "leaf" : "all")},
                     {"nodes", static_cast<std::int64_t>(found.group.members.size())},
                     {"ranks", static_cast<std::int64_t>(ranks_of(found.group))},
                     {"members", members_of(found.group)}};
  if (found.bus) return;
  told.value.reset();
  told.missing = "not_measured";
  told.attributes.emplace_back("error", found.problem);
}

std::string sentence_of(const GroupFound& found) {
  constexpr double kGiga = 1e9;
  const std::string text = found.group.name + ": ";
  if (found.wrong)
    return text + "what GPUs summed up was wrong" +
           (found.wrong->node.empty() ? "" : " on " + found.wrong->node);
  if (!found.bus) return text + "not measured, " + found.problem;
  return text + checks::rounded(*found.bus / kGiga) + " Gbit/s by " + std::to_string(ranks_of(found.group)) +
         " GPUs of " + std::to_string(found.group.members.size()) + " nodes";
}

}  // namespace

Observations group_observations(const GroupsFound& found, Instant ended) {
  ObservationWriter writer(ended);
  writer.add(host_subject(), "group.outcome", std::string("measured"), "");
  for (const GroupFound& group : found.groups)
    add_group(group, writer);
  for (const auto& [node, why] : found.left_out) {
    Observation& told = writer.add(subject_of(SubjectKind::peer, node), "group.bus", 0.0, "bits_per_second");
    told.value.reset();
    told.missing = "left_out";
    told.attributes = {{"kind", std::string("node")}, {"error", why}};
  }
  return writer.take();
}

Observations no_groups(Instant now) {
  ObservationWriter writer(now);
  writer.add(host_subject(), "group.outcome", std::string("no_targets"), "");
  return writer.take();
}

std::string group_sentence(const GroupsFound& found) {
  std::string text;
  for (const GroupFound& group : found.groups)
    text += (text.empty() ? "" : "; ") + sentence_of(group);
  if (!found.left_out.empty())
    text += "; without " + std::to_string(found.left_out.size()) +
            (found.left_out.size() == 1 ? " node" : " nodes");
  return text;
}

}  // namespace autopilot::nettest
