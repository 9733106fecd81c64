// SPDX-License-Identifier: Apache-2.0
#include "cli/output/bandwidth_plan_table.hpp"

#include <vector>

#include "cli/output/columns.hpp"
#include "cli/output/paint.hpp"

namespace autopilot::cli {
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

}  // namespace autopilot::cli
