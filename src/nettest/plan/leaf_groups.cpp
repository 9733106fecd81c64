// SPDX-License-Identifier: Apache-2.0

#include "nettest/plan/leaf_groups.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <iterator>
#include <optional>
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

namespace {

// Low beyond the noise of readings in a large fabric.
constexpr double kClearDeviations = 5;
// Least number of unexplained low pairs: one or two of many can be broken links, or noise if there are few
// pairs.
constexpr std::size_t kLeastClear = 2;
constexpr double kPartOfClear = 0.03;
constexpr double kPartOfUnexplained = 0.125;
// A larger number of NICs is not bad at the same time.
constexpr std::size_t kFewNics = 5;
constexpr double kPartOfBad = 0.34;
// Pairs of the first round share no NIC: each slow pair, beyond noise, has its own bad NIC.
constexpr double kPartOfSlow = 0.5;
constexpr double kSlow = 0.15;

using Pair = std::pair<NicNumber, NicNumber>;

bool is_more_than(std::size_t count, double part, std::size_t whole) {
  return static_cast<double>(count) > part * static_cast<double>(whole);
}

// Results of one rail between nodes of unknown locality.
class RailSeen {
 public:
  RailSeen(const Readings& readings, const Ends& ends, const PairSettings& settings)
      : readings_(readings), ends_(ends), settings_(settings) {}

  void add(const Reading& reading, std::size_t round) {
    const Pair pair = std::minmax(reading.from, reading.to);
    pairs_.insert(pair);
    nics_.insert({reading.from, reading.to});
    if (round == 0) first_.insert(pair);
    if (reading.is_silent || 1 - reading.share < settings_.least_loss) return;
    if (round == 0 && 1 - reading.share > kSlow) slow_first_.insert(pair);
    if (reading.is_low) add_low(reading, pair);
  }

  [[nodiscard]] bool are_leaves_hidden() const { return are_too_many_bad() || are_unexplained(); }

 private:
  void add_low(const Reading& reading, const Pair& pair) {
    for (const NicNumber nic : {reading.from, reading.to}) {
      if (ends_.is_bad(nic)) bad_.insert(nic);
      if (!ends_.is_fine(nic)) doubtful_.insert(nic);
    }
    if (!gave_more_elsewhere(2 * reading.from, reading) || !gave_more_elsewhere(2 * reading.to + 1, reading))
      return;
    unexplained_.insert(pair);
    if (1 - reading.share >= kClearDeviations * std::hypot(reading.error, readings_.noise.between))
      clear_.insert(pair);
  }

  // More than half of the loss of the low pair.
  [[nodiscard]] bool gave_more_elsewhere(EndNumber end, const Reading& low) const {
    return std::ranges::any_of(ends_.readings_of(end), [&](std::uint32_t number) {
      const Reading& reading = readings_.list[number];
      const bool is_same = reading.from == low.from && reading.to == low.to;
      return !is_same && !reading.is_low && reading.share > (1 + low.share) / 2;
    });
  }

  [[nodiscard]] bool are_too_many_bad() const {
    return nics_.size() > kFewNics && (is_more_than(doubtful_.size(), kPartOfBad, nics_.size()) ||
                                       is_more_than(slow_first_.size(), kPartOfSlow, first_.size()));
  }

  // A bad NIC together with a broken link is as unlikely as two broken links.
  [[nodiscard]] bool are_unexplained() const {
    if (unexplained_.size() >= kLeastClear &&
        is_more_than(unexplained_.size(), kPartOfUnexplained, pairs_.size()))
      return true;
    const std::size_t clear = clear_.empty() || bad_.empty() ? clear_.size() : clear_.size() + 1;
    return clear >= kLeastClear && is_more_than(clear, kPartOfClear, pairs_.size());
  }

  const Readings& readings_;
  const Ends& ends_;
  const PairSettings& settings_;
  std::set<Pair> pairs_;
  std::set<Pair> first_;        // pairs of the first round
  std::set<Pair> slow_first_;   // slow pairs of the first round
  std::set<Pair> unexplained_;  // low, although both NICs gave more elsewhere
  std::set<Pair> clear_;        // of the unexplained pairs, those beyond noise
  std::set<NicNumber> nics_;
  std::set<NicNumber> bad_;
  std::set<NicNumber> doubtful_;  // not known to be healthy
};

bool is_of_unknown(const Reading& reading, std::span<const Record> records) {
  return records[reading.record].locality == Locality::unknown;
}

}  // namespace

std::vector<RailNumber> rails_of_hidden_leaves(const Fabric& fabric, std::span<const Record> records,
                                               const Readings& readings, const Ends& ends,
                                               const PairSettings& settings) {
  std::vector<RailSeen> rails(fabric.rails().size(), RailSeen(readings, ends, settings));
  for (const Reading& reading : readings.list)
    if (is_of_unknown(reading, records))
      rails[fabric.rail_of(reading.from)].add(reading, records[reading.record].round);
  std::vector<RailNumber> hidden;
  for (RailNumber rail = 0; rail < rails.size(); ++rail)
    if (rails[rail].are_leaves_hidden()) hidden.push_back(rail);
  return hidden;
}

std::vector<RailNumber> rails_that_fit_leaves(const Fabric& fabric, std::span<const Record> records,
                                              const std::vector<bool>& gone, const Readings& readings,
                                              const Ends& ends, const PairSettings& settings) {
  std::vector<RailNumber> rails;
  for (RailNumber rail = 0; rail < fabric.rails().size(); ++rail) {
    const std::size_t nodes = fabric.members(rail, fabric.no_leaf()).size();
    if (nodes > 0 && nodes <= kMostForLeaves) rails.push_back(rail);
  }
  Readings all;  // readings that include departed nodes
  std::optional<Ends> all_ends;
  if (!rails.empty() && std::ranges::find(gone, true) != gone.end()) {
    all = read_records(fabric, records, std::vector<bool>(gone.size()), settings);
    all_ends.emplace(fabric.nics(), all, settings);
  }
  std::erase_if(rails, [&](RailNumber rail) {
    std::vector<MetPair> with_gone;
    if (all_ends) with_gone = met_on(rail, records, all, *all_ends, settings);
    return !fit_leaves(met_on(rail, records, readings, ends, settings), with_gone);
  });
  return rails;
}

Readings without_hidden_leaves(Readings readings, std::span<const Record> records,
                               std::span<const RailNumber> rails) {
  const auto is_hidden = [&rails](RailNumber rail, Locality locality) {
    return locality == Locality::unknown && std::ranges::find(rails, rail) != rails.end();
  };
  std::erase_if(readings.list, [&](const Reading& reading) {
    const Record& record = records[reading.record];
    return reading.is_low && !reading.is_silent && is_hidden(record.test.rail, record.locality);
  });
  std::erase_if(readings.references, [&](const Reference& one) { return is_hidden(one.rail, one.locality); });
  return readings;
}

}  // namespace autopilot::nettest
