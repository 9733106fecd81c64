// SPDX-License-Identifier: Apache-2.0
#include "host/infiniband/infiniband.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "core/parse.hpp"
#include "core/subject.hpp"

namespace autopilot::host {
namespace {

constexpr std::string_view kClass = "/sys/class/infiniband";
constexpr std::int64_t kMostPorts = 254;  // a port number is one byte

std::string device_path(std::string_view device) {
  return std::string(kClass) + "/" + std::string(device);
}

std::string port_path(const IbPort& port) {
  return device_path(port.device) + "/ports/" + std::to_string(port.number);
}

Result<std::string> read_state(const Files& files, const std::string& path) {
  const std::string text = TRY(files.read_word(path));
  auto state = parse_ib_state(text);
  if (!state) return fail(Errc::malformed, path + ": no state of a port");
  return std::move(*state);
}

std::string adapter_of(const Files& files, const std::string& device) {
  for (const char* name : {"/board_id", "/hca_type"})
    if (auto word = files.read_word(device_path(device) + name); word && !word->empty())
      return std::move(*word);
  return {};
}

// Links of sysfs: no firmware is asked.
IbPort identify(const Files& files, const std::string& device) {
  IbPort port;
  port.device = device;
  if (const auto pci = files.resolve(device_path(device) + "/device"))
    port.pci_address = canonical_pci_address(pci->substr(pci->rfind('/') + 1)).value_or("");
  if (const auto driver = files.resolve(device_path(device) + "/device/driver"))
    port.driver = driver->substr(driver->rfind('/') + 1);
  port.is_virtual_function = files.exists(device_path(device) + "/device/physfn");
  return port;
}

void ask(const Files& files, IbPort& port) {
  const std::string path = port_path(port);
  if (auto state = read_state(files, path + "/state"))
    port.state = std::move(*state);
  else
    port.problem = std::move(state).error();
  port.physical_state = read_state(files, path + "/phys_state").value_or("");
  port.link_layer = files.read_word(path + "/link_layer").value_or("InfiniBand");
  if (const auto rate = files.read_word(path + "/rate")) port.rate_gbps = parse_ib_rate(*rate);
  port.adapter = adapter_of(files, port.device);
}

Result<std::vector<int>> port_numbers(const Files& files, const std::string& device) {
  const std::string folder = device_path(device) + "/ports";
  std::vector<int> numbers;
  for (const auto& name : TRY(files.list(folder)))
    if (const auto number = parse_number<int>(name); number && *number > 0 && *number <= kMostPorts)
      numbers.push_back(*number);
  if (numbers.empty()) return fail(Errc::malformed, folder + ": no port");
  std::ranges::sort(numbers);
  return numbers;
}

// A device of which nothing but its name is known, in place of its ports.
IbPort without_ports(IbPort port, Error problem) {
  port.number = 0;
  port.link_layer = "InfiniBand";
  port.problem = std::move(problem);
  return port;
}

}  // namespace

std::optional<std::string> parse_ib_state(std::string_view text) {
  const auto colon = text.find(": ");
  if (colon == std::string_view::npos || !parse_number<unsigned>(text.substr(0, colon))) return std::nullopt;
  std::string word = to_lower(trim(text.substr(colon + 2)));
  if (word.empty()) return std::nullopt;
  return word;
}

std::optional<double> parse_ib_rate(std::string_view text) {
  const auto words = split_words(text);
  if (words.size() < 2 || words[1] != "Gb/sec") return std::nullopt;
  const auto rate = parse_number<double>(words[0]);
  return rate && *rate > 0 && *rate < 1e6 ? rate : std::nullopt;
}

Result<std::vector<IbPort>> scan_ib_ports(const Files& files) {
  return scan_ib_ports(files, [](const IbPort& /*port*/) { return true; });
}

Result<std::vector<IbPort>> scan_ib_ports(const Files& files, bool (*is_wanted)(const IbPort& port)) {
  const auto devices = TRY(files.list_sysfs(kClass));
  std::vector<IbPort> ports;
  for (const auto& device : devices) {
    const IbPort identity = identify(files, device);
    if (!is_wanted(identity)) continue;
    const auto numbers = port_numbers(files, device);
    if (!numbers) {
      if (files.exists(device_path(device)))  // else it was removed a moment ago
        ports.push_back(without_ports(identity, numbers.error()));
      continue;
    }
    for (const int number : *numbers) {
      IbPort& port = ports.emplace_back(identity);
      port.number = number;
      ask(files, port);
    }
  }
  return ports;
}

std::string interface_of(const Files& files, const IbPort& port) {
  const std::string folder = device_path(port.device) + "/device/net";
  for (const std::string& name : files.list(folder).value_or(std::vector<std::string>{})) {
    const auto number = files.read_integer(std::string(folder).append("/").append(name).append("/dev_port"));
    if (!number || *number + 1 != port.number) continue;
    const auto master = files.resolve(std::string(folder).append("/").append(name).append("/master"));
    return master ? master->substr(master->rfind('/') + 1) : name;
  }
  return {};
}

Result<std::uint64_t> read_ib_counter(const Files& files, const IbPort& port, std::string_view path) {
  const std::string file = port_path(port) + "/" + std::string(path);
  const std::string text = TRY(files.read_word(file));
  const auto value = parse_number<std::uint64_t>(text);
  if (!value) return fail(Errc::malformed, file + ": no number");
  return *value;
}

namespace {

constexpr std::string_view kPciDevices = "/sys/bus/pci/devices/";
constexpr std::string_view kParts = "/sys/bus/auxiliary/devices";

// "mlx5_0/1" where the device speaks InfiniBand; RoCE is named by its Ethernet interface.
std::string infiniband_port(const Files& files, const std::string& device) {
  const auto devices = files.list(device + "/infiniband");
  if (!devices || devices->empty()) return {};
  // By this path a device that hangs is asked in another process.
  const std::string ports = "/sys/class/infiniband/" + devices->front() + "/ports";
  const auto numbers = files.list(ports);
  if (!numbers || numbers->empty()) return {};
  if (files.read_word(ports + "/" + numbers->front() + "/link_layer").value_or("") != "InfiniBand") return {};
  return devices->front() + "/" + numbers->front();
}

}  // namespace

std::string port_of_adapter(const Files& files, std::string_view pci_address) {
  const auto address = canonical_pci_address(pci_address);
  if (!address) return {};
  const std::string device = std::string(kPciDevices) + *address;
  if (std::string port = infiniband_port(files, device); !port.empty()) return port;
  const auto interfaces = files.list(device + "/net");
  return interfaces && !interfaces->empty() ? interfaces->front() : std::string();
}

std::vector<std::string> devices_of_driver(const Files& files, std::string_view driver) {
  std::vector<std::string> addresses;
  // Beside the links to its devices are files such as bind and new_id.
  for (const std::string& name :
       files.list("/sys/bus/pci/drivers/" + std::string(driver)).value_or(std::vector<std::string>{}))
    if (canonical_pci_address(name) == name) addresses.push_back(name);
  return addresses;
}

RdmaPart rdma_part(const Files& files, std::string_view pci_address) {
  const std::string device = std::string(kPciDevices) + std::string(pci_address);
  const auto entries = files.list(device).value_or(std::vector<std::string>{});
  if (std::ranges::find(entries, "infiniband") != entries.end()) return RdmaPart::started;
  const bool is_loaded = files.exists("/sys/module/mlx5_ib");
  const auto part = std::ranges::find_if(
      entries, [](const std::string& entry) { return entry.starts_with("mlx5_core.rdma."); });
  if (part == entries.end()) {
    if (files.exists(kParts)) return RdmaPart::off;
    return is_loaded ? RdmaPart::untold : RdmaPart::no_driver;
  }
  if (files.exists(device + "/" + *part + "/driver")) return RdmaPart::started;
  return is_loaded ? RdmaPart::not_started : RdmaPart::no_driver;
}

std::optional<std::string> pci_address_of_part(const Files& files, std::string_view part) {
  // A name from the kernel log: it leads nowhere else.
  if (part.find('/') != std::string_view::npos) return std::nullopt;
  const auto path = files.resolve(std::string(kParts) + "/" + std::string(part));
  if (!path) return std::nullopt;
  const auto folders = split(*path, '/');
  if (folders.size() < 2) return std::nullopt;
  const std::string_view parent = folders[folders.size() - 2];
  auto address = canonical_pci_address(parent);
  return address == parent ? address : std::nullopt;
}

namespace {

class NobodySpared final : public SparedAdapters {
 public:
  [[nodiscard]] bool is_spared(const std::string& /*pci_address*/, MonoTime /*deadline*/) const override {
    return false;
  }
};

// "mlx5_core 0000:d2:00.0: mlx5_cmd_out_err:808:(pid 1): ACCESS_REG(0x805) op_mod(0x1) failed, ..."
std::optional<std::string> complaining_adapter(std::string_view text) {
  const auto refusal = text.find("ACCESS_REG");
  if (refusal == std::string_view::npos || text.find("failed", refusal) == std::string_view::npos ||
      text.find("mlx5_cmd") == std::string_view::npos)
    return std::nullopt;
  const auto words = split_words(text);
  for (std::size_t i = 0; i + 1 < words.size(); ++i)
    if (words[i] == "mlx5_core")
      return canonical_pci_address(words[i + 1].substr(0, words[i + 1].find_last_not_of(':') + 1));
  return std::nullopt;
}

}  // namespace

const SparedAdapters& SparedAdapters::none() {
  static const NobodySpared nobody;
  return nobody;
}

bool ComplainingAdapters::is_spared(const std::string& pci_address, MonoTime deadline) const {
  const std::lock_guard lock(mutex_);
  const KernelLog::Wanted wanted{"spared adapters", LogParts::others,
                                 [](const KernelRecord& record) { return record.from_kernel(); }};
  if (const auto news = log_.read_if(next_, deadline, wanted)) {
    next_ = news->next;
    for (const KernelRecord& record : news->records) {
      if (complaining_.size() >= kMaxAdapters) break;
      if (auto address = complaining_adapter(record.text)) complaining_.insert(*std::move(address));
    }
  }
  return complaining_.contains(pci_address);
}

}  // namespace autopilot::host
