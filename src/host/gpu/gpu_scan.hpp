// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <vector>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "host/files/files.hpp"
#include "host/gpu/gpus.hpp"
#include "host/pci/pci.hpp"

namespace autopilot::host {

// The GPUs of a vendor in the PCI tree, with or without a driver. A look reads a file of every PCI device, of
// which a node with eight GPUs has a hundred. Copies share what was seen. Thread-safe; may block as Files.
class GpuScan {
 public:
  static constexpr Duration kShared = std::chrono::seconds{5};
  // So long a device that is there at each look counts as what it was.
  static constexpr Duration kKnown = std::chrono::minutes{1};

  // Each question looks. `files` outlives all copies.
  explicit GpuScan(const Files& files) : files_(&files) {}
  // One look serves all who ask within kShared; one that failed serves nobody else. `clock` outlives all
  // copies.
  GpuScan(const Files& files, const Clock& clock);

  // Errors as scan_nvidia_gpus.
  [[nodiscard]] Result<std::vector<PciDevice>> gpus(GpuVendor vendor) const;

 private:
  class Shared;

  const Files* files_;
  std::shared_ptr<Shared> shared_;  // nothing: each question looks
};

}  // namespace autopilot::host
