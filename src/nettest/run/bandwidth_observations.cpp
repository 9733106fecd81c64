// SPDX-License-Identifier: Apache-2.0
#include "nettest/run/bandwidth_observations.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "nettest/run/observation_writer.hpp"
#include "nettest/run/way_back.hpp"

namespace autopilot::nettest {
namespace {

std::string name_of(const Fabric& fabric, NodeNumber node) {
  return fabric.nodes()[node].name;
}

std::string port_of(const Fabric& fabric, NodeNumber node, RailNumber rail) {
  const RailNic* const nic = fabric.nic(rail, node);
  return nic == nullptr ? fabric.rails()[rail] : nic->interface;
}

std::string end_of(const Fabric& fabric, NodeNumber node, RailNumber rail) {
  return name_of(fabric, node) + "/" + port_of(fabric, node, rail);
}

Subject link_of(const Fabric& fabric, RailNumber rail, NodeNumber from, NodeNumber to) {
  return subject_of(SubjectKind::link, end_of(fabric, from, rail) + "|" + end_of(fabric, to, rail));
}

// "leaf L1, leaf L2, rail ib0"; where all have it in common "spine".
std::string common_of(const Fabric& fabric, const Suspect& suspect) {
  std::string text;
  const auto add = [&text](const std::string& what) { text += (text.empty() ? "" : ", ") + what; };
  if (suspect.leaf) add("leaf " + fabric.leaves()[*suspect.leaf]);
  if (suspect.other_leaf) add("leaf " + fabric.leaves()[*suspect.other_leaf]);
  if (suspect.rail) add("rail " + fabric.rails()[*suspect.rail]);
  return text.empty() ? "spine" : text;
}

// A node, one end of a line, both of them, or what several lines have in common.
Subject suspect_of(const Fabric& fabric, const Suspect& suspect, bool is_node) {
  const bool is_pair = suspect.nodes.size() == 2 && suspect.rail;
  if (!is_pair && suspect.nodes.size() != 1) return subject_of(SubjectKind::peer, common_of(fabric, suspect));
  const NodeNumber first = suspect.nodes.front();
  if (is_node || !suspect.rail) return subject_of(SubjectKind::peer, name_of(fabric, first));
  if (is_pair) return link_of(fabric, *suspect.rail, first, suspect.nodes[1]);
  return port_at(name_of(fabric, first), port_of(fabric, first, *suspect.rail));
}

void add_suspect(const BandwidthFound& found, const Suspect& suspect, ObservationWriter& writer) {
  const bool is_node = found.is_line_node && suspect.nodes.size() == 1;
  Observation& told = writer.add(suspect_of(found.fabric, suspect, is_node), "bandwidth.suspect",
                                 suspect.confidence, "ratio");
  told.attributes = {{"kind", std::string(to_string(is_node ? SuspectKind::node : suspect.kind))},
                     {"loss", suspect.loss},
                     {"unreachable", suspect.is_unreachable},
                     {"partners", static_cast<std::int64_t>(suspect.partners)},
                     {"sentence", suspect.sentence}};
}

// The latest test of each pair: it has the most evidence.
std::vector<std::uint32_t> last_tests(const Verdict& verdict) {
  std::map<std::tuple<RailNumber, NodeNumber, NodeNumber>, std::uint32_t> pairs;
  for (std::uint32_t test = 0; test < verdict.cells.size(); ++test) {
    const Cell& cell = verdict.cells[test];
    pairs[{cell.rail, cell.source, cell.destination}] = test;
  }
  std::vector<std::uint32_t> tests;
  for (const auto& [pair, test] : pairs)
    tests.push_back(test);
  return tests;
}

double share_of(double received, const std::optional<double>& usual) {
  return usual ? received / *usual : 1;
}

// Share of the usual rate in the slower direction; unmeasured pairs come first, and pairs without comparison
// last.
double share_of(const Cell& cell) {
  if (!cell.forward || !cell.backward) return -1;
  return std::min(share_of(*cell.forward, cell.usual), share_of(*cell.backward, cell.usual_backward));
}

void add_pod(const BandwidthFound& found, const char* name, NodeNumber node, Observation& told) {
  if (!found.pods[node].empty()) told.attributes.emplace_back(name, found.pods[node]);
}

// One direction of a test, with the usual rate for it; nullopt: not measured, not known.
struct WayFound {
  NodeNumber from = 0;
  NodeNumber to = 0;
  std::optional<double> received;  // bits/s
  std::optional<double> usual;     // bits/s
};

std::array<WayFound, 2> ways_of(const Cell& cell) {
  return {{{cell.source, cell.destination, cell.forward, cell.usual},
           {cell.destination, cell.source, cell.backward, cell.usual_backward}}};
}

void add_latency(const BandwidthFound& found, std::uint32_t test, Observation& told) {
  const auto latency = found.latencies.find(test);
  if (latency == found.latencies.end()) return;
  told.attributes.emplace_back("latency_microseconds", latency->second.typical);
  told.attributes.emplace_back("latency_p99_microseconds", latency->second.p99);
}

using Pair = std::tuple<RailNumber, NodeNumber, NodeNumber>;

Pair pair_of(const Cell& cell) {
  return {cell.rail, std::min(cell.source, cell.destination), std::max(cell.source, cell.destination)};
}

// One for each pair, whichever of its tests it was.
std::set<Pair> add_wrong(const BandwidthFound& found, ObservationWriter& writer) {
  std::set<Pair> pairs;
  for (const auto& [test, wrong] : found.wrong) {
    const Cell& cell = found.verdict.cells[test];
    if (pairs.size() >= kMostPairsTold || !pairs.insert(pair_of(cell)).second) continue;
    Observation& told = writer.add(link_of(found.fabric, cell.rail, cell.source, cell.destination),
                                   "bandwidth.wrong", 1.0, "");
    told.attributes = {{"source", name_of(found.fabric, cell.source)},
                       {"destination", name_of(found.fabric, cell.destination)},
                       {"interface", found.fabric.rails()[cell.rail]},
                       {"problem", wrong.problem}};
    if (!wrong.node.empty()) told.attributes.emplace_back("wrong_at", wrong.node);
  }
  return pairs;
}

void add_way(const BandwidthFound& found, std::uint32_t test, const WayFound& way,
             ObservationWriter& writer) {
  const Fabric& fabric = found.fabric;
  const Cell& cell = found.verdict.cells[test];
  const Subject subject = link_of(fabric, cell.rail, way.from, way.to);
  const double rate = way.received && *way.received > kNothingArrived ? *way.received : 0;
  Observation& told = writer.add(subject, "bandwidth.received", rate, "bits_per_second");
  if (!way.received && cell.missing != Missing::no_answer) {
    told.value.reset();
    told.missing = cell.missing ? std::string(to_string(*cell.missing)) : "not_tested";
  }
  told.attributes = {{"source", name_of(fabric, way.from)}, {"destination", name_of(fabric, way.to)}};
  add_pod(found, "source_pod", way.from, told);
  add_pod(found, "destination_pod", way.to, told);
  told.attributes.emplace_back("interface", fabric.rails()[cell.rail]);
  if (way.usual) told.attributes.emplace_back("usual", *way.usual);
  if (way.from == cell.source) add_latency(found, test, told);
  if (const auto why = found.problems.find(test); why != found.problems.end())
    told.attributes.emplace_back(told.value ? "problem" : "error", why->second);
  else if (!told.value && !cell.missing)
    told.attributes.emplace_back("error", std::string(kEndedBefore));
}

void add_unknown(const Subject& subject, std::string_view name, const std::string& why,
                 ObservationWriter& writer) {
  Observation& told = writer.add(subject, name, 0.0, "");
  told.value.reset();
  told.missing = "not_tested";
  told.attributes = {{"error", why}};
}

bool is_of_node(const BandwidthFound& found, const LeftOut& left) {
  return left.line.empty() || found.is_line_node;
}

// Nodes and lines that a reader expects among the tested.
void add_left_out(const BandwidthFound& found, ObservationWriter& writer) {
  std::size_t count = 0;
  for (const LeftOut& left : found.left_out) {
    if (!left.is_missed || ++count > kMostLeftOutTold) continue;
    add_unknown(
        is_of_node(found, left) ? subject_of(SubjectKind::peer, left.node) : port_at(left.node, left.line),
        "bandwidth.left_out", left.why, writer);
  }
}

// Below different switches a pair has one flow of many through shared links: what it alone shows is the luck
// of the draw.
bool is_open_question(const Fabric& fabric, const Suspect& suspect) {
  if (suspect.kind != SuspectKind::undecided || suspect.nodes.empty()) return false;
  return suspect.nodes.size() != 2 ||
         fabric.locality(suspect.nodes[0], suspect.nodes[1]) != Locality::cross_leaf;
}

// Also where nothing is missing of the rounds that were made: what they show decides what is tested next.
void add_rest(const Verdict& verdict, ObservationWriter& writer) {
  if (verdict.is_complete) return;
  add_unknown(host_subject(), "bandwidth.rest",
              std::string(kEndedBefore) + " it was complete: " + std::to_string(verdict.measured) + " of " +
                  std::to_string(verdict.tests) + " tests until round " + std::to_string(verdict.rounds),
              writer);
}

// "net0, net1": rails on which it matters which node is below which switch, and this is unknown.
std::string hidden_rails(const BandwidthFound& found) {
  std::string rails;
  for (const RailNumber rail : found.verdict.hidden_leaves)
    rails += (rails.empty() ? "" : ", ") + found.fabric.rails()[rail];
  return rails;
}

void add_open_questions(const BandwidthFound& found, ObservationWriter& writer) {
  for (const Suspect& suspect : found.verdict.suspects)
    if (is_open_question(found.fabric, suspect))
      add_unknown(suspect_of(found.fabric, suspect, false), "bandwidth.decision", suspect.sentence, writer);
  if (const std::string rails = hidden_rails(found); !rails.empty())
    add_unknown(host_subject(), "bandwidth.comparison",
                rails +
                    ": the slow pairs match nodes below different switches with fewer lines between them, or "
                    "too many nodes are slow to find the culprits; configure the leaf switch of each node "
                    "(network.leaf_label, network.leaf)",
                writer);
  else if (found.verdict.measured > 0 && found.verdict.references.empty())
    add_unknown(host_subject(), "bandwidth.comparison", "too few pairs to compare them", writer);
}

std::size_t tested_nodes(const Verdict& verdict) {
  std::set<NodeNumber> nodes;
  for (const Cell& cell : verdict.cells)
    nodes.insert({cell.source, cell.destination});
  return nodes.size();
}

// ", without h6 and 2 more"
std::string missed_text(const BandwidthFound& found) {
  std::vector<std::string> missed;
  for (const LeftOut& left : found.left_out)
    if (left.is_missed) missed.push_back(left.node + (is_of_node(found, left) ? "" : "/" + left.line));
  if (missed.empty()) return "";
  return ", without " + missed.front() +
         (missed.size() > 1 ? " and " + std::to_string(missed.size() - 1) + " more" : "");
}

}  // namespace

Observations bandwidth_observations(const BandwidthFound& found, Instant ended) {
  const Verdict& verdict = found.verdict;
  std::vector<std::uint32_t> told = last_tests(verdict);
  const std::size_t left_out = told.size() > kMostPairsTold ? told.size() - kMostPairsTold : 0;
  if (left_out > 0) {
    std::ranges::stable_sort(told, {},
                             [&verdict](std::uint32_t test) { return share_of(verdict.cells[test]); });
    told.resize(kMostPairsTold);
  }
  ObservationWriter writer(ended);
  Observation& outcome = writer.add(host_subject(), "bandwidth.outcome", std::string("measured"), "");
  outcome.attributes = {{"rounds", static_cast<std::int64_t>(verdict.rounds)},
                        {"pairs", static_cast<std::int64_t>(verdict.tests)},
                        {"complete", verdict.is_complete}};
  if (left_out > 0) outcome.attributes.emplace_back("left_out", static_cast<std::int64_t>(left_out));
  const std::set<Pair> wrong = add_wrong(found, writer);
  for (const std::uint32_t test : told) {
    if (wrong.contains(pair_of(verdict.cells[test]))) continue;
    for (const WayFound& way : ways_of(verdict.cells[test]))
      add_way(found, test, way, writer);
  }
  for (const Suspect& suspect : verdict.suspects)
    add_suspect(found, suspect, writer);
  add_rest(verdict, writer);
  add_open_questions(found, writer);
  add_left_out(found, writer);
  return writer.take();
}

Observations no_bandwidth_targets(Instant now) {
  ObservationWriter writer(now);
  writer.add(host_subject(), "bandwidth.outcome", std::string("no_targets"), "");
  return writer.take();
}

std::string bandwidth_sentence(const BandwidthFound& found) {
  const Verdict& verdict = found.verdict;
  std::string text = std::to_string(verdict.measured) + " of " + std::to_string(verdict.tests) +
                     " tests of pairs of " + std::to_string(tested_nodes(verdict)) + " nodes measured in " +
                     std::to_string(verdict.rounds) + (verdict.rounds == 1 ? " round" : " rounds") +
                     missed_text(found) + (verdict.is_complete ? ": " : "; not complete: ");
  if (!found.wrong.empty())
    text += "what GPUs summed up was wrong in " + std::to_string(found.wrong.size()) + " of them; ";
  if (const std::string rails = hidden_rails(found); !rails.empty())
    text += "the slow nodes on " + rails + " cannot be determined; ";
  if (verdict.suspects.empty())
    return text + (verdict.references.empty() ? "too few pairs to compare them"
                   : verdict.is_complete      ? "no suspect found"
                                              : "no suspect found yet");
  text += verdict.suspects.front().sentence;
  if (verdict.suspects.size() > 1) text += "; and " + std::to_string(verdict.suspects.size() - 1) + " more";
  return text;
}

}  // namespace autopilot::nettest
