// SPDX-License-Identifier: Apache-2.0
#include "cli/comparison/prometheus_range.hpp"

#include <array>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "api/json_cursor.hpp"
#include "core/parse.hpp"
#include "workloads/compare/clock_times.hpp"

namespace autopilot::cli {
namespace {

namespace cmp = workloads::compare;
using Labels = std::map<std::string, std::string>;

struct PrometheusMetric {
  std::string_view name;
  std::string_view metric;
  std::string_view unit;
  double factor;
};

// dcgm-exporter 4.5, default counters.
constexpr std::array<PrometheusMetric, 6> kPrometheusMetrics{{
    {"DCGM_FI_DEV_GPU_UTIL", "gpu.util", "%", 1},
    {"DCGM_FI_DEV_MEM_COPY_UTIL", "gpu.memory_busy", "%", 1},
    {"DCGM_FI_DEV_FB_USED", "gpu.memory_used", "MiB", 1},
    {"DCGM_FI_DEV_POWER_USAGE", "gpu.power", "W", 1},
    {"DCGM_FI_DEV_SM_CLOCK", "gpu.sm_clock", "MHz", 1},
    {"DCGM_FI_DEV_GPU_TEMP", "gpu.temperature", "C", 1},
}};

struct Points {
  std::vector<double> times;
  std::vector<double> values;
  std::size_t missing = 0;
};

std::string label_of(const Labels& labels, std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (const auto found = labels.find(name); found != labels.end()) return to_printable(found->second, 64);
  return {};
}

// "node-1 GPU 3": what the row is about.
std::string subject_of_labels(const Labels& labels, bool is_gpu) {
  const std::string node = label_of(labels, {"Hostname", "node", "instance", "pod"});
  const std::string gpu = label_of(labels, {"gpu", "GPU", "index", "device"});
  if (!is_gpu && gpu.empty()) return node;
  return node + (node.empty() ? "" : " ") + (is_gpu ? "GPU " : "") + gpu;
}

class RangeReader {
 public:
  RangeReader(std::string_view text, const std::string& file) : json_(text), file_(file) {}

  Result<cmp::Readings> read() {
    json_.enter_object();
    for (std::string_view name; json_.next_member(name);)
      read_top(name);
    if (!json_.has_failed()) json_.expect_end();
    if (json_.has_failed()) return fail(Errc::malformed, file_ + ": " + json_.problem());
    if (!error_.empty())
      return fail(Errc::malformed, file_ + ": Prometheus answered: " + to_printable(error_, 200));
    if (is_full_)
      return fail(Errc::exhausted, file_ + ": more than " + std::to_string(cmp::kMaxValues) + " values or " +
                                       std::to_string(cmp::kMaxColumns) +
                                       " series; query a larger step or fewer series");
    if (found_.series.empty())
      return fail(Errc::malformed, file_ + ": no values; the answer must be a matrix (query_range)");
    return std::move(found_);
  }

 private:
  void read_top(std::string_view name) {
    if (name == "error")
      json_.read_text(error_);
    else if (name == "data")
      read_data();
    else
      json_.skip_value();
  }

  void read_data() {
    json_.enter_object();
    for (std::string_view name; json_.next_member(name);) {
      if (name != "result") {
        json_.skip_value();
        continue;
      }
      json_.enter_list();
      while (json_.next_item())
        read_result();
    }
  }

  void read_result() {
    Labels labels;
    Points points;
    json_.enter_object();
    for (std::string_view name; json_.next_member(name);) {
      if (name == "metric")
        read_labels(labels);
      else if (name == "values")
        read_points(points);
      else
        json_.skip_value();
    }
    if (!json_.has_failed()) add_series(labels, std::move(points));
    ++position_;
  }

  void read_labels(Labels& labels) {
    json_.enter_object();
    for (std::string_view name; json_.next_member(name);) {
      std::string value;
      const std::string key(name);
      if (json_.read_text(value)) labels[key] = std::move(value);
    }
  }

  void read_points(Points& points) {
    json_.enter_list();
    while (json_.next_item()) {
      api::JsonNumber time;
      std::string value;
      json_.enter_list();
      if (json_.next_item()) json_.read_number(time);
      if (json_.next_item()) json_.read_text(value);
      if (json_.next_item()) json_.fail("a value has a time and a number");
      if (json_.has_failed()) return;
      is_full_ = is_full_ || ++count_ > cmp::kMaxValues;
      if (is_full_) continue;
      const auto number = cmp::parse_decimal(value);  // "NaN" is not a reading
      if (!number) {
        ++points.missing;
        continue;
      }
      points.times.push_back(time.value);
      points.values.push_back(*number);
    }
  }

  void add_series(const Labels& labels, Points points) {
    if (points.values.empty()) return;
    is_full_ = is_full_ || found_.series.size() >= cmp::kMaxColumns;
    if (is_full_) return;
    const auto name = labels.find("__name__");
    const std::string raw = name == labels.end() ? "query" : to_printable(name->second, 64);
    cmp::Series series;
    series.metric = "prometheus." + raw;
    double factor = 1;
    for (const PrometheusMetric& known : kPrometheusMetrics)
      if (known.name == raw) {
        series.metric = known.metric;
        series.unit = known.unit;
        factor = known.factor;
      }
    series.subject = subject_of_labels(labels, series.metric.starts_with("gpu."));
    series.source = {file_, 0, 0, 0, "data.result[" + std::to_string(position_) + "] " + raw};
    for (double& value : points.values)
      value *= factor;
    const auto placed = cmp::place_times(points.times, false);
    series.seconds = placed.seconds;
    series.interval_s = placed.interval_s;
    series.gaps = placed.gaps;
    series.values = std::move(points.values);
    series.missing = points.missing;
    found_.series.push_back(std::move(series));
  }

  api::JsonCursor json_;
  std::string file_;
  std::string error_;
  cmp::Readings found_;
  std::size_t count_ = 0;
  std::size_t position_ = 0;
  bool is_full_ = false;
};

}  // namespace

bool is_prometheus_answer(std::string_view text) {
  text = trim(text.substr(0, 4096));
  return text.starts_with('{') && text.find("\"status\"") != std::string_view::npos;
}

Result<cmp::Readings> parse_prometheus_range(std::string_view text, const std::string& file) {
  return RangeReader(text, file).read();
}

}  // namespace autopilot::cli
