// SPDX-License-Identifier: Apache-2.0
#include "nettest/plan/round_plan.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "nettest/plan/leaf_groups.hpp"
#include "nettest/plan/rounds.hpp"
#include "nettest/plan/schedules.hpp"

namespace autopilot::nettest {
namespace {

constexpr std::size_t kFullTable =
    4;  // up to this number, all NICs of a rail meet each other in three rounds
constexpr std::size_t kMostPartners = 3;   // healthy partners; more add no information
constexpr std::size_t kMostOfNoLeaf = 16;  // tests of two healthy NICs of unknown leaf

// Uses the circle method.
void pair_all(RailRound& tests, const std::vector<NodeNumber>& members, std::size_t round,
              std::size_t samples, std::vector<NodeNumber>& left) {
  const std::size_t rounds = circle_rounds(members.size());
  for (NodeNumber i = 0; i < members.size(); ++i) {
    const std::optional<NodeNumber> partner =
        rounds == 0 ? std::nullopt : circle_partner(members.size(), round % rounds, i);
    if (!partner)
      left.push_back(members[i]);
    else if (*partner > i)
      tests.pair(members[i], members[*partner], samples);
  }
}

// With few NICs there is no usual rate before all have met. False: there are more.
bool make_full_table(const Known& known, RailRound& tests) {
  std::vector<NodeNumber> members;
  for (NodeNumber node = 0; node < known.gone.size(); ++node)
    if (tests.is_free(node)) members.push_back(node);
  if (members.size() > kFullTable) return false;
  std::vector<NodeNumber> left;
  if (known.round < circle_rounds(members.size()))
    pair_all(tests, members, known.round, known.settings.samples, left);
  return true;
}

// Tests of the second and later rounds on one rail.
class LaterRound {
 public:
  LaterRound(const Known& known, RailNumber rail, const Readings& readings, const Ends& ends,
             std::vector<Record>& round)
      : known_(known),
        rail_(rail),
        readings_(readings),
        ends_(ends),
        tests_(known, rail, round),
        samples_(samples_for(readings.noise, known.settings)),
        met_(known.gone.size()) {
    for (const Record& record : known.records) {
      if (record.test.rail != rail) continue;
      met_[record.test.source].push_back(record.test.destination);
      met_[record.test.destination].push_back(record.test.source);
    }
    for (const Reading& reading : readings.list)
      if (reading.is_cross && known.fabric.rail_of(reading.from) == rail)
        usual_across_ = std::max(usual_across_.value_or(0), reading.usual);
  }

  // Among NICs of unknown leaf: of few, any low pair; of more, a NIC that is or can be bad.
  [[nodiscard]] bool is_anything_low() const {
    if (known_.fabric.members(rail_, known_.fabric.no_leaf()).empty()) return false;
    return are_few() ? is_any_pair_low() : is_any_nic_low();
  }

  bool is_full_table() { return make_full_table(known_, tests_); }

  // Repeats a low test of two healthy NICs.
  void retest(const LowPair& pair) {
    const PairTest& test = known_.records[readings_.list[pair.readings.front()].record].test;
    if (tests_.is_free(test.source) && tests_.is_free(test.destination))
      tests_.pair(test.source, test.destination, samples_, true);
  }
  void retest(const PairTest& test, const std::set<std::uint16_t>& low_flows) {
    if (tests_.is_free(test.source) && tests_.is_free(test.destination))
      tests_.repeat(test.source, test.destination, {low_flows.begin(), low_flows.end()});
  }

  // If leaves are unknown, NICs that are low with others can be under a leaf of their own: then they are as
  // usual with each other.
  void pair_bad_of_no_leaf() {
    std::vector<NodeNumber> bad = tests_.free_members(known_.fabric.no_leaf());
    std::erase_if(bad, [&](NodeNumber node) { return !ends_.is_bad(nic_of(node)); });
    pair_among(bad, bad.size());
  }

  void find_partners() {
    std::vector<Want> wants = wants_of();
    collect_fine();
    std::vector<Want> left;
    for (const Want& want : wants) {
      if (!tests_.is_free(want.node)) continue;
      if (const std::optional<NodeNumber> partner = fine_partner(want.node))
        tests_.pair(want.node, *partner, samples_);
      else
        left.push_back(want);
    }
    // No NIC is known to be healthy: pairs the slowest with the fastest.
    std::ranges::stable_sort(left, {}, &Want::share);
    for (std::size_t slow = 0; slow < left.size(); ++slow)
      for (std::size_t fast = left.size(); fast-- > slow + 1 && tests_.is_free(left[slow].node);)
        if (can_meet(left[slow].node, left[fast].node) && would_tell(left[slow].node, left[fast].node))
          tests_.pair(left[slow].node, left[fast].node, samples_);
  }

