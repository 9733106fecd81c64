// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/yaml_text.hpp"
#include "faults/fault.hpp"

namespace autopilot::simulator {

// Input of a fault's function: the machine, the subject, and the age of the fault.
class FaultEffect {
 public:
  FaultEffect(Machine& target, const Fault& fault, Duration elapsed);

  Machine& machine;
  FileTree& files;
  const std::string key;   // of the subject: PCI address, "mlx5_0/1", "nvme0", mount point, "<gpu>/<link>"
  const std::string kind;  // empty if the fault has no kinds
  const double magnitude;
  const bool is_active;  // false: the fault is over, only traces remain
  const double seconds;  // age of the fault, or its duration after its end

  // Limit of repeated records of one fault: the kernel's ring is not larger.
  static constexpr std::int64_t kMaxRepeats = 1000;
  // Times of repeated records: every `interval` seconds, first after `first`, during the fault.
  [[nodiscard]] std::vector<double> repeats(double first, double interval,
                                            std::int64_t most = kMaxRepeats) const;

  // The magnitude as a share.
  [[nodiscard]] double share() const { return std::min(1.0, magnitude); }
  // The magnitude as a rate: the accumulated amount.
  [[nodiscard]] std::int64_t grown() const { return static_cast<std::int64_t>(magnitude * seconds); }
  [[nodiscard]] std::int64_t count() const { return static_cast<std::int64_t>(magnitude); }

  // Start time, in seconds since 1970.
  [[nodiscard]] std::int64_t begin_wall_seconds() const;

  // Adds a kernel record `after` seconds from the start, if the fault lasted that long. Priority 4 is a
  // warning, 3 an error.
  void log(double after, int priority, const std::string& text);
  // Adds a kernel record at the end, if the fault has ended.
  void log_end(int priority, const std::string& text);

  // Sets a reading of a GPU in nvml.yaml; does nothing if the machine lacks the reading.
  void set(std::string_view gpu, std::string_view reading, YamlNode value);
  void add(std::string_view gpu, std::string_view reading, std::int64_t amount);
  [[nodiscard]] double number(std::string_view gpu, std::string_view reading) const;
  // The map of one NVLink, or null.
  [[nodiscard]] YamlNode* link(std::string_view gpu, std::size_t number);
  static void add_to(YamlNode& readings, std::string_view reading, std::int64_t amount);
  // Sets the readings of a GPU at full load.
  void make_busy(std::string_view gpu);

  // Adds to a file with one number.
  void add_file(const std::string& path, std::int64_t amount);
  // Adds to a row "NAME N" of an AER file, and to its total.
  void add_row(const std::string& path, std::string_view row, std::int64_t amount);
  // "/sys/devices/..." of a PCI device; empty if the device is missing. The same for the port above it.
  [[nodiscard]] std::string pci(std::string_view address) const;
  [[nodiscard]] std::string parent(std::string_view address) const;

  // The driver's line about an Xid, and its event.
  void xid(double after, std::string_view gpu, int code, const std::string& text);

 private:
  double begin_ = 0;  // seconds since boot
};

// "0000:1b:00" of "0000:1b:00.0", as the driver writes it.
[[nodiscard]] std::string without_function(std::string_view address);

void apply_row_remap_pending(FaultEffect& effect);
void apply_row_remap_failed(FaultEffect& effect);
void apply_ecc_uncorrected(FaultEffect& effect);
void apply_ecc_corrected_storm(FaultEffect& effect);
void apply_sram_threshold(FaultEffect& effect);
void apply_throttle(FaultEffect& effect);
void apply_temperature(FaultEffect& effect);
void apply_pcie_width(FaultEffect& effect);
void apply_pcie_generation(FaultEffect& effect);
void apply_aer(FaultEffect& effect);
void apply_nvlink_down(FaultEffect& effect);
void apply_nvlink_errors(FaultEffect& effect);
void apply_fabric(FaultEffect& effect);
void apply_repair(FaultEffect& effect);
void apply_inforom(FaultEffect& effect);
void apply_persistence_off(FaultEffect& effect);
void apply_power_limit(FaultEffect& effect);
void apply_slow_clock(FaultEffect& effect);
void apply_orphan(FaultEffect& effect);
void apply_slow_copies(FaultEffect& effect);
void apply_test_hang(FaultEffect& effect);
void apply_fell_off_bus(FaultEffect& effect);
void apply_reset_required(FaultEffect& effect);
void apply_gpu_reset(FaultEffect& effect);
void apply_card_replaced(FaultEffect& effect);
void apply_card_swapped(FaultEffect& effect);
void apply_xid(FaultEffect& effect);
void apply_driver_hang(FaultEffect& effect);
void apply_driver_crash(FaultEffect& effect);
void apply_library_missing(FaultEffect& effect);
void apply_library_broken(FaultEffect& effect);
void apply_version_mismatch(FaultEffect& effect);
void apply_driver_not_loaded(FaultEffect& effect);
void apply_busy(FaultEffect& effect);
void apply_divided(FaultEffect& effect);
void apply_amd_errors(FaultEffect& effect);
void apply_amd_bad_pages(FaultEffect& effect);
void apply_amd_temperature(FaultEffect& effect);
void apply_amd_asleep(FaultEffect& effect);
void apply_amd_off_bus(FaultEffect& effect);
void apply_amd_not_loaded(FaultEffect& effect);
void apply_amd_line(FaultEffect& effect);
void apply_ib_port_down(FaultEffect& effect);
void apply_ib_port_flap(FaultEffect& effect);
void apply_ib_rate(FaultEffect& effect);
void apply_ib_errors(FaultEffect& effect);
void apply_ib_port_hang(FaultEffect& effect);
void apply_ethernet_down(FaultEffect& effect);
void apply_module_light(FaultEffect& effect);
void apply_module_heat(FaultEffect& effect);
void apply_fec_errors(FaultEffect& effect);
// The driver's reason for a link that is down: the kind of ethernet_down.
void apply_link_reason(FaultEffect& effect);
void apply_lacp_apart(FaultEffect& effect);
void apply_adapter_error(FaultEffect& effect);
void apply_gateway_silent(FaultEffect& effect);
void apply_name_servers(FaultEffect& effect);
void apply_nvme_wear(FaultEffect& effect);
void apply_nvme_critical(FaultEffect& effect);
void apply_nvme_dead(FaultEffect& effect);
void apply_io_errors(FaultEffect& effect);
void apply_io_stall(FaultEffect& effect);
void apply_raid_member_lost(FaultEffect& effect);
void apply_filesystem_errors(FaultEffect& effect);
void apply_filesystem_read_only(FaultEffect& effect);
void apply_filesystem_full(FaultEffect& effect);
void apply_inodes_full(FaultEffect& effect);
void apply_nfs_slow(FaultEffect& effect);
void apply_mount_hang(FaultEffect& effect);
void apply_clock_unsynchronised(FaultEffect& effect);
void apply_clocksource_fallback(FaultEffect& effect);
void apply_memory_uncorrected(FaultEffect& effect);
void apply_memory_poison(FaultEffect& effect);
void apply_oom(FaultEffect& effect);
void apply_edac_corrected(FaultEffect& effect);
void apply_lockup(FaultEffect& effect);
void apply_kernel_oops(FaultEffect& effect);
void apply_hung_task(FaultEffect& effect);
void apply_machine_check(FaultEffect& effect);
void apply_limit(FaultEffect& effect);
void apply_cpu_offline(FaultEffect& effect);
void apply_cpu_throttle(FaultEffect& effect);
void apply_pressure(FaultEffect& effect);

}  // namespace autopilot::simulator
