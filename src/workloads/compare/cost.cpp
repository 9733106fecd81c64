// SPDX-License-Identifier: Apache-2.0
#include "workloads/compare/cost.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "core/yaml.hpp"

namespace autopilot::workloads::compare {
namespace {

constexpr double kHoursOfYear = 8760;
constexpr double kPercent = 100;

std::optional<double> price_in(YamlMap& map, std::string_view key) {
  const auto number = map.number(key);
  if (!number || *number >= 0) return number;
  map.problem(map.line_of(key), std::string(key) + " must not be negative");
  return std::nullopt;
}

// A divisor.
std::optional<double> size_in(YamlMap& map, std::string_view key) {
  const auto number = price_in(map, key);
  if (!number || *number > 0) return number;
  map.problem(map.line_of(key), std::string(key) + " must be greater than 0");
  return std::nullopt;
}

Prices read_prices(YamlMap& top, std::string_view key) {
  Prices prices;
  const YamlNode* node = top.map(key);
  if (node == nullptr) return prices;
  YamlMap map = top.nested(*node, "prices of " + std::string(key));
  prices.electricity_per_kwh = price_in(map, "electricity_per_kwh");
  prices.pue = size_in(map, "pue");
  prices.rack_kw = price_in(map, "rack_kw");
  prices.racks = size_in(map, "racks");
  prices.hosting_per_rack_year = price_in(map, "hosting_per_rack_year");
  prices.person_year = price_in(map, "person_year");
  prices.support_fte = price_in(map, "support_fte");
  prices.system_fte = price_in(map, "system_fte");
  prices.nodes = size_in(map, "nodes");
  prices.node_price = price_in(map, "node_price");
  prices.node_gpus = size_in(map, "node_gpus");
  prices.node_cores = size_in(map, "node_cores");
  prices.years = size_in(map, "years");
  prices.gpu_hour_price = price_in(map, "gpu_hour_price");
  prices.utilisation = size_in(map, "utilisation");
  if (prices.utilisation && *prices.utilisation > 1) {
    map.problem(map.line_of("utilisation"), "utilisation must be at most 1, such as 0.9 for 90 %");
    prices.utilisation.reset();
  }
  return prices;
}

std::optional<double> product(std::optional<double> a, std::optional<double> b) {
  return a && b ? std::optional(*a * *b) : std::nullopt;
}

std::optional<double> quotient(std::optional<double> a, std::optional<double> b) {
  return a && b && *b > 0 ? std::optional(*a / *b) : std::nullopt;
}

std::optional<double> electricity_of_rack(const Prices& prices) {
  const auto energy = product(product(prices.rack_kw, kHoursOfYear), prices.pue.value_or(1));
  return product(energy, prices.electricity_per_kwh);
}

std::optional<double> staff_of_year(const Prices& prices) {
  if (!prices.support_fte && !prices.system_fte) return std::nullopt;
  return product(prices.person_year, prices.support_fte.value_or(0) + prices.system_fte.value_or(0));
}

// The price of a node over its years, and its share of racks and staff; what is not stated is left out.
std::optional<double> gpu_hour_of(const Prices& prices) {
  if (prices.gpu_hour_price) return prices.gpu_hour_price;
  auto of_year = quotient(prices.node_price, prices.years);
  if (!of_year || !prices.node_gpus) return std::nullopt;
  if (prices.nodes) {
    const auto rack = product(
        electricity_of_rack(prices).value_or(0) + prices.hosting_per_rack_year.value_or(0), prices.racks);
    *of_year += (rack.value_or(0) + staff_of_year(prices).value_or(0)) / *prices.nodes;
  }
  return *of_year / (*prices.node_gpus * kHoursOfYear);
}

std::optional<double> measured_use(const Side& side) {
  const GpuHours hours = gpu_hours_of(side);
  return quotient(hours.used, hours.allocated);
}

}  // namespace

Result<CostModel> parse_cost(std::string_view text, const std::string& file) {
  YamlProblems problems(file);
  const YamlNode node = parse_yaml(text, problems);
  CostModel model;
  model.file = file;
  if (problems.empty()) {
    YamlMap map(node, "cost", problems);
    model.currency = map.word("currency").value_or("USD");
    model.a = read_prices(map, "a");
    model.b = read_prices(map, "b");
    if (!map.has("a") || !map.has("b")) map.problem(1, "the prices of the sides are in the maps a and b");
  }
  TRY_STATUS(problems.status());
  return model;
}

GpuHours gpu_hours_of(const Side& side) {
  const auto gpus = gpus_of(side);
  if (gpus.empty()) return {};
  GpuHours hours;
  std::vector<double> used_s;
  double longest_s = 0;
  for (const Series* gpu : gpus) {
    const auto span = span_of(*gpu);
    if (!span) return {};
    const double length = *span + gpu->interval_s.value_or(0);
    longest_s = std::max(longest_s, length);
    used_s.push_back(length * statistics_of(gpu->values)->mean / kPercent);
  }
  const auto held = side.facts.gpus_allocated ? side.facts.gpus_allocated : side.facts.gpus;
  const double count = held ? *held : static_cast<double>(gpus.size());
  const bool is_contradicted = contradicted_gpus(side).has_value();
  std::sort(used_s.begin(), used_s.end(), std::greater<>());
  if (!is_contradicted) {
    hours.allocated = count * longest_s / 3600;
    used_s.resize(std::min(used_s.size(), static_cast<std::size_t>(count)));
  }
  hours.used = std::accumulate(used_s.begin(), used_s.end(), 0.0) / 3600;
  return hours;
}

std::vector<CostLine> cost_lines(const CostModel& model, const Side& a, const Side& b) {
  const auto both = [&model](auto&& of) { return std::pair(of(model.a), of(model.b)); };
  const std::string& money = model.currency;
  std::vector<CostLine> lines;
  const auto add = [&lines](std::string name, std::string unit,
                            std::pair<std::optional<double>, std::optional<double>> values,
                            std::string formula) {
    if (values.first || values.second)
      lines.push_back({std::move(name), std::move(unit), values.first, values.second, std::move(formula)});
  };
  add("Electricity of a rack and year", money, both(electricity_of_rack),
      "rack_kw x 8760 h x pue x electricity_per_kwh");
  add("Hosting of a rack and year", money, both([](const Prices& one) { return one.hosting_per_rack_year; }),
      "hosting_per_rack_year");
  add("Staff of a year", money, both(staff_of_year), "person_year x (support_fte + system_fte)");
  add("Price of a core", money,
      both([](const Prices& one) { return quotient(one.node_price, one.node_cores); }),
      "node_price / node_cores");
  add("Price of a utilised node", money,
      both([](const Prices& one) { return quotient(one.node_price, one.utilisation); }),
      "node_price / utilisation");
  const auto hour = both(gpu_hour_of);
  add("GPU-hour", money, hour,
      "gpu_hour_price, or (node_price / years + (electricity + hosting) x racks / nodes + staff / nodes) / "
      "(node_gpus x "
      "8760 h); what is not stated counts as 0");
  add("GPU-hour at the stated utilisation", money,
      {quotient(hour.first, model.a.utilisation), quotient(hour.second, model.b.utilisation)},
      "GPU-hour / utilisation");
  add("Utilised GPU-hour, as measured", money,
      {quotient(hour.first, measured_use(a)), quotient(hour.second, measured_use(b))},
      "GPU-hour x allocated GPU-hours / used GPU-hours of this run");
  return lines;
}

}  // namespace autopilot::workloads::compare
