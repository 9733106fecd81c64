// SPDX-License-Identifier: Apache-2.0
#include "drift/facts.hpp"

#include <algorithm>
#include <array>

#include "core/yaml.hpp"
#include "core/yaml_text.hpp"

namespace autopilot::drift {
namespace {

constexpr std::size_t kMaxKey = 200;
constexpr std::size_t kMaxValue = 4096;

constexpr std::array kFamilies{
    FactFamily{"os.name", "operating system"},
    FactFamily{"kernel.release", "release of the running kernel"},
    FactFamily{"kernel.argument.*", "argument of the kernel, without names of disks and of the machine",
               true},
    FactFamily{"kernel.huge_pages", "transparent huge pages: always, madvise or never"},
    FactFamily{"firmware.bios", "version of the BIOS"},
    FactFamily{"machine.vendor", "vendor of the machine"},
    FactFamily{"machine.product", "product name of the machine"},
    FactFamily{"cpu.online", "processors that are online"},
    FactFamily{"cpu.smt", "simultaneous multithreading: on, off, ..."},
    FactFamily{"driver.nvidia", "version of NVIDIA's driver"},
    FactFamily{"driver.nvidia_module", "its kernel module: open or proprietary"},
    FactFamily{"driver.cuda", "CUDA version of the driver"},
    FactFamily{"driver.nvml", "version of NVML"},
    FactFamily{"driver.amdgpu", "version of AMD's driver"},
    FactFamily{"gpu.count", "GPUs that the driver reports"},
    FactFamily{"gpu.*.name", "product name of a GPU, by its index"},
    FactFamily{"gpu.*.vbios", "version of its VBIOS"},
    FactFamily{"gpu.*.firmware", "version of its firmware (GSP)"},
    FactFamily{"gpu.*.ecc", "ECC: true or false"},
    FactFamily{"gpu.*.mig", "MIG mode: true or false"},
    FactFamily{"gpu.*.persistence", "persistence mode: true or false"},
    FactFamily{"gpu.*.power_limit", "power limit in W"},
    FactFamily{"nic.*.firmware", "firmware of an RDMA adapter, by its device (mlx5_0)"},
    FactFamily{"nic.*.board", "board id of the adapter"},
    FactFamily{"mtu.*", "MTU of a physical interface", true},
    FactFamily{"nvme.*.model", "model of an NVMe drive"},
    FactFamily{"nvme.*.firmware", "its firmware"},
    FactFamily{"module.*",
               "version of a loaded kernel module of accelerators, networks and file systems, or loaded",
               true},
    FactFamily{"pci.iommu", "on, if the kernel uses an IOMMU; else off"},
    FactFamily{"pci.acs_bridges", "PCIe bridges that redirect traffic between devices (ACS); 0: off"},
    FactFamily{"sysctl.*", "a kernel setting of the list of docs/drift.md"},
    FactFamily{"limit.open_files", "hard limit of open files of this session"},
    FactFamily{"limit.locked_memory", "hard limit of locked memory of this session, in bytes"},
};

// Up to the next dot; the rest begins behind it.
std::string_view take_segment(std::string_view& rest) {
  const std::size_t dot = rest.find('.');
  const std::string_view segment = rest.substr(0, dot);
  rest = dot == std::string_view::npos ? std::string_view{} : rest.substr(dot + 1);
  return segment;
}

void read_fact(YamlMap& map, const YamlMember& member, FactSet& set, YamlProblems& problems) {
  if (family_of(member.key) == nullptr || member.key.find('*') != std::string::npos) {
    problems.add(member.line, "`" + member.key.substr(0, 80) + "`: no such fact exists (docs/drift.md)");
    (void)map.any(member.key);
    return;
  }
  const YamlNode* node = map.map(member.key);
  if (node == nullptr) return;
  YamlMap inner = map.nested(*node, member.key);
  Fact fact{inner.required_word("value"), inner.word("source").value_or("")};
  if (fact.value.size() > kMaxValue) problems.add(member.line, "`" + member.key + "`: the value is too long");
  set.facts.emplace(member.key, std::move(fact));
}

void read_facts(YamlMap& top, FactSet& set, YamlProblems& problems) {
  const YamlNode* node = top.map("facts");
  if (node == nullptr) {
    problems.add(1, "`facts` is missing: expected a file of autopilot drift snapshot");
    return;
  }
  if (node->members.size() > FactSet::kMaxFacts) {
    problems.add(node->line, "`facts`: expected at most " + std::to_string(FactSet::kMaxFacts));
    return;
  }
  YamlMap map = top.nested(*node, "facts");
  for (const YamlMember& member : node->members)
    read_fact(map, member, set, problems);
}

void read_missing(YamlMap& top, FactSet& set) {
  const YamlNode* node = top.map("missing");
  if (node == nullptr || node->members.size() > FactSet::kMaxFacts) return;
  YamlMap map = top.nested(*node, "missing");
  for (const YamlMember& member : node->members)
    set.missing.emplace(member.key, map.word(member.key).value_or(""));
}

}  // namespace

std::span<const FactFamily> fact_families() {
  return kFamilies;
}

bool matches(std::string_view pattern, std::string_view key) {
  while (!pattern.empty() && !key.empty()) {
    // At the end a name may contain dots: sysctl.vm.swappiness.
    if (pattern == "*") return true;
    const std::string_view wanted = take_segment(pattern);
    const std::string_view found = take_segment(key);
    if (wanted != found && (wanted != "*" || found.empty())) return false;
  }
  return pattern.empty() && key.empty();
}

const FactFamily* family_of(std::string_view key) {
  if (key.empty() || key.size() > kMaxKey) return nullptr;
  const auto found =
      std::ranges::find_if(kFamilies, [key](const FactFamily& family) { return matches(family.key, key); });
  return found == kFamilies.end() ? nullptr : &*found;
}

std::string FactSet::reason_of(std::string_view key) const {
  if (const auto own = missing.find(key); own != missing.end()) return own->second;
  for (const auto& [pattern, reason] : missing)
    if (matches(pattern, key)) return reason;
  return {};
}

std::optional<std::string> FactSet::value_of(std::string_view key) const {
  if (const auto fact = facts.find(key); fact != facts.end()) return fact->second.value;
  const FactFamily* family = family_of(key);
  if (family != nullptr && family->is_open && reason_of(key).empty()) return std::string(kAbsent);
  return std::nullopt;
}

Result<FactSet> parse_facts(std::string_view text, std::string_view name) {
  YamlProblems problems{std::string(name)};
  const YamlNode root = parse_yaml(text, problems);
  TRY_STATUS(problems.status());
  FactSet set;
  {
    YamlMap top(root, "snapshot", problems);
    set.node = top.required_word("node");
    set.time = top.word("time").value_or("");
    read_facts(top, set, problems);
    read_missing(top, set);
  }
  TRY_STATUS(problems.status());
  return set;
}

std::string format_facts(const FactSet& facts) {
  YamlNode root = yaml_map();
  yaml_member(root, "node") = yaml_word(facts.node);
  if (!facts.time.empty()) yaml_member(root, "time") = yaml_word(facts.time);
  YamlNode& list = yaml_member(root, "facts");
  list = yaml_map();
  for (const auto& [key, fact] : facts.facts) {
    YamlNode& one = yaml_member(list, key);
    one = yaml_map();
    yaml_member(one, "value") = yaml_word(fact.value);
    if (!fact.source.empty()) yaml_member(one, "source") = yaml_word(fact.source);
  }
  if (!facts.missing.empty()) {
    YamlNode& missing = yaml_member(root, "missing");
    missing = yaml_map();
    for (const auto& [key, reason] : facts.missing)
      yaml_member(missing, key) = yaml_word(reason);
  }
  return to_yaml(root);
}

}  // namespace autopilot::drift
