// SPDX-License-Identifier: Apache-2.0
#include "host/open_host.hpp"

#include <filesystem>

#include "host/clock/system_clock.hpp"
#include "host/diagnostic_results/tree_results.hpp"
#include "host/dns/name_servers.hpp"
#include "host/ethernet/ethernet.hpp"
#include "host/ethtool/ethtool_helper.hpp"
#include "host/files/files.hpp"
#include "host/files/tree_file.hpp"
#include "host/gpu/amd_gpus.hpp"
#include "host/gpu/gpus.hpp"
#include "host/gpu/helper_gpus.hpp"
#include "host/helpers/helper_client.hpp"
#include "host/infiniband/ib_helper.hpp"
#include "host/kernel_log/kernel_log_tail.hpp"
#include "host/kernel_log/kmsg_helper.hpp"
#include "host/kernel_log/kmsg_source.hpp"
#include "host/kernel_log/tree_kernel_log.hpp"
#include "host/kubelet/kubelet_helper.hpp"
#include "host/machine_tree/machine_tree.hpp"
#include "host/storage/system_storage.hpp"
#include "host/tree_backends.hpp"

namespace autopilot::host {
namespace {

Command helper_of(const OpenOptions& options, const std::string& kind,
                  const std::vector<std::string>& arguments = {},
                  const std::vector<std::string>& environment = {}) {
  Command command = helper_command(kind, arguments, environment);
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

// In order of construction: a member comes before its users.
struct SystemDoors {
  explicit SystemDoors(const OpenOptions& options)
      : ib_files(helper_of(options, "ib")),
        storage_helper("storage", helper_of(options, "storage")),
        kernel_log(kernel_log_of(options, clock), tail_options(options)),
        spared_adapters(kernel_log),
        gpus(GpuVendor::nvidia, helper_of(options, "nvml", library_argument(options.nvml_library)), clock,
             gpu_scan),
        amd_gpus(GpuVendor::amd, helper_of(options, "amdgpu"), clock, gpu_scan),
        filesystems(files, storage_helper),
        ethernet(files),
        time_sync(files),
        nvme(files, storage_helper),
        kubelet(helper_of(options, "kubelet"), clock, files, options.kubelet_socket),
        name_servers(files),
        ethtool(helper_of(options, "ethtool"), clock),
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
  OpenedHost opened;
  opened.host = std::shared_ptr<const Host>(doors, &doors->host);
  opened.node = TRY(doors->files.read_word("/proc/sys/kernel/hostname"));
  opened.boot_id = TRY(doors->files.read_word("/proc/sys/kernel/random/boot_id"));
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

namespace {

bool is_there(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

// Starts at the moment the tree was taken and runs on as real time does.
class TreeClock final : public Clock {
 public:
  explicit TreeClock(const MachineTree& tree)
      : wall_(tree.time), mono_(MonoTime{tree.uptime}), started_(system_.now().mono) {}
  [[nodiscard]] Instant now() const override {
    const Duration passed = system_.now().mono - started_;
    return {wall_ + passed, mono_ + passed};
  }

 private:
  SystemClock system_;
  WallTime wall_;
  MonoTime mono_;
  MonoTime started_;
};

std::shared_ptr<const Clock> clock_of(const MachineTree& tree, const OpenOptions& options) {
  if (options.clock) return options.clock;
  if (tree.live) return std::make_shared<SystemClock>();
  return std::make_shared<TreeClock>(tree);
}

// What a loader refuses as it refuses a library whose installation was cut off.
constexpr const char* kBrokenLibrary = "/dev/null";

Command nvml_helper(const std::string& directory, const std::string& library, const OpenOptions& options) {
  return helper_of(options, "nvml", {"--library", library}, {"AUTOPILOT_SIM_MACHINE=" + directory});
}

// A scenario may take the whole library away, or break it, and bring it back.
class TreeGpus final : public Gpus {
 public:
  TreeGpus(const MachineTreeFile& file, const MachineTree& tree, const OpenOptions& options,
           const Clock& clock, const GpuScan& scan)
      : file_(file),
        nvml_(tree.nvml()),
        driver_(GpuVendor::nvidia, nvml_helper(tree.directory, options.nvml_library, options), clock, scan),
        broken_(GpuVendor::nvidia, nvml_helper(tree.directory, kBrokenLibrary, options), clock, scan),
        none_(DriverState::library_missing, nvml_ + " does not exist") {}

  [[nodiscard]] Result<GpuReport> read(const std::vector<GpuGroup>& groups,
                                       MonoTime deadline) const override {
    return now().read(groups, deadline);
  }
  [[nodiscard]] Result<std::vector<GpuEvent>> take_events(MonoTime deadline) const override {
    return now().take_events(deadline);
  }
  [[nodiscard]] Result<GpuTelemetry> read_telemetry(TelemetryDetail detail,
                                                    MonoTime deadline) const override {
    return now().read_telemetry(detail, deadline);
  }
  [[nodiscard]] const HelperGpus& driver() const { return driver_; }

 private:
  [[nodiscard]] const Gpus& now() const {
    if (!is_there(nvml_)) return none_;
    const auto tree = file_.read();
    if (tree && (*tree)->driver_library_broken) return broken_;
    return driver_;
  }

  const MachineTreeFile& file_;
  const std::string nvml_;
  HelperGpus driver_;
  HelperGpus broken_;
  NoGpus none_;
};

// As that of the running machine, with a socket in place of the device.
std::unique_ptr<KernelLogTail> fed_kernel_log(const MachineTree& tree, const OpenOptions& options,
                                              const Clock& clock) {
  if (!is_there(tree.kernel_log_socket())) return nullptr;
  return std::make_unique<KernelLogTail>(
      [socket = tree.kernel_log_socket(), &clock]() -> Result<std::unique_ptr<RecordSource>> {
        const Fd place = TRY(find_in_tree(socket));
        auto source = KmsgSource::connect("/proc/self/fd/" + std::to_string(place.get()), "/dev/kmsg", clock);
        if (!source) return fail(source.error().code, socket + ": no feeder of kernel records answers there");
        return *std::move(source);
      },
      tail_options(options));
}

// In order of construction: a member comes before its users.
struct TreeDoors {
  TreeDoors(std::unique_ptr<MachineTreeFile> tree_file, const MachineTree& tree, const OpenOptions& options)
      : file(std::move(tree_file)),
        clock(clock_of(tree, options)),
        unreadable(*file, tree.root()),
        files(tree.root(), [this](std::string_view path) { return unreadable.pass(path); }),
        kernel_log(tree.kernel_log(), *clock),
        fed(fed_kernel_log(tree, options, *clock)),
        spared_adapters(log()),
        gpus(*file, tree, options, *clock, gpu_scan),
        amd_gpus(files, *clock),
        filesystems(files, *file),
        ethernet(files),
        time_sync(files, *file),
        nvme(files, *file),
        kubelet(helper_of(options, "kubelet", {"--root", tree.root()}), *clock, files,
                options.kubelet_socket),
        name_servers(files, *file),
        ethtool(*file),
        tests(*file, options.tests) {}

  // The log that all checks read: the records of the tree, or the records that a feeder sends.
  [[nodiscard]] const KernelLog& log() const {
    return fed ? static_cast<const KernelLog&>(*fed) : kernel_log;
  }

  std::unique_ptr<MachineTreeFile> file;
  std::shared_ptr<const Clock> clock;
  UnreadableFiles unreadable;
  Files files;
  GpuScan gpu_scan{files, *clock};
  TreeKernelLog kernel_log;
  std::unique_ptr<KernelLogTail> fed;  // empty: no feeder for the log
  ComplainingAdapters spared_adapters;
  TreeGpus gpus;
  AmdGpus amd_gpus;
  TreeFilesystems filesystems;
  SysfsEthernet ethernet;
  TreeTimeSyncBackend time_sync;
  TreeNvmeDevices nvme;
  HelperKubelet kubelet;
  TreeNameServers name_servers;
  TreeEthtool ethtool;
  TreeTestResults tests;
  Host host{*clock,          files,    log(),   gpus,         filesystems, ethernet, time_sync, nvme,
            spared_adapters, amd_gpus, kubelet, name_servers, ethtool,     tests,    gpu_scan};
};

// What may be missing, but leads nowhere else where it is there.
Status check_parts(const MachineTree& tree) {
  for (const std::string& path : {tree.root(), tree.nvml(), tree.kernel_log(), tree.kernel_log_socket()})
    if (const auto part = find_in_tree(path); !part && part.error().code != Errc::not_found)
      return fail(part.error());
  return {};
}

}  // namespace

Result<OpenedHost> open_tree_host(const std::string& directory, const OpenOptions& options) {
  auto file = TRY(MachineTreeFile::open(directory));
  const auto tree = TRY(file->read());
  TRY_STATUS(check_parts(*tree));
  if (is_there(tree->nvml()) && !is_there(options.nvml_library))
    return fail(Errc::not_found, "the simulated driver library " + options.nvml_library +
                                     " does not exist; it is built and installed beside autopilot");
  const auto doors = std::make_shared<TreeDoors>(std::move(file), *tree, options);
  OpenedHost opened;
  opened.host = std::shared_ptr<const Host>(doors, &doors->host);
  opened.node = tree->node;
  opened.boot_id = tree->boot_id;
  opened.simulated = true;
  opened.complete_self = [weak = std::weak_ptr<TreeDoors>(doors)](SelfStatus& self) {
    const auto alive = weak.lock();
    if (!alive) return;
    if (alive->fed) {
      const auto records = alive->fed->counts();
      self.kernel_records_read = records.read;
    }
    self.driver_calls = alive->gpus.driver().driver_calls();
    self.helpers_stuck = alive->gpus.driver().stats().stuck + alive->kubelet.stats().stuck;
    self.pod_resources_problem = alive->kubelet.problem();
  };
  return opened;
}

}  // namespace autopilot::host
