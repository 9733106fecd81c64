// SPDX-License-Identifier: Apache-2.0
#include "cli/output/compare_charts.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "cli/output/html_page.hpp"
#include "cli/output/report_numbers.hpp"

namespace autopilot::cli {
namespace {

namespace cmp = workloads::compare;

struct ChartOfMetric {
  std::string_view metric;
  std::string_view title;
};

constexpr std::array<ChartOfMetric, 13> kCharts{{
    {"job.step_time", "Step time"},
    {"gpu.util", "GPU utilisation"},
    {"gpu.memory_busy", "GPU memory controller busy"},
    {"gpu.memory_used", "GPU memory used"},
    {"gpu.power", "GPU power"},
    {"cpu.user", "CPU %user"},
    {"mem.used_percent", "Memory used"},
    {"io.read", "Storage read"},
    {"io.written", "Storage written"},
    {"cpu.iowait", "CPU waits for storage"},
    {"net.received", "Network received"},
    {"net.sent", "Network sent"},
    {"host.psi_io", "Time stalled by I/O"},
}};

constexpr std::size_t kMaxPanels = 16;
constexpr double kWidth = 640;
constexpr double kLeft = 52;
constexpr double kRight = 10;
constexpr double kPanel = 56;
constexpr double kLabel = 18;  // of a panel, above it
constexpr double kBetween = 8;
constexpr double kAxis = 34;  // below the last panel
constexpr std::size_t kBuckets = 480;

std::string coordinate(double number) {
  return fixed_text(number, 1);
}

struct Panel {
  std::string letter;
  const cmp::Series* series = nullptr;
};

struct Scale {
  double seconds = 1;
  double top = 1;
  bool has_times = true;

