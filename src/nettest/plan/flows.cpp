// SPDX-License-Identifier: Apache-2.0
#include "nettest/plan/flows.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace autopilot::nettest {
namespace {

constexpr double kLeastFlowSpread = 0.002;
constexpr std::size_t kLeastVotes = 3;   // with fewer votes, the leaf at fault is ambiguous
constexpr std::size_t kLeastPairs = 3;   // of one flow each; all flows of fewer pairs can have shared uplinks
constexpr std::size_t kLeastLeaves = 3;  // with fewer leaves, a spine and a leaf look the same
constexpr double kUnevenChance = 1.5;  // flows that shared an uplink once are more likely to share one again
constexpr double kOfNearly = 0.5;      // expected chance votes for each flow that is low every time but one
constexpr double kManyTimes =
    3;  // limit beside other leaves: a faulty spine affects some leaves more than others
constexpr double kAllUplinks = 0.75;  // of the flows of a leaf

// Uses all rails together, because one rail can have few flows, many of which shared uplinks.
double deviation_of_flows(std::span<const Flow> flows, double within) {
  std::vector<double> shares;
  for (const Flow& flow : flows)
    shares.push_back(flow.share);
  return std::max(usual_of(std::move(shares), kLeastFlowSpread).spread, within);
}

using Way = std::tuple<RailNumber, NodeNumber, NodeNumber, std::uint16_t>;

Flow first_flow(const Fabric& fabric, const Way& way, std::uint32_t record, double share) {
  const auto& [rail, from, to, number] = way;
  Flow flow;
  flow.rail = rail;
  flow.record = record;
  flow.number = number;
  flow.from = fabric.leaf(from);
  flow.to = fabric.leaf(to);
  flow.share = share;
  return flow;
}

// The votes of one rail.
class Count {
 public:
  Count(RailNumber rail, std::span<const Flow> all, const Fabric& fabric, const PairSettings& settings)
      : rail_(rail), of_leaf_(fabric.leaves().size()), rails_(fabric.rails().size()), settings_(settings) {
    for (const Flow& flow : all) {
      if (flow.rail != rail) continue;
      flows_.push_back(&flow);
      of_leaf_[flow.from].push_back(&flow);
      of_leaf_[flow.to].push_back(&flow);
      if (is_vote(flow)) left_.insert(&flow);
    }
    for (const auto& some : of_leaf_)
      if (!some.empty()) ++tested_;
  }

  void find(std::vector<PathFault>& faults) {
    while (true) {
      const std::optional<PathFault> fault = next_leaf();
      if (!fault) break;
      faults.push_back(*fault);
    }
    if (const std::optional<PathFault> spine = spine_fault()) faults.push_back(*spine);
  }

 private:
  using Some = std::vector<const Flow*>;

  [[nodiscard]] Some left_of(LeafNumber leaf) const {
    Some left;
    std::ranges::copy_if(of_leaf_[leaf], std::back_inserter(left),
                         [&](const Flow* flow) { return left_.contains(flow); });
    return left;
  }

  // Expected number of chance votes among these flows, estimated from flows that were low once but not each
  // time.
  [[nodiscard]] static double chance_votes(const Some& flows) {
    double repeats = 0;
    double low_repeats = 0;
    double nearly = 0;  // low every time but one
    for (const Flow* flow : flows) {
      if (!flow->is_low || flow->low_repeats == flow->repeats) continue;
      if (flow->low_repeats > 1 && flow->low_repeats + 1 == flow->repeats) ++nearly;
      repeats += static_cast<double>(flow->repeats);
      low_repeats += static_cast<double>(flow->low_repeats);
    }
    const double chance = std::min(1.0, kUnevenChance * (low_repeats + 0.5) / (repeats + 5));
    double sum = 0;
    for (const Flow* flow : flows)
      if (flow->is_low && flow->repeats > 0) sum += std::pow(chance, static_cast<double>(flow->repeats));
    return std::max(sum, kOfNearly * nearly);
  }

