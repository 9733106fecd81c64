// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <mutex>

#include "host/host.hpp"

namespace autopilot::fakes {

// A clock that only moves on request. Thread-safe.
class SimulatedClock : public Clock {
 public:
  [[nodiscard]] Instant now() const override {
    const std::lock_guard lock(mutex_);
    return now_;
  }
  void advance(Duration by) {
    const std::lock_guard lock(mutex_);
    now_.wall += by;
    now_.mono += by;
  }

 private:
  mutable std::mutex mutex_;
  // 2026-01-01T00:00:00Z, one hour after boot.
  Instant now_{WallTime{std::chrono::seconds{1767225600}}, MonoTime{std::chrono::hours{1}}};
};

struct NoKernelLog : host::KernelLog {
  [[nodiscard]] Result<host::KernelRecords> read(std::uint64_t, MonoTime) const override {
    return fail(Errc::denied, "/dev/kmsg: Operation not permitted");
  }
};

struct NoGpuDriver : host::Gpus {
  [[nodiscard]] Result<host::GpuReport> read(const std::vector<host::GpuGroup>&, MonoTime) const override {
    host::GpuReport report;
    report.state = host::DriverState::library_missing;
    return report;
  }
  [[nodiscard]] Result<std::vector<host::GpuEvent>> take_events(MonoTime) const override {
    return std::vector<host::GpuEvent>{};
  }
};

struct NoFilesystems : host::Filesystems {
  [[nodiscard]] Result<std::vector<host::Mount>> mounts() const override {
    return std::vector<host::Mount>{};
  }
  [[nodiscard]] Result<host::Usage> usage(const host::Mount& mount, MonoTime) const override {
    return fail(Errc::not_found, mount.mount_point);
  }
};

struct NoEthernet : host::Ethernet {
  [[nodiscard]] Result<std::vector<host::EthernetLink>> links(MonoTime) const override {
    return std::vector<host::EthernetLink>{};
  }
};

struct NoTimeSync : host::TimeSync {
  [[nodiscard]] Result<host::TimeSyncState> read() const override {
    return fail(Errc::unsupported, "adjtimex");
  }
};

struct NoNvme : host::NvmeDevices {
  [[nodiscard]] Result<std::vector<host::NvmeController>> controllers() const override {
    return std::vector<host::NvmeController>{};
  }
  [[nodiscard]] Result<host::NvmeHealth> health(const std::string& controller, MonoTime) const override {
    return fail(Errc::not_found, controller);
  }
};

// A machine without devices, for tests of the layers above the backends.
struct EmptyHost {
  SimulatedClock clock;
  host::Files files{"/nonexistent"};
  NoKernelLog kernel_log;
  NoGpuDriver gpus;
  NoFilesystems filesystems;
  NoEthernet ethernet;
  NoTimeSync time_sync;
  NoNvme nvme;
  host::Host host{clock, files, kernel_log, gpus, filesystems, ethernet, time_sync, nvme};

  [[nodiscard]] static std::shared_ptr<const host::Host> share(const std::shared_ptr<EmptyHost>& owner) {
    return {owner, &owner->host};
  }
};

}  // namespace autopilot::fakes
