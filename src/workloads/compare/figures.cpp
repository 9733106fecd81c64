// SPDX-License-Identifier: Apache-2.0
#include "workloads/compare/figures.hpp"

#include <algorithm>
#include <array>
#include <set>

namespace autopilot::workloads::compare {
namespace {

struct MetricOfFigures {
  std::string_view metric;
  std::string_view name;
  Dimension dimension;
  int better;
  std::string_view caveat;
};

constexpr std::string_view kUtilisation = "utilisation is not work: a waiting job can be busy";
constexpr std::array<MetricOfFigures, 18> kSeriesFigures{{
    {"job.step_time", "Step time", Dimension::performance, -1, ""},
    {"job.tokens", "Tokens", Dimension::performance, 1, ""},
    {"gpu.util", "GPU utilisation", Dimension::performance, 0, kUtilisation},
    {"gpu.memory_busy", "GPU memory controller busy", Dimension::performance, 0, "time, not occupied memory"},
    {"gpu.memory_used", "GPU memory used", Dimension::performance, 0, ""},
    {"gpu.power", "GPU power", Dimension::performance, 0, ""},
    {"gpu.sm_clock", "SM clock", Dimension::performance, 0, ""},
    {"cpu.user", "CPU %user", Dimension::performance, 0, kUtilisation},
    {"cpu.busy", "CPU busy (100 - %idle)", Dimension::performance, 0, kUtilisation},
    {"mem.used_percent", "Memory used", Dimension::performance, 0,
     "share of machines that may differ in size"},
    {"mem.used", "Memory used", Dimension::performance, 0, ""},
    {"mem.total", "Memory of the machine", Dimension::performance, 0, ""},
    {"io.read", "Storage read", Dimension::data_access, 0, "a rate depends on what the job asks for"},
    {"io.written", "Storage written", Dimension::data_access, 0, "a rate depends on what the job asks for"},
    {"io.wait", "Time of a request to storage", Dimension::data_access, -1, ""},
    {"cpu.iowait", "CPU waits for storage", Dimension::data_access, 0, "only if no other program can run"},
    {"net.received", "Network received", Dimension::data_access, 0, ""},
    {"host.psi_io", "Time stalled by I/O", Dimension::data_access, 0, ""},
}};

std::optional<FigureValue> mean_value(const Series* series) {
  if (series == nullptr) return std::nullopt;
  return FigureValue{statistics_of(series->values)->mean, {series->source}};
}

// A side with several files has the one with the most readings.
void note_other_files(const Side& side, const Series* shown, std::string& caveat) {
  if (shown == nullptr) return;
  for (const Series& other : side.series) {
    if (&other == shown || other.metric != shown->metric || other.subject != shown->subject) continue;
    caveat += (caveat.empty() ? "" : "; ") + side.letter + " also has " + other.source.file + " (mean " +
              number_text(statistics_of(other.values)->mean) + ")";
  }
}

Figure series_figure(const MetricOfFigures& known, const std::string& subject, const Side& a, const Side& b) {
  const Series* of_a = main_series(a, known.metric, subject);
  const Series* of_b = main_series(b, known.metric, subject);
  Figure figure;
  figure.dimension = known.dimension;
  figure.name = std::string(known.name) + (subject.empty() ? "" : ", " + subject) + ", mean";
  figure.unit = of_a != nullptr ? of_a->unit : of_b->unit;
  figure.a = mean_value(of_a);
  figure.b = mean_value(of_b);
  figure.caveat = std::string(known.caveat);
  figure.better = known.better;
  if (of_a != nullptr && of_b != nullptr) figure.difference = difference_of_means(of_a->values, of_b->values);
  note_other_files(a, of_a, figure.caveat);
  note_other_files(b, of_b, figure.caveat);
  return figure;
}

std::set<std::string> subjects_of(std::string_view metric, const Side& a, const Side& b) {
  std::set<std::string> subjects;
  for (const Side* side : {&a, &b})
    for (const Series* series : series_of(*side, metric))
      subjects.insert(series->subject);
  return subjects;
}

constexpr std::size_t kMaxSubjects = 32;  // of one metric in the figures; the tables of series have all

void add_series_figures(std::vector<Figure>& figures, const Side& a, const Side& b) {
  for (const MetricOfFigures& known : kSeriesFigures) {
    std::size_t count = 0;
    for (const std::string& subject : subjects_of(known.metric, a, b))
      if (++count <= kMaxSubjects) figures.push_back(series_figure(known, subject, a, b));
  }
}

std::optional<FigureValue> fact_value(const std::optional<double>& value, const Side& side,
                                      const std::string& name) {
  if (!value) return std::nullopt;
  return FigureValue{*value, {{side.facts.file, 0, 0, 0, name}}};
}

Figure fact_figure(Dimension dimension, std::string name, std::string unit, std::optional<FigureValue> a,
                   std::optional<FigureValue> b, int better) {
  Figure figure;
  figure.dimension = dimension;
  figure.name = std::move(name);
  figure.unit = std::move(unit);
  figure.a = std::move(a);
  figure.b = std::move(b);
  figure.better = better;
  if (!figure.a != !figure.b) figure.caveat = std::string("not stated for ") + (figure.a ? "B" : "A");
  return figure;
}

void add_stated(std::vector<Figure>& figures, const Side& a, const Side& b) {
  const auto throughput = [](const Side& side) {
    return fact_value(side.facts.throughput ? std::optional(side.facts.throughput->value) : std::nullopt,
                      side, "throughput");
  };
  const auto& of_a = a.facts.throughput;
  const auto& of_b = b.facts.throughput;
  if (of_a && of_b && !has_same_unit(*of_a, *of_b)) {
    figures.push_back(
        fact_figure(Dimension::performance, "Throughput", of_a->unit, throughput(a), std::nullopt, 1));
    figures.push_back(
        fact_figure(Dimension::performance, "Throughput", of_b->unit, std::nullopt, throughput(b), 1));
  } else {
    figures.push_back(fact_figure(Dimension::performance, "Throughput",
                                  of_a   ? of_a->unit
                                  : of_b ? of_b->unit
                                         : "",
                                  throughput(a), throughput(b), 1));
  }
  const auto add = [&](Dimension dimension, std::string name, std::optional<double> Facts::*member,
                       std::string key) {
    figures.push_back(fact_figure(dimension, std::move(name), "s", fact_value(a.facts.*member, a, key),
                                  fact_value(b.facts.*member, b, key), -1));
  };
  add(Dimension::performance, "Time to a result", &Facts::time_to_result_s, "time_to_result");
  add(Dimension::elasticity, "Time to start", &Facts::start_s, "elasticity.start");
  add(Dimension::elasticity, "Time to scale", &Facts::scale_s, "elasticity.scale");
  add(Dimension::elasticity, "Time to recover", &Facts::recover_s, "elasticity.recover");
}

const Measure* measure_of(const Side& side, const Measure& like) {
  for (const Measure& measure : side.measures)
    if (measure.metric == like.metric && measure.subject == like.subject && measure.unit == like.unit)
      return &measure;
  return nullptr;
}

std::optional<FigureValue> measured_value(const Measure* measure) {
  return measure == nullptr ? std::nullopt : std::optional(FigureValue{measure->value, {measure->source}});
}

// Sizes of the run of nccl-tests that an average is from.
std::set<std::string> sizes_beside(const Side& side, const Measure& average) {
  std::set<std::string> sizes;
  for (const Measure& measure : side.measures)
    if (measure.metric == "nccl.busbw" && measure.source.file == average.source.file)
      sizes.insert(measure.subject);
  return sizes;
}

// An average of other sizes, or with wrong results, compares nothing.
std::string undecided_average(const Side& a, const Measure& of_a, const Side& b, const Measure& of_b) {
  if (of_a.metric != "nccl.average_busbw") return {};
  if (of_a.is_wrong || of_b.is_wrong)
    return "nccl-tests reports wrong results for " +
           std::string(of_a.is_wrong && of_b.is_wrong ? "A and B"
                       : of_a.is_wrong                ? "A"
                                                      : "B") +
           " (test the GPUs with: autopilot test gpu.nccl)";
  if (sizes_beside(a, of_a) != sizes_beside(b, of_b))
    return "the runs of nccl-tests have different sizes (run both with the same -b, -e and -f)";
  return {};
}

Dimension dimension_of(const Measure& measure) {
  return measure.metric.starts_with("elasticity.") ? Dimension::elasticity : Dimension::performance;
}

void add_measures(std::vector<Figure>& figures, const Side& a, const Side& b) {
  std::set<std::pair<std::string, std::string>> done;
  for (const Side* side : {&a, &b})
    for (const Measure& measure : side->measures) {
      if (!done.insert({measure.metric, measure.subject + "\n" + measure.unit}).second) continue;
      const bool is_time = measure.unit == "s";
      const Measure* of_a = measure_of(a, measure);
      const Measure* of_b = measure_of(b, measure);
      Figure figure = fact_figure(dimension_of(measure),
                                  measure.metric + (measure.subject.empty() ? "" : ", " + measure.subject),
                                  measure.unit, measured_value(of_a), measured_value(of_b), is_time ? -1 : 1);
      if (of_a != nullptr && of_b != nullptr) {
        figure.undecided = undecided_average(a, *of_a, b, *of_b);
        figure.caveat = figure.undecided;
      }
      figures.push_back(std::move(figure));
    }
}

void add_stalls(std::vector<Figure>& figures, const Side& a, const Side& b) {
  const auto value = [](const Side& side) -> std::optional<FigureValue> {
    const auto found = starvation_of(side);
    if (!found) return std::nullopt;
    return FigureValue{
        100.0 * static_cast<double>(found->idle_readings) / static_cast<double>(found->readings),
        {used_gpus_of(side).front()->source, found->user->source}};
  };
  Figure figure =
      fact_figure(Dimension::data_access, "Time in which all used GPUs wait", "%", value(a), value(b), -1);
  if (figure.a || figure.b) figures.push_back(std::move(figure));
}

void add_hours(std::vector<Figure>& figures, const Side& a, const Side& b) {
  const GpuHours of_a = gpu_hours_of(a);
  const GpuHours of_b = gpu_hours_of(b);
  const auto value = [](std::optional<double> hours, const Side& side) -> std::optional<FigureValue> {
    if (!hours) return std::nullopt;
    FigureValue found{*hours, {}};
    for (const Series* gpu : gpus_of(side))
      found.sources.push_back(gpu->source);
    return found;
  };
  figures.push_back(fact_figure(Dimension::economics, "GPU-hours allocated", "GPU-h",
                                value(of_a.allocated, a), value(of_b.allocated, b), 0));
  figures.push_back(fact_figure(Dimension::economics, "GPU-hours used", "GPU-h", value(of_a.used, a),
                                value(of_b.used, b), 0));
}

std::optional<FigureValue> efficiency_at(const Side& side, int nodes) {
  const auto& points = side.facts.scaling;
  if (points.empty()) return std::nullopt;
  const ScalePoint& first = points.front();
  for (const ScalePoint& point : points)
    if (point.nodes == nodes)
      return FigureValue{100 * (point.throughput / point.nodes) / (first.throughput / first.nodes),
                         {{side.facts.file, 0, 0, 0, "scaling"}}};
  return std::nullopt;
}

void add_scaling(std::vector<Figure>& figures, const Side& a, const Side& b) {
  std::set<int> nodes;
  for (const Side* side : {&a, &b})
    for (const ScalePoint& point : side->facts.scaling)
      nodes.insert(point.nodes);
  for (const int count : nodes)
    figures.push_back(fact_figure(
        Dimension::scalability, "Efficiency at " + std::to_string(count) + (count == 1 ? " node" : " nodes"),
        "%", efficiency_at(a, count), efficiency_at(b, count), 1));
}

}  // namespace

std::vector<Figure> figures_of(const Side& a, const Side& b) {
  std::vector<Figure> figures;
  add_stated(figures, a, b);
  add_measures(figures, a, b);
  add_series_figures(figures, a, b);
  add_stalls(figures, a, b);
  add_hours(figures, a, b);
  add_scaling(figures, a, b);
  std::erase_if(figures, [](const Figure& figure) { return !figure.a && !figure.b; });
  std::stable_sort(figures.begin(), figures.end(),
                   [](const Figure& x, const Figure& y) { return x.dimension < y.dimension; });
  return figures;
}

const Figure* deciding_figure(const std::vector<Figure>& figures) {
  constexpr std::array<std::string_view, 5> kOrder{"Throughput", "Time to a result", "Step time",
                                                   "nccl.average_busbw", "sysbench.events"};
  const Figure* undecided = nullptr;
  for (const std::string_view name : kOrder)
    for (const Figure& figure : figures) {
      if (!figure.name.starts_with(name) || !figure.a || !figure.b) continue;
      if (figure.undecided.empty()) return &figure;
      if (undecided == nullptr) undecided = &figure;
    }
  return undecided;
}

}  // namespace autopilot::workloads::compare
