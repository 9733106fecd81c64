// SPDX-License-Identifier: Apache-2.0
#include "host/gpu/telemetry.hpp"

#include <algorithm>
#include <boost/json.hpp>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

#include "core/word_table.hpp"
#include "host/gpu/helper_answer.hpp"
#include "host/gpu/readings.hpp"

namespace autopilot::host {
namespace json = boost::json;

namespace {

constexpr WordTable<GpuMeasure, kGpuMeasures> kMeasureWords{{
    {GpuMeasure::power_w, "powerW"},
    {GpuMeasure::sm_clock_mhz, "smClockMhz"},
    {GpuMeasure::utilization, "utilization"},
    {GpuMeasure::clocks_reasons, "clocksReasons"},
    {GpuMeasure::temperature_c, "temperatureC"},
    {GpuMeasure::memory_temperature_c, "memoryTemperatureC"},
    {GpuMeasure::memory_used_bytes, "memoryUsedBytes"},
    {GpuMeasure::pcie_generation, "pcieGeneration"},
    {GpuMeasure::pcie_width, "pcieWidth"},
    {GpuMeasure::pcie_replays, "pcieReplays"},
    {GpuMeasure::pcie_bytes, "pcieBytes"},
    {GpuMeasure::nvlink_bytes, "nvlinkBytes"},
    {GpuMeasure::nvlink_errors, "nvlinkErrors"},
    {GpuMeasure::ecc_corrected, "eccCorrected"},
    {GpuMeasure::ecc_uncorrected, "eccUncorrected"},
}};

// What the groups of readings have; the others only the driver's own telemetry counts.
constexpr WordTable<GpuMeasure, 11> kMeasureReadings{{
    {GpuMeasure::power_w, reading::kPowerUsage},
    {GpuMeasure::sm_clock_mhz, reading::kClocksSm},
    {GpuMeasure::utilization, reading::kUtilization},
    {GpuMeasure::clocks_reasons, reading::kClocksEventReasons},
    {GpuMeasure::temperature_c, reading::kTemperatureGpu},
    {GpuMeasure::memory_temperature_c, reading::kTemperatureMemory},
    {GpuMeasure::memory_used_bytes, reading::kMemoryUsed},
    {GpuMeasure::pcie_generation, reading::kPcieGeneration},
    {GpuMeasure::pcie_width, reading::kPcieWidth},
    {GpuMeasure::ecc_corrected, reading::kEccVolatileCorrected},
    {GpuMeasure::ecc_uncorrected, reading::kEccVolatileUncorrected},
}};

constexpr std::size_t kMaxMeasureNames = 256;  // of a later release
constexpr int kHighestIndex = GpuTelemetry::kMaxGpus - 1;
constexpr std::int64_t kMaxCalls = 1'000'000;

}  // namespace

std::string_view to_string(GpuMeasure measure) {
  return word_of(kMeasureWords, measure);
}

std::vector<GpuGroup> telemetry_groups(TelemetryDetail detail) {
  std::vector<GpuGroup> groups{GpuGroup::power, GpuGroup::clocks, GpuGroup::temperature};
  if (detail == TelemetryDetail::detailed)
    for (const GpuGroup group : {GpuGroup::pcie, GpuGroup::ecc, GpuGroup::processes})
      groups.push_back(group);
  return groups;
}

GpuTelemetry telemetry_of(const GpuReport& report) {
  GpuTelemetry telemetry;
  telemetry.state = report.state;
  telemetry.detail = report.detail;
  telemetry.calls = report.calls;
  if (report.state != DriverState::ok) return telemetry;
  for (const GpuDevice& gpu : report.gpus) {
    if (!gpu.subject.index || *gpu.subject.index > kHighestIndex) continue;
    GpuSample& sample = telemetry.gpus.emplace_back();
    sample.index = *gpu.subject.index;
    sample.address = gpu.subject.key;
    sample.model = gpu.name;
    sample.state = gpu.state;
    for (const auto& [measure, name] : kMeasureReadings)
      if (const GpuReading* reading = gpu.find(name); reading != nullptr && reading->value)
        sample[measure] = as_number(*reading->value).value_or(std::nan(""));
  }
  return telemetry;
}

Result<GpuTelemetry> Gpus::read_telemetry(TelemetryDetail detail, MonoTime deadline) const {
  const GpuReport report = TRY(read(telemetry_groups(detail), deadline));
  return telemetry_of(report);
}

std::string format_telemetry_request(TelemetryDetail detail) {
  return detail == TelemetryDetail::detailed ? R"({"detailed":true})" : R"({"detailed":false})";
}

Result<TelemetryDetail> parse_telemetry_request(std::string_view text) {
  const json::object object = TRY(parse_answer_object(text));
  const json::value* detailed = object.if_contains("detailed");
  if (detailed == nullptr || !detailed->is_bool()) return malformed_answer("detailed is not true or false");
  return detailed->get_bool() ? TelemetryDetail::detailed : TelemetryDetail::brief;
}

namespace {

json::value json_of_measured(double value) {
  if (!std::isfinite(value)) return nullptr;
  return value;
}

json::object json_of(const GpuSample& sample) {
  json::array values;
  values.reserve(kGpuMeasures);
  for (const auto& [measure, word] : kMeasureWords)
    values.push_back(json_of_measured(sample[measure]));
  return {{"index", sample.index},
          {"address", presentable(sample.address)},
          {"model", presentable(sample.model)},
          {"state", to_string(sample.state)},
          {"values", std::move(values)}};
}

// The measure of each column; nullopt: unknown to this release.
using MeasureColumns = std::vector<std::optional<GpuMeasure>>;

Result<MeasureColumns> columns_of(const json::object& object) {
  MeasureColumns columns;
  for (const json::value& name : *TRY(array_member(object, "measures", kMaxMeasureNames)))
    columns.push_back(value_of(kMeasureWords, TRY(answer_text(name, "measure"))));
  return columns;
}

Result<double> measured(const json::value& value) {
  if (value.is_null()) return std::nan("");
  boost::system::error_code error;
  const auto number = value.to_number<double>(error);
  if (error || !std::isfinite(number) || number < 0) return malformed_answer("a measure is not a number");
  return number;
}

Result<GpuSample> sample_of(const json::value& value, const MeasureColumns& columns) {
  const json::object* object = value.if_object();
  if (object == nullptr) return malformed_answer("a GPU is not an object");
  GpuSample sample;
  sample.index = static_cast<int>(TRY(integer_member(*object, "index", kHighestIndex)));
  sample.address = TRY(text_member(*object, "address"));
  sample.model = TRY(text_member(*object, "model"));
  const std::string state = TRY(text_member(*object, "state"));
  // A state of a later release is none that this one may trust.
  sample.state = parse_gpu_state(state).value_or(GpuState::unreadable);
  const json::array& values = *TRY(array_member(*object, "values", kMaxMeasureNames));
  if (values.size() != columns.size())
    return malformed_answer("a GPU has another number of values than measures");
  for (std::size_t i = 0; i < columns.size(); ++i)
    if (columns[i]) sample[*columns[i]] = TRY(measured(values[i]));
  return sample;
}

}  // namespace

std::string format_gpu_telemetry(const GpuTelemetry& telemetry) {
  json::array measures;
  for (const auto& [measure, word] : kMeasureWords)
    measures.push_back(json::value(word));
  json::array gpus;
  for (const GpuSample& sample : telemetry.gpus)
    gpus.push_back(json_of(sample));
  return json::serialize(json::object{{"state", to_string(telemetry.state)},
                                      {"detail", presentable(telemetry.detail)},
                                      {"calls", telemetry.calls},
                                      {"measures", std::move(measures)},
                                      {"gpus", std::move(gpus)}});
}

Result<GpuTelemetry> parse_gpu_telemetry(std::string_view text) {
  const json::object object = TRY(parse_answer_object(text));
  GpuTelemetry telemetry;
  const std::string state = TRY(text_member(object, "state"));
  telemetry.state = parse_driver_state(state).value_or(DriverState::init_failed);
  telemetry.detail = TRY(text_member(object, "detail"));
  telemetry.calls = static_cast<std::uint64_t>(TRY(integer_member(object, "calls", kMaxCalls)));
  const MeasureColumns columns = TRY(columns_of(object));
  std::set<int> indexes;
  for (const json::value& gpu : *TRY(array_member(object, "gpus", GpuTelemetry::kMaxGpus))) {
    telemetry.gpus.push_back(TRY(sample_of(gpu, columns)));
    if (!indexes.insert(telemetry.gpus.back().index).second)
      return malformed_answer("GPU " + std::to_string(telemetry.gpus.back().index) + " appears twice");
  }
  return telemetry;
}

}  // namespace autopilot::host
