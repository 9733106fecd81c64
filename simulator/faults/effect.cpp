// SPDX-License-Identifier: Apache-2.0
#include "faults/effect.hpp"

#include <algorithm>

#include "core/parse.hpp"

namespace autopilot::simulator {
namespace {

double active_seconds(const Fault& fault, Duration elapsed) {
  const Duration end = fault.until ? std::min(*fault.until, elapsed) : elapsed;
  return std::max(0.0, to_seconds(end - fault.at));
}

}  // namespace

FaultEffect::FaultEffect(Machine& target, const Fault& fault, Duration elapsed)
    : machine(target),
      files(target.files),
      key(fault.subject),
      kind(fault.kind),
      magnitude(fault.magnitude.value_or(0)),
      is_active(!fault.until || elapsed < *fault.until),
      seconds(active_seconds(fault, elapsed)),
      begin_(target.uptime_seconds() + to_seconds(fault.at)) {}

std::int64_t FaultEffect::begin_wall_seconds() const {
  const YamlNode* time = machine.machine.find("time");
  const auto taken = time == nullptr ? std::nullopt : parse_time(time->text);
  const double since = begin_ - machine.uptime_seconds();
  return taken ? std::chrono::floor<std::chrono::seconds>(taken->time_since_epoch()).count() +
                     static_cast<std::int64_t>(since)
               : 0;
}

void FaultEffect::log(double after, int priority, const std::string& text) {
  if (after > seconds) return;
  machine.log.push_back(
      {.priority = priority, .sequence = {}, .seconds = std::max(0.0, begin_ + after), .text = text});
}

std::vector<double> FaultEffect::repeats(double first, double interval, std::int64_t most) const {
  std::vector<double> moments;
  for (std::int64_t i = 0; i < most && first + static_cast<double>(i) * interval <= seconds; ++i)
    moments.push_back(first + static_cast<double>(i) * interval);
  return moments;
}

void FaultEffect::log_end(int priority, const std::string& text) {
  if (!is_active) log(seconds, priority, text);
}

void FaultEffect::set(std::string_view gpu, std::string_view reading, YamlNode value) {
  YamlNode* node = machine.gpu(gpu);
  if (node == nullptr) return;
  YamlNode& readings = yaml_member(*node, "readings");
  if (readings.find(reading) != nullptr) yaml_member(readings, reading) = std::move(value);
}

void FaultEffect::add(std::string_view gpu, std::string_view reading, std::int64_t amount) {
  YamlNode* node = machine.gpu(gpu);
  if (node != nullptr) add_to(yaml_member(*node, "readings"), reading, amount);
}

void FaultEffect::add_to(YamlNode& readings, std::string_view reading, std::int64_t amount) {
  const YamlNode* value = readings.find(reading);
  const auto before = value == nullptr ? std::nullopt : parse_number<std::int64_t>(value->text);
  if (before) yaml_member(readings, reading) = yaml_integer(std::max<std::int64_t>(0, *before + amount));
}

double FaultEffect::number(std::string_view gpu, std::string_view reading) const {
  const YamlNode* node = machine.gpu(gpu);
  const YamlNode* readings = node == nullptr ? nullptr : node->find("readings");
  const YamlNode* value = readings == nullptr ? nullptr : readings->find(reading);
  return value == nullptr ? 0 : parse_number<double>(value->text).value_or(0);
}

YamlNode* FaultEffect::link(std::string_view gpu, std::size_t number) {
  YamlNode* node = machine.gpu(gpu);
  if (node == nullptr || node->find("links") == nullptr) return nullptr;
  YamlNode& links = yaml_member(*node, "links");
  return number < links.items.size() ? &links.items[number] : nullptr;
}

void FaultEffect::make_busy(std::string_view gpu) {
  set(gpu, "utilization", yaml_number(0.97));
  set(gpu, "performance_state", yaml_integer(0));
  set(gpu, "clocks.event_reasons", yaml_integer(0));
  set(gpu, "processes.count", yaml_integer(1));
  files.write("/proc/4200/stat",
              "4200 (python3) R 1 4200 4200 0 -1 4194304 0 0 0 0 0 0 0 0 20 0 1 0 7700 0 0\n");
  const std::string uid = "8b7c1f8e-0d55-4f9c-a2a3-1d2f3a4b5c6d";
  files.write("/proc/4200/cgroup", "0::/kubepods/burstable/pod" + uid + "/" + std::string(64, 'a') + "\n");
  files.write("/var/log/pods/ml_train-0_" + uid + "/main/0.log", "");
  set(gpu, "clocks.sm", yaml_integer(static_cast<std::int64_t>(number(gpu, "clocks.sm_max"))));
  set(gpu, "power.usage", yaml_number(number(gpu, "power.limit") * 0.9));
  set(gpu, "memory.used", yaml_number(number(gpu, "memory.total") * 0.75));
  set(gpu, "pcie.generation", yaml_integer(static_cast<std::int64_t>(number(gpu, "pcie.generation_max"))));
  const std::string device = pci(gpu);
  const auto speed = files.value(device + "/max_link_speed");
  if (!speed) return;
  files.write_value(device + "/current_link_speed", *speed);
  files.write_value(parent(gpu) + "/current_link_speed", *speed);
}

void FaultEffect::add_file(const std::string& path, std::int64_t amount) {
  if (const auto before = files.number(path)) {
    const std::string real = files.resolve(path).value_or(path);
    files.write_number(real, *before + amount);
  }
}

void FaultEffect::add_row(const std::string& path, std::string_view row, std::int64_t amount) {
  const std::string* text = files.text(path);
  if (text == nullptr) return;
  std::string changed;
  for (const std::string_view line : split(*text, '\n')) {
    const auto words = split_words(line);
    if (words.size() != 2) continue;
    const bool counts = words[0] == row || words[0].starts_with("TOTAL_");
    const auto before = parse_number<std::int64_t>(words[1]).value_or(0);
    changed += std::string(words[0]) + " " + std::to_string(before + (counts ? amount : 0)) + "\n";
  }
  files.write(path, changed);
}

std::string FaultEffect::pci(std::string_view address) const {
  return files.resolve("/sys/bus/pci/devices/" + std::string(address)).value_or("");
}

std::string FaultEffect::parent(std::string_view address) const {
  const std::string device = pci(address);
  return device.substr(0, device.rfind('/'));
}

void FaultEffect::xid(double after, std::string_view gpu, int code, const std::string& text) {
  if (after > seconds) return;
  log(after, 4,
      "NVRM: Xid (PCI:" + without_function(gpu) + "): " + std::to_string(code) + ", pid='<unknown>', " +
          "name=<unknown>, " + text);
  if (!machine.nvml) return;
  YamlNode& events = yaml_member(*machine.nvml, "events");
  if (events.kind != YamlNode::Kind::list) events = yaml_list();
  const std::size_t id = events.items.size() + 1;
  YamlNode& event = events.items.emplace_back(yaml_map());
  yaml_member(event, "id") = yaml_integer(id);
  yaml_member(event, "gpu") = yaml_word(gpu);
  yaml_member(event, "xid") = yaml_integer(code);
}

std::string without_function(std::string_view address) {
  return std::string(address.substr(0, address.rfind('.')));
}

}  // namespace autopilot::simulator
