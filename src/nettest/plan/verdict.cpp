// SPDX-License-Identifier: Apache-2.0
#include "nettest/plan/verdict.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>
#include <utility>

#include "nettest/plan/leaf_groups.hpp"
#include "nettest/plan/readings.hpp"

namespace autopilot::nettest {
namespace {

constexpr double kMostOfRails = 0.75;     // share of low rails of a node that is bad as a whole
constexpr double kMostOfLeaf = 0.85;      // share of low NICs of a leaf that is bad as a whole
constexpr std::size_t kLeastOfLeaf = 4;   // fewer can be bad by chance
constexpr std::size_t kEnoughOfLeaf = 7;  // more do not increase the likelihood of a leaf fault
constexpr double kRailLoss = 0.1;  // beside the median rail; smaller differences come from slots and models
constexpr std::size_t kLeastRails = 3;
constexpr double kLeastOfLink = 0.99;  // confidence: ends that are slightly slow look like links
constexpr double kMostConfidence = 0.99;
constexpr double kUndecided = 0.4;  // of two NICs and the path between them

class Telling {
 public:
  Telling(const Fabric& fabric, const std::vector<Record>& records, const std::vector<bool>& gone,
          const Readings& readings, const Ends& ends, const PairSettings& settings)
      : fabric_(fabric),
        records_(records),
        gone_(gone),
        readings_(readings),
        ends_(ends),
        settings_(settings),
        told_(fabric.nics()) {}

  std::vector<Suspect> suspects() {
    tell_rails();
    tell_leaves();
    tell_nodes();
    tell_paths();
    tell_pairs();
    std::ranges::stable_sort(suspects_, {}, [](const Suspect& one) {
      return std::tuple(one.kind == SuspectKind::undecided, !one.is_unreachable, -one.confidence * one.loss);
    });
    return std::move(suspects_);
  }

 private:
  [[nodiscard]] bool is_measured(NicNumber nic) const {
    return ends_.sends(nic).state != EndState::unmeasured ||
           ends_.receives(nic).state != EndState::unmeasured;
  }

  [[nodiscard]] bool is_silent(NicNumber nic) const {
    return ends_.sends(nic).is_silent || ends_.receives(nic).is_silent;
  }

  void tell(Suspect suspect, const PathFault* path = nullptr) {
    std::ranges::stable_sort(suspect.evidence, {}, &Evidence::share);
    if (suspect.evidence.size() > Suspect::kMostEvidence) suspect.evidence.resize(Suspect::kMostEvidence);
    suspect.sentence = sentence_of(fabric_, suspect, path);
    suspects_.push_back(std::move(suspect));
  }

  void add_evidence(Suspect& suspect, const Reading& reading) const {
    const PairTest& test = records_[reading.record].test;
    suspect.evidence.push_back({test.id, test.rail, fabric_.node_of(reading.from),
                                fabric_.node_of(reading.to), reading.share, reading.is_low});
  }
  void add_evidence(Suspect& suspect, NicNumber nic) const {
    for (const bool is_sender : {true, false}) {
      const EndNumber end = 2 * nic + (is_sender ? 0 : 1);
      if (ends_.end(end).state != EndState::bad) continue;
      for (const std::uint32_t number : ends_.readings_of(end))
        add_evidence(suspect, readings_.list[number]);
    }
  }

  // Combines the bad ends of these NICs; a suspect is not unreachable if any of its data arrived.
  void weigh_in(Suspect& suspect, const std::vector<NicNumber>& nics) const {
    std::vector<double> losses;
    suspect.is_unreachable = true;
    for (const NicNumber nic : nics) {
      for (const EndView* end : {&ends_.sends(nic), &ends_.receives(nic)}) {
        if (end->state != EndState::bad) continue;
        losses.push_back(1 - end->share);
        suspect.confidence = std::max(suspect.confidence, end->confidence);
        suspect.partners = std::max(suspect.partners, end->partners);
        suspect.is_unreachable = suspect.is_unreachable && end->is_silent;
      }
      add_evidence(suspect, nic);
    }
    suspect.loss = median_of(losses);
  }

