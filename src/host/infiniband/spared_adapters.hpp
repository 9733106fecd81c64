// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <mutex>
#include <set>
#include <string>

#include "core/clock.hpp"
#include "host/kernel_log/kernel_log.hpp"

namespace autopilot::host {

// Network adapters whose counters nobody must read: the question makes their firmware complain in the kernel
// log, at every look.
class SparedAdapters {
 public:
  SparedAdapters() = default;
  SparedAdapters(const SparedAdapters&) = delete;
  SparedAdapters& operator=(const SparedAdapters&) = delete;
  virtual ~SparedAdapters() = default;
  // Thread-safe.
  [[nodiscard]] virtual bool is_spared(const std::string& pci_address, MonoTime deadline) const = 0;

  // Spares nobody.
  [[nodiscard]] static const SparedAdapters& none();
};

// Learns from the kernel log: an adapter whose driver says that its firmware refused to read a register is
// spared until the next boot. Without the log it learns nothing. What user space wrote does not count.
class ComplainingAdapters final : public SparedAdapters {
 public:
  static constexpr std::size_t kMaxAdapters = 256;

  explicit ComplainingAdapters(const KernelLog& log) : log_(log) {}
  [[nodiscard]] bool is_spared(const std::string& pci_address, MonoTime deadline) const override;

 private:
  const KernelLog& log_;
  mutable std::mutex mutex_;
  mutable std::uint64_t next_ = 0;               // guarded by mutex_, as below
  mutable std::set<std::string> complaining_{};  // PCI addresses
};

}  // namespace autopilot::host
