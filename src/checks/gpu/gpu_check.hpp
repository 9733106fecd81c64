// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "checks/check.hpp"
#include "checks/judgement.hpp"
#include "host/host.hpp"

// Shared by all checks of GPUs: how they call the driver, and how they report a GPU that did not answer.
namespace autopilot::checks {

inline constexpr std::string_view kNvml = "nvml";
inline constexpr std::string_view kAmdgpu = "amdgpu";
inline constexpr std::string_view kSysfs = "sysfs";

// Observation about the host for each vendor: a word of host::DriverState.
[[nodiscard]] std::string_view driver_state_name(host::GpuVendor vendor);
// The kernel's name of the vendor's driver: "nvidia", "amdgpu".
[[nodiscard]] std::string_view kernel_driver_name(host::GpuVendor vendor);

// Observations about a GPU in the PCI tree, from the source "pci".
inline constexpr std::string_view kPci = "pci";
inline constexpr std::string_view kPciDriver = "pci.driver";  // "none": not bound

// Observation about the host: how many GPUs the drivers list; its time is that of the list.
inline constexpr std::string_view kDriverGpuCount = "driver.gpu_count";

// Observations about every GPU besides its readings.
inline constexpr std::string_view kGpuState = "gpu.state";  // a word of host::GpuState
inline constexpr std::string_view kGpuModel = "gpu.model";  // product name
// About each part of a divided GPU, a subject of kind gpu_instance: its UUID.
inline constexpr std::string_view kGpuInstance = "gpu.instance";

// Deadline for the driver: leaves time to kill the helper within the deadline of the run.
[[nodiscard]] MonoTime driver_deadline(const Request& request);

// Vendors whose GPUs a check can judge.
enum class Vendors : std::uint8_t { nvidia, all };

// Driver of one vendor whose GPUs the machine may have.
struct GpuDriver {
  host::GpuVendor vendor;
  std::string_view witness;
  const host::Gpus& gpus;
  Result<std::vector<host::PciDevice>>
      known;  // its GPUs in the PCI tree; an error if the PCI tree could not be read
};
// The drivers of the vendors whose GPUs the PCI scan finds. If the scan fails: NVIDIA's only, which can list
// its GPUs by itself. unsupported: the machine has no such GPU, and no driver is called.
[[nodiscard]] Result<std::vector<GpuDriver>> gpu_drivers(const host::Host& host, Vendors vendors);

// The report of a working driver. Every other state becomes an error; gpu.driver explains it.
[[nodiscard]] Result<host::GpuReport> read_gpus(const GpuDriver& driver, const Request& request,
                                                const std::vector<host::GpuGroup>& groups);

// A GPU that is known only by its PCI address.
[[nodiscard]] Subject gpu_subject(const std::string& address);

// The kernel driver that a GPU in the PCI tree is bound to.
[[nodiscard]] Observation pci_driver_observation(const host::PciDevice& gpu, Instant now);
[[nodiscard]] Observation make_observation(std::string_view name, const Subject& subject, Value value,
                                           std::string_view unit, std::string_view source, Instant now);
[[nodiscard]] Observation missing_observation(std::string_view name, const Subject& subject,
                                              std::string_view why, std::string_view unit,
                                              std::string_view source, Instant now);

// State, model, readings and parts of one GPU, from the data source `witness`. Readings of a link have a
// subject of kind nvlink, "<gpu>/<link>". A reading beyond its range in the catalog is missing as malformed:
// no judge gets the value.
void add_gpu(Observations& observations, const host::GpuDevice& gpu, std::string_view witness, Instant now);
// Complete observe of a check that reads only drivers. With two vendors, GPUs of a driver that does not
// answer are listed without a state.
[[nodiscard]] Result<Observed> observe_gpus(const host::Host& host, const Request& request,
                                            const std::vector<host::GpuGroup>& groups,
                                            Vendors vendors = Vendors::all);

// True for words by which a GPU or driver states that it lacks the feature.
[[nodiscard]] bool is_not_offered(std::string_view missing);

// The GPUs of the last run that can be judged: state ok, and at least one of `needed` has a value. Every
// other GPU gets a finding: unknown, or unsupported if it lacks the feature. If all lack it, one finding
// about the host makes the whole check unsupported.
[[nodiscard]] std::vector<Subject> readable_gpus(const JudgeInput& input,
                                                 std::initializer_list<std::string_view> needed,
                                                 Findings& findings);

// Two different GPUs do not show which one is at fault.
inline constexpr std::size_t kFewestAlike = 3;
// The GPUs with the same product name as `gpu`, including itself.
[[nodiscard]] std::vector<Subject> alike(const JudgeInput& input, const Subject& gpu,
                                         const std::vector<Subject>& gpus);

// True if the last run read it from AMD's driver.
[[nodiscard]] bool is_of_amd(const JudgeInput& input, const Subject& subject, std::string_view name);
// True if the last run read it and its value is true.
[[nodiscard]] bool is_true(const JudgeInput& input, const Subject& subject, std::string_view name);
// "GPU 3 (0000:3b:00.0)"; only the address if the index is unknown.
[[nodiscard]] std::string gpu_text(const Subject& gpu);

}  // namespace autopilot::checks