  // Healthy NICs of unknown leaf can be low with some others. Of few, first pairs NICs that no chain of
  // passed tests connects, because they can be under two leaves.
  void pair_fine_of_no_leaf() {
    std::vector<NodeNumber> fine = fine_[known_.fabric.no_leaf()];
    // Nodes that are adjacent in this order are often under one leaf.
    tests_.shuffle(fine);
    const std::size_t joined = are_few() ? join_groups(fine) : 0;
    pair_among(fine, kMostOfNoLeaf - std::min(kMostOfNoLeaf, joined));
  }

  // Pairs of healthy NICs under two leaves that have not met on this rail, at least one of them wanted.
  void explore(const std::vector<bool>& is_wanted) {
    const std::size_t leaves = known_.fabric.leaves().size();
    const std::size_t rounds = circle_rounds(leaves);
    std::set<std::pair<LeafNumber, LeafNumber>> seen = leaves_met();
    for (std::size_t slot = 0; slot < rounds; ++slot) {
      const std::size_t turn = (slot + rail_ + known_.settings.seed) % rounds;
      bool is_room_left = false;
      for (LeafNumber leaf = 0; leaf < leaves; ++leaf) {
        if (!tests_.may_explore(leaf)) continue;
        is_room_left = true;
        const std::optional<NodeNumber> other = circle_partner(leaves, turn, leaf);
        if (!other || *other < leaf || !tests_.may_explore(*other)) continue;
        if (!is_wanted[leaf] && !is_wanted[*other]) continue;
        if (seen.contains({leaf, *other})) continue;
        const std::optional<NodeNumber> one = idle_fine(leaf);
        const std::optional<NodeNumber> two = idle_fine(*other);
        if (!one || !two) continue;
        seen.insert({leaf, *other});
        tests_.pair(*one, *two, samples_);
      }
      if (!is_room_left) return;
    }
  }

 private:
  struct Want {
    NodeNumber node = 0;
    std::size_t partners = 0;  // number of healthy partners so far
    double share = 1;
  };

  [[nodiscard]] NicNumber nic_of(NodeNumber node) const { return known_.fabric.number(rail_, node); }

  // Counts NICs of unknown leaf.
  [[nodiscard]] bool are_few() const {
    return known_.fabric.members(rail_, known_.fabric.no_leaf()).size() <= kMostForLeaves;
  }

  [[nodiscard]] bool is_any_nic_low() const {
    return std::ranges::any_of(known_.fabric.members(rail_, known_.fabric.no_leaf()), [&](NodeNumber node) {
      const NicNumber nic = nic_of(node);
      return ends_.is_bad(nic) || ends_.sends(nic).state == EndState::open ||
             ends_.receives(nic).state == EndState::open;
    });
  }

  [[nodiscard]] bool is_any_pair_low() const {
    return std::ranges::any_of(readings_.list, [&](const Reading& reading) {
      const Record& record = known_.records[reading.record];
      return reading.is_low && record.test.rail == rail_ && record.locality == Locality::unknown;
    });
  }

  // First NICs that need one more partner for a decision, then NICs that need two, then NICs to be
  // confirmed; the slowest first within each group.
  [[nodiscard]] std::vector<Want> wants_of() const {
    std::vector<Want> wants;
    for (NodeNumber node = 0; node < known_.gone.size(); ++node) {
      if (!tests_.is_free(node)) continue;
      const EndView& sends = ends_.sends(nic_of(node));
      const EndView& receives = ends_.receives(nic_of(node));
      const auto wants_more = [](const EndView& end) {
        return end.state == EndState::open || (end.state == EndState::bad && end.partners < kMostPartners);
      };
      const bool is_unmeasured =
          sends.state == EndState::unmeasured && receives.state == EndState::unmeasured;
      if (!is_unmeasured && !wants_more(sends) && !wants_more(receives)) continue;
      wants.push_back(
          {node, std::max(sends.partners, receives.partners), std::min(sends.share, receives.share)});
    }
    std::ranges::stable_sort(wants, {}, [](const Want& want) {
      return std::tuple(want.partners != 1, want.partners, want.share);
    });
    return wants;
  }

  void collect_fine() {
    const std::size_t leaves = known_.fabric.leaves().size();
    fine_.assign(leaves + 1, {});
    for (NodeNumber node = 0; node < known_.gone.size(); ++node)
      if (tests_.is_free(node) && ends_.is_fine(nic_of(node)))
        fine_[known_.fabric.leaf(node)].push_back(node);
  }

  [[nodiscard]] bool can_meet(NodeNumber a, NodeNumber b) const {
    return tests_.is_free(a) && tests_.is_free(b) && tests_.may_pair(a, b) &&
           std::ranges::find(met_[a], b) == met_[a].end();
  }

