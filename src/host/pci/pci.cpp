// SPDX-License-Identifier: Apache-2.0
#include "host/pci/pci.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "core/parse.hpp"
#include "core/subject.hpp"

namespace autopilot::host {
namespace {

constexpr unsigned kVgaController = 0x0300;
constexpr unsigned k3dController = 0x0302;
constexpr unsigned kDisplayOther = 0x0380;
constexpr unsigned kAccelerator = 0x1200;

constexpr std::string_view kDevices = "/sys/bus/pci/devices";

std::string path_of(std::string_view address, std::string_view file) {
  return std::string(kDevices) + "/" + std::string(address) + "/" + std::string(file);
}

bool is_address(std::string_view text) {
  const auto canonical = canonical_pci_address(text);
  return canonical && *canonical == text;
}

Result<unsigned> read_hex(const Files& files, const std::string& path) {
  const std::string word = TRY(files.read_word(path));
  const auto number = parse_hex<unsigned>(word);
  if (!number) return fail(Errc::malformed, path + ": no hexadecimal number: " + word.substr(0, 40));
  return *number;
}

std::string driver_of(const Files& files, std::string_view address) {
  const auto target = files.resolve(path_of(address, "driver"));
  if (!target) return "";
  return target->substr(target->rfind('/') + 1);
}

Status check_present(const Files& files, std::string_view address) {
  if (is_address(address) && files.exists(std::string(kDevices) + "/" + std::string(address))) return {};
  return fail(Errc::not_found, "no PCI device " + std::string(address));
}

template <class T>
std::optional<T> read_with(const Files& files, const std::string& path,
                           std::optional<T> (*parse)(std::string_view)) {
  const auto text = files.read(path);
  return text ? parse(trim(*text)) : std::nullopt;
}

std::uint32_t joined_id(const Files& files, std::string_view address, std::string_view upper,
                        std::string_view lower) {
  const auto high = read_hex(files, path_of(address, upper));
  const auto low = read_hex(files, path_of(address, lower));
  return high && low ? (*high << 16U) | (*low & 0xffffU) : 0;
}

// Empty also where the kernel has no PCI bus.
Result<std::vector<std::string>> list_addresses(const Files& files) {
  auto names = files.list(kDevices);
  if (!names) {
    if (names.error().code != Errc::not_found) return fail(names.error());
    if (files.exists("/sys/bus")) return std::vector<std::string>{};
    return fail(Errc::unavailable, std::string(kDevices) + ": no sysfs");
  }
  std::erase_if(*names, [](const std::string& name) { return !is_address(name); });
  return names;
}

// Which display and computing devices are sought.
struct GpuKind {
  unsigned vendor = 0;
  std::string_view driver;  // of the kernel, for no other devices of these kinds than this vendor's
  std::array<unsigned, 3> kinds{};
};
constexpr GpuKind kNvidiaGpus{kPciVendorNvidia, "nvidia", {kVgaController, k3dController, k3dController}};
constexpr GpuKind kAmdGpus{kPciVendorAmd, "amdgpu", {kVgaController, kDisplayOther, kAccelerator}};

// Nothing: gone since the directory was read, or surely not a device of these classes. An error: it may be
// such a device.
Result<std::optional<PciDevice>> look_at(const Files& files, const std::string& address,
                                         const Result<unsigned>& class_code, const GpuKind& sought) {
  if (class_code && std::ranges::find(sought.kinds, *class_code >> 8U) == sought.kinds.end())
    return std::nullopt;
  const auto vendor = read_hex(files, path_of(address, "vendor"));
  if (!vendor && vendor.error().code == Errc::not_found) return std::nullopt;
  if (vendor && *vendor != sought.vendor) return std::nullopt;
  PciDevice device{.address = address, .vendor = sought.vendor, .driver = driver_of(files, address)};
  if (!class_code) return fail(class_code.error());
  if (!vendor && device.driver != sought.driver) return fail(vendor.error());
  device.device = read_hex(files, path_of(address, "device")).value_or(0);
  device.class_code = *class_code;
  return device;
}

PciScan scan_kinds(const Files& files, const PciClasses& classes, const GpuKind& sought) {
  PciScan scan;
  for (const auto& [address, class_code] : classes) {
    auto found = look_at(files, address, class_code, sought);
    if (!found) {
      if (!scan.unread) scan.unread = std::move(found).error();
    } else if (std::optional<PciDevice>& device = *found) {
      scan.devices.push_back(*std::move(device));
    }
  }
  return scan;
}

bool has_nvidia(const Files& files, const PciClasses& classes) {
  return !scan_kinds(files, classes, kNvidiaGpus).devices.empty();
}

PciScan scan_amd(const Files& files, const PciClasses& classes) {
  PciScan scan = scan_kinds(files, classes, kAmdGpus);
  std::erase_if(scan.devices, [&](const PciDevice& device) {
    if (is_virtual_function(files, device.address)) return true;
    const bool is_screen = device.class_code >> 8U == kVgaController;
    return is_screen && (device.driver != kAmdGpus.driver || has_nvidia(files, classes));
  });
  return scan;
}

Result<std::vector<PciDevice>> all_or_error(PciScan scan) {
  if (const std::optional<Error>& unread = scan.unread) return fail(*unread);
  return std::move(scan.devices);
}

}  // namespace

PciIds read_pci_ids(const Files& files, std::string_view address) {
  return {joined_id(files, address, "device", "vendor"),
          joined_id(files, address, "subsystem_device", "subsystem_vendor")};
}

Result<PciScan> scan_pci_classes(const Files& files, std::span<const unsigned> classes) {
  constexpr unsigned kInterfaceBits = 8;
  PciScan scan;
  for (const auto& [address, class_code] : TRY(read_pci_classes(files))) {
    const bool is_gone = !class_code && class_code.error().code == Errc::not_found;
    if (!class_code && !is_gone && !scan.unread) scan.unread = class_code.error();
    if (!class_code || std::ranges::find(classes, *class_code >> kInterfaceBits) == classes.end()) continue;
    if (is_virtual_function(files, address)) continue;
    scan.devices.push_back({.address = address,
                            .vendor = read_hex(files, path_of(address, "vendor")).value_or(0),
                            .device = read_hex(files, path_of(address, "device")).value_or(0),
                            .class_code = *class_code,
                            .driver = driver_of(files, address)});
  }
  return scan;
}

Result<PciClasses> read_pci_classes(const Files& files, const PciClasses& known) {
  PciClasses classes;
  for (const std::string& address : TRY(list_addresses(files))) {
    const auto before = known.find(address);
    const bool is_known = before != known.end() && before->second;
    classes.emplace(address, is_known ? before->second : read_hex(files, path_of(address, "class")));
  }
  return classes;
}

Result<std::vector<PciDevice>> scan_nvidia_gpus(const Files& files, const PciClasses& classes) {
  return all_or_error(scan_kinds(files, classes, kNvidiaGpus));
}

Result<std::vector<PciDevice>> scan_amd_gpus(const Files& files, const PciClasses& classes) {
  return all_or_error(scan_amd(files, classes));
}

Result<std::vector<PciDevice>> scan_nvidia_gpus(const Files& files) {
  return scan_nvidia_gpus(files, TRY(read_pci_classes(files)));
}

Result<std::vector<PciDevice>> scan_amd_gpus(const Files& files) {
  return scan_amd_gpus(files, TRY(read_pci_classes(files)));
}

bool is_pci_asleep(const Files& files, std::string_view address) {
  const auto status = files.read_word(path_of(address, "power/runtime_status"));
  return status && (*status == "suspended" || *status == "suspending" || *status == "resuming");
}

bool is_virtual_function(const Files& files, std::string_view address) {
  return files.exists(path_of(address, "physfn"));
}

bool is_meant_for_one_driver(const Files& files, std::string_view address) {
  const auto name = files.read_word(path_of(address, "driver_override"));
  return name && !name->empty() && *name != "(null)";
}

Result<std::vector<std::string>> pci_bridges_above(const Files& files, std::string_view address) {
  TRY_STATUS(check_present(files, address));
  const std::string path = TRY(files.resolve(std::string(kDevices) + "/" + std::string(address)));
  std::vector<std::string> bridges;
  for (const std::string_view part : split(path, '/'))
    if (is_address(part) && part != address) bridges.emplace_back(part);
  std::reverse(bridges.begin(), bridges.end());
  return bridges;
}

std::string pci_card_edge(const Files& files, const PciDevice& device, std::span<const std::string> bridges) {
  std::string edge = device.address;
  if (device.vendor != kPciVendorAmd) return edge;
  for (const std::string& bridge : bridges) {
    const auto vendor = read_hex(files, path_of(bridge, "vendor"));
    if (!vendor || *vendor != kPciVendorAmd) break;
    edge = bridge;
  }
  return edge;
}

Result<PciLink> read_pci_link(const Files& files, std::string_view address) {
  TRY_STATUS(check_present(files, address));
  PciLink link;
  link.speed_gts = read_with(files, path_of(address, "current_link_speed"), parse_pci_speed);
  link.max_speed_gts = read_with(files, path_of(address, "max_link_speed"), parse_pci_speed);
  link.width = read_with(files, path_of(address, "current_link_width"), parse_pci_width);
  link.max_width = read_with(files, path_of(address, "max_link_width"), parse_pci_width);
  return link;
}

Result<PciErrors> read_pci_errors(const Files& files, std::string_view address) {
  TRY_STATUS(check_present(files, address));
  PciErrors errors;
  errors.correctable = read_with(files, path_of(address, "aer_dev_correctable"), parse_aer_total);
  errors.nonfatal = read_with(files, path_of(address, "aer_dev_nonfatal"), parse_aer_total);
  errors.fatal = read_with(files, path_of(address, "aer_dev_fatal"), parse_aer_total);
  return errors;
}

std::optional<double> parse_pci_speed(std::string_view text) {
  const auto words = split_words(text);
  if (words.size() < 2 || words.size() > 3 || words[1] != "GT/s") return std::nullopt;
  const auto speed = parse_number<double>(words[0]);
  if (!speed || !pci_generation(*speed)) return std::nullopt;
  return speed;
}

std::optional<int> parse_pci_width(std::string_view text) {
  const auto lanes = parse_number<int>(text);
  constexpr std::array kWidths{1, 2, 4, 8, 12, 16, 32};
  if (!lanes || std::find(kWidths.begin(), kWidths.end(), *lanes) == kWidths.end()) return std::nullopt;
  return lanes;
}

std::optional<int> pci_generation(double speed_gts) {
  constexpr std::array kSpeeds{2.5, 5.0, 8.0, 16.0, 32.0, 64.0};
  for (std::size_t i = 0; i < kSpeeds.size(); ++i)
    if (speed_gts == kSpeeds[i]) return static_cast<int>(i) + 1;
  return std::nullopt;
}

std::optional<std::uint64_t> parse_aer_total(std::string_view text) {
  for (const std::string_view line : split(text, '\n')) {
    const auto words = split_words(line);
    if (words.size() == 2 && words[0].starts_with("TOTAL_ERR_")) return parse_number<std::uint64_t>(words[1]);
  }
  return std::nullopt;
}

namespace {

using Bridges = std::vector<std::string>;

Bridges bridges_above(const Files& files, std::string_view device) {
  return pci_bridges_above(files, device).value_or(Bridges{});
}

}  // namespace

std::vector<std::string> nearest_of(const Files& files, std::string_view device,
                                    std::span<const std::string> others) {
  const Bridges own = bridges_above(files, device);
  std::vector<std::string> nearest;
  std::ptrdiff_t most = 0;
  for (const std::string& other : others) {
    const auto shared = std::ranges::count_if(bridges_above(files, other), [&own](const std::string& bridge) {
      return std::ranges::find(own, bridge) != own.end();
    });
    if (shared == 0 || shared < most) continue;
    if (shared > most) nearest.clear();
    most = shared;
    nearest.push_back(other);
  }
  return nearest;
}

namespace {

bool has_entries(const Files& files, std::string_view directory) {
  const auto names = files.list(directory);
  return names && !names->empty();
}

}  // namespace

bool has_devices(const Files& files, std::string_view kind) {
  if (kind == "nvme") return has_entries(files, "/sys/class/nvme");
  if (kind == "infiniband") return has_entries(files, "/sys/class/infiniband");
  const auto classes = read_pci_classes(files);
  if (!classes) return false;
  if (kind == "nvidia_gpu") return has_nvidia(files, *classes);
  return kind == "amd_gpu" && !scan_amd(files, *classes).devices.empty();
}

}  // namespace autopilot::host
