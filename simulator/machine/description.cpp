// SPDX-License-Identifier: Apache-2.0
#include "machine/description.hpp"

#include <algorithm>
#include <map>

#include "core/parse.hpp"
#include "machine/build.hpp"

namespace autopilot::simulator {
namespace {

int read_int(YamlMap& map, std::string_view key) {
  return static_cast<int>(map.required_integer(key));
}

DeviceKind read_kind(YamlMap map) {
  DeviceKind kind;
  kind.vendor = map.required_word("vendor");
  kind.device = map.required_word("device");
  kind.subsystem_vendor = map.required_word("subsystem_vendor");
  kind.subsystem_device = map.required_word("subsystem_device");
  kind.class_code = map.required_word("class");
  kind.driver = map.required_word("driver");
  kind.speed = map.required_word("speed");
  kind.idle_speed = map.word("idle_speed").value_or("");
  kind.width = read_int(map, "width");
  return kind;
}

PciGroup read_group(YamlMap map) {
  PciGroup group;
  group.root_port = map.required_word("root");
  group.switch_port = map.word("switch").value_or("");
  group.numa = read_int(map, "numa");
  for (const std::string& text : map.required_words("slots")) {
    const auto words = split_words(text);
    if (words.size() != 3)
      map.problem(map.line_of("slots"), "expected a slot `ADDRESS KIND NAME`, found `" + text + "`");
    else
      group.slots.push_back({std::string(words[0]), std::string(words[1]), std::string(words[2])});
  }
  return group;
}

GpuDescription read_gpu(YamlMap map) {
  GpuDescription gpu;
  gpu.name = map.required_word("name");
  gpu.vbios = map.required_word("vbios");
  gpu.first_serial = map.required_integer("first_serial");
  for (const std::string& word : map.words("links_per_switch").value_or(std::vector<std::string>{}))
    gpu.links_per_switch.push_back(parse_number<int>(word).value_or(0));
  gpu.links_without_switch = static_cast<int>(map.integer("links_without_switch").value_or(0));
  if (const YamlNode* readings = map.map("readings")) gpu.readings = *readings;
  if (const YamlNode* readings = map.map("link_readings")) gpu.link_readings = *readings;
  return gpu;
}

AmdGpuDescription read_amd_gpu(YamlMap map) {
  AmdGpuDescription gpu;
  gpu.first_serial = map.required_integer("first_serial");
  if (const YamlNode* files = map.map("files"))
    for (const YamlMember& file : files->members)
      gpu.files[file.key] = file.value.text;
  return gpu;
}

InfinibandDescription read_infiniband(YamlMap map) {
  InfinibandDescription infiniband;
  infiniband.type = map.required_word("type");
  infiniband.firmware = map.required_word("firmware");
  infiniband.board = map.required_word("board");
  infiniband.rate = map.required_word("rate");
  infiniband.gigabits = read_int(map, "gigabits");
  infiniband.interface_prefix = map.required_word("interface_prefix");
  return infiniband;
}

EthernetDescription read_ethernet(YamlMap map) {
  EthernetDescription ethernet;
  ethernet.name = map.required_word("name");
  ethernet.megabits = read_int(map, "megabits");
  ethernet.master = map.word("master").value_or("");
  return ethernet;
}

NvmeDescription read_nvme(YamlMap map) {
  NvmeDescription nvme;
  nvme.names = map.required_words("names");
  nvme.model = map.required_word("model");
  nvme.firmware = map.required_word("firmware");
  nvme.gigabytes = read_int(map, "gigabytes");
  nvme.used_percent = read_int(map, "used_percent");
  return nvme;
}

RaidDescription read_raid(YamlMap map) {
  RaidDescription raid;
  raid.name = map.required_word("name");
  raid.level = map.required_word("level");
  raid.members = map.required_words("members");
  return raid;
}

MountDescription read_mount(YamlMap map) {
  MountDescription mount;
  mount.point = map.required_word("point");
  mount.source = map.required_word("source");
  mount.device = map.required_word("device");
  mount.type = map.required_word("type");
  mount.options = map.required_word("options");
  mount.gigabytes = map.required_number("gigabytes");
  mount.used_ratio = map.required_number("used_ratio");
  mount.inodes = map.required_integer("inodes");
  return mount;
}

void read_facts(const YamlNode& list, YamlProblems& problems) {
  for (const YamlNode& item : list.items) {
    YamlMap fact(item, "fact", problems);
    for (const char* key : {"fact", "source", "date", "evidence"})
      fact.required_word(key);
  }
}

void read_host(YamlMap& map, Description& machine, YamlProblems& problems) {
  if (const YamlNode* node = map.map("product")) {
    YamlMap product(*node, "product", problems);
    machine.vendor = product.required_word("vendor");
    machine.product = product.required_word("name");
    machine.bios = product.required_word("bios");
  }
  if (const YamlNode* node = map.map("cpu")) {
    YamlMap cpu(*node, "cpu", problems);
    machine.cpu_model = cpu.required_word("model");
    machine.cpu_threads = read_int(cpu, "threads");
    machine.sockets = read_int(cpu, "sockets");
  }
  if (const YamlNode* node = map.map("memory")) {
    YamlMap memory(*node, "memory", problems);
    machine.memory_gib = read_int(memory, "gib");
    machine.edac_driver = memory.required_word("edac_driver");
    machine.memory_controllers = read_int(memory, "controllers");
    machine.dimms_per_controller = read_int(memory, "dimms_per_controller");
  }
  if (const YamlNode* node = map.map("clock")) {
    YamlMap clock(*node, "clock", problems);
    machine.clocksource = clock.required_word("source");
    machine.clocksources = clock.required_word("available");
  }
  if (const YamlNode* node = map.map("driver")) {
    YamlMap driver(*node, "driver", problems);
    machine.driver_version = driver.required_word("version");
    machine.nvml_version = driver.required_word("nvml_version");
    machine.cuda_version = read_int(driver, "cuda_version");
  }
}

void read_devices(YamlMap& map, Description& machine, YamlProblems& problems) {
  if (const YamlNode* node = map.map("devices"))
    for (const YamlMember& member : node->members)
      machine.kinds[member.key] = read_kind(YamlMap(member.value, member.key, problems));
  if (const YamlNode* node = map.list("pci"))
    for (const YamlNode& item : node->items)
      machine.pci.push_back(read_group(YamlMap(item, "pci", problems)));
  for (const PciGroup& group : machine.pci)
    for (const Slot& slot : group.slots)
      if (!machine.kinds.contains(slot.kind))
        map.problem(map.line_of("pci"), slot.address + ": unknown kind `" + slot.kind + "`");
  if (const YamlNode* node = map.map("gpu")) machine.gpu = read_gpu(YamlMap(*node, "gpu", problems));
  if (const YamlNode* node = map.map("amd_gpu"))
    machine.amd_gpu = read_amd_gpu(YamlMap(*node, "amd_gpu", problems));
  if (const YamlNode* node = map.map("infiniband"))
    machine.infiniband = read_infiniband(YamlMap(*node, "infiniband", problems));
  if (const YamlNode* node = map.list("ethernet"))
    for (const YamlNode& item : node->items)
      machine.ethernet.push_back(read_ethernet(YamlMap(item, "ethernet", problems)));
  if (const YamlNode* node = map.map("bond")) machine.bond = read_ethernet(YamlMap(*node, "bond", problems));
  if (const YamlNode* node = map.list("nvme"))
    for (const YamlNode& item : node->items)
      machine.nvme.push_back(read_nvme(YamlMap(item, "nvme", problems)));
  if (const YamlNode* node = map.list("raid"))
    for (const YamlNode& item : node->items)
      machine.raid.push_back(read_raid(YamlMap(item, "raid", problems)));
  if (const YamlNode* node = map.list("mounts"))
    for (const YamlNode& item : node->items)
      machine.mounts.push_back(read_mount(YamlMap(item, "mount", problems)));
}

Result<Description> parse_description(std::string_view text, const std::string& file) {
  YamlProblems problems(file);
  const YamlNode document = parse_yaml(text, problems);
  TRY_STATUS(problems.status());
  Description machine;
  {
    YamlMap map(document, "machine", problems);
    machine.id = map.required_word("id");
    machine.title = map.required_word("title");
    machine.node = map.required_word("node");
    machine.kernel = map.required_word("kernel");
    if (const YamlNode* facts = map.list("facts")) read_facts(*facts, problems);
    read_host(map, machine, problems);
    read_devices(map, machine, problems);
  }
  TRY_STATUS(problems.status());
  return machine;
}

}  // namespace

std::vector<Slot> Description::slots(std::string_view kind) const {
  std::vector<Slot> found;
  for (const PciGroup& group : pci)
    for (const Slot& slot : group.slots)
      if (slot.kind == kind) found.push_back(slot);
  std::sort(found.begin(), found.end(), [](const Slot& a, const Slot& b) { return a.address < b.address; });
  return found;
}

// name.yaml -> text; generated from machines/ by cmake/Embed.cmake.
const std::map<std::string, std::string>& embedded_machines();

std::vector<BuiltinMachine> builtin_machines() {
  std::vector<BuiltinMachine> list;
  for (const auto& [file, text] : embedded_machines())
    if (const auto description = parse_description(text, file))
      list.push_back({description->id, description->title});
  return list;
}

Result<Machine> builtin_machine(std::string_view id) {
  const auto& files = embedded_machines();
  if (const auto found = files.find(std::string(id) + ".yaml"); found != files.end())
    return build_machine(TRY(parse_description(found->second, "machines/" + found->first)));
  std::string known;
  for (const BuiltinMachine& machine : builtin_machines())
    known += " " + machine.id;
  return fail(Errc::not_found, "unknown built-in machine `" + std::string(id) + "`; known:" + known);
}

}  // namespace autopilot::simulator
