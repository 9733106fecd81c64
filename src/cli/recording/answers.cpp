// SPDX-License-Identifier: Apache-2.0
#include "cli/recording/answers.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <string>
#include <variant>

#include "core/parse.hpp"
#include "core/text.hpp"
#include "core/yaml_text.hpp"
#include "host/gpu/nvml_abi.h"
#include "host/gpu/readings.hpp"
#include "host/pci/pci.hpp"

namespace autopilot::cli {

namespace {

using host::DriverState;
using host::GpuState;

// Return code of nvmlInit with which the simulated library reproduces the state.
int init_code(DriverState state) {
  switch (state) {
    case DriverState::driver_not_loaded:
      return host::nvml::kDriverNotLoaded;
    case DriverState::version_mismatch:
      return host::nvml::kLibRmVersionMismatch;
    case DriverState::no_permission:
      return host::nvml::kNoPermission;
    case DriverState::init_failed:
      return host::nvml::kUnknown;
    default:
      return host::nvml::kSuccess;
  }
}

int gpu_code(GpuState state) {
  switch (state) {
    case GpuState::ok:
      return host::nvml::kSuccess;
    case GpuState::lost:
      return host::nvml::kGpuIsLost;
    case GpuState::reset_required:
      return host::nvml::kResetRequired;
    case GpuState::unresponsive:
    case GpuState::unreadable:
    case GpuState::asleep:
      return host::nvml::kUnknown;
  }
  return host::nvml::kUnknown;
}

YamlNode value_node(const Value& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return yaml_flag(*flag);
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return yaml_integer(*integer);
  if (const auto* number = std::get_if<double>(&value)) return yaml_number(*number);
  return yaml_word(std::get<std::string>(value));
}

void add_reading(const host::GpuReading& reading, YamlNode& map) {
  if (reading.value) {
    yaml_member(map, reading.name) = value_node(*reading.value);
  } else if (reading.code != host::nvml::kNotSupported && reading.code != host::nvml::kSymbolAbsent) {
    YamlNode& code = yaml_member(map, reading.name);
    code = yaml_map();
    yaml_member(code, "code") = yaml_integer(reading.code);
  }
}

std::string pci_id(std::uint32_t id) {
  std::array<char, 16> text{};
  const int size = std::snprintf(text.data(), text.size(), "0x%08x", id);
  return {text.data(), static_cast<std::size_t>(size)};
}

YamlNode instances_node(const std::vector<host::GpuInstance>& instances) {
  YamlNode list = yaml_list();
  for (const host::GpuInstance& instance : instances) {
    YamlNode& node = list.items.emplace_back(yaml_map());
    yaml_member(node, "gpu_instance") = yaml_integer(instance.gpu_instance);
    yaml_member(node, "compute_instance") = yaml_integer(instance.compute_instance);
    yaml_member(node, "uuid") = yaml_word(instance.uuid);
  }
  return list;
}

YamlNode gpu_node(const host::GpuDevice& gpu, const host::Files& files) {
  YamlNode node = yaml_map();
  yaml_member(node, "state") = yaml_integer(gpu_code(gpu.state));
  yaml_member(node, "name") = yaml_word(gpu.name);
  yaml_member(node, "uuid") = yaml_word(gpu.subject.uuid);
  yaml_member(node, "serial") = yaml_word(gpu.subject.serial);
  const auto ids = host::read_pci_ids(files, gpu.subject.key);
  yaml_member(node, "pci_device_id") = yaml_word(pci_id(ids.device));
  yaml_member(node, "pci_subsystem_id") = yaml_word(pci_id(ids.subsystem));
  YamlNode readings = yaml_map();
  YamlNode links = yaml_list();
  for (const host::GpuReading& reading : gpu.readings) {
    if (!reading.link) {
      add_reading(reading, readings);
      continue;
    }
    const auto number = static_cast<std::size_t>(std::max(0, *reading.link));
    if (number >= host::nvml::kNvLinkMaxLinks) continue;
    while (links.items.size() <= number)
      links.items.push_back(yaml_map());
    add_reading(reading, links.items[number]);
  }
  yaml_member(node, "readings") = std::move(readings);
  if (!links.items.empty()) yaml_member(node, "links") = std::move(links);
  if (!gpu.instances.empty()) yaml_member(node, "instances") = instances_node(gpu.instances);
  return node;
}

// "12.2" is 12020.
int cuda_number(const std::string& text) {
  const auto parts = split(text, '.');
  const int major = parse_number<int>(parts[0]).value_or(0);
  return major * 1000 + (parts.size() > 1 ? parse_number<int>(parts[1]).value_or(0) * 10 : 0);
}

YamlNode driver_node(const host::GpuReport& report) {
  YamlNode driver = yaml_map();
  const auto word = [](const std::string& text) { return yaml_word(text.empty() ? "unknown" : text); };
  yaml_member(driver, "version") = word(report.driver_version);
  yaml_member(driver, "nvml_version") = word(report.nvml_version);
  yaml_member(driver, "cuda_version") = yaml_integer(cuda_number(report.cuda_version));
  yaml_member(driver, "init") = yaml_integer(init_code(report.state));
  return driver;
}

}  // namespace

std::optional<YamlNode> driver_answers(const host::GpuReport& report, const host::Files& files) {
  if (report.state == DriverState::library_missing) return std::nullopt;
  YamlNode nvml = yaml_map();
  yaml_member(nvml, "schema") = yaml_word("autopilot.nvml/v1");
  yaml_member(nvml, "driver") = driver_node(report);
  const bool hangs = report.state == DriverState::unresponsive || report.state == DriverState::exhausted;
  if (hangs || report.state == DriverState::crashed)
    yaml_member(yaml_member(nvml, "functions"), "*") = yaml_word(hangs ? "hang" : "abort");
  YamlNode gpus = yaml_map();
  for (const host::GpuDevice& gpu : report.gpus)
    yaml_member(gpus, gpu.subject.key) = gpu_node(gpu, files);
  yaml_member(nvml, "gpus") = std::move(gpus);
  return nvml;
}

namespace {

void add_error(YamlNode& node, const Error& error) {
  // A machine tree has no internal errors.
  const Errc code = error.code == Errc::internal ? Errc::unavailable : error.code;
  yaml_member(node, "error") = yaml_word(to_string(code));
}

YamlNode answers(const host::PortLink& link) {
  YamlNode node = yaml_map();
  if (!link.reason.empty()) yaml_member(node, "reason") = yaml_word(link.reason);
  if (!link.detail.empty()) yaml_member(node, "detail") = yaml_word(link.detail);
  if (link.signal_quality) yaml_member(node, "signal_quality") = yaml_integer(*link.signal_quality);
  if (link.signal_quality_max)
    yaml_member(node, "signal_quality_max") = yaml_integer(*link.signal_quality_max);
  return node;
}

YamlNode answers(const host::PortFec& fec) {
  YamlNode node = yaml_map();
  if (!fec.mode.empty()) yaml_member(node, "mode") = yaml_word(fec.mode);
  if (fec.corrected_blocks) yaml_member(node, "corrected_blocks") = yaml_integer(*fec.corrected_blocks);
  if (fec.uncorrectable_blocks)
    yaml_member(node, "uncorrectable_blocks") = yaml_integer(*fec.uncorrectable_blocks);
  return node;
}

YamlNode answers(const host::ModuleMemory& memory) {
  YamlNode node = yaml_map();
  for (const auto& [place, bytes] : memory.parts)
    yaml_member(node, to_string(place)) = yaml_word(to_hex(bytes));
  if (memory.problem) add_error(node, *memory.problem);
  return node;
}

template <class T>
void add(YamlNode& node, std::string_view name, const Result<T>& result) {
  YamlNode& part = yaml_member(node, name);
  part = yaml_map();
  if (result)
    part = answers(*result);
  else
    add_error(part, result.error());
}

}  // namespace

YamlNode port_answers(const Result<host::EthtoolPort>& port) {
  YamlNode node = yaml_map();
  if (!port) {
    add_error(node, port.error());
    return node;
  }
  add(node, "link", port->link);
  add(node, "fec", port->fec);
  add(node, "module", port->module);
  return node;
}

namespace {

YamlNode node_of(const Value& value) {
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return yaml_integer(*whole);
  if (const auto* number = std::get_if<double>(&value)) return yaml_number(*number);
  if (const auto* flag = std::get_if<bool>(&value)) return yaml_flag(*flag);
  return yaml_word(std::get<std::string>(value));
}

YamlNode node_of(const Observation& observation, Instant now) {
  YamlNode node = yaml_map();
  yaml_member(node, "name") = yaml_word(observation.name);
  yaml_member(node, "subject") = yaml_word(to_string(observation.subject));
  yaml_member(node, "source") = yaml_word(observation.source);
  if (observation.value) yaml_member(node, "value") = node_of(*observation.value);
  if (!observation.missing.empty()) yaml_member(node, "missing") = yaml_word(observation.missing);
  if (!observation.unit.empty()) yaml_member(node, "unit") = yaml_word(observation.unit);
  const Duration age = std::max(Duration{0}, now.mono - observation.time.mono);
  yaml_member(node, "age") = yaml_word(format_duration(std::chrono::round<std::chrono::seconds>(age)));
  for (const auto& [name, value] : observation.attributes)
    yaml_member(yaml_member(node, "attributes"), name) = node_of(value);
  return node;
}

}  // namespace

YamlNode active_test(const Result<Observations>& found, Instant now) {
  YamlNode node = yaml_map();
  if (!found) {
    const Errc code = found.error().code;
    const bool is_spelt = code == Errc::unsupported || code == Errc::timed_out || code == Errc::denied ||
                          code == Errc::malformed;
    yaml_member(node, "error") = yaml_word(to_string(is_spelt ? code : Errc::unavailable));
    return node;
  }
  YamlNode& seen = yaml_member(node, "seen");
  seen = yaml_list();
  for (const Observation& observation : *found)
    seen.items.push_back(node_of(observation, now));
  return node;
}

}  // namespace autopilot::cli