  // At most that many tests, each of two NICs that have not met.
  void pair_among(const std::vector<NodeNumber>& nodes, std::size_t most) {
    for (std::size_t one = 0; one < nodes.size(); ++one)
      for (std::size_t other = one + 1; other < nodes.size() && most > 0 && tests_.is_free(nodes[one]);
           ++other) {
        if (!can_meet(nodes[one], nodes[other])) continue;
        tests_.pair(nodes[one], nodes[other], samples_);
        --most;
      }
  }

  // Nodes by group, the largest group first.
  [[nodiscard]] std::vector<std::vector<NodeNumber>> by_group(const std::vector<NodeNumber>& nodes) const {
    const auto known = groups_of(met_on(rail_, known_.records, readings_, ends_, known_.settings));
    std::map<std::size_t, std::vector<NodeNumber>> members;
    for (const NodeNumber node : nodes) {
      const auto found = known.find(nic_of(node));
      members[found == known.end() ? known.size() + node : found->second].push_back(node);
    }
    std::vector<std::vector<NodeNumber>> groups;
    for (auto& [number, group] : members)
      groups.push_back(std::move(group));
    std::ranges::stable_sort(groups, std::greater<>(), &std::vector<NodeNumber>::size);
    return groups;
  }

  // Connects each group to the groups before it by one test, while these have free NICs. Returns the number
  // of tests.
  std::size_t join_groups(const std::vector<NodeNumber>& nodes) {
    std::vector<NodeNumber> bound;
    std::size_t tests = 0;
    for (const std::vector<NodeNumber>& group : by_group(nodes)) {
      if (pair_one_of_each(bound, group)) ++tests;
      bound.insert(bound.end(), group.begin(), group.end());
      std::erase_if(bound, [&](NodeNumber node) { return !tests_.is_free(node); });
    }
    return tests;
  }

  bool pair_one_of_each(const std::vector<NodeNumber>& some, const std::vector<NodeNumber>& others) {
    for (const NodeNumber one : some)
      for (const NodeNumber other : others) {
        if (!can_meet(one, other)) continue;
        tests_.pair(one, other, samples_);
        return true;
      }
    return false;
  }

  // True if a test of the two can clear `one`: between leaves, all pairs can be slower than `one`.
  [[nodiscard]] bool would_tell(NodeNumber one, NodeNumber other) const {
    if (!usual_across_ || known_.fabric.locality(one, other) != Locality::cross_leaf) return true;
    const EndNumber sends = 2 * nic_of(one);
    return *usual_across_ > std::min(ends_.least_to_pass(sends), ends_.least_to_pass(sends + 1));
  }

  // Under the same leaf if possible, else under the next ones.
  std::optional<NodeNumber> fine_partner(NodeNumber node) {
    const LeafNumber own = known_.fabric.leaf(node);
    if (const std::optional<NodeNumber> partner = take_fine(own, node)) return partner;
    if (const std::optional<NodeNumber> partner = one_of_few(own, node)) return partner;
    for (std::size_t step = 1; step < fine_.size(); ++step) {
      const std::size_t other = (own + step) % fine_.size();
      if (fine_[other].empty() || !would_tell(node, fine_[other].front())) continue;
      if (const std::optional<NodeNumber> partner = take_fine(other, node)) return partner;
    }
    return std::nullopt;
  }

  // So few NICs under a leaf all meet each other, which identifies the bad ones without a usual rate from
  // elsewhere. With three NICs of which two are bad, all pairs are low; this is used only while no test
  // between leaves gives more information.
  [[nodiscard]] std::optional<NodeNumber> one_of_few(LeafNumber leaf, NodeNumber node) const {
    if (leaf == known_.fabric.no_leaf()) return std::nullopt;
    const std::vector<NodeNumber> members = known_.fabric.members(rail_, leaf);
    if (members.size() > kFullTable || (members.size() < kFullTable && usual_across_)) return std::nullopt;
    const auto other =
        std::ranges::find_if(members, [&](NodeNumber one) { return one != node && can_meet(node, one); });
    return other == members.end() ? std::nullopt : std::optional(*other);
  }

  std::optional<NodeNumber> take_fine(std::size_t leaf, NodeNumber node) {
    std::vector<NodeNumber>& fine = fine_[leaf];
    while (!fine.empty() && !tests_.is_free(fine.back()))
      fine.pop_back();
    for (std::size_t i = fine.size(); i-- > 0;)
      if (can_meet(node, fine[i])) return fine[i];
    return std::nullopt;
  }

  [[nodiscard]] std::set<std::pair<LeafNumber, LeafNumber>> leaves_met() const {
    std::set<std::pair<LeafNumber, LeafNumber>> met;
    for (const Record& record : known_.records)
      if (record.test.rail == rail_ && record.locality == Locality::cross_leaf)
        met.insert(std::minmax(
            {known_.fabric.leaf(record.test.source), known_.fabric.leaf(record.test.destination)}));
    return met;
  }

