// SPDX-License-Identifier: Apache-2.0
#include "cli/recording/recording.hpp"

#include <algorithm>
#include <boost/json.hpp>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>

#include "cli/recording/answers.hpp"
#include "cli/recording/scrubber.hpp"
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

// The only words of 8 or 32 digits are addresses; masks and flags are not secret.
void learn_from_routes(const std::string& text, Scrubber& scrubber) {
  for (const std::string_view line : split(text, '\n')) {
    const auto words = split_words(line);
    const bool is_ipv6 = words.size() >= 10 && words[0].size() == 32;
    for (std::size_t i = is_ipv6 ? 0 : 1; i < std::min<std::size_t>(words.size(), is_ipv6 ? 5 : 3); ++i)
      scrubber.learn_address_in_hex(words[i]);
  }
}

// Search domains; apply() finds addresses without learning.
void learn_from_resolvers(const std::string& text, Scrubber& scrubber) {
  for (const std::string_view line : split(text, '\n')) {
    const auto words = split_words(line);
    if (words.empty() || (words[0] != "search" && words[0] != "domain")) continue;
    for (std::size_t i = 1; i < words.size(); ++i)
      scrubber.learn(Scrubber::Kind::host, words[i]);
  }
}

void learn_from_cgroups(const std::string& text, Scrubber& scrubber) {
  const GpuUserOwner owner = host::parse_cgroups(text);
  scrubber.learn_pod(owner.pod_uid);
  scrubber.learn(Scrubber::Kind::container, owner.container);
}

// Numbers of AMD GPUs in their compute driver; unique_id equals the content of the file unique_id.
void learn_from_node(const std::string& text, Scrubber& scrubber) {
  using Kind = Scrubber::Kind;
  for (const std::string_view line : split(text, '\n')) {
    const std::vector<std::string_view> words = split_words(line);
    const auto number = words.size() == 2 ? parse_number<std::uint64_t>(words[1]) : std::nullopt;
    if (!number) continue;
    if (words[0] == "unique_id") scrubber.learn_number(Kind::uuid, *number);
    if (words[0] == "hive_id") scrubber.learn_number(Kind::serial, *number);
  }
}

void learn_from_file(const std::string& path, const std::string& text, Scrubber& scrubber) {
  using Kind = Scrubber::Kind;
  const std::string name = path.substr(path.rfind('/') + 1);
  if (name == "serial" || name == "product_serial" || name == "serial_number")
    scrubber.learn(Kind::serial, text);
  if (name == "unique_id") scrubber.learn(Kind::uuid, text);
  if (path.find("/kfd/topology/") != std::string::npos && name == "properties")
    learn_from_node(text, scrubber);
  if (name == "node_guid" || name == "sys_image_guid") scrubber.learn(Kind::guid, text);
  if (path == "/proc/net/route" || path == "/proc/net/ipv6_route") learn_from_routes(text, scrubber);
  if (path == "/etc/resolv.conf") learn_from_resolvers(text, scrubber);
  if (name == "cgroup") learn_from_cgroups(text, scrubber);
  if (name != "mountinfo") return;
  // "server:/export" in front of the options at the end of a row.
  const auto mounts = host::parse_mountinfo(text);
  if (!mounts) return;
  for (const host::Mount& mount : *mounts)
    if (const auto colon = mount.source.find(":/"); mount.is_network && colon != std::string::npos)
      scrubber.learn(Kind::host, std::string_view(mount.source).substr(0, colon));
}

void learn_from_files(const host::RecordedFiles& files, Scrubber& scrubber) {
  for (const auto& [path, file] : files)
    if (!file.is_link) learn_from_file(path, file.text, scrubber);
}

void learn_from_driver(const YamlNode& nvml, Scrubber& scrubber) {
  const YamlNode* gpus = nvml.find("gpus");
  if (gpus == nullptr) return;
  for (const YamlMember& gpu : gpus->members) {
    scrubber.learn(Scrubber::Kind::uuid, gpu.value.find("uuid")->text);
    scrubber.learn(Scrubber::Kind::serial, gpu.value.find("serial")->text);
    if (const YamlNode* instances = gpu.value.find("instances"))
      for (const YamlNode& instance : instances->items)
        scrubber.learn(Scrubber::Kind::uuid, instance.find("uuid")->text);
  }
}

Scrubber scrubber_for(const Recording& recording) {
  Scrubber scrubber;
  const std::string node = recording.machine.find("node")->text;
  scrubber.learn(Scrubber::Kind::host, node);
  scrubber.learn(Scrubber::Kind::host, node.substr(0, node.find('.')));
  learn_from_files(recording.files, scrubber);
  if (recording.nvml) learn_from_driver(*recording.nvml, scrubber);
  return scrubber;
}

using TextFilter = std::function<std::string(const std::string&)>;

Status write_link(const std::string& path, const std::string& target, host::OwnFolder& tree) {
  // The directory of a driver is empty in a recording; only its name matters to the link.
  TRY_STATUS(tree.make_folder("/root" + target));
  return tree.link("/root" + path, fs::path(target).lexically_relative(fs::path(path).parent_path()));
}

Status write_files(const host::RecordedFiles& files, host::OwnFolder& tree, const TextFilter& filter) {
  for (const auto& [path, file] : files) {
    if (file.is_link)
      TRY_STATUS(write_link(path, file.text, tree));
    else if (file.is_folder)
      TRY_STATUS(tree.make_folder("/root" + path));
    else
      TRY_STATUS(tree.write("/root" + path, filter(file.text)));
  }
  return {};
}

Status write_parts(const Recording& recording, host::OwnFolder& tree, const TextFilter& filter) {
  TRY_STATUS(write_files(recording.files, tree, filter));
  TRY_STATUS(tree.write("/kmsg.jsonl", filter(recording.kernel_log)));
  if (recording.nvml) TRY_STATUS(tree.write("/nvml.yaml", filter(to_yaml(*recording.nvml))));
  return tree.write("/machine.yaml", filter(to_yaml(recording.machine)));
}

}  // namespace

Result<Recording> record_machine(const host::Host& host, const std::string& node,
                                 const std::string& boot_id) {
  return MachineRecorder(host).record(node, boot_id);
}

Status write_recording(const Recording& recording, const std::string& directory, bool scrub) {
  host::OwnFolder tree = TRY(host::OwnFolder::create(directory));
  Scrubber scrubber = scrubber_for(recording);
  const TextFilter filter = [&](const std::string& text) { return scrub ? scrubber.apply(text) : text; };
  Status written = write_parts(recording, tree, filter);
  // An incomplete tree would look like a complete machine.
  if (!written) tree.clear();
  return written;
}

}  // namespace autopilot::cli
