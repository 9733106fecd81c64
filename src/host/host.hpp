// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "core/clock.hpp"
#include "host/boot/crash_records.hpp"
#include "host/clock/system_clock.hpp"
#include "host/cpu/processors.hpp"
#include "host/diagnostic_results/results.hpp"
#include "host/dns/name_servers.hpp"
#include "host/ethernet/ethernet.hpp"
#include "host/ethernet/routes.hpp"
#include "host/ethtool/ethtool.hpp"
#include "host/ethtool/module.hpp"
#include "host/files/files.hpp"
#include "host/gpu/gpus.hpp"
#include "host/gpu/readings.hpp"
#include "host/infiniband/infiniband.hpp"
#include "host/kernel_log/kernel_log.hpp"
#include "host/kubelet/pod_resources.hpp"
#include "host/memory/memory.hpp"
#include "host/pci/pci.hpp"
#include "host/process/processes.hpp"
#include "host/storage/block.hpp"
#include "host/storage/filesystems.hpp"
#include "host/storage/nvme.hpp"

namespace autopilot::host {

// All doors to one machine. Doors that are only files take `files`; the others have a form for the running
// machine and one for a machine tree. A test fills in what it needs. The doors outlive every check that uses
// them.
class Host {
 public:
  const Clock& clock;
  const Files& files;
  const KernelLog& kernel_log;
  const Gpus& nvidia_gpus;
  const Filesystems& filesystems;
  const Ethernet& ethernet;
  const TimeSync& time_sync;
  const NvmeDevices& nvme;
  const SparedAdapters& spared_adapters = SparedAdapters::none();
  const Gpus& amd_gpus = Gpus::none();
  const Kubelet& kubelet = Kubelet::none();
  const NameServers& name_servers = NameServers::none();
  const Ethtool& ethtool = Ethtool::none();
  const TestResults& tests = TestResults::none();
  GpuScan gpu_scan{files};
};

}  // namespace autopilot::host