  [[nodiscard]] double x(double at) const { return kLeft + at / seconds * (kWidth - kLeft - kRight); }
  [[nodiscard]] double y(double value, double bottom) const { return bottom - value / top * kPanel; }
};

// 1, 2 or 5 times a power of ten, at least `most`.
double nice_top(double most) {
  if (most <= 0) return 1;
  const double power = std::pow(10, std::floor(std::log10(most)));
  for (const double step : {1.0, 2.0, 5.0})
    if (most <= step * power) return step * power;
  return 10 * power;
}

double position_of(const cmp::Series& series, std::size_t i, bool has_times) {
  return has_times ? series.seconds[i] : static_cast<double>(i);
}

Scale scale_of(const std::vector<Panel>& panels) {
  Scale scale;
  double most = 0;
  double last = 0;
  for (const Panel& panel : panels)
    if (panel.series->seconds.empty()) scale.has_times = false;
  for (const Panel& panel : panels) {
    most = std::max(most, *std::max_element(panel.series->values.begin(), panel.series->values.end()));
    last = std::max(last, position_of(*panel.series, panel.series->values.size() - 1, scale.has_times));
  }
  scale.top = nice_top(most);
  scale.seconds = last > 0 ? last : 1;
  return scale;
}

struct Bucket {
  double position = 0;  // mean of its readings
  double sum = 0;
  double least = 0;
  double most = 0;
  std::size_t count = 0;
};

std::vector<Bucket> buckets_of(const cmp::Series& series, const Scale& scale) {
  std::vector<Bucket> all(kBuckets);
  for (std::size_t i = 0; i < series.values.size(); ++i) {
    const double at = position_of(series, i, scale.has_times);
    const auto place = static_cast<std::size_t>(std::clamp(at / scale.seconds, 0.0, 1.0) * (kBuckets - 1));
    Bucket& bucket = all[place];
    const double value = std::max(series.values[i], 0.0);
    bucket.least = bucket.count == 0 ? value : std::min(bucket.least, value);
    bucket.most = bucket.count == 0 ? value : std::max(bucket.most, value);
    bucket.position += at;
    bucket.sum += value;
    ++bucket.count;
  }
  std::erase_if(all, [](const Bucket& bucket) { return bucket.count == 0; });
  for (Bucket& bucket : all)
    bucket.position /= static_cast<double>(bucket.count);
  return all;
}

// A line does not cross a gap in the readings.
double longest_step(const cmp::Series& series, const Scale& scale) {
  const double interval = scale.has_times ? series.interval_s.value_or(0) : 1;
  return 1.6 * std::max(interval, 2 * scale.seconds / kBuckets);
}

std::string panel_paths(const Panel& panel, const Scale& scale, double bottom) {
  std::string band;
  std::string line;
  const double longest = longest_step(*panel.series, scale);
  double before = -2 * longest;
  for (const Bucket& bucket : buckets_of(*panel.series, scale)) {
    const std::string x = coordinate(scale.x(bucket.position));
    const double mean = bucket.sum / static_cast<double>(bucket.count);
    if (bucket.most > bucket.least)
      band += "M" + x + " " + coordinate(scale.y(bucket.least, bottom)) + "V" +
              coordinate(scale.y(bucket.most, bottom));
    line += (bucket.position - before > longest ? "M" : "L") + x + " " + coordinate(scale.y(mean, bottom));
    before = bucket.position;
  }
  const std::string side = panel.letter == "A" ? "a" : "b";
  std::string out;
  if (!band.empty()) out += "<path class=\"band " + side + "\" d=\"" + band + "\"/>\n";
  return out + "<path class=\"line " + side + "\" d=\"" + line + "\"/>\n";
}

std::string text_at(double x, double y, std::string_view anchor, std::string_view text) {
  return "<text x=\"" + coordinate(x) + "\" y=\"" + coordinate(y) + "\" text-anchor=\"" +
         std::string(anchor) + "\">" + html_escaped(text) + "</text>\n";
}

std::string line_at(double x1, double y1, double x2, double y2) {
  return "<line x1=\"" + coordinate(x1) + "\" y1=\"" + coordinate(y1) + "\" x2=\"" + coordinate(x2) +
         "\" y2=\"" + coordinate(y2) + "\"/>\n";
}

std::string panel_name(const Panel& panel) {
  const cmp::Series& series = *panel.series;
  return panel.letter + ": " + series.source.file + (series.subject.empty() ? "" : ", " + series.subject) +
         (series.source.name.empty() ? "" : " (" + series.source.name + ")");
}

// A label is cut where it would leave the chart.
std::string short_name(const Panel& panel) {
  constexpr std::size_t longest = 80;
  std::string name = panel_name(panel);
  return name.size() <= longest ? name : "..." + name.substr(name.size() - longest + 3);
}

std::string panel_svg(const Panel& panel, const Scale& scale, double top) {
  const double bottom = top + kLabel + kPanel;
  return text_at(kLeft, top + kLabel - 5, "start", short_name(panel)) +
         line_at(kLeft, bottom, kWidth - kRight, bottom) +
         line_at(kLeft, bottom - kPanel, kWidth - kRight, bottom - kPanel) +
         text_at(kLeft - 5, bottom + 4, "end", "0") +
         text_at(kLeft - 5, bottom - kPanel + 9, "end", cmp::number_text(scale.top)) +
         panel_paths(panel, scale, bottom);
}

std::string time_text(double seconds) {
  return hours_words(seconds / 3600);
}

std::string axis_svg(const Scale& scale, double top) {
  constexpr int parts = 4;
  std::string out;
  for (int i = 0; i <= parts; ++i) {
    const double at = scale.seconds * i / parts;
    const std::string_view anchor = i == 0 ? "start" : i == parts ? "end" : "middle";
    out += line_at(scale.x(at), top, scale.x(at), top + 4);
    out += text_at(scale.x(at), top + 17, anchor,
                   i == 0            ? "0"
                   : scale.has_times ? time_text(at)
                                     : "reading " + cmp::number_text(std::round(at)));
  }
  return out;
}

std::string panel_description(const Panel& panel) {
  const auto found = *cmp::statistics_of(panel.series->values);
  const auto span = cmp::span_of(*panel.series);
  return panel_name(panel) + ": " + std::to_string(found.readings) + " readings" +
         (span ? " over " + time_text(*span) : std::string()) + ", mean " + cmp::number_text(found.mean) +
         ", from " + cmp::number_text(found.least) + " to " + cmp::number_text(found.most) + " " +
         panel.series->unit + ". ";
}

Chart chart_of(const ChartOfMetric& known, const std::vector<Panel>& panels) {
  const Scale scale = scale_of(panels);
  const std::string unit = panels.front().series->unit;
  const double height = static_cast<double>(panels.size()) * (kLabel + kPanel + kBetween) + kAxis;
  std::string id = "chart-" + std::string(known.metric);
  std::replace(id.begin(), id.end(), '.', '-');
  Chart chart{std::string(known.title) + (unit.empty() ? "" : ", " + unit), {}};
  std::string description;
  std::string body;
  double top = 0;
  for (const Panel& panel : panels) {
    description += panel_description(panel);
    body += panel_svg(panel, scale, top);
    top += kLabel + kPanel + kBetween;
  }
  chart.svg = "<svg viewBox=\"0 0 " + coordinate(kWidth) + " " + coordinate(height) +
              "\" role=\"img\" aria-labelledby=\"" + id + "-title " + id + "-desc\">\n<title id=\"" + id +
              "-title\">" + html_escaped(chart.title + " over time") + "</title>\n<desc id=\"" + id +
              "-desc\">" + html_escaped(description) + "</desc>\n" + body + axis_svg(scale, top) + "</svg>\n";
  return chart;
}

}  // namespace

std::vector<Chart> compare_charts(const cmp::Comparison& comparison) {
  std::vector<Chart> charts;
  for (const ChartOfMetric& known : kCharts) {
    std::vector<Panel> panels;
    for (const cmp::Side* side : {&comparison.a, &comparison.b})
      for (const cmp::Series* series : cmp::series_of(*side, known.metric))
        if (series->values.size() > 1 && panels.size() < kMaxPanels) panels.push_back({side->letter, series});
    if (!panels.empty()) charts.push_back(chart_of(known, panels));
  }
  return charts;
}

std::string_view chart_style() {
  return R"(figure { margin: 0.5em 0 1.5em; }
figure div { max-width: 56em; }
figcaption { font-weight: 600; margin-bottom: 0.3em; overflow-wrap: anywhere; }
svg { display: block; width: 100%; min-width: 34em; height: auto; }
svg text { font: 11px system-ui, sans-serif; fill: var(--text); }
svg line { stroke: var(--thin); stroke-width: 1; }
svg .line { fill: none; stroke-width: 1.2; stroke-linejoin: round; }
svg .band { fill: none; stroke-width: 1.3; opacity: 0.35; }
svg .a { stroke: #0b62c4; }
svg .b { stroke: #b3430c; }
@media screen and (prefers-color-scheme: dark) { svg .a { stroke: #6db3ff; } svg .b { stroke: #ff9a62; } }
td { overflow-wrap: break-word; }
@media print {
  figure { break-inside: avoid; }
  svg { min-width: 0; }
  td:last-child { overflow-wrap: anywhere; }
}
)";
}

}  // namespace autopilot::cli
