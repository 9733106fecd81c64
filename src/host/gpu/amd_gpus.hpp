// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "host/files/files.hpp"
#include "host/gpu/gpus.hpp"

namespace autopilot::host {

// Errors of one block of the GPU since the driver was loaded.
struct RasCounts {
  std::int64_t uncorrected = 0;
  std::int64_t corrected = 0;
  std::int64_t deferred = 0;  // 0 if the driver does not report them
};
// "ue: 0\nce: 3\nde: 1\n". malformed: `ue` or `ce` is missing, or a row is not a count.
[[nodiscard]] Result<RasCounts> parse_ras_counts(std::string_view text);

struct BadPages {
  std::int64_t retired = 0;
  std::int64_t pending = 0;
  std::int64_t failed = 0;
};
// Rows "0x00000001 : 0x00001000 : R"; an empty text has no pages. malformed: any other row.
[[nodiscard]] Result<BadPages> parse_bad_pages(std::string_view text);

// The highest clock of rows such as "1: 2100Mhz *", in megahertz; missing if there is no such row.
[[nodiscard]] std::optional<std::int64_t> highest_clock(std::string_view text);

// Files with the state of a GPU, relative to its PCI folder in sysfs; "*" is every name. Reading one wakes a
// suspended GPU.
[[nodiscard]] std::span<const std::string_view> amd_gpu_files();

// AMD's GPUs, read from the sysfs files of the driver amdgpu; no library is needed. The firmware of the GPU
// answers the files: a read blocks if the firmware hangs, so a helper reads them on the running machine.
// Thread-safe.
class AmdGpus final : public Gpus {
 public:
  // Both outlive the object.
  AmdGpus(const Files& files, const Clock& clock) : files_(files), clock_(clock) {}

  // One device for each GPU bound to amdgpu; the index is its position in the order of PCI addresses.
  // driver_not_loaded if a GPU has no driver and the module is not loaded.
  [[nodiscard]] Result<GpuReport> read(const std::vector<GpuGroup>& groups, MonoTime deadline) const override;
  // unsupported: the driver reports faults in the kernel log only.
  [[nodiscard]] Result<std::vector<GpuEvent>> take_events(MonoTime deadline) const override;

 private:
  const Files& files_;
  const Clock& clock_;
};

// `autopilot helper amdgpu`: reads the files of AMD's driver for HelperGpus. If a GPU does not respond, the
// read hangs in the kernel until the agent kills the process. Tests set `root`. Returns the exit code of the
// process.
[[nodiscard]] int run_amdgpu_helper(int fd, const std::string& root = "");

}  // namespace autopilot::host