  // Number of votes that the leaf would have if its flows were like the median of the other leaves.
  [[nodiscard]] double usual_votes(LeafNumber leaf) const {
    std::vector<double> rates;
    double others = 0;
    for (LeafNumber other = 0; other < of_leaf_.size(); ++other) {
      if (other == leaf) continue;
      double count = 0;
      double votes = 0;
      for (const Flow* flow : of_leaf_[other]) {
        if (flow->from == leaf || flow->to == leaf) continue;
        ++count;
        votes += left_.contains(flow) ? 1 : 0;
      }
      if (count > 0) rates.push_back(votes / count);
      others += count;
    }
    const double own = static_cast<double>(of_leaf_[leaf].size());
    return own * median_of(rates) + own * 0.5 / std::max(1.0, others);
  }

  [[nodiscard]] bool is_more_than(double expected, std::size_t votes) const {
    return tail_of_poisson(expected, votes) <=
           settings_.false_accusations / static_cast<double>(tested_ * rails_);
  }

  // If flows of other leaves share uplinks, those of a few pairs can have shared one each time.
  [[nodiscard]] bool may_have_met(LeafNumber leaf, const Some& votes) const {
    std::set<std::uint32_t> pairs;
    for (const Flow* flow : votes)
      pairs.insert(flow->record);
    return pairs.size() < kLeastPairs && std::ranges::any_of(flows_, [&](const Flow* flow) {
             return flow->is_low && flow->from != leaf && flow->to != leaf;
           });
  }

  std::optional<PathFault> next_leaf() {
    Some votes;
    LeafNumber leaf = 0;
    for (LeafNumber one = 0; one < of_leaf_.size(); ++one)
      if (Some left = left_of(one); left.size() > votes.size() && may_be_told(one)) {
        votes = std::move(left);
        leaf = one;
      }
    if (votes.size() < kLeastVotes) return std::nullopt;
    std::set<LeafNumber> partners;
    for (const Flow* flow : votes)
      partners.insert(flow->from == leaf ? flow->to : flow->from);
    if (settings_.is_one_flow() && (partners.size() == 1 || may_have_met(leaf, votes))) return std::nullopt;
    if (partners.size() == 1) return between(leaf, *partners.begin(), votes);
    const double usual = usual_votes(leaf);
    if (static_cast<double>(votes.size()) < kManyTimes * usual) return std::nullopt;
    if (!is_more_than(std::max(usual, chance_votes(of_leaf_[leaf])), votes.size())) return std::nullopt;
    PathFault fault = fault_of(PathKind::one_uplink, of_leaf_[leaf], votes);
    fault.leaf = leaf;
    if (static_cast<double>(fault.low) > kAllUplinks * static_cast<double>(fault.flows)) {
      fault.kind = PathKind::all_uplinks;
      fault.ways = 1;
    }
    return fault;
  }

  // All low flows of a leaf go to one other leaf: the cause is the path between both, or one of them if there
  // are only two.
  std::optional<PathFault> between(LeafNumber leaf, LeafNumber other, const Some& votes) {
    Some flows;
    std::ranges::copy_if(of_leaf_[leaf], std::back_inserter(flows),
                         [&](const Flow* flow) { return flow->from == other || flow->to == other; });
    if (!is_more_than(chance_votes(flows), votes.size())) return std::nullopt;
    PathFault fault = fault_of(PathKind::between_leaves, flows, votes);
    fault.leaf = std::min(leaf, other);
    fault.other = std::max(leaf, other);
    return fault;
  }

  // If a pair has one flow that takes another path each time, slow paths and shared uplinks cannot be
  // distinguished. The result then covers only a leaf whose flows are all low every time.
  [[nodiscard]] bool may_be_told(LeafNumber leaf) const {
    return !settings_.is_one_flow() ||
           std::ranges::all_of(of_leaf_[leaf], [&](const Flow* flow) { return left_.contains(flow); });
  }

  std::optional<PathFault> spine_fault() {
    if (settings_.is_one_flow()) return std::nullopt;
    const Some votes(left_.begin(), left_.end());
    std::set<LeafNumber> leaves;
    for (const Flow* flow : votes)
      leaves.insert({flow->from, flow->to});
    if (leaves.size() < kLeastLeaves || 2 * leaves.size() < tested_) return std::nullopt;
    if (!is_more_than(chance_votes(flows_), votes.size())) return std::nullopt;
    return fault_of(PathKind::one_spine, flows_, votes);
  }

