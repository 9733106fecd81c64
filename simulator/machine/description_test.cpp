// SPDX-License-Identifier: Apache-2.0
#include "machine/description.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/subject.hpp"
#include "core/yaml_text.hpp"
#include "host/gpu/readings.hpp"
#include "host/machine_tree/machine_tree.hpp"
#include "host/storage/filesystems.hpp"

namespace autopilot::simulator {
namespace {

class Builtin : public testing::TestWithParam<std::string> {};

std::vector<std::string> ids() {
  std::vector<std::string> list;
  for (const BuiltinMachine& machine : builtin_machines())
    list.push_back(machine.id);
  return list;
}

INSTANTIATE_TEST_SUITE_P(Machines, Builtin, testing::ValuesIn(ids()), [](const auto& test) {
  std::string name = test.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

TEST_P(Builtin, HasOnlyReadingsThatTheBackendKnows) {
  Machine machine = builtin_machine(GetParam()).value();
  for (const std::string& address : machine.gpus()) {
    EXPECT_EQ(canonical_pci_address(address), address);
    const YamlNode& gpu = *machine.gpu(address);
    for (const YamlMember& reading : gpu.find("readings")->members)
      EXPECT_NE(host::find_reading(reading.key), nullptr) << reading.key;
    const YamlNode* links = gpu.find("links");
    if (links == nullptr) continue;
    EXPECT_EQ(std::to_string(links->items.size()), gpu.find("readings")->find("nvlink.count")->text);
    for (const YamlNode& link : links->items)
      for (const YamlMember& reading : link.members) {
        const auto* info = host::find_reading(reading.key);
        EXPECT_TRUE(info != nullptr && info->per_link) << reading.key;
      }
  }
}

TEST_P(Builtin, MachineYamlIsWhatTheHostReads) {
  const Machine machine = builtin_machine(GetParam()).value();
  const auto tree = host::parse_machine_tree(to_yaml(machine.machine), "/t");
  ASSERT_TRUE(tree) << tree.error().what;
  EXPECT_TRUE(tree->simulated);
  EXPECT_EQ(machine.files.value("/proc/sys/kernel/random/boot_id"), tree->boot_id);
  const auto mounts = host::parse_mountinfo(*machine.files.text("/proc/self/mountinfo"));
  ASSERT_TRUE(mounts) << mounts.error().what;
  EXPECT_GE(mounts->size(), 5U);
  for (const std::string& controller : machine.files.list("/sys/class/nvme"))
    EXPECT_TRUE(tree->nvme.contains(controller)) << controller;
}

TEST_P(Builtin, EveryLinkOfTheTreeLeadsSomewhere) {
  const Machine machine = builtin_machine(GetParam()).value();
  for (const auto& [path, entry] : machine.files.entries()) {
    if (entry.kind == FileTree::Kind::link) {
      EXPECT_TRUE(machine.files.resolve(path)) << path << " -> " << entry.text;
    }
  }
}

TEST_P(Builtin, PciScanAndDriverAgree) {
  const Machine machine = builtin_machine(GetParam()).value();
  std::vector<std::string> scanned;
  for (const std::string& address : machine.files.list("/sys/bus/pci/devices")) {
    const std::string device = "/sys/bus/pci/devices/" + address;
    if (machine.files.value(device + "/vendor") == "0x10de" &&
        machine.files.value(device + "/class") == "0x030200")
      scanned.push_back(address);
  }
  EXPECT_EQ(scanned, machine.gpus());
}

TEST(BuiltinMachines, AreTheSixThatAreDocumented) {
  EXPECT_THAT(ids(), testing::UnorderedElementsAre("hgx-h100-8", "hgx-b200-8", "dgx-a100-8", "l40s-4",
                                                   "mi300x-8", "no-gpu"));
  EXPECT_THAT(builtin_machine("toaster").error().what, testing::HasSubstr("hgx-h100-8"));
}

TEST(BuiltinMachines, HgxH100HasItsTopology) {
  const Machine machine = builtin_machine("hgx-h100-8").value();
  EXPECT_EQ(machine.gpus().size(), 8U);
  EXPECT_EQ(machine.files.resolve("/sys/bus/pci/devices/0000:1b:00.0"),
            "/sys/devices/pci0000:15/0000:15:01.0/0000:16:00.0/0000:17:02.0/0000:1b:00.0");
  EXPECT_EQ(machine.files.value("/sys/class/infiniband/mlx5_3/ports/1/rate"), "400 Gb/sec (4X NDR)");
  EXPECT_EQ(machine.files.value("/sys/class/net/bond0/bonding/slaves"), "ens41f0np0 ens41f1np1");
  EXPECT_EQ(machine.files.value("/sys/class/net/ens41f0np0/master/speed"), "200000");
}

}  // namespace

}  // namespace autopilot::simulator