  // A rail that is slow everywhere has no slow node: its own reference hides the fault.
  void tell_rails() {
    std::vector<const Reference*> comparable;
    std::vector<double> centres;
    for (const Reference& one : readings_.references)
      if (one.has_expected && !one.is_pooled && one.locality != Locality::cross_leaf) {
        comparable.push_back(&one);
        centres.push_back(one.usual.centre);
      }
    if (comparable.size() < kLeastRails) return;
    const double middle = median_of(centres);
    for (const Reference* one : comparable) {
      const double loss = 1 - one->usual.centre / middle;
      if (loss < kRailLoss) continue;
      Suspect suspect;
      suspect.kind = SuspectKind::rail;
      suspect.rail = one->rail;
      suspect.loss = loss;
      suspect.confidence = 0.9;
      tell(std::move(suspect));
    }
  }

  void tell_leaves() {
    for (LeafNumber leaf = 0; leaf < fabric_.leaves().size(); ++leaf)
      for (RailNumber rail = 0; rail < fabric_.rails().size(); ++rail)
        tell_leaf(rail, leaf);
  }

  // The measured NICs under a leaf.
  struct Members {
    std::size_t measured = 0;
    std::vector<NicNumber> low;  // bad, or not known to be healthy
    std::vector<NicNumber> bad;  // number of bad NICs
  };

  [[nodiscard]] Members members_of(RailNumber rail, LeafNumber leaf) const {
    Members members;
    for (const NodeNumber node : fabric_.members(rail, leaf)) {
      const NicNumber nic = fabric_.number(rail, node);
      if (gone_[node] || !is_measured(nic)) continue;
      ++members.measured;
      const bool is_open =
          ends_.sends(nic).state == EndState::open || ends_.receives(nic).state == EndState::open;
      if (ends_.is_bad(nic) || is_open) members.low.push_back(nic);
      if (ends_.is_bad(nic)) members.bad.push_back(nic);
    }
    return members;
  }

  // Low tests between two of these NICs.
  [[nodiscard]] std::vector<const Reading*> low_among(const std::vector<NicNumber>& nics) const {
    std::vector<const Reading*> low;
    for (const NicNumber nic : nics)
      for (const std::uint32_t number : ends_.readings_of(2 * nic)) {
        const Reading& reading = readings_.list[number];
        if (reading.is_low && std::ranges::find(nics, reading.to) != nics.end()) low.push_back(&reading);
      }
    std::ranges::sort(low, {}, &Reading::record);
    return low;
  }

  // Least number of bad NICs, up to kEnoughOfLeaf, if the leaf is not the cause: the known ones, and one end
  // of each low pair.
  [[nodiscard]] static std::size_t fewest_bad(const Members& members,
                                              const std::vector<const Reading*>& low) {
    std::vector<std::set<NicNumber>> choices{{members.bad.begin(), members.bad.end()}};
    while (choices.front().size() < kEnoughOfLeaf) {
      std::vector<std::set<NicNumber>> larger;
      for (const std::set<NicNumber>& bad : choices) {
        const auto open = std::ranges::find_if(
            low, [&](const Reading* one) { return !bad.contains(one->from) && !bad.contains(one->to); });
        if (open == low.end()) return bad.size();
        for (const NicNumber nic : {(*open)->from, (*open)->to}) {
          larger.push_back(bad);
          larger.back().insert(nic);
        }
      }
      choices = std::move(larger);
    }
    return choices.front().size();
  }

  // Without healthy NICs elsewhere, the usual rate is unknown.
  [[nodiscard]] bool are_as_many_fine_elsewhere(RailNumber rail, LeafNumber leaf, std::size_t count) const {
    std::size_t fine = 0;
    for (NodeNumber node = 0; node < fabric_.nodes().size(); ++node)
      if (fabric_.leaf(node) != leaf && !gone_[node] && ends_.is_fine(fabric_.number(rail, node))) ++fine;
    return fine >= count;
  }

  [[nodiscard]] bool is_doubtful(RailNumber rail) const {
    return std::ranges::any_of(readings_.references,
                               [&](const Reference& one) { return one.rail == rail && one.is_doubtful; });
  }

