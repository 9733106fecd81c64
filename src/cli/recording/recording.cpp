// SPDX-License-Identifier: Apache-2.0
#include "cli/recording/recording.hpp"

#include <algorithm>
#include <boost/json.hpp>
#include <cstdint>
#include <filesystem>
#include <optional>

#include "cli/recording/answers.hpp"
#include "core/parse.hpp"
#include "core/yaml_text.hpp"
#include "host/files/own_folder.hpp"
#include "host/gpu/gpus.hpp"
#include "host/gpu/readings.hpp"
#include "host/process/processes.hpp"

namespace autopilot::cli {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr Duration kPatience = 5s;  // for each backend, mount and disk

const std::vector<host::GpuGroup> kAllGroups{
    host::GpuGroup::identity,    host::GpuGroup::row_remap, host::GpuGroup::ecc,    host::GpuGroup::clocks,
    host::GpuGroup::temperature, host::GpuGroup::pcie,      host::GpuGroup::nvlink, host::GpuGroup::power,
    host::GpuGroup::processes,   host::GpuGroup::fabric,    host::GpuGroup::inforom};

// Reads every backend and keeps its answers, including errors.
class MachineRecorder {
 public:
  explicit MachineRecorder(const host::Host& host) : host_(host) {}

  Result<Recording> record(const std::string& node, const std::string& boot_id) {
    recording_.files = TRY(host::record_files(host_.files));
    identity(node, boot_id);
    unreadable();
    time_sync();
    name_servers();
    ethernet_ports();
    filesystems();
    disks();
    driver();
    amd_owners();
    active_tests();
    kernel_log();
    return std::move(recording_);
  }

 private:
  [[nodiscard]] MonoTime deadline() const { return host_.clock.now().mono + kPatience; }
  void gap(const std::string& what, const Error& error) {
    recording_.gaps.push_back(what + ": " + error.what);
  }
  // Error code that a machine tree can represent.
  static Errc tree_code(const Error& error) {
    switch (error.code) {
      case Errc::unsupported:
      case Errc::timed_out:
      case Errc::denied:
        return error.code;
      default:
        return Errc::unavailable;
    }
  }
  static YamlNode error_node(const Error& error) {
    YamlNode node = yaml_map();
    yaml_member(node, "error") = yaml_word(to_string(tree_code(error)));
    return node;
  }

  void identity(const std::string& node, const std::string& boot_id) {
    const Instant now = host_.clock.now();
    YamlNode& machine = recording_.machine;
    machine = yaml_map();
    yaml_member(machine, "schema") = yaml_word("autopilot.machine/v1");
    yaml_member(machine, "node") = yaml_word(node);
    yaml_member(machine, "boot_id") = yaml_word(boot_id);
    yaml_member(machine, "time") = yaml_word(format_time(now.wall));
    yaml_member(machine, "uptime") = yaml_word(format_duration(now.mono.time_since_epoch()));
    yaml_member(machine, "simulated") = yaml_flag(false);
  }

  void unreadable() {
    for (const auto& [path, file] : recording_.files)
      if (file.error)
        yaml_member(yaml_member(yaml_member(recording_.machine, "unreadable"), path), "error") =
            yaml_word(to_string(*file.error));
  }

  void time_sync() {
    const auto state = host_.time_sync.read();
    YamlNode& node = yaml_member(recording_.machine, "time_sync");
    if (!state) {
      node = error_node(state.error());
      return gap("time synchronisation", state.error());
    }
    yaml_member(node, "synchronised") = yaml_flag(state->synchronised);
    yaml_member(node, "clock_error") = yaml_flag(state->clock_error);
    yaml_member(node, "offset_ns") = yaml_integer(state->offset_ns);
    yaml_member(node, "max_error_us") = yaml_integer(state->max_error_us);
    yaml_member(node, "estimated_error_us") = yaml_integer(state->estimated_error_us);
  }

