// SPDX-License-Identifier: Apache-2.0
#include "probes/gpu/run/report.hpp"

#include <algorithm>
#include <boost/json.hpp>

#include "core/parse.hpp"

namespace autopilot::probes::gpu {
namespace {

namespace json = boost::json;

double median_of(std::vector<double> samples) {
  const auto middle = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2);
  std::nth_element(samples.begin(), middle, samples.end());
  return *middle;
}

json::object series_json(const Series& series) {
  json::object object{{"name", series.name}, {"unit", series.unit}};
  if (!series.peer.empty()) object["peer"] = series.peer;
  if (!series.samples.empty()) {
    object["best"] = *std::max_element(series.samples.begin(), series.samples.end());
    object["median"] = median_of(series.samples);
  }
  object["samples"] = json::array(series.samples.begin(), series.samples.end());
  return object;
}

json::array wrong_json(const std::vector<Wrong>& wrong) {
  json::array all;
  for (const Wrong& one : wrong)
    all.push_back(json::object{{"where", one.where}, {"count", one.count}, {"detail", one.detail}});
  return all;
}

json::array untested_json(const std::vector<UntestedPeer>& untested) {
  json::array all;
  for (const UntestedPeer& one : untested)
    all.push_back(json::object{{"peer", one.peer}, {"why", to_utf8(one.why)}});
  return all;
}

json::object test_json(const TestReport& test) {
  json::object object{{"test", test.test}, {"scope", test.together ? "together" : "alone"}};
  if (test.skipped) {
    object["skipped"] = to_utf8(*test.skipped);
    return object;
  }
  json::array measured;
  for (const Series& series : test.measured.series)
    measured.push_back(series_json(series));
  object["measured"] = std::move(measured);
  object["wrong"] = wrong_json(test.measured.wrong);
  if (!test.measured.disputed.empty()) object["disputed"] = wrong_json(test.measured.disputed);
  if (!test.measured.untested.empty()) object["not_looked"] = untested_json(test.measured.untested);
  for (const auto& [name, value] : test.measured.facts)
    object[name] = value;
  return object;
}

json::object sensor_json(const SensorSample& sample) {
  json::object object{{"seconds", sample.seconds}, {"test", sample.test}};
  const SensorValues& values = sample.values;
  if (values.temperature_c) object["temperature_c"] = *values.temperature_c;
  if (values.power_w) object["power_w"] = *values.power_w;
  if (values.power_limit_w) object["power_limit_w"] = *values.power_limit_w;
  if (values.sm_clock_mhz) object["sm_clock_mhz"] = *values.sm_clock_mhz;
  if (values.pcie_generation) object["pcie_generation"] = *values.pcie_generation;
  if (values.pcie_lanes) object["pcie_lanes"] = *values.pcie_lanes;
  if (values.throttle_reasons) {
    const auto words = throttle_words(*values.throttle_reasons);
    object["throttle_reasons"] = json::array(words.begin(), words.end());
  }
  return object;
}

json::object gpu_json(const GpuReport& gpu) {
  json::object object{{"index", gpu.facts.index},
                      {"uuid", gpu.facts.uuid},
                      {"name", to_utf8(gpu.facts.name)},
                      {"pci_address", gpu.facts.pci_address},
                      {"compute_capability", std::to_string(gpu.facts.capability_major) + "." +
                                                 std::to_string(gpu.facts.capability_minor)},
                      {"multiprocessors", gpu.facts.multiprocessors},
                      {"memory_bytes", gpu.facts.memory_bytes},
                      {"free_bytes", gpu.free_bytes},
                      {"budget_bytes", gpu.budget_bytes},
                      {"most_used_bytes", gpu.most_used_bytes},
                      {"kernels", gpu.kernel_level},
                      {"load_seconds", gpu.load_seconds}};
  if (gpu.refused_kernels) object["refused_kernels"] = to_utf8(*gpu.refused_kernels);
  object["numa_node"] = gpu.numa_node ? json::value(*gpu.numa_node) : json::value(nullptr);
  json::array tests;
  for (const TestReport& test : gpu.tests)
    tests.push_back(test_json(test));
  object["tests"] = std::move(tests);
  json::array sensors;
  for (const SensorSample& sample : gpu.sensors)
    sensors.push_back(sensor_json(sample));
  object["sensors"] = std::move(sensors);
  if (gpu.error) object["error"] = to_utf8(*gpu.error);
  return object;
}

bool has_wrong(const GpuReport& gpu) {
  return std::any_of(gpu.tests.begin(), gpu.tests.end(),
                     [](const TestReport& test) { return !test.measured.wrong.empty(); });
}

// A GPU that supports none of its tests was not tested.
bool was_measured(const GpuReport& gpu) {
  const auto is_skipped = [](const TestReport& test) { return test.skipped.has_value(); };
  return !gpu.error && !std::all_of(gpu.tests.begin(), gpu.tests.end(), is_skipped);
}

}  // namespace

std::string to_json(const Report& report) {
  json::object object{
      {"program", "autopilot-gpu-probe"}, {"format", 1}, {"began", format_time(report.began)}};
  if (report.simulated) object["simulated"] = true;
  if (report.stopped) object["stopped"] = true;
  if (report.error) object["error"] = to_utf8(*report.error);
  if (report.sensor_error) object["sensor_error"] = to_utf8(*report.sensor_error);
  if (!report.driver_version.empty()) object["cuda_version"] = report.driver_version;
  json::array gpus;
  for (const GpuReport& gpu : report.gpus)
    gpus.push_back(gpu_json(gpu));
  object["gpus"] = std::move(gpus);
  return json::serialize(object);
}

int exit_code_of(const Report& report) {
  if (std::any_of(report.gpus.begin(), report.gpus.end(), has_wrong)) return exit_wrong;
  const bool all_measured = std::all_of(report.gpus.begin(), report.gpus.end(), was_measured);
  return report.error || !all_measured ? exit_not_measured : exit_measured;
}

}  // namespace autopilot::probes::gpu