  void tell_leaf(RailNumber rail, LeafNumber leaf) {
    if (is_doubtful(rail)) return;
    const Members members = members_of(rail, leaf);
    const std::size_t count = members.low.size();
    if (count < kLeastOfLeaf ||
        static_cast<double>(count) < kMostOfLeaf * static_cast<double>(members.measured))
      return;
    const std::vector<const Reading*> low = low_among(members.low);
    const std::size_t fewest = fewest_bad(members, low);
    if (fewest < std::min(kLeastOfLeaf, members.measured - 1)) return;
    if (!are_as_many_fine_elsewhere(rail, leaf, members.bad.empty() ? count : 1)) return;
    Suspect suspect;
    suspect.kind = SuspectKind::leaf;
    suspect.leaf = leaf;
    suspect.rail = rail;
    weigh_in(suspect, members.bad);
    weigh_among(suspect, low, fewest);
    if (suspect.loss < settings_.least_loss) return;
    for (const NicNumber nic : members.low) {
      told_[nic] = true;
      suspect.nodes.push_back(fabric_.node_of(nic));
    }
    tell(std::move(suspect));
  }

  // Tests among the NICs of a leaf are better evidence about the leaf than tests with others: no other NIC
  // and no path between leaves affects them.
  void weigh_among(Suspect& suspect, const std::vector<const Reading*>& low, std::size_t fewest) const {
    if (low.empty()) return;
    std::vector<double> losses;
    for (const Reading* reading : low) {
      losses.push_back(1 - reading->share);
      suspect.is_unreachable = suspect.is_unreachable && reading->is_silent;
      add_evidence(suspect, *reading);
    }
    suspect.loss = median_of(losses);
    const double by_chance = std::pow(0.5, static_cast<double>(fewest));
    suspect.confidence = std::max(suspect.confidence, std::min(kMostConfidence, 1 - by_chance));
  }

  void tell_nodes() {
    for (NodeNumber node = 0; node < fabric_.nodes().size(); ++node) {
      std::vector<NicNumber> bad;
      std::size_t measured = 0;
      for (RailNumber rail = 0; rail < fabric_.rails().size(); ++rail) {
        const NicNumber nic = fabric_.number(rail, node);
        if (gone_[node] || told_[nic] || !is_measured(nic)) continue;
        ++measured;
        if (!ends_.is_bad(nic)) continue;
        if (is_doubtful(rail) && !is_silent(nic))
          tell_doubt(nic);
        else
          bad.push_back(nic);
      }
      if (bad.size() >= 2 && static_cast<double>(bad.size()) >= kMostOfRails * static_cast<double>(measured))
        tell_node(node, bad);
      else
        for (const NicNumber nic : bad)
          tell_nic(nic);
    }
  }

  void tell_node(NodeNumber node, const std::vector<NicNumber>& bad) {
    Suspect suspect;
    suspect.kind = SuspectKind::node;
    suspect.nodes = {node};
    weigh_in(suspect, bad);
    // Low pairs on its other rails belong to the node as well.
    for (RailNumber rail = 0; rail < fabric_.rails().size(); ++rail)
      told_[fabric_.number(rail, node)] = true;
    tell(std::move(suspect));
  }

  void tell_nic(NicNumber nic) {
    Suspect suspect;
    const bool sends = ends_.sends(nic).state == EndState::bad;
    const bool receives = ends_.receives(nic).state == EndState::bad;
    suspect.kind = sends && receives ? SuspectKind::nic
                   : sends           ? SuspectKind::nic_sends
                                     : SuspectKind::nic_receives;
    suspect.nodes = {fabric_.node_of(nic)};
    suspect.rail = fabric_.rail_of(nic);
    weigh_in(suspect, {nic});
    told_[nic] = true;
    for (RailNumber rail = 0; rail < fabric_.rails().size(); ++rail)
      if (ends_.is_fine(fabric_.number(rail, fabric_.node_of(nic)))) ++suspect.fine_rails;
    tell(std::move(suspect));
  }

  // Names the NIC with its lowest partner: either can be slow, or the fast NICs can be the unusual ones.
  void tell_doubt(NicNumber nic) {
    const Reading* lowest = nullptr;
    for (const EndNumber end : {2 * nic, 2 * nic + 1})
      for (const std::uint32_t number : ends_.readings_of(end))
        if (const Reading& one = readings_.list[number]; lowest == nullptr || one.share < lowest->share)
          lowest = &one;
    told_[nic] = true;
    Suspect suspect;
    suspect.nodes = {std::min(fabric_.node_of(lowest->from), fabric_.node_of(lowest->to)),
                     std::max(fabric_.node_of(lowest->from), fabric_.node_of(lowest->to))};
    suspect.rail = fabric_.rail_of(nic);
    const auto is_same = [&](const Suspect& one) {
      return one.nodes == suspect.nodes && one.rail == suspect.rail;
    };
    if (std::ranges::any_of(suspects_, is_same)) return;
    suspect.is_unreachable = lowest->is_silent;
    suspect.loss = 1 - lowest->share;
    suspect.confidence = kUndecided;
    add_evidence(suspect, *lowest);
    tell(std::move(suspect));
  }

