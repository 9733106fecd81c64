// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "host/kernel_log/kernel_log.hpp"

namespace autopilot::host {

// Puts messages together again that the kernel wrote as one record of several rows and a source gives row by
// row: messages of the NVIDIA driver about a GPU off the bus, one that it does not support or that has no
// addresses, and about versions that differ. Rows are joined with a newline; the first row's number and time
// stand for all. dmesg -r gives the further rows without a facility: then the whole is unverified.
class RowJoiner {
 public:
  static constexpr std::size_t kMaxRows = 5;

  // The records that are whole now, in order: none while a message may go on.
  [[nodiscard]] std::vector<KernelRecord> add(KernelRecord row);
  // The message that was still open, at the end of the source.
  [[nodiscard]] std::optional<KernelRecord> finish();

 private:
  std::optional<KernelRecord> open_;
  std::size_t rows_ = 0;
};

}  // namespace autopilot::host
