// SPDX-License-Identifier: Apache-2.0
#include "nettest/plan/leaf_groups.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <set>
#include <utility>
#include <vector>

namespace autopilot::nettest {
namespace {

// Among more NICs, four can be bad of which each two met: they would fit under two small leaves.
constexpr std::size_t kMostForSmallLeaves = 31;
// Bound of the search. An arrangement that is not ruled out within it counts as possible.
constexpr std::size_t kMostSteps = 20'000;

// Assigns groups of NICs to leaves, the largest group first.
class LeafSearch {
 public:
  // groups: of all NICs of the pairs, and of others.
  LeafSearch(std::span<const MetPair> pairs, const std::map<NicNumber, std::size_t>& groups) {
    std::set<NicNumber> nics;
    for (const MetPair& pair : pairs)
      nics.insert({pair.one, pair.other});
    most_leaves_ = nics.size() <= kMostForSmallLeaves ? nics.size() : 2;
    std::map<std::size_t, std::size_t> sizes;
    for (const NicNumber nic : nics)
      ++sizes[groups.at(nic)];
    for (const auto& [number, size] : sizes)
      groups_.push_back({number, size});
    std::ranges::stable_sort(groups_, std::greater<>(), &Group::nics);
    for (const MetPair& pair : pairs)
      if (pair.is_low) apart_.insert(std::minmax(groups.at(pair.one), groups.at(pair.other)));
  }

  [[nodiscard]] bool fit() {
    const bool is_any_torn =
        std::ranges::any_of(groups_, [this](const Group& one) { return are_apart(one, one); });
    return !apart_.empty() && !is_any_torn && place(0);
  }

 private:
  struct Group {
    std::size_t number = 0;
    std::size_t nics = 0;
  };
  using Leaf = std::vector<Group>;

  // A NIC of one group was low with a NIC of the other.
  [[nodiscard]] bool are_apart(const Group& one, const Group& other) const {
    return apart_.contains(std::minmax(one.number, other.number));
  }

  [[nodiscard]] bool may_join(const Group& group, const Leaf& leaf) const {
    return std::ranges::none_of(leaf, [&](const Group& other) { return are_apart(group, other); });
  }

  [[nodiscard]] static bool has_several(const Leaf& leaf) { return leaf.size() > 1 || leaf.front().nics > 1; }

  // Places that group and all groups after it.
  bool place(std::size_t number) {
    if (++steps_ > kMostSteps) return true;
    if (number == groups_.size()) return std::ranges::all_of(leaves_, has_several);
    for (std::size_t leaf = 0; leaf < leaves_.size(); ++leaf) {
      if (!may_join(groups_[number], leaves_[leaf])) continue;
      leaves_[leaf].push_back(groups_[number]);
      if (place(number + 1)) return true;
      leaves_[leaf].pop_back();
    }
    if (leaves_.size() == most_leaves_) return false;
    leaves_.push_back({groups_[number]});
    if (place(number + 1)) return true;
    leaves_.pop_back();
    return false;
  }

  std::size_t most_leaves_ = 0;
  std::vector<Group> groups_;
  std::set<std::pair<std::size_t, std::size_t>> apart_;  // numbers of groups
  std::vector<Leaf> leaves_;
  std::size_t steps_ = 0;
};

// The low end is bad, while its NIC is healthy in the other direction.
bool is_of_one_direction(const Reading& reading, const Ends& ends) {
  const auto is_bad_alone = [](const EndView& end, const EndView& other) {
    return end.state == EndState::bad && other.state == EndState::fine;
  };
  return is_bad_alone(ends.sends(reading.from), ends.receives(reading.from)) ||
         is_bad_alone(ends.receives(reading.to), ends.sends(reading.to));
}

}  // namespace

std::vector<MetPair> met_on(RailNumber rail, std::span<const Record> records, const Readings& readings,
                            const Ends& ends, const PairSettings& settings) {
  struct Seen {
    std::uint32_t record = 0;
    bool is_low = false;
    bool is_usual = false;
    bool is_clearly_low = false;
  };
  std::map<std::pair<NicNumber, NicNumber>, Seen> seen;
  for (const Reading& reading : readings.list) {
    const Record& record = records[reading.record];
    if (record.test.rail != rail || record.locality != Locality::unknown || reading.is_silent) continue;
    if (is_of_one_direction(reading, ends)) continue;
    Seen& pair = seen[std::minmax(reading.from, reading.to)];
    if (reading.record > pair.record) pair = {.record = reading.record};
    (reading.is_low ? pair.is_low : pair.is_usual) = true;
    if (reading.is_low && 1 - reading.share >= settings.least_loss) pair.is_clearly_low = true;
  }
  std::vector<MetPair> pairs;
  for (const auto& [nics, pair] : seen)
    if (!pair.is_usual || !pair.is_clearly_low) pairs.push_back({nics.first, nics.second, !pair.is_usual});
  return pairs;
}

std::map<NicNumber, std::size_t> groups_of(std::span<const MetPair> pairs) {
  std::map<NicNumber, NicNumber> leads;  // leads to another NIC of the group, or to itself
  const auto last_of = [&leads](NicNumber nic) {
    NicNumber last = leads.try_emplace(nic, nic).first->second;
    while (leads.at(last) != last)
      last = leads.at(last);
    return leads.at(nic) = last;
  };
  for (const MetPair& pair : pairs) {
    const NicNumber one = last_of(pair.one);
    const NicNumber other = last_of(pair.other);
    if (!pair.is_low) leads.at(std::max(one, other)) = std::min(one, other);
  }
  std::map<NicNumber, std::size_t> groups;
  std::map<NicNumber, std::size_t> numbers;  // by the NIC to which all of the group lead
  for (const auto& [nic, next] : leads)
    groups.emplace(nic, numbers.try_emplace(last_of(nic), numbers.size()).first->second);
  return groups;
}

bool fit_leaves(std::span<const MetPair> pairs, std::span<const MetPair> of_gone) {
  std::vector<MetPair> all(pairs.begin(), pairs.end());
  std::ranges::copy_if(of_gone, std::back_inserter(all), [](const MetPair& pair) { return !pair.is_low; });
  return LeafSearch(pairs, groups_of(all)).fit();
}

}  // namespace autopilot::nettest