  void tell_paths() {
    const std::vector<Flow> flows = read_flows(fabric_, records_, readings_, ends_, gone_, settings_);
    for (const PathFault& fault : find_path_faults(fabric_, flows, settings_)) {
      Suspect suspect;
      suspect.kind = fault.kind == PathKind::all_uplinks      ? SuspectKind::uplinks
                     : fault.kind == PathKind::one_uplink     ? SuspectKind::uplink
                     : fault.kind == PathKind::between_leaves ? SuspectKind::between_leaves
                                                              : SuspectKind::spine;
      suspect.rail = fault.rail;
      suspect.leaf = fault.leaf;
      suspect.other_leaf = fault.other;
      suspect.loss = 1 - fault.share;
      suspect.confidence = fault.confidence;
      explained_.insert(fault.records.begin(), fault.records.end());
      for (const std::uint32_t record : fault.records)
        for (const std::uint32_t number :
             ends_.readings_of(2 * fabric_.number(fault.rail, records_[record].test.source)))
          if (readings_.list[number].record == record) add_evidence(suspect, readings_.list[number]);
      // A single path between two NICs can also be a fault of these two NICs.
      if (suspect.kind == SuspectKind::between_leaves && fault.records.size() < 2) {
        suspect.nodes = {records_[fault.records.front()].test.source,
                         records_[fault.records.front()].test.destination};
      }
      tell(std::move(suspect), &fault);
    }
  }

  // Uses the direction with more evidence.
  void tell_pairs() {
    const std::vector<LowPair> pairs = ends_.low_pairs();
    std::set<std::pair<NicNumber, NicNumber>> seen;
    for (const bool are_links : {true, false})
      for (const LowPair& pair : pairs) {
        const bool is_link = may_be_link(pair) && pair.low >= 2 && pair.confidence >= kLeastOfLink;
        if (is_link != are_links || !is_told(pair)) continue;
        if (seen.insert(std::minmax(pair.from, pair.to)).second) tell_pair(pair, is_link);
      }
  }

  // Between leaves, one flow can share an uplink each time.
  [[nodiscard]] bool may_be_link(const LowPair& pair) const {
    return pair.are_ends_fine && !is_doubtful(fabric_.rail_of(pair.from)) &&
           (!pair.is_cross || pair.is_silent || !settings_.is_one_flow());
  }

  [[nodiscard]] bool is_told(const LowPair& pair) const {
    if (told_[pair.from] || told_[pair.to] || !pair.is_significant) return false;
    // The repeated test was as usual.
    if (pair.are_ends_fine && pair.low < pair.readings.size()) return false;
    return !pair.is_cross || std::ranges::none_of(pair.readings, [&](std::uint32_t number) {
      return explained_.contains(readings_.list[number].record);
    });
  }

  void tell_pair(const LowPair& pair, bool is_link) {
    Suspect suspect;
    suspect.kind = is_link ? SuspectKind::link : SuspectKind::undecided;
    suspect.is_unreachable = pair.is_silent;
    suspect.nodes = {std::min(fabric_.node_of(pair.from), fabric_.node_of(pair.to)),
                     std::max(fabric_.node_of(pair.from), fabric_.node_of(pair.to))};
    suspect.rail = fabric_.rail_of(pair.from);
    suspect.loss = 1 - pair.share;
    suspect.confidence = is_link ? pair.confidence : kUndecided;
    for (const std::uint32_t number : pair.readings)
      add_evidence(suspect, readings_.list[number]);
    tell(std::move(suspect));
  }

