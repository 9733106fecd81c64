// SPDX-License-Identifier: Apache-2.0
#include "host/infiniband/infiniband.hpp"

#include <algorithm>
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
  const auto devices = files.list(kClass);
  if (!devices) {
    if (devices.error().code == Errc::not_found && files.exists("/sys")) return std::vector<IbPort>{};
    return fail(devices.error().code == Errc::not_found ? Errc::unavailable : devices.error().code,
                devices.error().what);
  }
  std::vector<IbPort> ports;
  for (const auto& device : *devices) {
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

}  // namespace autopilot::host
