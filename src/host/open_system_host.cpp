// SPDX-License-Identifier: Apache-2.0
#include "host/clock/system_clock.hpp"
#include "host/clock/time_sync_doors.hpp"
#include "host/dns/name_server_doors.hpp"
#include "host/ethernet/ethernet_doors.hpp"
#include "host/ethtool/ethtool_helper.hpp"
#include "host/gpu/gpu_scan.hpp"
#include "host/gpu/helper_gpus.hpp"
#include "host/helpers/helper_client.hpp"
#include "host/host_facts.hpp"
#include "host/infiniband/ib_helper.hpp"
#include "host/kernel_log/helper_source.hpp"
#include "host/kernel_log/kernel_log_tail.hpp"
#include "host/kubelet/kubelet_helper.hpp"
#include "host/open_host.hpp"
#include "host/storage/system_filesystems.hpp"
#include "host/storage/system_nvme.hpp"

namespace autopilot::host {
namespace {

Command helper_of(const OpenOptions& options, const std::string& kind,
                  const std::vector<std::string>& arguments) {
  Command command = helper_command(kind, arguments);
  if (!options.helper_program.empty()) command.program = options.helper_program;
  return command;
}

std::vector<std::string> library_argument(const std::string& library) {
  if (library.empty()) return {};
  return {"--library", library};
}

KernelLogTail::Options tail_options(const OpenOptions& options) {
  KernelLogTail::Options tail;
  tail.news_in = options.news_in;
  tail.part_of = options.part_of;
  tail.on_news = options.on_kernel_news;
  tail.trusts_injected = options.trusts_injected;
  return tail;
}

// Never the one after the other: numbers and losses are those of one reader.
KernelLogTail::Open kernel_log_of(const OpenOptions& options, const Clock& clock) {
  if (options.kernel_log_socket.empty()) return [&clock] { return open_kernel_log(clock); };
  return [socket = options.kernel_log_socket]() -> Result<std::unique_ptr<RecordSource>> {
    return std::unique_ptr<RecordSource>(TRY(HelperSource::open(socket)));
  };
}

// In order of construction: what is used by another stands before it.
struct SystemDoors {
  explicit SystemDoors(const OpenOptions& options)
      : ib_files(helper_of(options, "ib", {})),
        storage_helper("storage", helper_of(options, "storage", {})),
        kernel_log(kernel_log_of(options, clock), tail_options(options)),
        spared_adapters(kernel_log),
        gpus(GpuVendor::nvidia, helper_of(options, "nvml", library_argument(options.nvml_library)), clock,
             gpu_scan),
        amd_gpus(GpuVendor::amd, helper_of(options, "amdgpu", {}), clock, gpu_scan),
        filesystems(files, storage_helper),
        ethernet(files),
        time_sync(files),
        nvme(files, storage_helper),
        kubelet(helper_of(options, "kubelet", {}), clock, files, options.kubelet_socket),
        name_servers(files),
        ethtool(helper_of(options, "ethtool", {}), clock),
        tests(options.tests) {}

  SystemClock clock;
  IbFiles ib_files;
  Files files{"", {}, {std::string(IbFiles::kFolder), [this](auto path) { return ib_files.read(path); }}};
  GpuScan gpu_scan{files, clock};
  HelperClient storage_helper;
  KernelLogTail kernel_log;
  ComplainingAdapters spared_adapters;
  HelperGpus gpus;
  HelperGpus amd_gpus;
  SystemFilesystems filesystems;
  NetlinkEthernet ethernet;
  SystemTimeSync time_sync;
  SystemNvmeDevices nvme;
  HelperKubelet kubelet;
  SystemNameServers name_servers;
  HelperEthtool ethtool;
  std::shared_ptr<const TestResults> tests;
  Host host{clock,           files,
            kernel_log,      gpus,
            filesystems,     ethernet,
            time_sync,       nvme,
            spared_adapters, amd_gpus,
            kubelet,         name_servers,
            ethtool,         tests ? *tests : TestResults::none(),
            gpu_scan};
};

}  // namespace

Result<OpenedHost> open_system_host(const OpenOptions& options) {
  const auto doors = std::make_shared<SystemDoors>(options);
  const auto facts = TRY(read_host_facts(doors->files));
  OpenedHost opened;
  opened.host = std::shared_ptr<const Host>(doors, &doors->host);
  opened.node = facts.node;
  opened.boot_id = facts.boot_id;
  opened.complete_self = [weak = std::weak_ptr<SystemDoors>(doors)](SelfStatus& self) {
    const auto alive = weak.lock();
    if (!alive) return;
    const auto records = alive->kernel_log.counts();
    self.kernel_records_read = records.read;
    self.driver_calls = alive->gpus.driver_calls();
    self.helpers_stuck = alive->storage_helper.stats().stuck + alive->gpus.stats().stuck +
                         alive->amd_gpus.stats().stuck + alive->ib_files.stats().stuck +
                         alive->kubelet.stats().stuck + alive->ethtool.stats().stuck;
    self.pod_resources_problem = alive->kubelet.problem();
  };
  return opened;
}

}  // namespace autopilot::host
