// SPDX-License-Identifier: Apache-2.0
// Pair tests on simulated fabrics (tests/support/nettest/simulated_fabric.hpp): how many of the planted
// faults are found, and how many reported culprits are healthy, compared with three other methods; and the
// cost of planning and judging a run over 1,000 nodes. The figures are in counters; pairs_bench.py prints
// them.
#include <benchmark/benchmark.h>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "nettest/plan/pair_run.hpp"
#include "pair_baselines.hpp"
#include "tests/support/nettest/simulated_fabric.hpp"
#include "tests/support/nettest/simulated_score.hpp"

namespace autopilot::nettest::simulation {
namespace {

// No constant of the method was chosen with these fabrics; the tuning used seeds below this one.
constexpr std::uint64_t kFirstSeed = 60'000;

struct Case {
  std::string group;
  std::string what;
  Shape shape;
  Fault kind = Fault::node;
  std::size_t count = 0;
  double loss = 0;
  std::size_t runs = 10;
  std::string method = {};  // empty: ours
  nettest::PairSettings settings = {};
};

struct Kind {
  Fault fault;
  std::string_view name;
};

void show(benchmark::State& state, const Case& one, const Score& score) {
  const auto number = [](std::size_t count) { return static_cast<double>(count); };
  state.counters["nodes"] = number(one.shape.nodes);
  state.counters["loss"] = one.loss;
  // Of a pair in the first round, by three samples.
  state.counters["deviation"] = one.shape.noise * error_of_median(nettest::PairSettings{}.samples);
  state.counters["planted"] = number(score.planted);
  state.counters["accused"] = number(score.accused);
  state.counters["wrong"] = number(score.wrong);
  state.counters["undecided"] = number(score.undecided);
  state.counters["precision"] = score.precision();
  state.counters["recall"] = score.recall();
  state.counters["told_apart"] = score.told_apart();
  state.counters["rounds"] = number(score.rounds) / number(score.runs);
  state.counters["most_rounds"] = number(score.most_rounds);
}

void run_case(benchmark::State& state, const Case& one) {
  Score score;
  while (state.KeepRunning())
    for (std::size_t run = 0; run < one.runs; ++run) {
      Shape shape = one.shape;
      shape.seed = kFirstSeed + run;
      if (one.method.empty()) {
        score += score_of_run(shape, one.kind, one.count, one.loss, one.settings);
        continue;
      }
      SimulatedFabric fabric(shape);
      const std::vector<Planted> faults = some_faults(fabric, {}, one.kind, one.count, one.loss);
      for (const Planted& fault : faults)
        fabric.plant(fault);
      score += score_of(verdict_by(one.method, fabric), faults, shape.per_leaf);
    }
  show(state, one, score);
}

double deviations(double count, double noise) {
  return count * noise * error_of_median(nettest::PairSettings{}.samples);
}

// A fault in an eighth of the nodes, by kind and by how large it is beside the noise of a pair.
void add_kinds(std::vector<Case>& cases) {
  const Shape shape{.nodes = 512, .per_leaf = 32, .rails = 4};
  for (const Kind& kind : {Kind{Fault::node, "node"}, Kind{Fault::nic, "nic"},
                           Kind{Fault::nic_sends, "nic sends"}, Kind{Fault::nic_receives, "nic receives"}})
    for (const double times : {2.0, 3.0, 4.0, 5.0, 7.5, 20.0})
      cases.push_back(
          {"kind", std::string(kind.name), shape, kind.fault, 64, deviations(times, shape.noise), 10});
  for (const double times : {3.0, 4.0, 5.0, 7.5, 20.0})
    cases.push_back({"kind", "link", shape, Fault::link, 16, deviations(times, shape.noise), 10});
  for (const Fault kind : {Fault::node, Fault::nic})
    cases.push_back({"kind", kind == Fault::node ? "dead node" : "dead nic", shape, kind, 64, 1, 10});
}

void add_paths(std::vector<Case>& cases) {
  for (const std::size_t oversubscription : {1U, 4U}) {
    const Shape shape{.nodes = 1024, .per_leaf = 32, .oversubscription = oversubscription};
    const std::string over = std::to_string(oversubscription) + ":1";
    for (const Kind& kind : {Kind{Fault::uplink, "1 uplink"}, Kind{Fault::uplinks, "all uplinks"},
                             Kind{Fault::spine, "spine"}, Kind{Fault::leaf, "leaf"}})
      for (const double loss : {0.15, 0.5})
        cases.push_back({"path", std::string(kind.name) + " " + over, shape, kind.fault, 1, loss, 40});
  }
}

void add_sizes(std::vector<Case>& cases) {
  for (const std::size_t nodes : {64U, 256U, 1024U, 4096U, 8192U})
    for (const double noise : {0.01, 0.02, 0.03}) {
      const Shape shape{.nodes = nodes, .per_leaf = 32, .oversubscription = 2, .noise = noise};
      cases.push_back({"size", "node", shape, Fault::nic, nodes / 8, deviations(5, noise),
                       std::max<std::size_t>(3, 2048 / nodes)});
    }
  cases.push_back({"size",
                   "healthy, 8 rails",
                   {.nodes = 8192, .per_leaf = 32, .rails = 8, .oversubscription = 2},
                   Fault::node,
                   0,
                   0,
                   3});
  cases.push_back({"size",
                   "one bad node, 8 rails",
                   {.nodes = 8192, .per_leaf = 32, .rails = 8, .oversubscription = 2},
                   Fault::node,
                   1,
                   deviations(5, 0.02),
                   3});
}

// As agents measure by TCP, on a fabric whose flows meet; rates are not compared there.
void add_one_flow(std::vector<Case>& cases) {
  const Shape shape{.nodes = 512,
                    .per_leaf = 32,
                    .rails = 2,
                    .oversubscription = 2,
                    .do_ports_change = true,
                    .knows_rates = false,
                    .knows_uplinks = false};
  for (const Kind& kind : {Kind{Fault::node, "node"}, Kind{Fault::nic, "nic"},
                           Kind{Fault::nic_sends, "nic sends"}, Kind{Fault::nic_receives, "nic receives"}})
    for (const double loss : {0.15, 0.3, 0.5})
      cases.push_back({"tcp", std::string(kind.name), shape, kind.fault, 64, loss, 10, {}, one_flow()});
  for (const double loss : {0.15, 0.3, 0.5})
    cases.push_back({"tcp", "link", shape, Fault::link, 16, loss, 10, {}, one_flow()});
}

// Likewise, without the leaf of any node: healthy fabrics, and faulty nodes that are all below one leaf.
void add_hidden_leaves(std::vector<Case>& cases) {
  for (const std::size_t leaves : {2U, 4U, 8U}) {
    Shape shape{.nodes = 32 * leaves,
                .per_leaf = 32,
                .across = 0.5,
                .do_flows_meet = false,
                .do_ports_change = true,
                .knows_rates = false,
                .knows_leaves = false};
    const std::string names = std::to_string(leaves) + " leaves without names";
    cases.push_back(
        {"hidden", names + ", half as much between", shape, Fault::node, 0, 0, 100, {}, one_flow()});
    shape.across = 1;
    shape.do_flows_meet = true;
    shape.oversubscription = 2;
    cases.push_back({"hidden", names + ", flows meet 2:1", shape, Fault::node, 0, 0, 100, {}, one_flow()});
  }
  for (const std::size_t nodes : {5U, 7U, 9U, 11U, 17U, 33U}) {
    const std::size_t few = std::max<std::size_t>(2, nodes / 8);
    cases.push_back(
        {"hidden",
         std::to_string(few) + " of " + std::to_string(nodes) + " nodes below a second leaf without a name",
         {.nodes = nodes,
          .per_leaf = nodes - few,
          .across = 0.5,
          .do_flows_meet = false,
          .do_ports_change = true,
          .knows_rates = false,
          .knows_leaves = false},
         Fault::node,
         0,
         0,
         100,
         {},
         one_flow()});
  }
  for (const std::size_t nodes : {8U, 11U, 16U, 64U, 256U})
    for (const double loss : {0.15, 0.3, 0.5})
      cases.push_back({"flat",
                       "node",
                       {.nodes = nodes, .do_flows_meet = false, .knows_rates = false, .knows_leaves = false},
                       Fault::node,
                       nodes / 8,
                       loss,
                       40,
                       {},
                       one_flow()});
}

// On a fabric whose flows share links, and on a fabric with capacity for all flows at once.
void add_methods(std::vector<Case>& cases) {
  for (const bool do_meet : {true, false})
    for (const std::size_t nodes : {64U, 256U, 1024U})
      for (const std::string method : {"", "ring", "circle", "two"})
        for (const double loss : {0.1, 0.3, 0.6}) {
          const Shape shape{.nodes = nodes, .per_leaf = 32, .oversubscription = 2, .do_flows_meet = do_meet};
          const bool is_long = nodes == 1024 && (method == "ring" || method == "circle");
          cases.push_back({do_meet ? "method" : "room", method.empty() ? "ours" : method, shape, Fault::nic,
                           nodes / 8, loss, is_long ? 1U : 5U, method});
        }
}

// What planning three rounds and judging them takes, without the tests.
void plan_and_judge(benchmark::State& state) {
  const Shape shape{.nodes = 1000, .per_leaf = 32, .rails = 8, .oversubscription = 2};
  while (state.KeepRunning()) {
    state.PauseTiming();
    SimulatedFabric fabric(shape);
    for (const Planted& fault : some_faults(fabric, {}, Fault::node, 20, 0.3))
      fabric.plant(fault);
    nettest::PairRun run = nettest::PairRun::create(fabric.known(), {}).value();
    state.ResumeTiming();
    for (auto round = run.next_round(); !round.empty(); round = run.next_round()) {
      state.PauseTiming();
      std::vector<nettest::PairResult> results = fabric.run(round);
      state.ResumeTiming();
      for (nettest::PairResult& result : results)
        if (!run.take(std::move(result))) state.SkipWithError("a result was refused");
    }
    benchmark::DoNotOptimize(run.verdict());
  }
}
BENCHMARK(plan_and_judge)->Unit(benchmark::kMillisecond)->Iterations(20);

const bool kAreCasesAdded = [] {
  std::vector<Case> cases;
  add_kinds(cases);
  add_paths(cases);
  add_sizes(cases);
  add_methods(cases);
  add_one_flow(cases);
  add_hidden_leaves(cases);
  for (std::size_t i = 0; i < cases.size(); ++i)
    benchmark::RegisterBenchmark((cases[i].group + "/" + cases[i].what + "/" + std::to_string(i)).c_str(),
                                 [one = cases[i]](benchmark::State& state) { run_case(state, one); })
        ->Iterations(1)
        ->Unit(benchmark::kMillisecond);
  return true;
}();

}  // namespace
}  // namespace autopilot::nettest::simulation
