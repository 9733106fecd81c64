// SPDX-License-Identifier: Apache-2.0
#include "jobs/roles.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>

namespace autopilot::jobs {

namespace {

constexpr int kReplicasToCompare = 4;

// Numbers keys in order of appearance.
template <typename Key>
class RoleNumbers {
 public:
  int of(const Key& key) {
    return numbers_.try_emplace(key, static_cast<int>(numbers_.size())).first->second;
  }
  [[nodiscard]] int count() const { return static_cast<int>(numbers_.size()); }

 private:
  std::map<Key, int> numbers_;
};

// The position of each rank among the ranks of its replica, by rank number.
std::vector<int> positions_in_replica(const JobRecord& job) {
  std::vector<std::size_t> order(job.ranks.size());
  for (std::size_t at = 0; at < order.size(); ++at)
    order[at] = at;
  std::ranges::sort(order, {}, [&](std::size_t at) { return std::pair(job.ranks[at].rank, at); });
  std::map<std::string_view, int> next;
  std::vector<int> positions(job.ranks.size());
  for (const std::size_t at : order)
    positions[at] = next[job.ranks[at].replica]++;
  return positions;
}

Roles roles_by_replica(const JobRecord& job) {
  using Key = std::pair<std::string_view, int>;
  const std::vector<int> positions = positions_in_replica(job);
  std::map<Key, int> replicas;
  for (std::size_t at = 0; at < job.ranks.size(); ++at)
    ++replicas[Key(job.ranks[at].role, positions[at])];
  if (replicas.empty()) return {};
  // The ranks of few replicas share the work of a replica: all of a replica are peers.
  const bool has_enough =
      std::ranges::all_of(replicas, [](const auto& each) { return each.second >= kReplicasToCompare; });
  RoleNumbers<Key> numbers;
  Roles found{{}, 0, RoleSource::declared};
  for (std::size_t at = 0; at < job.ranks.size(); ++at)
    found.role.push_back(numbers.of(Key(job.ranks[at].role, has_enough ? positions[at] : 0)));
  found.count = numbers.count();
  return found;
}

struct CommunicatorClass {
  int size = 0;
  std::int64_t count = 0;  // the most collectives that a member started; -1: unknown
  friend auto operator<=>(const CommunicatorClass&, const CommunicatorClass&) = default;
};

CommunicatorClass measure(const Communicator& communicator) {
  CommunicatorClass measured{communicator.size, -1};
  for (const auto& started : communicator.started)
    if (started) measured.count = std::max(measured.count, *started);
  return measured;
}

// Counts of equal work differ by what is in flight; unequal work differs by more.
bool is_similar(const CommunicatorClass& left, const CommunicatorClass& right) {
  constexpr std::int64_t kInFlight = 16;
  constexpr std::int64_t kOneIn = 20;
  if (left.size != right.size || (left.count < 0) != (right.count < 0)) return false;
  return right.count - left.count <= std::max(kInFlight, right.count / kOneIn);
}

// The class of each communicator: neighbours in the order of counts are one class while they are similar.
std::vector<int> classes_of(const std::vector<Communicator>& communicators) {
  std::vector<std::pair<CommunicatorClass, std::size_t>> order;
  order.reserve(communicators.size());
  for (const Communicator& each : communicators)
    order.emplace_back(measure(each), order.size());
  std::ranges::sort(order);
  std::vector<int> classes(communicators.size());
  int current = 0;
  for (std::size_t at = 0; at < order.size(); ++at) {
    if (at > 0 && !is_similar(order[at - 1].first, order[at].first)) ++current;
    classes[order[at].second] = current;
  }
  return classes;
}

}  // namespace

std::string_view to_string(RoleSource source) {
  switch (source) {
    case RoleSource::none:
      return "none";
    case RoleSource::clustered:
      return "clustered";
    case RoleSource::communicators:
      return "communicators";
    case RoleSource::declared:
      return "declared";
  }
  return "none";
}

Roles declared_roles(const JobRecord& job) {
  if (job.ranks.empty()) return {};
  const auto has_replica = [](const RankRecord& rank) { return !rank.replica.empty(); };
  if (job.kind == JobKind::inference && std::ranges::all_of(job.ranks, has_replica))
    return roles_by_replica(job);
  if (std::ranges::any_of(job.ranks, [](const RankRecord& rank) { return rank.role.empty(); })) return {};
  RoleNumbers<std::string_view> numbers;
  Roles found{{}, 0, RoleSource::declared};
  for (const RankRecord& rank : job.ranks)
    found.role.push_back(numbers.of(rank.role));
  found.count = numbers.count();
  return found;
}

Roles roles_from_communicators(const JobRecord& job, const CollectivesRecord& collectives) {
  const std::vector<int> classes = classes_of(collectives.communicators);
  std::unordered_map<int, std::vector<int>> memberships;  // only searched
  for (std::size_t at = 0; at < classes.size(); ++at)
    for (const int rank : collectives.communicators[at].ranks)
      memberships[rank].push_back(classes[at]);
  RoleNumbers<std::vector<int>> numbers;
  Roles found{{}, 0, RoleSource::communicators};
  for (const RankRecord& rank : job.ranks) {
    const auto member = memberships.find(rank.rank);
    if (member == memberships.end()) {
      if (rank.gpu) return {};
      found.role.push_back(Roles::kNoPeers);
      continue;
    }
    std::ranges::sort(member->second);
    found.role.push_back(numbers.of(member->second));
  }
  found.count = numbers.count();
  // Equal groups that do not differ by what they do: they may be stages of a pipeline.
  const bool has_parts = std::ranges::any_of(collectives.communicators, [&](const Communicator& each) {
    return each.ranks.size() * 2 <= job.ranks.size();
  });
  return found.count == 0 || (found.count == 1 && has_parts) ? Roles{} : found;
}

Roles find_roles(const JobRecord& job, const CollectivesRecord* collectives,
                 std::span<const RankLoad> loads) {
  if (Roles declared = declared_roles(job); declared.count > 0) return declared;
  if (collectives != nullptr)
    if (Roles found = roles_from_communicators(job, *collectives); found.count > 0) return found;
  if (loads.size() == job.ranks.size())
    if (Roles found = clustered_roles(job, loads); found.count > 0) return found;
  Roles all;
  for (const RankRecord& rank : job.ranks)
    all.role.push_back(rank.gpu ? 0 : Roles::kNoPeers);
  all.count = std::ranges::count(all.role, 0) > 0 ? 1 : 0;
  return all;
}

}  // namespace autopilot::jobs