  void name_servers() {
    const auto servers = host_.name_servers.ask(deadline());
    if (!servers) {
      if (servers.error().code != Errc::unsupported) gap("name servers", servers.error());
      return;
    }
    YamlNode& list = yaml_member(recording_.machine, "name_servers");
    for (const host::NameServerAnswer& answer : servers->answers) {
      YamlNode& node = yaml_member(list, answer.address);
      yaml_member(node, "outcome") = yaml_word(to_string(answer.outcome));
      yaml_member(node, "code") = yaml_integer(answer.code);
      yaml_member(node, "milliseconds") = yaml_number(to_seconds(answer.after) * 1000);
    }
  }

  void ethernet_ports() {
    const auto links = host_.ethernet.links(deadline());
    if (!links) return gap("Ethernet ports", links.error());
    std::vector<std::string> ports;
    for (const host::EthernetLink& link : *links)
      if (link.is_port() &&
          (link.pci_address.empty() || !host_.spared_adapters.is_spared(link.pci_address, deadline())))
        ports.push_back(link.name);
    const auto answers = host_.ethtool.read(ports, deadline());
    for (std::size_t i = 0; i < ports.size(); ++i) {
      if (!answers[i]) gap("Ethernet port " + ports[i], answers[i].error());
      yaml_member(yaml_member(recording_.machine, "ethernet_ports"), ports[i]) = port_answers(answers[i]);
    }
  }

  void filesystems() {
    const auto mounts = host_.filesystems.mounts();
    if (!mounts) return gap("mounts", mounts.error());
    YamlNode& list = yaml_member(recording_.machine, "filesystems");
    list = yaml_map();
    for (const host::Mount& mount : *mounts) {
      YamlNode& node = yaml_member(list, mount.mount_point);
      const auto usage = host_.filesystems.usage(mount, deadline());
      if (!usage) {
        node = error_node(usage.error());
        if (usage.error().code != Errc::timed_out) continue;
        node = yaml_map();
        yaml_member(node, "hangs") = yaml_flag(true);
        continue;
      }
      node = yaml_map();
      yaml_member(node, "total_bytes") = yaml_integer(usage->total_bytes);
      yaml_member(node, "free_bytes") = yaml_integer(usage->free_bytes);
      yaml_member(node, "available_bytes") = yaml_integer(usage->available_bytes);
      yaml_member(node, "total_inodes") = yaml_integer(usage->total_inodes);
      yaml_member(node, "free_inodes") = yaml_integer(usage->free_inodes);
    }
  }

  void disks() {
    const auto controllers = host_.nvme.controllers();
    if (!controllers || controllers->empty()) return;
    YamlNode& list = yaml_member(recording_.machine, "nvme");
    for (const host::NvmeController& controller : *controllers) {
      YamlNode& node = yaml_member(list, controller.name);
      const auto health = host_.nvme.health(controller.name, deadline());
      if (!health) {
        node = error_node(health.error());
        gap("health of " + controller.name, health.error());
        continue;
      }
      yaml_member(node, "critical_warning") = yaml_integer(static_cast<int>(health->critical_warning));
      yaml_member(node, "temperature_celsius") = yaml_integer(health->temperature_celsius);
      yaml_member(node, "available_spare_percent") = yaml_integer(health->available_spare_percent);
      yaml_member(node, "spare_threshold_percent") = yaml_integer(health->spare_threshold_percent);
      yaml_member(node, "percentage_used") = yaml_integer(health->percentage_used);
      yaml_member(node, "media_errors") = yaml_number(health->media_errors);
      yaml_member(node, "error_log_entries") = yaml_number(health->error_log_entries);
      yaml_member(node, "unsafe_shutdowns") = yaml_number(health->unsafe_shutdowns);
      yaml_member(node, "power_on_hours") = yaml_number(health->power_on_hours);
    }
  }

  void driver() {
    const auto report = host_.nvidia_gpus.read(kAllGroups, deadline());
    if (!report) return gap("the NVIDIA driver", report.error());
    recording_.nvml = driver_answers(*report, host_.files);
    for (const host::GpuDevice& gpu : report->gpus)
      owners(gpu);
    if (report->state == host::DriverState::library_broken)
      yaml_member(recording_.machine, "driver_library") = yaml_word("broken");
  }

  // The recorded files contain the driver's other answers.
  void amd_owners() {
    const auto report = host_.amd_gpus.read({host::GpuGroup::processes}, deadline());
    if (!report) return;
    for (const host::GpuDevice& gpu : report->gpus)
      owners(gpu);
  }

