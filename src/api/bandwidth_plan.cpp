// SPDX-License-Identifier: Apache-2.0
#include "api/bandwidth_plan.hpp"

#include "api/wire.hpp"

namespace autopilot::api {
namespace {

PlannedRail read_rail(const JsonObject& object) {
  return {object.word("rail"), object.words("nodes")};
}

PlannedPair read_pair(const JsonObject& object) {
  return {object.word("rail"), object.word("source"), object.word("destination")};
}

LeftOut read_left_out(const JsonObject& object) {
  return {object.word("node"), object.word("why")};
}

BandwidthPlan read_plan(const JsonObject& object) {
  return {.rails = object.list("rails", read_rail),
          .pairs = object.list("firstRound", read_pair),
          .seconds = object.count("firstRoundSeconds"),
          .rounds = object.count("rounds"),
          .most_percent = object.count("mostPercent"),
          .left_out = object.list("leftOut", read_left_out),
          .simulated = object.flag_or_false("simulated")};
}

}  // namespace

std::string to_json(const BandwidthPlan& plan) {
  JsonWriter out;
  out.begin_object();
  out.flag("simulated", plan.simulated);
  out.begin_list("rails");
  for (const PlannedRail& rail : plan.rails) {
    out.begin_object();
    out.word("rail", rail.rail);
    out.words("nodes", rail.nodes);
    out.end_object();
  }
  out.end_list();
  out.begin_list("firstRound");
  for (const PlannedPair& pair : plan.pairs) {
    out.begin_object();
    out.word("rail", pair.rail);
    out.word("source", pair.source);
    out.word("destination", pair.destination);
    out.end_object();
  }
  out.end_list();
  out.count("firstRoundSeconds", plan.seconds);
  out.count("rounds", plan.rounds);
  out.count("mostPercent", plan.most_percent);
  out.begin_list("leftOut");
  for (const LeftOut& left : plan.left_out) {
    out.begin_object();
    out.word("node", left.node);
    out.word("why", left.why);
    out.end_object();
  }
  out.end_list();
  out.end_object();
  return out.take();
}

Result<BandwidthPlan> parse_bandwidth_plan(std::string_view json) {
  return read_text(json, read_plan);
}

}  // namespace autopilot::api
