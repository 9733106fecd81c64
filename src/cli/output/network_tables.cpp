// SPDX-License-Identifier: Apache-2.0
#include "cli/output/network_tables.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/output/layout.hpp"
#include "core/observation.hpp"
#include "core/value.hpp"

namespace autopilot::cli {

namespace {

constexpr double kLowShare = 0.9;  // of the typical rate: colours the cell, without a verdict
constexpr std::size_t kMostPairs = 20;
constexpr std::size_t kMostSuspects = 20;

// One direction of a pair.
struct Way {
  std::string source;
  std::string destination;
  std::optional<double> received;  // bits/s; nullopt: not measured
  std::optional<double> share;     // of the typical rate; nullopt: not known
  bool is_wrong = false;           // the sum that its GPUs computed
};
using Ways = std::vector<Way>;

double number_of(const Observation& observation, std::string_view name, double otherwise) {
  for (const auto& [key, value] : observation.attributes)
    if (key == name) return as_number(value).value_or(otherwise);
  return otherwise;
}

Way way_of(const Observation& pair) {
  Way way{.source = attribute_text(pair, "source"),
          .destination = attribute_text(pair, "destination"),
          .received = pair.value ? as_number(*pair.value) : std::nullopt};
  const double usual = number_of(pair, "usual", 0);
  if (way.received && usual > 0) way.share = *way.received / usual;
  if (way.received == 0.0) way.share = 0;
  return way;
}

// Both directions of a pair.
void add_wrong(const Observation& pair, Ways& ways) {
  const std::string source = attribute_text(pair, "source");
  const std::string destination = attribute_text(pair, "destination");
  ways.push_back(
      {.source = source, .destination = destination, .received = {}, .share = 0, .is_wrong = true});
  ways.push_back(
      {.source = destination, .destination = source, .received = {}, .share = 0, .is_wrong = true});
}

std::string format(const char* form, double number) {
  std::array<char, 32> text{};
  (void)std::snprintf(text.data(), text.size(), form, number);
  return text.data();
}

Cell cell_of(const Way& way) {
  if (way.is_wrong) return {"!", color_of(Health::degraded)};
  if (!way.received) return {"?"};
  const bool is_low = way.share && *way.share < kLowShare;
  return {gigabits(*way.received), is_low ? color_of(Health::degraded) : std::string_view{}};
}

// Rows have numbers and names, columns only numbers.
std::string matrix(const Ways& ways, const std::set<std::string>& nodes, const TableStyle& style) {
  std::map<std::pair<std::string, std::string>, const Way*> known;
  for (const Way& way : ways)
    known[{way.source, way.destination}] = &way;
  std::vector<std::string> titles{"FROM \\ TO"};
  std::vector<Row> rows;
  for (const std::string& source : nodes) {
    titles.push_back(std::to_string(titles.size()));
    Row row{{std::to_string(rows.size() + 1) + " " + source}};
    for (const std::string& destination : nodes) {
      const auto found = known.find({source, destination});
      row.push_back(found == known.end() ? Cell{source == destination ? "-" : "."} : cell_of(*found->second));
    }
    rows.push_back(std::move(row));
  }
  return render_columns(titles, std::move(rows), style);
}

// Directions that were not measured come first.
double order_of(const Way& way) {
  return way.received || way.is_wrong ? way.share.value_or(1) : -1;
}

std::string lowest(Ways ways, const TableStyle& style) {
  std::ranges::stable_sort(ways, {}, order_of);
  const std::size_t more = ways.size() > kMostPairs ? ways.size() - kMostPairs : 0;
  ways.resize(ways.size() - more);
  std::vector<Row> rows;
  for (const Way& way : ways)
    rows.push_back({{way.source},
                    {way.destination},
                    cell_of(way),
                    {way.share ? format("%.0f %%", 100 * *way.share) : "?"}});
  return render_columns({"FROM", "TO", "GBIT/S", "OF TYPICAL"}, std::move(rows), style) +
         (more > 0 ? "and " + std::to_string(more) + " more that are not slower\n" : "");
}

std::string interface_table(const std::string& title, const Ways& ways, const TableStyle& style) {
  std::set<std::string> nodes;
  for (const Way& way : ways)
    nodes.insert({way.source, way.destination});
  const bool has_room = nodes.size() <= kMostMatrixNodes;
  return title + (has_room ? ", Gbit/s\n" : ", slowest pairs\n") +
         (has_room ? matrix(ways, nodes, style) : lowest(ways, style));
}

std::string not_tested_table(const std::vector<const Observation*>& left_out, const TableStyle& style) {
  if (left_out.empty()) return "";
  std::vector<Row> rows;
  for (const Observation* left : left_out)
    rows.push_back({{to_string(left->subject)}, {attribute_text(*left, "error")}});
  return "\n" + render_columns({"NOT TESTED", "REASON"}, std::move(rows), style);
}

std::string suspects_table(std::vector<const Observation*> suspects, bool is_complete,
                           const TableStyle& style) {
  if (suspects.empty()) return is_complete ? "Suspects: none\n" : "Suspects: none yet\n";
  const auto confidence_of = [](const Observation* suspect) {
    return suspect->value ? as_number(*suspect->value).value_or(0) : 0;
  };
  std::ranges::stable_sort(suspects, std::ranges::greater{}, confidence_of);
  const std::size_t more = suspects.size() > kMostSuspects ? suspects.size() - kMostSuspects : 0;
  suspects.resize(suspects.size() - more);
  std::vector<Row> rows;
  for (const Observation* suspect : suspects)
    rows.push_back({{to_string(suspect->subject)},
                    {attribute_text(*suspect, "kind")},
                    {format("%.0f %%", 100 * number_of(*suspect, "loss", 0))},
                    {format("%.2f", confidence_of(suspect))},
                    {attribute_text(*suspect, "sentence")}});
  return render_columns({"SUSPECT", "KIND", "SLOWER BY", "CONFIDENCE", "REASON"}, std::move(rows), style) +
         (more > 0 ? "and " + std::to_string(more) + " more with lower confidence\n" : "");
}

}  // namespace

std::string render_bandwidth(const Observations& observations, std::string_view out_of,
                             const TableStyle& style) {
  std::map<std::string, Ways> interfaces;
  std::vector<const Observation*> suspects;
  std::vector<const Observation*> left_out;
  std::string rest;
  for (const Observation& one : observations) {
    if (one.name == "bandwidth.received") interfaces[attribute_text(one, "interface")].push_back(way_of(one));
    if (one.name == "bandwidth.wrong") add_wrong(one, interfaces[attribute_text(one, "interface")]);
    if (one.name == "bandwidth.suspect") suspects.push_back(&one);
    if (one.name == "bandwidth.left_out") left_out.push_back(&one);
    if (one.name == "bandwidth.rest") rest = "NOT COMPLETE: " + attribute_text(one, "error") + "\n";
  }
  if (interfaces.empty()) return "";
  std::string text;
  for (const auto& [interface, ways] : interfaces)
    text += interface_table(printable(interface) + (out_of.empty() ? "" : ", " + std::string(out_of)), ways,
                            style) +
            "\n";
  return text + rest + suspects_table(std::move(suspects), rest.empty(), style) +
         not_tested_table(left_out, style);
}

namespace {

Row row_of(const Observation& group) {
  const auto rate = group.value ? as_number(*group.value) : std::nullopt;
  return {{group.subject.key},
          {attribute_text(group, "nodes")},
          {attribute_text(group, "ranks")},
          {rate ? gigabits(*rate) : "?"},
          {rate ? attribute_text(group, "members") : attribute_text(group, "error")}};
}

// The subject is the node whose GPU got the wrong sum, or the group if the node is not known.
Row wrong_row_of(const Observation& wrong) {
  const std::string group = attribute_text(wrong, "group");
  const std::string at = wrong.subject.key == group ? "" : wrong.subject.key + ": ";
  return {{group}, {}, {}, {"!", color_of(Health::degraded)}, {at + attribute_text(wrong, "problem")}};
}

}  // namespace

std::string render_groups(const Observations& observations, const TableStyle& style) {
  std::vector<Row> rows;
  for (const Observation& one : observations) {
    if (one.name == "group.bus") rows.push_back(row_of(one));
    if (one.name == "group.wrong") rows.push_back(wrong_row_of(one));
  }
  if (rows.empty()) return "";
  return render_columns({"ALL-REDUCE", "NODES", "GPUS", "GBIT/S", "MEMBERS, OR ERROR"}, std::move(rows),
                        style);
}

namespace {

std::string pairs_on(const api::BandwidthPlan& plan, const std::string& rail) {
  std::string text;
  std::size_t count = 0;
  for (const api::PlannedPair& pair : plan.pairs) {
    if (pair.rail != rail || ++count > kMostPairsShown) continue;
    text += (text.empty() ? "" : ", ") + pair.source + " with " + pair.destination;
  }
  if (count > kMostPairsShown) text += " and " + std::to_string(count - kMostPairsShown) + " more";
  return count == 0 ? "none" : text;
}

std::string rails_table(const api::BandwidthPlan& plan, const TableStyle& style) {
  std::vector<Row> rows;
  for (const api::PlannedRail& rail : plan.rails)
    rows.push_back({{rail.rail}, {std::to_string(rail.nodes.size())}, {pairs_on(plan, rail.rail)}});
  return render_columns({"RAIL", "NODES", "PAIRS OF THE FIRST ROUND"}, std::move(rows), style);
}

std::string left_out_table(const api::BandwidthPlan& plan, const TableStyle& style) {
  if (plan.left_out.empty()) return "";
  std::vector<Row> rows;
  for (const api::LeftOut& left : plan.left_out)
    rows.push_back({{left.node}, {left.why}});
  return "\n" + render_columns({"LEFT OUT", "REASON"}, std::move(rows), style);
}

// share: " with 40 % of the line rate"
std::string rounds_text(const api::BandwidthPlan& plan, const std::string& share) {
  const std::string seconds = std::to_string(plan.seconds) + " s";
  if (plan.rounds > 1)
    return "All pairs are tested, in " + std::to_string(plan.rounds) + " rounds of about " + seconds + share +
           ".\nOne more round repeats the pairs with a suspect path.";
  return "The first round takes about " + seconds + share +
         ". Its results select the pairs\nof the second round; a third round confirms.";
}

}  // namespace

std::string render_plan(const api::BandwidthPlan& plan, const TableStyle& style) {
  const std::string share = plan.most_percent < 100
                                ? " with " + std::to_string(plan.most_percent) + " % of the line rate"
                                : " at the full line rate";
  return simulated_line(plan.simulated, style) + rails_table(plan, style) + "\n" + rounds_text(plan, share) +
         " Nothing was measured.\n" + left_out_table(plan, style);
}

std::string gigabits(double rate) {
  constexpr double kGiga = 1e9;
  const double giga = rate / kGiga;
  std::array<char, 32> text{};
  (void)std::snprintf(text.data(), text.size(), giga >= 100 ? "%.0f" : giga >= 10 ? "%.1f" : "%.2f", giga);
  return text.data();
}

}  // namespace autopilot::cli