  PathFault fault_of(PathKind kind, const Some& flows, const Some& votes) {
    PathFault fault;
    fault.kind = kind;
    fault.rail = rail_;
    fault.flows = flows.size();
    std::set<std::uint32_t> records;
    std::vector<double> shares;
    for (const Flow* flow : votes) {
      shares.push_back(flow->share);
      records.insert(flow->record);
      left_.erase(flow);
    }
    // Only some of a pair's many low flows are repeated.
    for (const Flow* flow : flows)
      if (flow->is_low && flow->low_repeats == flow->repeats && records.contains(flow->record)) ++fault.low;
    fault.share = median_of(shares);
    fault.records.assign(records.begin(), records.end());
    fault.ways = static_cast<std::size_t>(std::lround(
        static_cast<double>(fault.flows) / static_cast<double>(std::max<std::size_t>(fault.low, 1))));
    fault.confidence = std::min(0.99, 1 - std::pow(0.5, static_cast<double>(votes.size())));
    return fault;
  }

  RailNumber rail_;
  Some flows_;
  std::vector<Some> of_leaf_;
  std::set<const Flow*> left_;  // votes without an explanation
  std::size_t tested_ = 0;      // number of tested leaves
  std::size_t rails_;
  const PairSettings& settings_;
};

struct Repeat {
  std::size_t flow = 0;
  double share = 0;
};

void judge_flows(std::vector<Flow>& flows, const std::vector<Repeat>& repeats, double within,
                 const PairSettings& settings) {
  const double cut = low_cut(deviation_of_flows(flows, within), settings);
  for (Flow& flow : flows)
    flow.is_low = flow.share < 1 - cut;
  for (const Repeat& one : repeats) {
    ++flows[one.flow].repeats;
    if (one.share < 1 - cut) ++flows[one.flow].low_repeats;
  }
}

}  // namespace

std::vector<Flow> read_flows(const Fabric& fabric, std::span<const Record> records, const Readings& readings,
                             const Ends& ends, const std::vector<bool>& gone, const PairSettings& settings) {
  std::vector<Flow> flows;
  std::vector<Repeat> repeats;
  std::map<Way, std::size_t> known;
  const auto is_fine = [&](RailNumber rail, NodeNumber node) {
    return !gone[node] && ends.is_fine(fabric.number(rail, node));
  };
  for (std::uint32_t number = 0; number < records.size(); ++number) {
    const Record& record = records[number];
    const PairTest& test = record.test;
    if (record.locality != Locality::cross_leaf || !record.result || record.result->missing) continue;
    const Reference* usual = find_reference(readings.references, record);
    if (usual == nullptr || !is_fine(test.rail, test.source) || !is_fine(test.rail, test.destination))
      continue;
    for (const bool is_forward : {true, false}) {
      const auto factor = is_forward ? 1 : usual->usual_back;
      if (!factor) continue;
      const double whole = record.expected.value_or(1) * usual->usual.centre * *factor;
      const std::vector<double>& samples = is_forward ? record.result->forward : record.result->backward;
      for (std::size_t i = 0; i < samples.size(); ++i) {
        const Way way{test.rail, is_forward ? test.source : test.destination,
                      is_forward ? test.destination : test.source, test.flows[i]};
        const auto [at, is_new] = known.try_emplace(way, flows.size());
        if (is_new)
          flows.push_back(first_flow(fabric, way, number, samples[i] / whole));
        else
          repeats.push_back({at->second, samples[i] / whole});
      }
    }
  }
  judge_flows(flows, repeats, readings.noise.within, settings);
  return flows;
}

std::vector<PathFault> find_path_faults(const Fabric& fabric, std::span<const Flow> flows,
                                        const PairSettings& settings) {
  std::vector<PathFault> faults;
  for (RailNumber rail = 0; rail < fabric.rails().size() && !flows.empty(); ++rail)
    Count(rail, flows, fabric, settings).find(faults);
  return faults;
}

}  // namespace autopilot::nettest
