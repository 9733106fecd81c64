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
  std::int64_t deferred = 0;  // 0 as well where the driver does not tell them
};
// "ue: 0\nce: 3\nde: 1\n". malformed without the first two, and for anything that is no count.
[[nodiscard]] Result<RasCounts> parse_ras_counts(std::string_view text);

struct BadPages {
  std::int64_t retired = 0;
  std::int64_t pending = 0;
  std::int64_t failed = 0;
};
// Rows "0x00000001 : 0x00001000 : R"; an empty text has none. malformed for any other row.
[[nodiscard]] Result<BadPages> parse_bad_pages(std::string_view text);

// The highest of the rows "1: 2100Mhz *", in megahertz; nothing where there is none.
[[nodiscard]] std::optional<std::int64_t> highest_clock(std::string_view text);

// Files that the driver amdgpu keeps in the folder of a GPU and that say how it is; "*" stands for every
// name. Reading one wakes a GPU that sleeps.
[[nodiscard]] std::span<const std::string_view> amd_gpu_files();

// AMD's GPUs as the driver amdgpu shows them in sysfs; nothing is changed and no library is needed. The files
// are answered by the firmware of the GPU: reading may block where that hangs, so the running machine is
// asked through a helper. Thread-safe.
class AmdGpus final : public Gpus {
 public:
  // Both outlive the object.
  AmdGpus(const Files& files, const Clock& clock) : files_(files), clock_(clock) {}

  // One device for each GPU that amdgpu has; its index is the place among them by PCI address.
  // driver_not_loaded where it has none and is not there.
  [[nodiscard]] Result<GpuReport> read(const std::vector<GpuGroup>& groups, MonoTime deadline) const override;
  // unsupported: the driver tells of faults in the kernel log only.
  [[nodiscard]] Result<std::vector<GpuEvent>> take_events(MonoTime deadline) const override;

 private:
  const Files& files_;
  const Clock& clock_;
};

// `autopilot helper amdgpu`: reads the files of AMD's driver for HelperGpus. Where a GPU does not answer the
// kernel holds the reader, so there is no answer until the agent ends the process. `root` is a test's.
// Returns the exit code of the process.
[[nodiscard]] int run_amdgpu_helper(int fd, const std::string& root = "");

}  // namespace autopilot::host
