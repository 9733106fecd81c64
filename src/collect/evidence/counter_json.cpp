// SPDX-License-Identifier: Apache-2.0
#include "collect/evidence/counter_json.hpp"

#include <algorithm>
#include <boost/json.hpp>
#include <cmath>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "core/parse.hpp"
#include "host/gpu/readings.hpp"

namespace autopilot::collect {
namespace {

namespace json = boost::json;

json::value to_value(double number) {
  if (!std::isfinite(number)) return nullptr;
  constexpr double kExact = 9007199254740992;  // 2^53
  if (number == std::trunc(number) && std::abs(number) < kExact) return static_cast<std::int64_t>(number);
  return number;
}
json::value to_value(const std::string& text) {
  return text.empty() ? json::value(nullptr) : json::value(to_utf8(text));
}
template <class T>
json::value to_value(const std::optional<T>& known) {
  return known ? json::value(*known) : json::value(nullptr);
}

// One member with a value for each reading; left out if neither has one.
void add_series(json::object& object, std::string_view name, json::value first, json::value second) {
  if (first.is_null() && second.is_null()) return;
  json::array series;
  series.push_back(std::move(first));
  series.push_back(std::move(second));
  object[name] = std::move(series);
}

template <class T, class ValueOf>
void add_series_of(json::object& object, std::string_view name, const std::array<const T*, 2>& parts,
                   const ValueOf& value_of) {
  const auto value = [&](const T* part) {
    return part == nullptr ? json::value(nullptr) : json::value(value_of(*part));
  };
  add_series(object, name, value(parts[0]), value(parts[1]));
}

// The elements of both readings with that key; nullptr: this reading does not have it.
template <class T, class Key, class Member>
std::array<const T*, 2> both_with(const std::array<std::span<const T>, 2>& readings, const Key& key,
                                  Member member) {
  std::array<const T*, 2> found{};
  for (std::size_t i = 0; i < found.size(); ++i) {
    const auto place = std::ranges::find(readings[i], key, member);
    if (place != readings[i].end()) found[i] = &*place;
  }
  return found;
}

json::value throttle_words(double reasons) {
  if (std::isnan(reasons)) return nullptr;
  namespace reason = host::clocks_reason;
  static constexpr std::array<std::pair<std::uint64_t, std::string_view>, 6> kWords{
      {{reason::kApplicationClocks, "application_clocks"},
       {reason::kSwPowerCap, "sw_power_cap"},
       {reason::kHwSlowdown, "hw_slowdown"},
       {reason::kSwThermal, "sw_thermal"},
       {reason::kHwThermal, "hw_thermal"},
       {reason::kHwPowerBrake, "hw_power_brake"}}};
  json::array words;
  for (const auto& [bit, word] : kWords)
    if ((static_cast<std::uint64_t>(reasons) & bit) != 0) words.emplace_back(word);
  return words;
}

json::object gpu_object(const std::array<const host::GpuSample*, 2>& samples) {
  const host::GpuSample& known = *(samples[0] != nullptr ? samples[0] : samples[1]);
  json::object object{
      {"index", known.index}, {"address", to_utf8(known.address)}, {"model", to_utf8(known.model)}};
  add_series_of(object, "state", samples,
                [](const host::GpuSample& gpu) { return json::value(host::to_string(gpu.state)); });
  for (std::size_t i = 0; i < host::kGpuMeasures; ++i) {
    const auto measure = static_cast<host::GpuMeasure>(i);
    add_series_of(object, host::to_string(measure), samples,
                  [&](const host::GpuSample& gpu) { return to_value(gpu[measure]); });
  }
  add_series_of(object, "throttle", samples, [](const host::GpuSample& gpu) {
    return throttle_words(gpu[host::GpuMeasure::clocks_reasons]);
  });
  return object;
}

std::span<const host::GpuSample> gpus_in(const CounterReading& reading) {
  if (!reading.gpus) return {};
  return reading.gpus->gpus;
}

json::array gpus_of(const BothReadings& readings) {
  const std::array<std::span<const host::GpuSample>, 2> both{gpus_in(readings[0]), gpus_in(readings[1])};
  const auto& longer = both[0].empty() ? both[1] : both[0];
  json::array gpus;
  for (const host::GpuSample& gpu : longer)
    gpus.emplace_back(gpu_object(both_with(both, gpu.index, &host::GpuSample::index)));
  return gpus;
}

json::object nic_object(const host::NicPort& port, const std::array<const host::NicCounters*, 2>& counters) {
  json::object object{{"name", to_utf8(port.name)}};
  if (!port.interface.empty()) object["interface"] = to_utf8(port.interface);
  if (!port.pci_address.empty()) object["address"] = to_utf8(port.pci_address);
  add_series_of(object, "up", counters, [](const host::NicCounters& nic) { return to_value(nic.is_up); });
  add_series_of(object, "rateBytesS", counters, [](const host::NicCounters& nic) {
    return nic.rate_bytes_s ? to_value(*nic.rate_bytes_s) : json::value(nullptr);
  });
  json::object each;
  for (const host::NicCounters* nic : counters)
    for (const host::NicCounter& counter : nic == nullptr ? std::vector<host::NicCounter>{} : nic->each)
      add_series_of(each, counter.file, counters, [&](const host::NicCounters& read) {
        const auto found = std::ranges::find(read.each, counter.file, &host::NicCounter::file);
        return found == read.each.end() ? json::value(nullptr) : json::value(found->value);
      });
  object["counters"] = std::move(each);
  return object;
}

json::array nics_of(const BothReadings& readings) {
  const auto counters_in = [](const CounterReading& reading, const std::string& name) {
    const host::NicCounters* none = nullptr;
    if (!reading.nics) return none;
    const auto port = std::ranges::find(reading.nics->ports, name, &host::NicPort::name);
    if (port == reading.nics->ports.end()) return none;
    return &reading.nics->counters[static_cast<std::size_t>(port - reading.nics->ports.begin())];
  };
  const auto& known = readings[0].nics ? readings[0].nics : readings[1].nics;
  json::array nics;
  if (!known) return nics;
  for (const host::NicPort& port : known->ports)
    nics.emplace_back(
        nic_object(port, {counters_in(readings[0], port.name), counters_in(readings[1], port.name)}));
  return nics;
}

json::object host_of(const BothReadings& readings) {
  std::array<const HostReading*, 2> both{};
  for (std::size_t i = 0; i < both.size(); ++i)
    if (readings[i].host) both[i] = &*readings[i].host;
  json::object object;
  const auto add = [&](std::string_view name, const auto& value_of) {
    add_series_of(object, name, both, [&](const HostReading& host) { return to_value(value_of(host)); });
  };
  add("psiCpuUs", [](const HostReading& host) { return host.counters.psi_cpu_us; });
  add("psiIoUs", [](const HostReading& host) { return host.counters.psi_io_us; });
  add("psiMemoryUs", [](const HostReading& host) { return host.counters.psi_memory_us; });
  add("storageReadBytes", [](const HostReading& host) { return host.counters.storage_read_bytes; });
  add("storageWrittenBytes", [](const HostReading& host) { return host.counters.storage_written_bytes; });
  add("runnableThreads", [](const HostReading& host) { return host.runnable_threads; });
  const auto add_time = [&](std::string_view name, std::uint64_t host::ProcessorTime::*ticks) {
    add(name, [ticks](const HostReading& host) {
      const auto& time = host.counters.processors;
      return time ? std::optional((*time).*ticks) : std::nullopt;
    });
  };
  add_time("cpuBusyTicks", &host::ProcessorTime::busy_ticks);
  add_time("cpuTotalTicks", &host::ProcessorTime::total_ticks);
  return object;
}

json::object process_object(const std::array<const ProcessReading*, 2>& readings) {
  const ProcessReading& known = *(readings[0] != nullptr ? readings[0] : readings[1]);
  json::object object{{"rank", known.rank}, {"pid", known.pid}};
  add_series_of(object, "state", readings, [](const ProcessReading& process) {
    return process.task ? to_value(std::string(1, process.task->state)) : json::value(nullptr);
  });
  add_series_of(object, "wchan", readings,
                [](const ProcessReading& process) { return to_value(process.waits_in); });
  add_series_of(object, "cpuTicks", readings, [](const ProcessReading& process) {
    return process.task ? json::value(process.task->cpu_ticks) : json::value(nullptr);
  });
  const auto add_io = [&](std::string_view name, std::uint64_t host::TaskIo::*bytes) {
    add_series_of(object, name, readings, [bytes](const ProcessReading& process) {
      return process.io ? json::value((*process.io).*bytes) : json::value(nullptr);
    });
  };
  add_io("callReadBytes", &host::TaskIo::call_read_bytes);
  add_io("callWrittenBytes", &host::TaskIo::call_written_bytes);
  add_io("storageReadBytes", &host::TaskIo::storage_read_bytes);
  add_io("storageWrittenBytes", &host::TaskIo::storage_written_bytes);
  return object;
}

json::array processes_of(const BothReadings& readings) {
  std::array<std::span<const ProcessReading>, 2> both;
  for (std::size_t i = 0; i < both.size(); ++i)
    if (readings[i].processes) both[i] = *readings[i].processes;
  json::array processes;
  for (const ProcessReading& process : both[0].empty() ? both[1] : both[0])
    processes.emplace_back(process_object(both_with(both, process.pid, &ProcessReading::pid)));
  return processes;
}

json::array words_of(const std::vector<std::string>& texts) {
  json::array words;
  for (const std::string& text : texts)
    words.emplace_back(to_utf8(text));
  return words;
}

}  // namespace

std::string counters_json(const BothReadings& readings, const std::vector<std::string>& missing) {
  json::array when;
  for (const CounterReading& reading : readings)
    when.emplace_back(format_time(reading.time));
  const json::object object{
      {"times", std::move(when)},  {"gpus", gpus_of(readings)},           {"nics", nics_of(readings)},
      {"host", host_of(readings)}, {"processes", processes_of(readings)}, {"missing", words_of(missing)}};
  return json::serialize(object) + "\n";
}

}  // namespace autopilot::collect
