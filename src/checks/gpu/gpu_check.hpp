// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "checks/check.hpp"
#include "checks/judgement.hpp"
#include "host/host.hpp"

// What all checks of GPUs share: how the driver is asked, and how a GPU that did not answer is treated.
namespace autopilot::checks {

inline constexpr std::string_view kNvml = "nvml";
inline constexpr std::string_view kAmdgpu = "amdgpu";
inline constexpr std::string_view kSysfs = "sysfs";

// Of the host, for each vendor: a word of host::DriverState.
[[nodiscard]] std::string_view driver_state_name(host::GpuVendor vendor);
// The kernel's word for the driver of a vendor: "nvidia", "amdgpu".
[[nodiscard]] std::string_view kernel_driver_name(host::GpuVendor vendor);

// Observations of a GPU in the PCI tree, from the source "pci".
inline constexpr std::string_view kPci = "pci";
inline constexpr std::string_view kPciDriver = "pci.driver";  // "none": not bound

// Observations of every GPU besides its readings.
inline constexpr std::string_view kGpuState = "gpu.state";  // word of host::GpuState
inline constexpr std::string_view kGpuModel = "gpu.model";  // product name
// About each part of a divided GPU, a subject of kind gpu_instance: its UUID.
inline constexpr std::string_view kGpuInstance = "gpu.instance";

// When the driver must have answered, so that the round ends within its own deadline also if the helper has
// to be killed.
[[nodiscard]] MonoTime driver_deadline(const Request& request);

// Whose GPUs a check can judge: what it reads is known of NVIDIA's alone, or of all.
enum class Vendors : std::uint8_t { nvidia, all };

// One vendor's driver, which is there to be asked.
struct GpuDriver {
  host::GpuVendor vendor;
  std::string_view witness;
  const host::Gpus& gpus;
  Result<std::vector<host::PciDevice>> known;  // its GPUs in the PCI tree; an error: nobody could look
};
// Those of the vendors whose GPUs the PCI scan shows; where it cannot look, NVIDIA's, which can tell for
// itself. unsupported: there is no such GPU, and nobody is asked.
[[nodiscard]] Result<std::vector<GpuDriver>> gpu_drivers(const host::Host& host, Vendors vendors);

// The report of a driver that works. Any other state of it is an error: gpu.driver says what it means.
[[nodiscard]] Result<host::GpuReport> read_gpus(const GpuDriver& driver, const Request& request,
                                                const std::vector<host::GpuGroup>& groups);

// One that only the bus tells of: its address and nothing else.
[[nodiscard]] Subject gpu_subject(const std::string& address);

// The kernel driver of a GPU in the PCI tree.
[[nodiscard]] Observation pci_driver_observation(const host::PciDevice& gpu, Instant now);
[[nodiscard]] Observation make_observation(std::string_view name, const Subject& subject, Value value,
                                           std::string_view unit, std::string_view source, Instant now);
[[nodiscard]] Observation missing_observation(std::string_view name, const Subject& subject,
                                              std::string_view why, std::string_view unit,
                                              std::string_view source, Instant now);

// State, model, readings and parts of one GPU as `witness` tells them; readings of a link are about a subject
// of kind nvlink, "<gpu>/<link>". A reading with a value beyond its range in the catalog is missing as
// malformed: no judge sees the value.
void add_gpu(Observations& observations, const host::GpuDevice& gpu, std::string_view witness, Instant now);
// The whole observe of a check that reads drivers only. With drivers of two vendors, the GPUs of one that
// does not answer are there without a state.
[[nodiscard]] Result<Observed> observe_gpus(const host::Host& host, const Request& request,
                                            const std::vector<host::GpuGroup>& groups,
                                            Vendors vendors = Vendors::all);

// The words that are neither good nor bad news: the GPU or its driver does not have the thing.
[[nodiscard]] bool is_not_offered(std::string_view missing);

// The GPUs of the last round that can be judged: state ok, and at least one of `needed` answered. Each other
// one gets a finding: unknown, or unsupported where it does not offer what is needed. When that is so for all
// of them the finding is about the host: the check as a whole is unsupported.
[[nodiscard]] std::vector<Subject> readable_gpus(const JudgeInput& input,
                                                 std::initializer_list<std::string_view> needed,
                                                 Findings& findings);

// Of two GPUs that differ nobody knows which one is right.
inline constexpr std::size_t kFewestAlike = 3;
// Those of `gpus` with the same product name as `gpu`, itself among them.
[[nodiscard]] std::vector<Subject> alike(const JudgeInput& input, const Subject& gpu,
                                         const std::vector<Subject>& gpus);

// True when the last round has it from the driver of AMD.
[[nodiscard]] bool is_of_amd(const JudgeInput& input, const Subject& subject, std::string_view name);
// True when the last round has it and it is true.
[[nodiscard]] bool is_true(const JudgeInput& input, const Subject& subject, std::string_view name);
// "GPU 3 (0000:3b:00.0)"; the address alone where there is no index.
[[nodiscard]] std::string gpu_text(const Subject& gpu);

}  // namespace autopilot::checks
