// SPDX-License-Identifier: Apache-2.0
// How long the questions to history take, over AUTOPILOT_HISTORY_ROWS records (default 100,000) of 1000 nodes
// in two years: a file in a folder beside the temporary ones. Or over an existing history, the file or
// database that AUTOPILOT_HISTORY names; history_rows.py fills it with millions.
#include <algorithm>
#include <benchmark/benchmark.h>
#include <chrono>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "core/parse.hpp"
#include "store/history/history.hpp"
#include "tests/support/host/test_folder.hpp"
#include "tests/support/learning/record_samples.hpp"

namespace autopilot {
namespace {

namespace samples = learning::testing;
using std::chrono::hours;

constexpr int kNodes = 1000;
constexpr int kHours = 24 * 730;
constexpr std::size_t kAtOnce = 10'000;

std::size_t wanted_rows() {
  const char* text = std::getenv("AUTOPILOT_HISTORY_ROWS");
  return text == nullptr ? 100'000 : parse_number<std::size_t>(text).value_or(100'000);
}

learning::HistoryRecord record_of_fleet(std::mt19937& random, std::size_t number) {
  auto record = samples::random_record(random, static_cast<int>(number));
  const int node = static_cast<int>(random() % kNodes);
  const WallTime begin = samples::kBegin + hours{random() % kHours};
  std::visit(
      [&](auto& r) {
        r.place.node = "gpu-" + std::to_string(node);
        if (!r.place.gpu.empty())
          r.place.gpu = "S" + std::to_string(node * 8 + static_cast<int>(random() % 8));
        if constexpr (requires { r.start; }) {
          r.start = begin;
          r.end = begin + hours{random() % 100};
        } else if constexpr (requires { r.begin; }) {
          r.begin = begin;
          r.end = begin + hours{random() % 100};
        } else {
          r.time = begin;
        }
      },
      record);
  return record;
}

// Filled once, and read by all benchmarks.
struct Fleet {
  host::TestFolder folder;
  std::unique_ptr<store::History> history;

  Fleet() {
    if (const char* place = std::getenv("AUTOPILOT_HISTORY"))
      open_existing(place);
    else
      fill();
  }
  void fill() {
    auto opened = store::History::open(folder / "history.db", samples::kBegin);
    if (!opened) std::abort();
    history = std::move(opened->history);
    std::mt19937 random(1);
    const std::size_t rows = wanted_rows();
    for (std::size_t done = 0; done < rows;) {
      std::vector<learning::HistoryRecord> records;
      for (; records.size() < kAtOnce && done < rows; ++done)
        records.push_back(record_of_fleet(random, done));
      if (!history->put(records)) std::abort();
    }
  }
  void open_existing(const std::string& place) {
    auto opened = store::History::open_read_only(place);
    if (!opened) std::abort();
    history = std::move(*opened);
  }
};

const store::History& fleet() {
  static const Fleet filled;
  return *filled.history;
}

void ask(benchmark::State& state, const store::HistoryQuery& query) {
  std::size_t found = 0;
  const store::History& history = fleet();
  while (state.KeepRunning()) {
    const auto records = history.records(query);
    if (!records) return state.SkipWithError(records.error().what.c_str());
    found = records->size();
  }
  state.counters["records"] = static_cast<double>(found);
}

constexpr WallTime kLastMonth = samples::kBegin + hours{kHours - 24 * 30};

void newest_of_a_node(benchmark::State& state) {
  ask(state, {.node = "gpu-17", .limit = 100});
}
BENCHMARK(newest_of_a_node)->Unit(benchmark::kMillisecond);

void newest_of_a_card(benchmark::State& state) {
  ask(state, {.gpu = "S137", .limit = 100});
}
BENCHMARK(newest_of_a_card)->Unit(benchmark::kMillisecond);

void jobs_on_a_node(benchmark::State& state) {
  ask(state, {.types = {"job"}, .node = "gpu-17", .since = kLastMonth, .until = kLastMonth + hours{24 * 7}});
}
BENCHMARK(jobs_on_a_node)->Unit(benchmark::kMillisecond);

void failed_validations(benchmark::State& state) {
  ask(state, {.types = {"validation"}, .outcome = "failed", .since = kLastMonth, .limit = 1000});
}
BENCHMARK(failed_validations)->Unit(benchmark::kMillisecond);

void one_job(benchmark::State& state) {
  ask(state, {.job = "j17", .limit = 100});
}
BENCHMARK(one_job)->Unit(benchmark::kMillisecond);

void faults_of_a_day(benchmark::State& state) {
  ask(state, {.types = {"fault"}, .since = kLastMonth, .until = kLastMonth + hours{24}, .limit = 1000});
}
BENCHMARK(faults_of_a_day)->Unit(benchmark::kMillisecond);

void newest_of_all(benchmark::State& state) {
  ask(state, {.limit = 100});
}
BENCHMARK(newest_of_all)->Unit(benchmark::kMillisecond);

void has_a_record(benchmark::State& state) {
  const store::History& history = fleet();
  while (state.KeepRunning())
    benchmark::DoNotOptimize(history.has("fault", "r1400"));
}
BENCHMARK(has_a_record)->Unit(benchmark::kMillisecond);

void what_it_holds(benchmark::State& state) {
  const store::History& history = fleet();
  while (state.KeepRunning())
    benchmark::DoNotOptimize(history.status());
}
BENCHMARK(what_it_holds)->Unit(benchmark::kMillisecond);

void faults_by_class(benchmark::State& state) {
  const store::History& history = fleet();
  while (state.KeepRunning())
    benchmark::DoNotOptimize(history.faults_by_class(kLastMonth));
}
BENCHMARK(faults_by_class)->Unit(benchmark::kMillisecond);

void nodes_with_most_faults(benchmark::State& state) {
  const store::History& history = fleet();
  while (state.KeepRunning())
    benchmark::DoNotOptimize(history.nodes_with_most_faults(kLastMonth, 10));
}
BENCHMARK(nodes_with_most_faults)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace autopilot