  // Prefers a NIC without a test across leaves, so that one NIC does not decide about the leaf.
  std::optional<NodeNumber> idle_fine(LeafNumber leaf) {
    std::optional<NodeNumber> best;
    std::size_t best_met = 0;
    for (const NodeNumber node : fine_[leaf]) {
      if (!tests_.is_free(node)) continue;
      if (best && met_[node].size() >= best_met) continue;
      best = node;
      best_met = met_[node].size();
    }
    return best;
  }

  const Known& known_;
  RailNumber rail_;
  const Readings& readings_;
  const Ends& ends_;
  RailRound tests_;
  std::size_t samples_;
  std::vector<std::vector<NodeNumber>> met_;   // by node
  std::vector<std::vector<NodeNumber>> fine_;  // by leaf and no_leaf()
  std::optional<double> usual_across_;         // bits/s between leaves; not set: not measured yet
};

using LowFlows = std::map<std::uint32_t, std::set<std::uint16_t>>;  // by record

LowFlows low_flows_of(const Known& known, std::span<const Flow> flows, RailNumber rail) {
  LowFlows low;
  for (const Flow& flow : flows)
    if (flow.rail == rail && flow.is_low && flow.repeats == 0) low[flow.record].insert(flow.number);
  std::erase_if(low, [&](const auto& one) { return known.records[one.first].is_of_low_flows; });
  return low;
}

// All leaves in the first exploring round, later those not explored yet.
std::vector<bool> leaves_to_explore(const Known& known, std::span<const Flow> flows, RailNumber rail) {
  std::vector<bool> is_wanted(known.fabric.leaves().size(), true);
  if (known.round == 1) return is_wanted;
  for (const Flow& flow : flows)
    if (flow.rail == rail) is_wanted[flow.from] = is_wanted[flow.to] = false;
  return is_wanted;
}

}  // namespace

std::vector<Record> first_round(const Known& known) {
  std::vector<Record> round;
  for (RailNumber rail = 0; rail < known.fabric.rails().size(); ++rail) {
    RailRound tests(known, rail, round);
    if (make_full_table(known, tests)) continue;
    std::vector<NodeNumber> left;
    for (LeafNumber leaf = 0; leaf <= known.fabric.no_leaf(); ++leaf)
      pair_all(tests, tests.free_members(leaf), known.settings.seed + rail, known.settings.samples, left);
    for (std::size_t i = 0; i + 1 < left.size(); i += 2)
      tests.pair(left[i], left[i + 1], known.settings.samples);
  }
  return round;
}

std::vector<Record> next_round(const Known& known, const Readings& readings, const Ends& ends,
                               std::span<const Flow> flows) {
  std::vector<Record> round;
  std::vector<std::vector<LowPair>> low_pairs(known.fabric.rails().size());
  for (LowPair& pair : ends.low_pairs())
    if (pair.are_ends_fine && pair.readings.size() < 2)
      low_pairs[known.fabric.rail_of(pair.from)].push_back(std::move(pair));
  for (RailNumber rail = 0; rail < known.fabric.rails().size(); ++rail) {
    LaterRound tests(known, rail, readings, ends, round);
    if (!known.settings.all_pairs && tests.is_full_table()) continue;
    for (const LowPair& pair : low_pairs[rail])
      tests.retest(pair);
    for (const auto& [record, low] : low_flows_of(known, flows, rail))
      tests.retest(known.records[record].test, low);
    tests.pair_bad_of_no_leaf();
    tests.find_partners();
    if (tests.is_anything_low()) tests.pair_fine_of_no_leaf();
    tests.explore(leaves_to_explore(known, flows, rail));
  }
  return round;
}

void expect(const Fabric& fabric, std::vector<Record>& round, const PairSettings& settings) {
  const std::size_t leaves = fabric.leaves().size();
  std::vector<std::size_t> crossing(fabric.rails().size() * leaves);
  for (const Record& record : round)
    if (record.locality == Locality::cross_leaf)
      for (const NodeNumber node : {record.test.source, record.test.destination})
        ++crossing[record.test.rail * leaves + fabric.leaf(node)];
  for (Record& record : round) {
    PairTest& test = record.test;
    const std::optional<double> rate = fabric.line_rate(test.rail, test.source, test.destination);
    if (!rate) continue;
    double share = settings.share_of_line_rate;
    if (share < 1) test.most = *rate * share;
    if (record.locality == Locality::cross_leaf)
      for (const NodeNumber node : {test.source, test.destination}) {
        const LeafNumber leaf = fabric.leaf(node);
        share = std::min(share, fabric.uplink_share(leaf, crossing[test.rail * leaves + leaf], *rate));
      }
    record.expected = *rate * share;
  }
}

}  // namespace autopilot::nettest
