// SPDX-License-Identifier: Apache-2.0
#include "host/gpu/probe_reports.hpp"

#include <algorithm>
#include <boost/json.hpp>
#include <cmath>
#include <span>
#include <utility>

#include "core/parse.hpp"

namespace autopilot::host {
namespace {

namespace json = boost::json;

constexpr std::size_t kMaxReportDepth = 8;

constexpr int kMeasured = 0;  // exit codes of the program
constexpr int kSomeWrong = 2;
constexpr int kNotTested = 3;

Result<json::value> parse_report(std::string_view text) {
  json::error_code error;
  json::parse_options options;
  options.max_depth = kMaxReportDepth;
  json::value value = json::parse({text.data(), text.size()}, error, {}, options);
  if (error) return fail(Errc::malformed, error.message());
  return value;
}

tl::unexpected<Error> refuse_gpu_report(const std::string& what) {
  return fail(Errc::malformed, "report of the GPU probe: " + what);
}

// Empty if it is missing.
Result<std::string> probe_text_of(const json::object& object, std::string_view name) {
  const json::value* const member = object.if_contains(name);
  if (member == nullptr) return std::string();
  const json::string* const text = member->if_string();
  if (text == nullptr) return refuse_gpu_report("`" + std::string(name) + "` is not a string");
  return to_printable(std::string_view(*text), kMaxProbeWord);
}

Result<bool> flag_of(const json::object& object, std::string_view name) {
  const json::value* const member = object.if_contains(name);
  if (member == nullptr) return false;
  const bool* const flag = member->if_bool();
  if (flag == nullptr) return refuse_gpu_report("`" + std::string(name) + "` is neither true nor false");
  return *flag;
}

std::optional<double> finite_number(const json::value& value) {
  json::error_code error;
  const double number = value.is_number() ? value.to_number<double>(error) : NAN;
  return !error && std::isfinite(number) ? std::optional(number) : std::nullopt;
}

Result<const json::array*> probe_list_of(const json::object& object, std::string_view name) {
  const json::value* const member = object.if_contains(name);
  const json::array* const list = member == nullptr ? nullptr : member->if_array();
  if (list == nullptr) return refuse_gpu_report("`" + std::string(name) + "` is not a list");
  return list;
}

// Parses each item of a list of objects with `read`; empty if the list is missing.
template <class Item>
Result<std::vector<Item>> items_of(const json::object& object, std::string_view name,
                                   Result<Item> (*read)(const json::object& item)) {
  std::vector<Item> items;
  if (!object.contains(name)) return items;
  for (const json::value& value : *TRY(probe_list_of(object, name))) {
    const json::object* const item = value.if_object();
    if (item == nullptr) return refuse_gpu_report("an item of `" + std::string(name) + "` is not an object");
    items.push_back(TRY(read(*item)));
  }
  return items;
}

// The members that are numbers.
std::map<std::string, double, std::less<>> numbers_of(const json::object& object) {
  std::map<std::string, double, std::less<>> numbers;
  for (const auto& [name, value] : object)
    if (const auto number = finite_number(value)) numbers.emplace(name, *number);
  return numbers;
}

Result<GpuProbeReport::Series> read_series(const json::object& item) {
  GpuProbeReport::Series series;
  series.name = TRY(probe_text_of(item, "name"));
  series.peer = TRY(probe_text_of(item, "peer"));
  if (series.name.empty()) return refuse_gpu_report("a series of `measured` has no name");
  if (const json::value* const median = item.if_contains("median")) series.median = finite_number(*median);
  return series;
}

Result<GpuProbeReport::Wrong> read_wrong(const json::object& item) {
  GpuProbeReport::Wrong wrong;
  wrong.where = TRY(probe_text_of(item, "where"));
  wrong.detail = TRY(probe_text_of(item, "detail"));
  const json::value* const count = item.if_contains("count");
  json::error_code error;
  if (count != nullptr && count->is_number()) wrong.count = count->to_number<std::uint64_t>(error);
  if (error || wrong.count == 0) return refuse_gpu_report("a wrong result has no count");
  return wrong;
}

Result<GpuProbeReport::Test> read_test(const json::object& item) {
  GpuProbeReport::Test test;
  test.name = TRY(probe_text_of(item, "test"));
  if (test.name.empty()) return refuse_gpu_report("a test has no name");
  const std::string scope = TRY(probe_text_of(item, "scope"));
  test.together = scope == "together";
  test.skipped = TRY(probe_text_of(item, "skipped"));
  test.measured = TRY(items_of(item, "measured", read_series));
  test.wrong = TRY(items_of(item, "wrong", read_wrong));
  test.disputed = TRY(items_of(item, "disputed", read_wrong));
  test.facts = numbers_of(item);
  return test;
}

Result<GpuProbeReport::Sensors> read_sensors(const json::object& item) {
  GpuProbeReport::Sensors sensors;
  sensors.test = TRY(probe_text_of(item, "test"));
  sensors.values = numbers_of(item);
  if (!item.contains("throttle_reasons")) return sensors;
  for (const json::value& reason : *TRY(probe_list_of(item, "throttle_reasons")))
    if (const json::string* const word = reason.if_string())
      sensors.throttle_reasons.push_back(to_printable(std::string_view(*word), kMaxProbeWord));
  return sensors;
}

Result<GpuProbeReport::Gpu> read_probed_gpu(const json::object& item) {
  GpuProbeReport::Gpu gpu;
  gpu.pci_address = to_lower(TRY(probe_text_of(item, "pci_address")));
  if (gpu.pci_address.empty()) return refuse_gpu_report("a GPU has no `pci_address`");
  gpu.uuid = TRY(probe_text_of(item, "uuid"));
  gpu.name = TRY(probe_text_of(item, "name"));
  gpu.error = TRY(probe_text_of(item, "error"));
  gpu.tests = TRY(items_of(item, "tests", read_test));
  gpu.sensors = TRY(items_of(item, "sensors", read_sensors));
  return gpu;
}

}  // namespace

const GpuProbeReport::Test* GpuProbeReport::Gpu::find(std::string_view test, bool together) const {
  const auto found = std::ranges::find_if(
      tests, [&](const Test& one) { return one.name == test && one.together == together; });
  return found == tests.end() ? nullptr : &*found;
}

bool GpuProbeReport::Gpu::has_wrong() const {
  return std::ranges::any_of(tests, [](const Test& one) { return !one.wrong.empty(); });
}

const GpuProbeReport::Gpu* GpuProbeReport::find(std::string_view pci_address) const {
  const auto found = std::ranges::find(gpus, pci_address, &Gpu::pci_address);
  return found == gpus.end() ? nullptr : &*found;
}

Result<GpuProbeReport> parse_gpu_probe_report(std::string_view text) {
  if (text.size() > kMaxGpuProbeReport) return refuse_gpu_report("it is too long");
  const auto value = parse_report(text);
  if (!value) return refuse_gpu_report(value.error().what);
  const json::object* const object = value->if_object();
  const json::value* const format = object == nullptr ? nullptr : object->if_contains("format");
  if (format == nullptr || finite_number(*format) != 1) return refuse_gpu_report("it is not of format 1");
  GpuProbeReport report;
  report.error = TRY(probe_text_of(*object, "error"));
  report.stopped = TRY(flag_of(*object, "stopped"));
  report.gpus = TRY(items_of(*object, "gpus", read_probed_gpu));
  if (report.gpus.size() > kMaxProbedGpus) return refuse_gpu_report("it has too many GPUs");
  return report;
}

bool leaves_gpu_probe_report(int exit_code) {
  return exit_code == kMeasured || exit_code == kSomeWrong || exit_code == kNotTested;
}

Result<GpuProbeReport> gpu_probe_report_of(std::string_view text, int exit_code) {
  auto report = TRY(parse_gpu_probe_report(text));
  if (exit_code == kSomeWrong && std::ranges::none_of(report.gpus, &GpuProbeReport::Gpu::has_wrong))
    return fail(Errc::malformed, "the GPU probe ended as if a result were wrong, and its report names none");
  return report;
}

namespace {

constexpr double kMostWrong = 1e15;     // reported as a floating-point number
constexpr double kMostBandwidth = 1e6;  // GB/s; a higher value is garbage

tl::unexpected<Error> refuse_nccl_report(const std::string& what) {
  return fail(Errc::malformed, "report of all_reduce_perf: " + what);
}

// A number; missing for null or the string nan, which mean not measured.
std::optional<double> measured_number(const json::object& object, std::string_view name) {
  const json::value* const member = object.if_contains(name);
  if (member == nullptr || !member->is_number()) return std::nullopt;
  json::error_code error;
  const double number = member->to_number<double>(error);
  return !error && std::isfinite(number) && number >= 0 ? std::optional(number) : std::nullopt;
}

struct Measurement {
  double algorithm_bandwidth = 0;
  double bus_bandwidth = 0;
  std::optional<double> wrong;
};

// The measurement in place, or out of place; missing if it was not measured.
std::optional<Measurement> measurement_of(const json::object& row, std::string_view name) {
  const json::value* const member = row.if_contains(name);
  const json::object* const object = member == nullptr ? nullptr : member->if_object();
  if (object == nullptr) return std::nullopt;
  Measurement measurement{.algorithm_bandwidth = measured_number(*object, "alg_bw").value_or(0),
                          .bus_bandwidth = measured_number(*object, "bus_bw").value_or(0),
                          .wrong = measured_number(*object, "nwrong")};
  if (measurement.bus_bandwidth > kMostBandwidth) measurement.bus_bandwidth = 0;
  return measurement.bus_bandwidth > 0 || measurement.wrong.value_or(0) > 0 ? std::optional(measurement)
                                                                            : std::nullopt;
}

void add(const Measurement& measurement, NcclReport::Row& read) {
  if (measurement.bus_bandwidth == 0) return;
  if (read.bus_bandwidth == 0 || measurement.bus_bandwidth < read.bus_bandwidth) {
    read.bus_bandwidth = measurement.bus_bandwidth;
    read.algorithm_bandwidth = measurement.algorithm_bandwidth;
  }
}

std::optional<std::uint64_t> wrong_of(std::span<const Measurement> measurements) {
  double wrong = 0;
  for (const Measurement& measurement : measurements)
    wrong += std::min(measurement.wrong.value_or(0), kMostWrong);
  const bool are_checked =
      !measurements.empty() && std::ranges::all_of(measurements, [](const Measurement& measurement) {
        return measurement.wrong.has_value();
      });
  if (wrong == 0 && !are_checked) return std::nullopt;
  return static_cast<std::uint64_t>(wrong);
}

Result<NcclReport::Row> read_row(const json::value& item) {
  const json::object* const row = item.if_object();
  const auto size = row == nullptr ? std::nullopt : measured_number(*row, "size");
  if (!size || *size > kMostWrong) return refuse_nccl_report("an item of `results` has no `size`");
  NcclReport::Row read;
  read.bytes = static_cast<std::uint64_t>(*size);
  std::vector<Measurement> measurements;
  for (const std::string_view name : {"out_of_place", "in_place"})
    if (const auto measurement = measurement_of(*row, name)) measurements.push_back(*measurement);
  for (const Measurement& measurement : measurements)
    add(measurement, read);
  read.wrong = wrong_of(measurements);
  return read;
}

}  // namespace

Result<NcclReport> parse_nccl_report(std::string_view text) {
  if (text.size() > kMaxNcclReport) return refuse_nccl_report("it is too long");
  const auto value = parse_report(text);
  if (!value) return refuse_nccl_report(value.error().what);
  const json::object* const object = value->if_object();
  const json::value* const member = object == nullptr ? nullptr : object->if_contains("results");
  const json::array* const results = member == nullptr ? nullptr : member->if_array();
  if (results == nullptr) return refuse_nccl_report("`results` is not a list");
  if (results->size() > kMaxNcclRows) return refuse_nccl_report("it has too many results");
  NcclReport report;
  for (const json::value& item : *results)
    report.rows.push_back(TRY(read_row(item)));
  return report;
}

}  // namespace autopilot::host
