// SPDX-License-Identifier: Apache-2.0
#include "jobs/detectors/amounts.hpp"

#include <array>
#include <cmath>
#include <cstdio>

namespace autopilot::jobs {

namespace {

enum class Unit : std::uint8_t {
  watt,
  megahertz,
  share,
  bytes,
  celsius,
  generation,
  lanes,
  rate,
  count,
  cores,
  factor
};

struct MetricTitle {
  std::string_view title;
  Unit unit;
};

// In the order of Metric.
constexpr std::array<MetricTitle, kMetrics.size()> kMetricTitles{{
    {"power", Unit::watt},
    {"SM clock", Unit::megahertz},
    {"GPU utilisation", Unit::share},
    {"tensor activity", Unit::share},
    {"memory activity", Unit::share},
    {"GPU memory in use", Unit::bytes},
    {"GPU temperature", Unit::celsius},
    {"memory temperature", Unit::celsius},
    {"power cap throttling", Unit::share},
    {"thermal throttling", Unit::share},
    {"hardware slowdown", Unit::share},
    {"power brake", Unit::share},
    {"PCIe generation", Unit::generation},
    {"PCIe width", Unit::lanes},
    {"PCIe replays", Unit::count},
    {"PCIe traffic", Unit::rate},
    {"NVLink traffic", Unit::rate},
    {"NVLink errors", Unit::count},
    {"corrected ECC errors", Unit::count},
    {"uncorrected ECC errors", Unit::count},
    {"CPU time of the process", Unit::cores},
    {"time of the process in disk sleep", Unit::share},
    {"time of the process stopped", Unit::share},
    {"I/O of the process", Unit::rate},
    {"time of the process waiting for a processor", Unit::share},
    {"NIC traffic sent", Unit::rate},
    {"NIC traffic received", Unit::rate},
    {"time of the port active", Unit::share},
    {"line rate of the port", Unit::rate},
    {"link downs of the port", Unit::count},
    {"NIC errors", Unit::count},
    {"NIC retransmissions", Unit::count},
    {"congestion notifications", Unit::count},
    {"pause frames", Unit::count},
    {"CPU use of the host", Unit::share},
    {"run queue for each core", Unit::factor},
    {"CPU pressure", Unit::share},
    {"I/O pressure", Unit::share},
    {"memory pressure", Unit::share},
    {"storage reads", Unit::rate},
    {"storage writes", Unit::rate},
    {"inlet temperature", Unit::celsius},
}};

std::string print_amount(const char* format, double value) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), format, value);  // NOLINT(cert-err33-c): too long is cut
  return text.data();
}

std::string bytes_of(double value) {
  if (std::abs(value) >= 1e9) return print_amount("%.1f GB", value / 1e9);
  if (std::abs(value) >= 1e6) return print_amount("%.1f MB", value / 1e6);
  return print_amount("%.0f B", value);
}

}  // namespace

std::string_view title_of(Metric metric) {
  return kMetricTitles[static_cast<std::size_t>(metric)].title;
}

std::string amount_of(Metric metric, double value) {
  if (!std::isfinite(value)) return "unknown";
  switch (kMetricTitles[static_cast<std::size_t>(metric)].unit) {
    case Unit::watt:
      return print_amount("%.0f W", value);
    case Unit::megahertz:
      return print_amount("%.0f MHz", value);
    case Unit::share:
      return print_amount(std::abs(value) < 0.1 ? "%.1f %%" : "%.0f %%", 100 * value);
    case Unit::bytes:
      return bytes_of(value);
    case Unit::celsius:
      return print_amount("%.0f °C", value);
    case Unit::generation:
      return print_amount("%.3g", value);
    case Unit::lanes:
      return print_amount("x%.3g", value);
    case Unit::rate:
      return bytes_of(value) + "/s";
    case Unit::count:
      return print_amount(std::abs(value) < 10 ? "%.2g a minute" : "%.0f a minute", value);
    case Unit::cores:
      return print_amount("%.2f cores", value);
    case Unit::factor:
      return print_amount("%.2f", value);
  }
  return "unknown";
}

std::string compare_amounts(Metric metric, double value, double median, double threshold, unsigned peers) {
  std::string text(title_of(metric));
  text += " is " + amount_of(metric, value) + ", the median of ";
  text += (peers == 0 ? "the" : std::to_string(peers)) + " peers is " + amount_of(metric, median);
  if (std::isfinite(threshold)) text += " (threshold " + amount_of(metric, threshold) + ")";
  return text;
}

}  // namespace autopilot::jobs
