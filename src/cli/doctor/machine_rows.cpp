// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <string_view>

#include "cli/doctor/rows.hpp"
#include "cli/output/table.hpp"
#include "core/clock.hpp"
#include "host/gpu/gpus.hpp"
#include "host/kernel_log/kernel_log.hpp"

namespace autopilot::cli {
namespace {

constexpr Duration kPatienceOfDoctor = std::chrono::seconds{10};
constexpr std::string_view kKernelLogRight = "CAP_SYSLOG";

MonoTime deadline_of(const Examined& examined) {
  return examined.machine.host->clock.now().mono + kPatienceOfDoctor;
}

DoctorRow row_of(std::string topic, RowState state, std::string what) {
  return {.topic = std::move(topic),
          .state = state,
          .what = std::move(what),
          .adds = {},
          .command = {},
          .checks = {}};
}

std::string counted_gpus(std::size_t count) {
  return std::to_string(count) + (count == 1 ? " GPU" : " GPUs");
}

std::string command_of_driver(host::DriverState state, host::GpuVendor vendor) {
  const bool is_nvidia = vendor == host::GpuVendor::nvidia;
  switch (state) {
    case host::DriverState::library_missing:
    case host::DriverState::library_broken:
      return "install the driver's library libnvidia-ml.so.1 (in a container: NVIDIA container runtime)";
    case host::DriverState::driver_not_loaded:
      return is_nvidia ? "sudo modprobe nvidia" : "sudo modprobe amdgpu";
    case host::DriverState::version_mismatch:
      return "reboot, or reload the kernel module: its version differs from the library's";
    case host::DriverState::no_permission:
      return "sudo autopilot doctor; for a service DeviceAllow=char-nvidia rw";
    case host::DriverState::unresponsive:
    case host::DriverState::crashed:
    case host::DriverState::exhausted:
    case host::DriverState::init_failed:
      return "autopilot explain gpu.driver";
    case host::DriverState::ok:
      break;
  }
  return {};
}

// `in_tree`: the GPUs of the vendor on the PCI bus.
DoctorRow driver_row(const Examined& examined, host::GpuVendor vendor, std::size_t in_tree) {
  const std::string topic = std::string(to_string(vendor)) + " driver";
  const host::Gpus& gpus = vendor == host::GpuVendor::nvidia ? examined.machine.host->nvidia_gpus
                                                             : examined.machine.host->amd_gpus;
  if (in_tree == 0) return row_of(topic, RowState::not_applicable, "no such GPU on the PCI bus");
  const auto report = gpus.read({host::GpuGroup::identity}, deadline_of(examined));
  if (!report) return row_of(topic, RowState::problem, report.error().what);
  if (report->state == host::DriverState::ok) {
    std::string what = "version " + report->driver_version;
    if (!report->cuda_version.empty()) what += ", CUDA " + report->cuda_version;
    what += ", " + counted_gpus(report->gpus.size()) + " of " + std::to_string(in_tree) + " on the PCI bus";
    if (!report->library_path.empty()) what += ", library " + report->library_path;
    const bool sees_all = report->gpus.size() >= in_tree;
    DoctorRow row = row_of(topic, sees_all ? RowState::ok : RowState::problem, std::move(what));
    if (!sees_all) row.command = "autopilot check gpu.present";
    return row;
  }
  DoctorRow row = row_of(topic, RowState::problem, report->detail);
  row.adds = "the state of " + counted_gpus(in_tree) + " from the driver";
  row.command = command_of_driver(report->state, vendor);
  return row;
}

DoctorRow device_row(const Examined& examined, bool has_gpus) {
  const auto nodes = host::scan_device_nodes(examined.machine.host->files);
  if (nodes.empty()) {
    // NVIDIA's library makes them at its first use.
    return row_of("device files", RowState::not_applicable,
                  has_gpus ? "the driver made none in /dev" : "no compute driver");
  }
  std::vector<std::string> closed;
  for (const host::DeviceNode& node : nodes)
    if (!node.is_open_to_us) closed.push_back(node.path);
  if (closed.empty())
    return row_of("device files", RowState::ok,
                  std::to_string(nodes.size()) + " in /dev, all readable and writable");
  DoctorRow row = row_of("device files", RowState::limited, "no permission for " + joined(closed));
  row.adds = "the driver answers for these GPUs";
  row.command = "sudo usermod -aG video,render $USER, then log in again (or: sudo autopilot doctor)";
  return row;
}

DoctorRow kernel_log_row(const Examined& examined) {
  const host::Host& host = *examined.machine.host;
  const auto log = host.kernel_log.read_if(0, deadline_of(examined), {.reader = "doctor"});
  if (log) {
    std::string what = std::to_string(log->records.size()) + " records";
    if (!log->witness.empty()) what += " from " + log->witness;
    if (!examined.settings.kernel_log.helper_socket.empty()) what += ", through the kernel log helper";
    return row_of("kernel log", RowState::ok, std::move(what));
  }
  const bool is_denied = log.error().code == Errc::denied;
  DoctorRow row = row_of("kernel log", is_denied ? RowState::limited : RowState::problem, log.error().what);
  if (host::is_kernel_log_restricted(host.files) == true) row.what += "; kernel.dmesg_restrict is on";
  const std::string right(kKernelLogRight);
  row.checks = checks_with(right, examined);
  row.adds = "with " + right + " " + added_checks(row.checks);
  row.command = command_for(right, examined);
  return row;
}

// autopilot why reads it for earlier boots.
DoctorRow journal_row(const Examined& examined) {
  const auto& files = examined.machine.host->files;
  const std::string topic = "systemd journal";
  bool is_denied = false;
  for (const char* folder : {"/var/log/journal", "/run/log/journal"}) {
    const auto machines = files.list(folder);
    is_denied = is_denied || (!machines && machines.error().code == Errc::denied);
    for (const std::string& machine : machines.value_or(std::vector<std::string>{})) {
      const auto journals = files.list(std::string(folder) + "/" + machine);
      if (journals) return row_of(topic, RowState::ok, std::string(folder) + " is readable");
      is_denied = is_denied || journals.error().code == Errc::denied;
    }
  }
  if (!is_denied) return row_of(topic, RowState::not_applicable, "no journal of systemd");
  DoctorRow row = row_of(topic, RowState::limited, "no permission to read it");
  row.adds = "autopilot why explains earlier boots";
  row.command = "sudo usermod -aG systemd-journal $USER, then log in again";
  return row;
}

DoctorRow clock_row(const Examined& examined) {
  const auto state = examined.machine.host->time_sync.read();
  if (!state) return row_of("clock", RowState::limited, state.error().what);
  if (state->synchronised && !state->clock_error) return row_of("clock", RowState::ok, "synchronised");
  DoctorRow row = row_of("clock", RowState::limited, "not synchronised");
  row.adds = "times of events that agree between nodes";
  row.command = "timedatectl, then sudo systemctl enable --now chrony (or systemd-timesyncd)";
  return row;
}

DoctorRow kubelet_row(const Examined& examined) {
  const auto held = examined.machine.host->kubelet.pod_resources(deadline_of(examined));
  if (held)
    return row_of("kubelet", RowState::ok,
                  "answers; containers hold " + std::to_string(held->held.size()) + " kinds of devices");
  if (held.error().code == Errc::not_found)
    return row_of("kubelet", RowState::not_applicable, held.error().what);
  const bool is_denied = held.error().code == Errc::denied;
  DoctorRow row = row_of("kubelet", is_denied ? RowState::limited : RowState::problem, held.error().what);
  row.adds = "gpu.processes names the pods that hold a GPU";
  row.command = is_denied ? "the kubelet helper (docs/kubelet-helper.md)" : "sudo systemctl status kubelet";
  row.checks = {"gpu.processes"};
  return row;
}

}  // namespace

void add_driver_rows(const Examined& examined, std::vector<DoctorRow>& rows) {
  bool has_gpus = false;
  for (const auto vendor : {host::GpuVendor::nvidia, host::GpuVendor::amd}) {
    const auto scan = examined.machine.host->gpu_scan.gpus(vendor);
    has_gpus = has_gpus || (scan && !scan->empty());
    if (scan)
      rows.push_back(driver_row(examined, vendor, scan->size()));
    else
      rows.push_back(
          row_of(std::string(to_string(vendor)) + " driver", RowState::limited, scan.error().what));
  }
  rows.push_back(device_row(examined, has_gpus));
}

void add_machine_rows(const Examined& examined, std::vector<DoctorRow>& rows) {
  rows.push_back(kernel_log_row(examined));
  rows.push_back(journal_row(examined));
  rows.push_back(clock_row(examined));
  rows.push_back(kubelet_row(examined));
}

}  // namespace autopilot::cli
