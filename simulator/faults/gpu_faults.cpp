// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <map>

#include "core/parse.hpp"
#include "faults/effect.hpp"

namespace autopilot::simulator {
namespace {

constexpr std::int64_t kReasonPowerCap = 0x4;
constexpr std::int64_t kReasonHwSlowdown = 0x8;
constexpr std::int64_t kReasonSwThermal = 0x20;
constexpr std::int64_t kReasonHwThermal = 0x40;
constexpr std::int64_t kReasonPowerBrake = 0x80;

constexpr int kGpuIsLost = 15;
constexpr int kResetRequired = 16;
constexpr int kDriverNotLoaded = 9;
constexpr int kVersionMismatch = 18;
constexpr int kNvLink5 = 7;  // NVML's number of the version

const char* speed_of(int generation) {
  constexpr const char* speeds[] = {"2.5 GT/s PCIe",  "5.0 GT/s PCIe",  "8.0 GT/s PCIe",
                                    "16.0 GT/s PCIe", "32.0 GT/s PCIe", "64.0 GT/s PCIe"};
  return speeds[std::clamp(generation, 1, 6) - 1];
}

// The two keys of "<gpu>/<link>".
std::pair<std::string, std::size_t> link_of(const std::string& key) {
  const auto parts = split(key, '/');
  if (parts.size() != 2) return {};
  return {std::string(parts[0]), parse_number<std::size_t>(parts[1]).value_or(0)};
}

void set_state(FaultEffect& effect, int code) {
  if (YamlNode* gpu = effect.machine.gpu(effect.key)) yaml_member(*gpu, "state") = yaml_integer(code);
}

void set_init(FaultEffect& effect, int code) {
  if (effect.machine.nvml)
    yaml_member(yaml_member(*effect.machine.nvml, "driver"), "init") = yaml_integer(code);
}

void misbehave(FaultEffect& effect, const char* how) {
  if (!effect.is_active || !effect.machine.nvml) return;
  yaml_member(yaml_member(*effect.machine.nvml, "functions"), effect.kind) = yaml_word(how);
}

std::string gpu_word(FaultEffect& effect, const char* word) {
  const YamlNode* gpu = effect.machine.gpu(effect.key);
  const YamlNode* value = gpu == nullptr ? nullptr : gpu->find(word);
  return value == nullptr ? "" : value->text;
}

// For the number of symbols that a link sends in some ten seconds.
void set_symbol_ratio(YamlNode& link, std::int64_t errors) {
  constexpr std::string_view kRatio = "nvlink.symbol_ber";
  constexpr double kSymbols = 1e12;
  if (errors > 0 && link.find(kRatio) != nullptr)
    yaml_member(link, kRatio) = yaml_number(static_cast<double>(errors) / kSymbols);
}

}  // namespace

void apply_row_remap_pending(FaultEffect& effect) {
  const std::int64_t rows = effect.count();
  effect.set(effect.key, "row_remap.pending", yaml_flag(effect.is_active));
  // Too many corrected errors in a row, which the driver replaces before they become uncorrectable.
  effect.add(effect.key, "row_remap.correctable", rows);
  effect.add(effect.key, "row_remap.banks_max", -rows);
  effect.add(effect.key, "row_remap.banks_high", rows);
  effect.add(effect.key, "ecc.volatile_corrected", 2 * rows);
  effect.add(effect.key, "ecc.aggregate_corrected", 2 * rows);
  effect.xid(0, effect.key, 63,
             "Row Remapper: New row (0x00000000001ab2c0) marked for remapping, reset gpu to activate.");
}

void apply_row_remap_failed(FaultEffect& effect) {
  effect.set(effect.key, "row_remap.failed", yaml_flag(effect.is_active));
  effect.add(effect.key, "row_remap.banks_max", -1);
  effect.add(effect.key, "row_remap.banks_none", 1);
  for (const char* counter :
       {"ecc.volatile_uncorrected", "ecc.dram_volatile_uncorrected", "ecc.aggregate_uncorrected"})
    effect.add(effect.key, counter, 1);
  effect.xid(0, effect.key, 64, "Row Remapper: Failed to remap row (0x00000000001ab2c0).");
}

void apply_ecc_uncorrected(FaultEffect& effect) {
  for (const char* counter :
       {"ecc.volatile_uncorrected", "ecc.dram_volatile_uncorrected", "ecc.aggregate_uncorrected"})
    effect.add(effect.key, counter, effect.count());
  effect.xid(0, effect.key, 94, "Contained: CE User Channel (0x9). RST: No, D-RST: No");
}

void apply_ecc_corrected_storm(FaultEffect& effect) {
  effect.add(effect.key, "ecc.volatile_corrected", effect.grown());
  effect.add(effect.key, "ecc.aggregate_corrected", effect.grown());
}

void apply_sram_threshold(FaultEffect& effect) {
  effect.set(effect.key, "ecc.sram_threshold_exceeded", yaml_flag(effect.is_active));
  for (const char* counter : {"ecc.sram_volatile_uncorrected", "ecc.sram_aggregate_uncorrected",
                              "ecc.volatile_uncorrected", "ecc.aggregate_uncorrected"})
    effect.add(effect.key, counter, effect.count());
  effect.xid(0, effect.key, 48, "DBE (double bit error) in SRAM");
}

void apply_throttle(FaultEffect& effect) {
  struct Kind {
    std::int64_t reasons;
    const char* counter;
  };
  static const std::map<std::string, Kind> kinds{
      {"hw_thermal", {kReasonHwSlowdown | kReasonHwThermal, "throttle.hw_thermal"}},
      {"sw_thermal", {kReasonSwThermal, "throttle.sw_thermal"}},
      {"power_brake", {kReasonHwSlowdown | kReasonPowerBrake, "throttle.hw_power_brake"}},
      {"power_cap", {kReasonPowerCap, "throttle.power_cap"}}};
  const Kind& kind = kinds.at(effect.kind);
  const auto nanoseconds = static_cast<std::int64_t>(effect.share() * effect.seconds * 1e9);
  effect.add(effect.key, kind.counter, nanoseconds);
  const bool is_thermal = effect.kind.ends_with("thermal");
  if (is_thermal) effect.add(effect.key, "throttle.thermal", nanoseconds);
  if (!effect.is_active) return;
  effect.make_busy(effect.key);
  effect.set(effect.key, "clocks.event_reasons", yaml_integer(kind.reasons));
  const double slowed = effect.number(effect.key, "clocks.sm_max") * (1 - 0.6 * effect.share());
  effect.set(effect.key, "clocks.sm", yaml_integer(std::llround(slowed)));
  if (!is_thermal) return;
  effect.set(effect.key, "temperature.gpu", yaml_integer(88));
  effect.set(effect.key, "temperature.margin", yaml_integer(-2));
}

void apply_temperature(FaultEffect& effect) {
  if (!effect.is_active) return;
  const double before = effect.number(effect.key, "temperature.gpu");
  const double margin = effect.number(effect.key, "temperature.margin") + before - effect.magnitude;
  effect.set(effect.key, "temperature.gpu", yaml_integer(effect.count()));
  effect.set(effect.key, "temperature.margin", yaml_integer(std::llround(margin)));
}

void apply_pcie_width(FaultEffect& effect) {
  if (!effect.is_active) return;
  effect.set(effect.key, "pcie.width", yaml_integer(effect.count()));
  const std::string device = effect.pci(effect.key);
  if (device.empty()) return;
  effect.files.write_number(device + "/current_link_width", effect.count());
  effect.files.write_number(effect.parent(effect.key) + "/current_link_width", effect.count());
}

void apply_pcie_generation(FaultEffect& effect) {
  if (!effect.is_active) return;
  effect.make_busy(effect.key);
  effect.set(effect.key, "pcie.generation", yaml_integer(effect.count()));
  const std::string device = effect.pci(effect.key);
  if (device.empty()) return;
  const char* speed = speed_of(static_cast<int>(effect.count()));
  effect.files.write_value(device + "/current_link_speed", speed);
  effect.files.write_value(effect.parent(effect.key) + "/current_link_speed", speed);
}

void apply_aer(FaultEffect& effect) {
  struct Kind {
    const char* file;
    const char* row;
    const char* root_total;
    const char* reading;
    const char* received;
    const char* severity;
    const char* detail;
  };
  static const std::map<std::string, Kind> kinds{
      {"correctable",
       {"aer_dev_correctable", "RxErr", "aer_rootport_total_err_cor", "pcie.correctable", "Corrected",
        "Corrected, type=Physical Layer, (Receiver ID)", "   [ 0] RxErr                  (First)"}},
      {"nonfatal",
       {"aer_dev_nonfatal", "CmpltTO", "aer_rootport_total_err_nonfatal", "pcie.nonfatal",
        "Uncorrected (Non-Fatal)", "Uncorrected (Non-Fatal), type=Transaction Layer, (Requester ID)",
        "   [14] CmpltTO                (First)"}},
      {"fatal",
       {"aer_dev_fatal", "DLP", "aer_rootport_total_err_fatal", "pcie.fatal", "Uncorrected (Fatal)",
        "Uncorrected (Fatal), type=Data Link Layer, (Receiver ID)",
        "   [ 4] DLP                    (First)"}}};
  const Kind& kind = kinds.at(effect.kind);
  const std::string device = effect.pci(effect.key);
  if (device.empty()) return;
  // "/sys/devices/pci0000:15/0000:15:01.0/...": the third part is the root port.
  const auto parts = split(device, '/');
  const std::string root(parts.size() > 4 ? parts[4] : parts.back());
  effect.add_row(device + "/" + kind.file, kind.row, effect.grown());
  effect.add_file(effect.pci(root) + "/" + kind.root_total, effect.grown());
  effect.add(effect.key, kind.reading, effect.grown());
  // The kernel rate-limits these lines; one set passes in ten seconds.
  for (const double after : effect.repeats(0, 10)) {
    effect.log(after, 4, "pcieport " + root + ": AER: " + kind.received + " error received: " + effect.key);
    effect.log(after, 4, "nvidia " + effect.key + ": PCIe Bus Error: severity=" + kind.severity);
    effect.log(after, 4, "nvidia " + effect.key + ": " + kind.detail);
  }
}

void apply_nvlink_down(FaultEffect& effect) {
  const auto [gpu, number] = link_of(effect.key);
  YamlNode* link = effect.link(gpu, number);
  if (link == nullptr) return;
  if (effect.is_active) yaml_member(*link, "nvlink.active") = yaml_flag(false);
  const YamlNode* version = link->find("nvlink.version");
  const std::string name = std::to_string(number);
  if (version != nullptr && parse_number<int>(version->text).value_or(0) >= kNvLink5)
    effect.xid(0, gpu, 149,
               "NETIR_LINK_EVT Fatal XC0 i0 Link " + name +
                   " (0x00a00011 0x00000000 0x00000000 0x00000000 0x00000000 0x00000000 0x00000000)");
  else
    effect.xid(0, gpu, 74,
               "NVLink: fatal error detected on link " + name + "(0x0, 0x0, 0x10000, 0x0, 0x0, 0x0, 0x0)");
}

void apply_nvlink_errors(FaultEffect& effect) {
  static const std::map<std::string, const char*> readings{{"replay", "nvlink.replays"},
                                                           {"recovery", "nvlink.recoveries"},
                                                           {"crc", "nvlink.crc_errors"},
                                                           {"crc_data", "nvlink.crc_data_errors"},
                                                           {"integrity", "nvlink.integrity_errors"},
                                                           {"receive", "nvlink.receive_errors"}};
  const auto [gpu, number] = link_of(effect.key);
  YamlNode* link = effect.link(gpu, number);
  if (link == nullptr) return;
  if (effect.kind == "symbol")
    set_symbol_ratio(*link, effect.grown());
  else
    FaultEffect::add_to(*link, readings.at(effect.kind), effect.grown());
}

void apply_fell_off_bus(FaultEffect& effect) {
  const std::string serial = gpu_word(effect, "serial");
  effect.log(0, 4, "NVRM: GPU at PCI:" + without_function(effect.key) + ": " + gpu_word(effect, "uuid"));
  effect.log(0, 4, "NVRM: GPU Board Serial Number: " + serial);
  effect.xid(0, effect.key, 79, "GPU has fallen off the bus.");
  effect.log(0, 4, "NVRM: GPU " + effect.key + ": GPU has fallen off the bus.");
  effect.log(0, 4, "NVRM: GPU " + effect.key + ": GPU serial number is " + serial + ".");
  const std::string device = effect.pci(effect.key);
  const std::string port = effect.parent(effect.key);
  if (effect.kind == "removed") {
    const std::string name = port.substr(port.rfind('/') + 1);
    effect.log(0.2, 6, "pcieport " + name + ": pciehp: Slot(" + name.substr(5, 2) + "): Link Down");
    effect.log(0.2, 6, "pcieport " + name + ": pciehp: Slot(" + name.substr(5, 2) + "): Card not present");
  }
  if (!effect.is_active) return;
  set_state(effect, kGpuIsLost);
  if (device.empty()) return;
  if (effect.kind == "removed") {
    effect.files.remove(device);
    effect.files.remove("/proc/driver/nvidia/gpus/" + effect.key);
    return;
  }
  // The kernel keeps the ids; reads from the device return ones.
  effect.files.write_value(device + "/current_link_speed", "Unknown");
  effect.files.write_number(device + "/current_link_width", 63);
  effect.files.write_value(device + "/max_link_speed", "Unknown");
  effect.files.write_number(device + "/max_link_width", 255);
  effect.files.write(device + "/config", std::string(64, '\xff'));
}

void apply_reset_required(FaultEffect& effect) {
  if (effect.is_active) set_state(effect, kResetRequired);
  effect.xid(0, effect.key, 154, "GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)");
}

void apply_xid(FaultEffect& effect) {
  static const std::map<int, const char*> texts{
      {13, "Graphics Exception: Shader Program Header 11 Error"},
      {31,
       "Ch 00000008, intr 00000000. MMU Fault: ENGINE GRAPHICS GPCCLIENT_T1_0 faulted @ 0x7f2c_a0000000. "
       "Fault is of type FAULT_PDE ACCESS_TYPE_VIRT_READ"},
      {43, "Ch 00000010"},
      {45, "Ch 00000010"},
      {48, "DBE (double bit error) in FB"},
      {61, "Internal micro-controller breakpoint/warning"},
      {62, "2027(1c54) 8506d5d2 00000000"},
      {63, "Row Remapper: New row marked for remapping, reset gpu to activate."},
      {64, "Row Remapper: Failed to remap row."},
      {74, "NVLink: fatal error detected on link 3(0x0, 0x0, 0x10000, 0x0, 0x0, 0x0, 0x0)"},
      {79, "GPU has fallen off the bus."},
      {92, "High single-bit ECC error rate"},
      {94, "Contained: CE User Channel (0x9). RST: No, D-RST: No"},
      {95, "Uncontained: LTC TAG (0x2, 0x1). RST: Yes, D-RST: No"},
      {119,
       "Timeout after 45s of waiting for RPC response from GPU0 GSP! Expected function 76 "
       "(GSP_RM_CONTROL) sequence 4711 (0x2080a097 0x2a4)."},
      {154, "GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)"}};
  const int code = static_cast<int>(effect.count());
  const auto found = texts.find(code);
  effect.xid(0, effect.key, code, found == texts.end() ? "Unknown Error" : found->second);
}

void apply_driver_hang(FaultEffect& effect) {
  misbehave(effect, "hang");
  effect.xid(0, effect.key, 119,
             "Timeout after 45s of waiting for RPC response from GPU0 GSP! Expected function 76 "
             "(GSP_RM_CONTROL) sequence 4711 (0x2080a097 0x2a4).");
  effect.log(120, 3, "INFO: task nvidia-smi:18422 blocked for more than 120 seconds.");
}

void apply_driver_crash(FaultEffect& effect) {
  misbehave(effect, "abort");
}

void apply_library_missing(FaultEffect& effect) {
  if (effect.is_active) effect.machine.nvml.reset();
}

void apply_library_broken(FaultEffect& effect) {
  if (effect.is_active && effect.machine.nvml)
    yaml_member(effect.machine.machine, "driver_library") = yaml_word("broken");
}

void apply_version_mismatch(FaultEffect& effect) {
  if (effect.is_active) set_init(effect, kVersionMismatch);
  effect.log(0, 3,
             "NVRM: API mismatch: the client 'nvidia-smi' (pid 18422)\n"
             "NVRM: has the version 550.54.15, but this kernel module has\n"
             "NVRM: the version 535.161.08.  Please make sure that this\n"
             "NVRM: kernel module and all NVIDIA driver components have the same version.");
}

void apply_driver_not_loaded(FaultEffect& effect) {
  if (!effect.is_active) return;
  set_init(effect, kDriverNotLoaded);
  for (const std::string& gpu : effect.machine.gpus())
    if (const std::string device = effect.pci(gpu); !device.empty())
      effect.files.remove_below(device + "/driver");
  for (const char* path :
       {"/proc/driver/nvidia", "/proc/driver/nvidia-nvswitch", "/sys/module/nvidia", "/sys/module/nvidia_uvm",
        "/sys/module/nvidia_modeset", "/sys/module/nvidia_peermem", "/sys/bus/pci/drivers/nvidia"})
    effect.files.remove_below(path);
}

void apply_busy(FaultEffect& effect) {
  if (effect.is_active) effect.make_busy(effect.key);
}

// Faults that only active tests find.

namespace {

// `probes` of machine.yaml; null: the machine has no tests.
YamlNode* probes_of(FaultEffect& effect) {
  return effect.machine.machine.find("probes") == nullptr ? nullptr
                                                          : &yaml_member(effect.machine.machine, "probes");
}

}  // namespace

void apply_slow_copies(FaultEffect& effect) {
  YamlNode* probes = probes_of(effect);
  if (!effect.is_active || probes == nullptr || probes->find("gpu.pcie_bandwidth") == nullptr) return;
  YamlNode& found = yaml_member(yaml_member(*probes, "gpu.pcie_bandwidth"), "found");
  for (YamlNode& one : found.items) {
    const YamlNode* subject = one.find("subject");
    const YamlNode* name = one.find("name");
    if (subject != nullptr && subject->text == "gpu/" + effect.key && name != nullptr &&
        name->text == "pcie_bandwidth.host_to_device")
      yaml_member(one, "value") = yaml_number(effect.magnitude);
  }
}

void apply_test_hang(FaultEffect& effect) {
  YamlNode* probes = probes_of(effect);
  if (!effect.is_active || probes == nullptr) return;
  for (YamlMember& probe : probes->members)
    if (effect.kind == "*" || effect.kind == probe.key) yaml_member(probe.value, "hangs") = yaml_flag(true);
}

}  // namespace autopilot::simulator
