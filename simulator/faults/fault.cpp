// SPDX-License-Identifier: Apache-2.0
#include "faults/fault.hpp"

#include <algorithm>

#include "core/parse.hpp"
#include "core/text.hpp"
#include "faults/effect.hpp"

namespace autopilot::simulator {
namespace {

// clang-format off
const std::vector<FaultType>& table() {
  static const std::vector<FaultType> types{
    {"row_remap_pending", "A memory row waits for a reset to be replaced", "gpu", "rows", 1, {}, apply_row_remap_pending},
    {"row_remap_failed", "A memory row could not be replaced", "gpu", "", 0, {}, apply_row_remap_failed},
    {"ecc_uncorrected", "Uncorrectable memory errors, contained", "gpu", "errors", 1, {}, apply_ecc_uncorrected},
    {"ecc_corrected_storm", "Corrected memory errors, many of them", "gpu", "errors per second", 100, {}, apply_ecc_corrected_storm, true},
    {"sram_threshold", "The driver's limit of on-chip memory errors is exceeded", "gpu", "errors", 12, {}, apply_sram_threshold},
    {"throttle", "Clocks held back under load", "gpu", "share of time, 0 to 1", 0.3, {"hw_thermal", "sw_thermal", "power_brake", "power_cap"}, apply_throttle, true},
    {"temperature", "A hot chip", "gpu", "degrees Celsius", 91, {}, apply_temperature},
    {"pcie_width", "The PCIe link lost lanes", "gpu", "lanes", 8, {}, apply_pcie_width},
    {"pcie_generation", "The PCIe link is slow under load", "gpu", "generation", 3, {}, apply_pcie_generation},
    {"aer", "PCIe errors reported by the root port", "gpu", "errors per second", 5, {"correctable", "nonfatal", "fatal"}, apply_aer, true},
    {"nvlink_down", "An NVLink is down", "nvlink", "", 0, {}, apply_nvlink_down},
    {"nvlink_errors", "Errors of an NVLink", "nvlink", "errors per second", 1, {"replay", "recovery", "crc", "crc_data", "integrity", "receive", "symbol"}, apply_nvlink_errors, true},
    {"fabric", "The NVLink fabric has trouble with a GPU", "gpu", "", 0, {"in_progress", "not_started", "refused", "bandwidth", "recovering", "route", "configuration", "partition"}, apply_fabric},
    {"repair", "A repair of the GPU waits for a reset, or none is possible", "gpu", "", 0, {"channel", "tpc", "unrepairable"}, apply_repair},
    {"inforom", "The configuration memory of the board is damaged", "gpu", "", 0, {}, apply_inforom},
    {"persistence_off", "Persistence mode of the GPU is off", "gpu", "", 0, {}, apply_persistence_off},
    {"power_limit", "The power limit is low", "gpu", "watts", 400, {"set", "held_down"}, apply_power_limit},
    {"slow_clock", "The GPU runs at a low clock and reports no reason", "gpu", "share of the full clock, 0 to 1", 0.7, {}, apply_slow_clock},
    {"orphan", "Memory of the GPU stays in use by a process that has ended, or by none", "gpu", "share of the memory, 0 to 1", 0.3, {"ended", "unlisted"}, apply_orphan},
    {"slow_copies", "A test finds that the GPU takes data slowly from the host", "gpu", "gigabytes per second", 2, {}, apply_slow_copies},
    {"test_hang", "Tests never end", "host", "", 0, {"*", "TEST"}, apply_test_hang},
    {"fell_off_bus", "The GPU no longer answers on PCIe", "gpu", "", 0, {"dead", "removed"}, apply_fell_off_bus},
    {"reset_required", "The driver requests a reset of the GPU", "gpu", "", 0, {}, apply_reset_required},
    {"gpu_reset", "No fault: the GPU was reset", "gpu", "", 0, {}, apply_gpu_reset},
    {"card_replaced", "No fault: another card sits in the slot of the GPU", "gpu", "", 0, {}, apply_card_replaced},
    {"card_swapped", "No fault: the GPU and the next one changed places", "gpu", "", 0, {}, apply_card_swapped},
    {"xid", "A line of the driver in the kernel log", "gpu", "Xid code", 31, {}, apply_xid},
    {"driver_hang", "Calls of the driver never return", "gpu", "", 0, {"*", "FUNCTION"}, apply_driver_hang, true},
    {"driver_crash", "Calls of the driver kill their process", "gpu", "", 0, {"*", "FUNCTION"}, apply_driver_crash},
    {"library_missing", "There is no libnvidia-ml.so.1", "host", "", 0, {}, apply_library_missing},
    {"library_broken", "libnvidia-ml.so.1 cannot be loaded", "host", "", 0, {}, apply_library_broken},
    {"version_mismatch", "Library and kernel module of the driver differ", "host", "", 0, {}, apply_version_mismatch},
    {"driver_not_loaded", "The kernel module of the driver is not loaded", "host", "", 0, {}, apply_driver_not_loaded},
    {"busy", "No fault: the GPU works at full speed", "gpu", "", 0, {}, apply_busy},
    {"divided", "No fault: the GPU is divided into instances (MIG)", "gpu", "instances", 2, {}, apply_divided},
    {"amd_errors", "The memory of an AMD GPU counts errors", "amd_gpu", "errors", 1, {"uncorrected", "corrected", "deferred"}, apply_amd_errors},
    {"amd_bad_pages", "An AMD GPU has bad memory pages", "amd_gpu", "pages", 16, {"retired", "pending", "unreserved"}, apply_amd_bad_pages},
    {"amd_temperature", "A hot AMD GPU", "amd_gpu", "degrees Celsius", 101, {"junction", "memory"}, apply_amd_temperature},
    {"amd_asleep", "No fault: an idle AMD GPU is suspended", "amd_gpu", "", 0, {}, apply_amd_asleep},
    {"amd_off_bus", "An AMD GPU no longer answers on PCIe", "amd_gpu", "", 0, {}, apply_amd_off_bus},
    {"amd_not_loaded", "The kernel module amdgpu is not loaded", "host", "", 0, {}, apply_amd_not_loaded},
    {"amd_line", "A line of the driver amdgpu in the kernel log", "amd_gpu", "", 0, {"fatal", "poison", "bad_pages", "boot", "init", "lost", "reset_failed", "reset", "firmware", "scheduler", "overheat", "throttle", "power_cap", "page_fault", "timeout"}, apply_amd_line},
    {"ib_port_down", "An InfiniBand port is down", "infiniband", "", 0, {"remote", "cable"}, apply_ib_port_down},
    {"ib_port_flap", "An InfiniBand port goes down and up", "infiniband", "seconds from one fall to the next", 60, {}, apply_ib_port_flap, true},
    {"ib_rate", "An InfiniBand port runs slower", "infiniband", "Gb/s", 200, {}, apply_ib_rate},
    {"ib_errors", "A counter of an InfiniBand port grows", "infiniband", "per second", 10, {"symbol_error", "COUNTER"}, apply_ib_errors, true},
    {"ib_port_hang", "The firmware of an InfiniBand port does not answer", "infiniband", "", 0, {}, apply_ib_port_hang, true},
    {"ethernet_down", "An Ethernet link is down", "ethernet", "", 0, {"untold", "no_cable", "remote_fault", "bad_signal_integrity", "module"}, apply_ethernet_down},
    {"module_light", "The module of an Ethernet port sees too little light", "ethernet", "decibels below a milliwatt", 13, {"received", "sent"}, apply_module_light},
    {"module_heat", "A hot module of an Ethernet port", "ethernet", "degrees Celsius", 72, {}, apply_module_heat},
    {"fec_errors", "Blocks of an Ethernet port arrive damaged", "ethernet", "blocks per second", 1, {"uncorrectable", "corrected"}, apply_fec_errors, true},
    {"lacp_apart", "LACP keeps a member of a bond from carrying traffic", "ethernet", "", 0, {"member", "switch"}, apply_lacp_apart},
    {"adapter_error", "The driver of an adapter reports an error", "infiniband", "", 0, {"firmware", "timeout", "power", "hot", "cable"}, apply_adapter_error},
    {"gateway_silent", "The default gateway does not answer", "host", "", 0, {"gateway", "resolver", "route"}, apply_gateway_silent},
    {"name_servers", "The name servers do not answer correctly", "host", "", 0, {"silent", "closed", "malformed", "unreachable", "helpless", "failing", "slow"}, apply_name_servers},
    {"nvme_wear", "The rated endurance of an NVMe disk is used", "disk", "percent", 101, {}, apply_nvme_wear},
    {"nvme_critical", "An NVMe disk raises a critical warning", "disk", "bits of the warning", 4, {}, apply_nvme_critical},
    {"nvme_dead", "An NVMe controller does not come back", "disk", "", 0, {}, apply_nvme_dead, true},
    {"io_errors", "Requests to a disk fail", "block", "requests", 1, {"io", "medium", "discard"}, apply_io_errors},
    {"io_stall", "A disk finishes nothing", "block", "requests in flight", 4, {}, apply_io_stall},
    {"raid_member_lost", "Members of a RAID array fail", "raid", "members", 1, {}, apply_raid_member_lost},
    {"filesystem_errors", "The kernel finds damage in a filesystem and continues", "mount", "errors", 1, {}, apply_filesystem_errors},
    {"filesystem_read_only", "A filesystem became read-only after errors", "mount", "", 0, {}, apply_filesystem_read_only},
    {"filesystem_full", "A filesystem is full", "mount", "share in use, 0 to 1", 1, {}, apply_filesystem_full},
    {"inodes_full", "A filesystem has no inodes left", "mount", "share in use, 0 to 1", 1, {}, apply_inodes_full},
    {"mount_hang", "statfs of a mount never returns", "mount", "", 0, {}, apply_mount_hang, true},
    {"nfs_slow", "A file server lets requests time out", "nfs", "requests", 1, {}, apply_nfs_slow},
    {"clock_unsynchronised", "The clock is not synchronised", "host", "", 0, {}, apply_clock_unsynchronised},
    {"clocksource_fallback", "The kernel gave up its fast clock source", "host", "", 0, {"hpet", "acpi_pm"}, apply_clocksource_fallback},
    {"memory_uncorrected", "Uncorrectable errors of a memory module", "host", "errors", 1, {}, apply_memory_uncorrected},
    {"memory_poison", "The kernel took a poisoned page out of use", "host", "pages", 1, {}, apply_memory_poison},
    {"oom", "The kernel killed a process because memory ran out", "host", "processes", 1, {"global", "cgroup"}, apply_oom},
    {"edac_corrected", "Corrected errors of a memory module", "host", "errors per second", 1, {}, apply_edac_corrected, true},
    {"lockup", "A processor is stuck in the kernel", "host", "", 0, {"soft", "hard", "rcu"}, apply_lockup, true},
    {"kernel_oops", "The kernel met a fault of its own and went on", "host", "", 0, {}, apply_kernel_oops},
    {"hung_task", "A task hangs in the kernel", "host", "seconds from one report to the next", 122, {}, apply_hung_task, true},
    {"machine_check", "A processor reports a hardware error", "host", "errors", 1, {"corrected", "uncorrected", "firmware"}, apply_machine_check},
    {"limit", "A limit of the kernel is nearly reached", "host", "share of the limit, 0 to 1", 0.97, {"files", "conntrack", "tasks"}, apply_limit},
    {"cpu_offline", "Processors are switched off", "host", "processors", 1, {}, apply_cpu_offline},
    {"cpu_throttle", "A processor slows down because of heat", "host", "share of the time, 0 to 1", 0.4, {}, apply_cpu_throttle, true},
    {"pressure", "Everything waits for a resource", "host", "share of the time, 0 to 1", 0.95, {"cpu", "io", "memory"}, apply_pressure},
  };
  return types;
}
// clang-format on

// Larger values make no sense for a machine, and would overflow counters.
constexpr double kMaxMagnitude = 1e6;
constexpr Duration kMaxDuration = std::chrono::hours{24 * 366};

// A last kind in capitals is a placeholder for any word.
bool is_kind(const FaultType& type, const std::string& kind) {
  if (kind.empty() || std::find(type.kinds.begin(), type.kinds.end(), kind) != type.kinds.end()) return true;
  return !type.kinds.empty() && type.kinds.back().front() >= 'A' && type.kinds.back().front() <= 'Z';
}

}  // namespace

std::span<const FaultType> fault_types() {
  return table();
}

const FaultType* find_fault_type(std::string_view id) {
  for (const FaultType& type : table())
    if (type.id == id) return &type;
  return nullptr;
}

Result<Fault> resolve_fault(const Fault& fault, const Machine& machine) {
  const FaultType* type = find_fault_type(fault.id);
  if (type == nullptr) {
    std::vector<std::string> known;
    for (const FaultType& each : table())
      known.emplace_back(each.id);
    const auto nearest = nearest_word(fault.id, known);
    return fail(Errc::not_found, "unknown fault `" + fault.id + "`" +
                                     (nearest ? "; did you mean `" + *nearest + "`?" : "") +
                                     " (autopilot-sim faults lists them)");
  }
  if (!is_kind(*type, fault.kind))
    return fail(Errc::not_found, fault.id + ": unknown kind `" + fault.kind + "`");
  if (fault.until && *fault.until <= fault.at)
    return fail(Errc::malformed, fault.id + ": `until` is before its start");
  if (fault.magnitude && !(*fault.magnitude >= 0 && *fault.magnitude <= kMaxMagnitude))
    return fail(Errc::malformed, fault.id + ": `magnitude` must be from 0 to 1000000");
  if (std::max({-fault.at, fault.at, fault.until.value_or(fault.at)}) > kMaxDuration)
    return fail(Errc::malformed, fault.id + ": its start or end is more than a year away");
  auto key = subject_key(type->subject, fault.subject, machine);
  if (!key) return fail(Errc::not_found, fault.id + ": " + key.error().what);
  Fault resolved = fault;
  resolved.subject = *std::move(key);
  if (resolved.kind.empty() && !type->kinds.empty()) resolved.kind = type->kinds.front();
  if (!resolved.magnitude && !type->magnitude.empty()) resolved.magnitude = type->default_magnitude;
  return resolved;
}

void apply_fault(const Fault& fault, Duration elapsed, Machine& machine) {
  const FaultType* type = find_fault_type(fault.id);
  if (type == nullptr || elapsed < fault.at) return;
  FaultEffect effect(machine, fault, elapsed);
  type->apply(effect);
}

Fault read_fault(const YamlNode& node, YamlProblems& problems) {
  YamlMap map(node, "fault", problems);
  Fault fault;
  fault.id = map.required_word("fault");
  fault.subject = map.word("subject").value_or("");
  fault.magnitude = map.number("magnitude");
  fault.kind = map.word("kind").value_or("");
  fault.until = map.duration("until");
  const auto at = map.duration("at");
  const auto age = map.duration("age");
  if (at && age) map.problem(map.line_of("age"), "`at` and `age` exclude each other");
  fault.at = age ? -*age : at.value_or(Duration{0});
  return fault;
}

YamlNode fault_node(const Fault& fault) {
  YamlNode node = yaml_map();
  const bool is_past = fault.at < Duration{0};
  yaml_member(node, is_past ? "age" : "at") = yaml_word(format_duration(is_past ? -fault.at : fault.at));
  yaml_member(node, "fault") = yaml_word(fault.id);
  if (!fault.subject.empty()) yaml_member(node, "subject") = yaml_word(fault.subject);
  if (fault.magnitude) yaml_member(node, "magnitude") = yaml_number(*fault.magnitude);
  if (!fault.kind.empty()) yaml_member(node, "kind") = yaml_word(fault.kind);
  if (fault.until) yaml_member(node, "until") = yaml_word(format_duration(*fault.until));
  return node;
}

namespace {

std::vector<std::string> links_of(const Machine& machine) {
  std::vector<std::string> keys;
  const YamlNode* gpus = machine.nvml ? machine.nvml->find("gpus") : nullptr;
  if (gpus == nullptr) return keys;
  for (const YamlMember& gpu : gpus->members)
    if (const YamlNode* links = gpu.value.find("links"))
      for (std::size_t i = 0; i < links->items.size(); ++i)
        keys.push_back(gpu.key + "/" + std::to_string(i));
  return keys;
}

std::vector<std::string> amd_gpus(const FileTree& files) {
  std::vector<std::string> keys;
  for (const std::string& address : files.list("/sys/bus/pci/devices"))
    if (files.text("/sys/bus/pci/devices/" + address + "/mem_info_vram_total") != nullptr)
      keys.push_back(address);
  return keys;
}

std::vector<std::string> infiniband_ports(const FileTree& files) {
  std::vector<std::string> keys;
  for (const std::string& device : files.list("/sys/class/infiniband"))
    for (const std::string& port : files.list("/sys/class/infiniband/" + device + "/ports"))
      keys.push_back(std::string(device).append("/").append(port));
  return keys;
}

std::vector<std::string> ethernet_ports(const FileTree& files) {
  std::vector<std::string> keys;
  for (const std::string& name : files.list("/sys/class/net")) {
    const std::string path = "/sys/class/net/" + name;
    if (files.resolve(path + "/device") && files.value(path + "/type") == "1") keys.push_back(name);
  }
  return keys;
}

// NVMe controllers, as the checks name them; other disks by name.
std::vector<std::string> block_disks(const FileTree& files) {
  std::vector<std::string> keys = files.list("/sys/class/nvme");
  for (const std::string& name : files.list("/sys/block"))
    if (!name.starts_with("nvme")) keys.push_back(name);
  return keys;
}

std::vector<std::string> raid_arrays(const FileTree& files) {
  std::vector<std::string> keys;
  for (const std::string& name : files.list("/sys/block"))
    if (!files.list("/sys/block/" + name + "/md").empty()) keys.push_back(name);
  return keys;
}

std::vector<std::string> nfs_mounts(const FileTree& files) {
  std::vector<std::string> keys;
  const std::string* text = files.text("/proc/self/mountstats");
  if (text == nullptr) return keys;
  for (const std::string_view line : split(*text, '\n')) {
    const auto words = split_words(line);
    if (words.size() > 7 && words[0] == "device" && words[7].starts_with("nfs")) keys.emplace_back(words[4]);
  }
  return keys;
}

// Kinds of the table that have another name in the core.
std::string_view core_kind(std::string_view kind) {
  if (kind == "infiniband" || kind == "ethernet") return "nic_port";
  if (kind == "nfs") return "mount";
  if (kind == "amd_gpu") return "gpu";
  return kind == "block" || kind == "raid" ? "disk" : kind;
}

// Keys of all subjects of one kind on the machine: "gpu" gives PCI addresses in NVML's order, "amd_gpu" those
// of AMD GPUs, "nvlink" "<gpu>/<link>", "infiniband" "mlx5_0/1", "ethernet" interface names with hardware,
// "disk" NVMe controllers, "block" these and all other disks, "raid" software RAID arrays, "mount" mount
// points with usage, "nfs" mount points of file servers, "host" one empty key.
std::vector<std::string> subject_keys(std::string_view kind, const Machine& machine) {
  if (kind == "gpu") return machine.gpus();
  if (kind == "amd_gpu") return amd_gpus(machine.files);
  if (kind == "nvlink") return links_of(machine);
  if (kind == "infiniband") return infiniband_ports(machine.files);
  if (kind == "ethernet") return ethernet_ports(machine.files);
  if (kind == "disk") return machine.files.list("/sys/class/nvme");
  if (kind == "block") return block_disks(machine.files);
  if (kind == "raid") return raid_arrays(machine.files);
  if (kind == "nfs") return nfs_mounts(machine.files);
  if (kind == "mount") {
    std::vector<std::string> keys;
    if (const YamlNode* mounts = machine.machine.find("filesystems"))
      for (const YamlMember& mount : mounts->members)
        keys.push_back(mount.key);
    // The first is the default for a fault without a subject.
    std::stable_partition(keys.begin(), keys.end(), [](const std::string& key) { return key == "/"; });
    return keys;
  }
  return {""};
}

}  // namespace

Result<std::string> subject_key(std::string_view kind, std::string_view text, const Machine& machine) {
  const auto keys = subject_keys(kind, machine);
  std::string_view rest = text;
  const std::string prefix = std::string(core_kind(kind)) + "/";
  if (rest.starts_with(prefix)) rest.remove_prefix(prefix.size());
  if (rest == core_kind(kind)) rest = {};
  if (rest.empty() && !keys.empty()) return keys.front();
  if (std::find(keys.begin(), keys.end(), rest) != keys.end()) return std::string(rest);
  if (kind == "nvlink") {
    const auto parts = split(rest, '/');
    const auto gpus = machine.gpus();
    const auto number = parse_number<std::size_t>(parts[0]);
    if (parts.size() == 2 && number && *number < gpus.size()) {
      const std::string key = gpus[*number] + "/" + std::string(parts[1]);
      if (std::find(keys.begin(), keys.end(), key) != keys.end()) return key;
    }
  } else if (const auto number = parse_number<std::size_t>(rest); number && *number < keys.size()) {
    return keys[*number];
  }
  std::string known;
  for (std::size_t i = 0; i < std::min<std::size_t>(keys.size(), 12); ++i)
    known += " " + prefix + keys[i];
  return fail(Errc::not_found, "unknown subject `" + std::string(text) + "` of kind " + std::string(kind) +
                                   (known.empty() ? "; the machine has none" : "; there are" + known));
}

}  // namespace autopilot::simulator