  // Control groups of the processes on the GPU.
  void owners(const host::GpuDevice& gpu) {
    const host::GpuReading* pids = gpu.find(host::reading::kProcessPids);
    if (pids == nullptr || !pids->value) return;
    const std::string words = to_string(*pids->value);
    for (const std::string_view pid : split_words(words)) {
      std::string path = "/proc/";
      path.append(pid).append("/cgroup");
      if (auto groups = host_.files.read(path)) recording_.files[path].text = *std::move(groups);
    }
  }

  // A recording runs no diagnostic: it contains the results of the last ones, if any.
  void active_tests() {
    for (const std::string& check : host_.tests.checks()) {
      const auto found = host_.tests.last(check);
      if (!found) gap("tests of " + check, found.error());
      yaml_member(yaml_member(recording_.machine, "tests"), check) = active_test(found, host_.clock.now());
    }
  }

  // Lost records that the gaps in the sequence numbers do not show.
  static std::uint64_t lost_before(const host::KernelRecords& log) {
    std::uint64_t shown = 0;
    for (std::size_t i = 1; i < log.records.size(); ++i)
      shown += log.records[i].sequence - log.records[i - 1].sequence - 1;
    return log.lost > shown ? log.lost - shown : 0;
  }

  void kernel_log() {
    const auto records = host_.kernel_log.read(0, deadline());
    if (!records) {
      recording_.kernel_log =
          boost::json::serialize(boost::json::object{{"error", to_string(tree_code(records.error()))}}) +
          "\n";
      return gap("kernel log", records.error());
    }
    if (const std::uint64_t lost = lost_before(*records); lost > 0)
      recording_.kernel_log = boost::json::serialize(boost::json::object{{"lost", lost}}) + "\n";
    for (const host::KernelRecord& record : records->records) {
      boost::json::object line;
      line["prio"] = record.facility * 8 + record.priority;
      line["seq"] = record.sequence;
      line["time"] = to_seconds(record.time.mono.time_since_epoch());
      line["text"] = record.text;
      if (record.injected) line["injected"] = true;
      if (!record.verified) line["verified"] = false;
      recording_.kernel_log += boost::json::serialize(line) + "\n";
    }
  }

  const host::Host& host_;
  Recording recording_;
};

Status write_link(const std::string& path, const std::string& target, host::OwnFolder& tree) {
  // The directory of a driver is empty in a recording; only its name matters to the link.
  TRY_STATUS(tree.make_folder("/root" + target));
  return tree.link("/root" + path, fs::path(target).lexically_relative(fs::path(path).parent_path()));
}

Status write_files(const host::RecordedFiles& files, host::OwnFolder& tree) {
  for (const auto& [path, file] : files) {
    if (file.is_link)
      TRY_STATUS(write_link(path, file.text, tree));
    else if (file.is_folder)
      TRY_STATUS(tree.make_folder("/root" + path));
    else
      TRY_STATUS(tree.write("/root" + path, file.text));
  }
  return {};
}

Status write_parts(const Recording& recording, const std::string& scrub_report, host::OwnFolder& tree) {
  TRY_STATUS(write_files(recording.files, tree));
  TRY_STATUS(tree.write("/kmsg.jsonl", recording.kernel_log));
  if (recording.nvml) TRY_STATUS(tree.write("/nvml.yaml", to_yaml(*recording.nvml)));
  if (!scrub_report.empty()) TRY_STATUS(tree.write("/scrub-report.yaml", scrub_report));
  return tree.write("/machine.yaml", to_yaml(recording.machine));
}

}  // namespace

Result<Recording> record_machine(const host::Host& host, const std::string& node,
                                 const std::string& boot_id) {
  return MachineRecorder(host).record(node, boot_id);
}

Status write_recording(const Recording& recording, const std::string& directory,
                       const std::string& scrub_report) {
  host::OwnFolder tree = TRY(host::OwnFolder::create(directory));
  Status written = write_parts(recording, scrub_report, tree);
  // An incomplete tree would look like a complete machine.
  if (!written) tree.clear();
  return written;
}

}  // namespace autopilot::cli