  const Fabric& fabric_;
  const std::vector<Record>& records_;
  const std::vector<bool>& gone_;
  const Readings& readings_;
  const Ends& ends_;
  const PairSettings& settings_;
  std::vector<bool> told_;             // by NIC
  std::set<std::uint32_t> explained_;  // tests between leaves
  std::vector<Suspect> suspects_;
};

std::vector<Unmeasured> unmeasured_of(const Fabric& fabric, const std::vector<Record>& records,
                                      const std::vector<bool>& gone, const Ends& ends) {
  std::vector<Unmeasured> list;
  const std::size_t nodes = fabric.nodes().size();
  std::vector<std::optional<Missing>> last(fabric.nics());
  for (const Record& record : records)
    for (const NodeNumber node : {record.test.source, record.test.destination})
      if (record.result && record.result->missing)
        last[fabric.number(record.test.rail, node)] = record.result->missing;
  for (RailNumber rail = 0; rail < fabric.rails().size(); ++rail)
    for (NodeNumber node = 0; node < nodes; ++node) {
      const auto nic = fabric.number(rail, node);
      if (fabric.nic(rail, node) == nullptr) continue;
      if (gone[node])
        list.push_back({rail, node, Missing::cancelled});
      else if (ends.sends(nic).state == EndState::unmeasured &&
               ends.receives(nic).state == EndState::unmeasured)
        list.push_back({rail, node, last[nic]});
    }
  return list;
}

std::vector<Cell> cells_of(const std::vector<Record>& records, const Readings& readings) {
  std::vector<Cell> cells;
  cells.reserve(records.size());
  for (const Record& record : records) {
    const PairTest& test = record.test;
    Cell cell{test.rail, test.source, test.destination, record.round, record.locality, {}, {}, {}, {}, {}};
    if (const Reference* reference = find_reference(readings.references, record)) {
      const double usual = reference->usual.centre * record.expected.value_or(1);
      cell.usual = usual;
      if (reference->usual_back) cell.usual_backward = usual * *reference->usual_back;
    }
    if (record.result) {
      if (!record.result->forward.empty()) cell.forward = median_of(record.result->forward);
      if (!record.result->backward.empty()) cell.backward = median_of(record.result->backward);
      cell.missing = record.result->missing;
    }
    cells.push_back(cell);
  }
  return cells;
}

// Of these rails, those with a slow suspect.
std::vector<RailNumber> rails_of_slow(const std::vector<Suspect>& suspects, std::vector<RailNumber> rails) {
  std::erase_if(rails, [&](RailNumber rail) {
    return std::ranges::none_of(suspects, [rail](const Suspect& one) {
      return one.kind != SuspectKind::undecided && !one.is_unreachable && one.rail.value_or(rail) == rail;
    });
  });
  return rails;
}

}  // namespace

Verdict make_verdict(const Fabric& fabric, const std::vector<Record>& records, const std::vector<bool>& gone,
                     const PairSettings& settings) {
  Verdict verdict;
  Readings readings = read_records(fabric, records, gone, settings);
  const Ends ends(fabric.nics(), readings, settings);
  const auto tell = [&] {
    if (verdict.hidden_leaves.empty())
      return Telling(fabric, records, gone, readings, ends, settings).suspects();
    const Readings rest = without_hidden_leaves(readings, records, verdict.hidden_leaves);
    return Telling(fabric, records, gone, rest, Ends(fabric.nics(), rest, settings), settings).suspects();
  };
  verdict.hidden_leaves = rails_of_hidden_leaves(fabric, records, readings, ends, settings);
  verdict.suspects = tell();
  const std::vector<RailNumber> more =
      rails_of_slow(verdict.suspects, rails_that_fit_leaves(fabric, records, gone, readings, ends, settings));
  if (!more.empty()) {
    std::vector<RailNumber> hidden;
    std::ranges::set_union(verdict.hidden_leaves, more, std::back_inserter(hidden));
    verdict.hidden_leaves = std::move(hidden);
    verdict.suspects = tell();
  }
  verdict.unmeasured = unmeasured_of(fabric, records, gone, ends);
  verdict.cells = cells_of(records, readings);
  verdict.tests = records.size();
  verdict.measured = static_cast<std::size_t>(std::ranges::count_if(
      records, [](const Record& record) { return record.result && !record.result->missing; }));
  verdict.noise = readings.noise;
  verdict.references = std::move(readings.references);
  return verdict;
}

}  // namespace autopilot::nettest
