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

// What a fault's function works with: the machine, the subject, how long it has lasted.
class FaultEffect {
 public:
  FaultEffect(Machine& target, const Fault& fault, Duration elapsed);

  Machine& machine;
  FileTree& files;
  const std::string key;   // of the subject: PCI address, "mlx5_0/1", "nvme0", mount point, "<gpu>/<link>"
  const std::string kind;  // empty where the fault has none
  const double magnitude;
  const bool is_active;  // false: it is over, only traces stay
  const double seconds;  // that it has lasted or lasted

  // A fault that goes on repeating its records stops after so many: the kernel's ring is no longer.
  static constexpr std::int64_t kMaxRepeats = 1000;
  // When it repeats them: every `interval` seconds, the first time after `first`, for as long as it lasts.
  [[nodiscard]] std::vector<double> repeats(double first, double interval,
                                            std::int64_t most = kMaxRepeats) const;

  // magnitude is a share.
  [[nodiscard]] double share() const { return std::min(1.0, magnitude); }
  // magnitude is a rate: how much has come together.
  [[nodiscard]] std::int64_t grown() const { return static_cast<std::int64_t>(magnitude * seconds); }
  [[nodiscard]] std::int64_t count() const { return static_cast<std::int64_t>(magnitude); }

  // When it began, in seconds since 1970.
  [[nodiscard]] std::int64_t begin_wall_seconds() const;

  // A kernel record `after` seconds from the beginning; none when the fault did not last so long. Priority 4
  // is a warning, 3 an error.
  void log(double after, int priority, const std::string& text);
  // A kernel record at the end, where there was one.
  void log_end(int priority, const std::string& text);

  // Readings of a GPU in nvml.yaml; those that the machine does not have are left alone.
  void set(std::string_view gpu, std::string_view reading, YamlNode value);
  void add(std::string_view gpu, std::string_view reading, std::int64_t amount);
  [[nodiscard]] double number(std::string_view gpu, std::string_view reading) const;
  // The map of one NVLink, or null.
  [[nodiscard]] YamlNode* link(std::string_view gpu, std::size_t number);
  static void add_to(YamlNode& readings, std::string_view reading, std::int64_t amount);
  // The GPU works at full speed.
  void make_busy(std::string_view gpu);

  // A file of one number.
  void add_file(const std::string& path, std::int64_t amount);
  // A row "NAME N" of an AER file, and its total.
  void add_row(const std::string& path, std::string_view row, std::int64_t amount);
  // "/sys/devices/..." of a PCI device; empty where it is gone. The port above it likewise.
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
// What the driver says of a link that is down: the kind of ethernet_down.
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
