// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "host/files/files.hpp"

namespace autopilot::host {

inline constexpr unsigned kPciVendorNvidia = 0x10de;
inline constexpr unsigned kPciVendorAmd = 0x1002;  // of its GPUs; its processors have another

struct PciDevice {
  std::string address;      // the kernel's spelling: "0000:3b:00.0"
  unsigned vendor = 0;      // 0: its file makes no sense
  unsigned device = 0;      // likewise
  unsigned class_code = 0;  // 24 bits: base class, subclass, interface
  std::string driver;       // bound kernel driver; empty: none
};

// What a port reports about its link. Nothing where the kernel reports "Unknown" or a number that no link
// has: a device that does not answer any more reads as all ones.
struct PciLink {
  std::optional<double> speed_gts;  // gigatransfers per second
  std::optional<double> max_speed_gts;
  std::optional<int> width;  // lanes
  std::optional<int> max_width;
};

// Error totals of one device since boot, from Advanced Error Reporting. Nothing: the kernel does not count
// it.
struct PciErrors {
  std::optional<std::uint64_t> correctable;
  std::optional<std::uint64_t> nonfatal;
  std::optional<std::uint64_t> fatal;
};

// The upper 16 of the 24 bits of a class: base class and subclass.
namespace pci_class {
inline constexpr unsigned kNvme = 0x0108;
inline constexpr unsigned kEthernet = 0x0200;
inline constexpr unsigned kNetworkOther = 0x0280;
inline constexpr unsigned kInfiniband = 0x0207;
}  // namespace pci_class

// One reading of the PCI tree, by address. `unread` is the first device of which it is unknown whether it
// belongs to `devices`; a device that any readable file rules out is none of those.
struct PciScan {
  std::vector<PciDevice> devices;
  std::optional<Error> unread;
};

// The physical devices of some classes; virtual functions have no link of their own and are left out. Only
// files that everybody may read and that the kernel answers from memory. Nothing also where the kernel has no
// PCI bus at all; unavailable where there is no sysfs to ask.
[[nodiscard]] Result<PciScan> scan_pci_classes(const Files& files, std::span<const unsigned> classes);
// The class code of every device of the PCI tree, by address; errors as above. An error for one device is
// the cause why its class cannot be read.
using PciClasses = std::map<std::string, Result<unsigned>>;
// What a device is does not change while it stays: no file is read of devices whose class is in `known`.
[[nodiscard]] Result<PciClasses> read_pci_classes(const Files& files, const PciClasses& known = {});
// The display and 3D controllers among NVIDIA's devices: the GPUs. Its bridges (NVSwitch) are not among them.
// All of them or an error, as above: a device whose files make no sense may be one, unless one of them rules
// it out. The vendor of a device that the vendor's driver has is known without its file.
[[nodiscard]] Result<std::vector<PciDevice>> scan_nvidia_gpus(const Files& files);
[[nodiscard]] Result<std::vector<PciDevice>> scan_nvidia_gpus(const Files& files, const PciClasses& classes);
// AMD's accelerators and display controllers. A VGA controller is one of them only while the driver amdgpu
// has it, and where there is no GPU of NVIDIA: servers have such for their console, processors for a screen.
// A virtual function beside its physical function is left out.
[[nodiscard]] Result<std::vector<PciDevice>> scan_amd_gpus(const Files& files);
[[nodiscard]] Result<std::vector<PciDevice>> scan_amd_gpus(const Files& files, const PciClasses& classes);

// As NVML and the configuration space hold them: the device in the upper half, the vendor in the lower.
struct PciIds {
  std::uint32_t device = 0;
  std::uint32_t subsystem = 0;
};
// Zero for a part that cannot be read.
[[nodiscard]] PciIds read_pci_ids(const Files& files, std::string_view address);

// The kernel took its power until a program needs the device; most other questions would wake it.
[[nodiscard]] bool is_pci_asleep(const Files& files, std::string_view address);

// A function that another one of the same device made (SR-IOV); it may belong to a guest.
[[nodiscard]] bool is_virtual_function(const Files& files, std::string_view address);

// An administrator named the only driver that may have the device (driver_override), such as a driver that
// gives it to virtual machines.
[[nodiscard]] bool is_meant_for_one_driver(const Files& files, std::string_view address);

// Addresses of the bridges between a device and the root, the nearest first. Empty for a device of the root
// complex.
[[nodiscard]] Result<std::vector<std::string>> pci_bridges_above(const Files& files,
                                                                 std::string_view address);
// Cards of AMD may hold a switch between GPU and slot, and the GPU's own link leads only there. The device at
// the edge of the card: the last of the card's bridges above it, or itself. `bridges` are those above it.
[[nodiscard]] std::string pci_card_edge(const Files& files, const PciDevice& device,
                                        std::span<const std::string> bridges);
// Parts that cannot be read are left out; an error only when the device is not there.
[[nodiscard]] Result<PciLink> read_pci_link(const Files& files, std::string_view address);
[[nodiscard]] Result<PciErrors> read_pci_errors(const Files& files, std::string_view address);

// "16.0 GT/s PCIe", "8 GT/s"; nothing for "Unknown" and any other text.
[[nodiscard]] std::optional<double> parse_pci_speed(std::string_view text);
// "16"; nothing for a number of lanes that PCI Express does not have.
[[nodiscard]] std::optional<int> parse_pci_width(std::string_view text);
// 1 for 2.5 GT/s up to 6 for 64 GT/s; nothing for other speeds.
[[nodiscard]] std::optional<int> pci_generation(double speed_gts);
// The last row of an aer_dev_* file: "TOTAL_ERR_COR 12".
[[nodiscard]] std::optional<std::uint64_t> parse_aer_total(std::string_view text);

// The addresses in `others` that have most bridges in common with the device, all by PCI address. Empty: none
// shares a bridge with the device, or the kernel does not report it.
[[nodiscard]] std::vector<std::string> nearest_of(const Files& files, std::string_view device,
                                                  std::span<const std::string> others);

// Whether the machine has a device of that kind: "nvidia_gpu", "amd_gpu" (in the PCI scan, with or
// without a driver), "nvme" or "infiniband" (the kernel's classes of these). False for another word, and
// where the kernel does not report it.
[[nodiscard]] bool has_devices(const Files& files, std::string_view kind);

}  // namespace autopilot::host
