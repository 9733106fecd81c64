// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>

#include "core/yaml_text.hpp"
#include "faults/fault.hpp"
#include "host/machine_tree/machine_tree.hpp"
#include "machine/description.hpp"
#include "nvml/driver_state.hpp"
#include "scenario/simulation.hpp"

namespace autopilot::simulator {
namespace {

using namespace std::chrono_literals;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kGpu = "0000:52:00.0";

const Machine& machine_of(const std::string& id) {
  static std::map<std::string, Machine> machines;
  const auto found = machines.find(id);
  return found != machines.end() ? found->second
                                 : machines.emplace(id, builtin_machine(id).value()).first->second;
}

Simulation with(const Fault& fault, const std::string& machine = "hgx-h100-8") {
  Simulation simulation(machine_of(machine));
  const auto added = simulation.add(fault);
  EXPECT_TRUE(added) << added.error().what;
  return simulation;
}

std::string reading(Machine machine, const std::string& name, const std::string& gpu = kGpu) {
  const YamlNode* value = machine.gpu(gpu)->find("readings")->find(name);
  return value == nullptr ? "absent" : value->text;
}

std::vector<std::string> new_lines(const Simulation& simulation, Duration elapsed) {
  std::vector<std::string> lines;
  const Machine machine = simulation.at(elapsed);
  for (std::size_t i = simulation.pristine().log.size(); i < machine.log.size(); ++i)
    lines.push_back(machine.log[i].text);
  return lines;
}

class EveryFault : public testing::TestWithParam<std::string> {};

std::vector<std::string> fault_ids() {
  std::vector<std::string> ids;
  for (const FaultType& type : fault_types())
    ids.emplace_back(type.id);
  return ids;
}

INSTANTIATE_TEST_SUITE_P(Table, EveryFault, testing::ValuesIn(fault_ids()),
                         [](const auto& test) { return test.param; });

// A built-in machine that can have the fault.
std::string board_with(std::string_view fault) {
  if (fault.starts_with("amd_")) return "mi300x-8";
  // Only the drivers of the newest boards report repairs.
  return fault == "repair" ? "hgx-b200-8" : "hgx-h100-8";
}

// Whatever is laid on a machine, it stays a tree that the doors can read, and time never runs backwards in
// its log.
TEST_P(EveryFault, LeavesAReadableTree) {
  const Simulation simulation = with({.id = GetParam(), .at = 10s, .until = 70s}, board_with(GetParam()));
  const Machine before = simulation.at(9s);
  EXPECT_EQ(before.files.entries(), simulation.pristine().files.entries());
  EXPECT_EQ(before.log.size(), simulation.pristine().log.size());
  std::size_t lines = before.log.size();
  const std::string driver = before.nvml ? to_yaml(*before.nvml) : "";
  for (const Duration moment : {10s, 69s, 70s, 200s}) {
    const Machine machine = simulation.at(moment);
    const auto tree = host::parse_machine_tree(to_yaml(machine.machine), "/t");
    ASSERT_TRUE(tree) << tree.error().what;
    if (machine.nvml && to_yaml(*machine.nvml) != driver) {
      const auto model = nvml::parse_driver_model(to_yaml(*machine.nvml), "nvml.yaml");
      EXPECT_TRUE(model) << model.error().what;
    }
    EXPECT_TRUE(std::is_sorted(machine.log.begin(), machine.log.end(),
                               [](const auto& a, const auto& b) { return a.seconds < b.seconds; }));
    EXPECT_GE(machine.log.size(), lines);
    lines = machine.log.size();
  }
}

TEST_P(EveryFault, ChangesSomethingThatABackendReads) {
  const FaultType& type = *find_fault_type(GetParam());
  const Simulation simulation = with({.id = GetParam(), .at = 10s}, board_with(GetParam()));
  const Machine before = simulation.at(9s);
  const Machine after = simulation.at(30s);
  const auto doors = [](const Machine& machine) {
    Machine copy = machine;
    yaml_remove(copy.machine, "time");
    yaml_remove(copy.machine, "uptime");
    return to_yaml(copy.machine) + (copy.nvml ? to_yaml(*copy.nvml) : "");
  };
  const bool has_changed = before.files.entries() != after.files.entries() ||
                           before.log.size() != after.log.size() || doors(before) != doors(after);
  EXPECT_TRUE(has_changed) << type.title;
}

TEST(Faults, RowRemapEndsWithAResetButTheRowStaysReplaced) {
  const Simulation simulation = with({.id = "row_remap_pending", .subject = "gpu/2", .until = 60s});
  EXPECT_EQ(reading(simulation.at(1s), "row_remap.pending"), "true");
  EXPECT_EQ(reading(simulation.at(1s), "row_remap.pending", "0000:1b:00.0"), "false");
  EXPECT_THAT(new_lines(simulation, 1s), Contains(HasSubstr("Xid (PCI:0000:52:00): 63,")));
  EXPECT_EQ(reading(simulation.at(60s), "row_remap.pending"), "false");
  EXPECT_EQ(reading(simulation.at(60s), "row_remap.correctable"), "1");
}

TEST(Faults, ADividedGpuHasInstancesOfItsOwn) {
  Machine machine = with({.id = "divided", .subject = "gpu/2", .magnitude = 3}).at(1s);
  EXPECT_EQ(reading(machine, "mig"), "true");
  const YamlNode* instances = machine.gpu(kGpu)->find("instances");
  ASSERT_NE(instances, nullptr);
  ASSERT_EQ(instances->items.size(), 3U);
  EXPECT_EQ(instances->items[1].find("gpu_instance")->text, "8");
  const std::string own = machine.gpu(kGpu)->find("uuid")->text;
  EXPECT_EQ(instances->items[1].find("uuid")->text, "MIG-00000001" + own.substr(12));
}

TEST(Faults, ThrottleCountsTheShareOfTime) {
  const Simulation simulation =
      with({.id = "throttle", .subject = "gpu/2", .magnitude = 0.25, .kind = "power_brake", .until = 100s});
  EXPECT_EQ(reading(simulation.at(40s), "throttle.hw_power_brake"), "10000000000");
  EXPECT_EQ(reading(simulation.at(40s), "clocks.event_reasons"), "136");
  EXPECT_EQ(reading(simulation.at(500s), "throttle.hw_power_brake"), "25000000000");
  EXPECT_EQ(reading(simulation.at(500s), "clocks.event_reasons"), "1");
}

TEST(Faults, AGpuOffTheBusIsInEveryDataSource) {
  const Simulation simulation = with({.id = "fell_off_bus", .subject = "gpu/2"});
  Machine machine = simulation.at(1s);
  EXPECT_EQ(machine.gpu(kGpu)->find("state")->text, "15");
  EXPECT_EQ(machine.files.value("/sys/bus/pci/devices/0000:52:00.0/current_link_width"), "63");
  EXPECT_THAT(new_lines(simulation, 1s), Contains(HasSubstr("79, pid='<unknown>', name=<unknown>, GPU has "
                                                            "fallen off the bus.")));
  const Machine removed = with({.id = "fell_off_bus", .subject = "gpu/2", .kind = "removed"}).at(1s);
  EXPECT_THAT(removed.files.list("/sys/bus/pci/devices"), Not(Contains(kGpu)));
  EXPECT_THAT(removed.files.list("/sys/bus/pci/devices"),
              testing::SizeIs(simulation.pristine().files.list("/sys/bus/pci/devices").size() - 1));
}

TEST(Faults, SlowCopiesAreFoundOnlyByATestOfThatGpu) {
  const Simulation simulation =
      with({.id = "slow_copies", .subject = "gpu/2", .magnitude = 1.5, .until = 60s});
  const auto rates = [&simulation](Duration elapsed) {
    std::map<std::string, double> found;
    const auto tree = host::parse_machine_tree(to_yaml(simulation.at(elapsed).machine), "/t");
    EXPECT_TRUE(tree) << tree.error().what;
    for (const Observation& one : tree->probes.at("gpu.pcie_bandwidth").found)
      if (one.name == "pcie_bandwidth.host_to_device") found[one.subject.key] = *as_number(*one.value);
    return found;
  };
  const auto sound = rates(60s);
  EXPECT_EQ(sound.size(), 8U);
  EXPECT_EQ(sound.at(kGpu), sound.at("0000:1b:00.0"));
  EXPECT_GT(sound.at(kGpu), 40);
  EXPECT_EQ(rates(1s).at(kGpu), 1.5);
  EXPECT_EQ(rates(1s).at("0000:1b:00.0"), sound.at(kGpu));
}

TEST(Faults, AnNvLinkOfBlackwellSpeaksInXid149) {
  const auto lines = new_lines(with({.id = "nvlink_down", .subject = "nvlink/2/7"}, "hgx-b200-8"), 1s);
  EXPECT_THAT(lines, Contains(HasSubstr("): 149, ")));
  EXPECT_THAT(lines, Contains(HasSubstr("Link 7 (0x")));
  EXPECT_THAT(new_lines(with({.id = "nvlink_down", .subject = "nvlink/2/7"}), 1s),
              Contains(HasSubstr("): 74, ")));
}

TEST(Faults, APortThatFlapsIsUpBetweenItsFalls) {
  const Simulation simulation = with({.id = "ib_port_flap", .subject = "nic_port/mlx5_3/1", .magnitude = 60});
  const std::string port = "/sys/class/infiniband/mlx5_3/ports/1";
  EXPECT_EQ(simulation.at(10s).files.value(port + "/state"), "1: DOWN");
  EXPECT_EQ(simulation.at(40s).files.value(port + "/state"), "4: ACTIVE");
  EXPECT_EQ(simulation.at(130s).files.value(port + "/counters/link_downed"), "3");
  EXPECT_EQ(
      simulation.at(130s).files.value("/sys/class/infiniband/mlx5_3/device/net/ibp94s0/carrier_changes"),
      "7");
}

TEST(Faults, AReadOnlyFilesystemKeepsItsMountOptions) {
  const Machine machine = with({.id = "filesystem_read_only", .subject = "mount//"}).at(1s);
  EXPECT_THAT(*machine.files.text("/proc/self/mountinfo"),
              HasSubstr("/ / rw,relatime shared:30 - ext4 /dev/nvme0n1p2 ro\n"));
}

TEST(Faults, APoisonedPageIsCountedWhereTheKernelCountsIt) {
  const Machine machine = with({.id = "memory_poison", .magnitude = 2}).at(1s);
  EXPECT_THAT(*machine.files.text("/proc/meminfo"), HasSubstr("HardwareCorrupted: 8 kB"));
}

TEST(Faults, ABondLosesTheSpeedOfItsDeadSlave) {
  Simulation simulation = with({.id = "ethernet_down", .subject = "nic_port/ens41f0np0"});
  EXPECT_EQ(simulation.at(1s).files.value("/sys/class/net/bond0/speed"), "100000");
  ASSERT_TRUE(simulation.add({.id = "ethernet_down", .subject = "nic_port/ens41f1np1", .at = 5s}));
  EXPECT_EQ(simulation.at(6s).files.value("/sys/class/net/bond0/operstate"), "down");
}

TEST(Faults, ALongStormKeepsTheTreeSmall) {
  EXPECT_LT(new_lines(with({.id = "aer", .magnitude = 1e6, .at = -24h * 300}), 0s).size(), 5000U);
  EXPECT_LT(new_lines(with({.id = "ib_port_flap", .magnitude = 1, .at = -24h * 300}), 0s).size(), 5000U);
}

TEST(Faults, AnUnknownWordNamesTheKnownOnes) {
  Simulation simulation(machine_of("no-gpu"));
  EXPECT_THAT(simulation.add({.id = "row_remap_pendin"}).error().what, HasSubstr("row_remap_pending"));
  EXPECT_THAT(simulation.add({.id = "row_remap_pending"}).error().what, HasSubstr("the machine has none"));
  EXPECT_THAT(simulation.add({.id = "nvme_wear", .subject = "disk/nvme9"}).error().what,
              HasSubstr("disk/nvme1"));
  EXPECT_FALSE(simulation.add({.id = "oom", .kind = "sideways"}));
  EXPECT_FALSE(simulation.add({.id = "oom", .at = 5s, .until = 5s}));
  EXPECT_FALSE(simulation.add({.id = "oom", .magnitude = 1e300}));
  EXPECT_FALSE(simulation.add({.id = "oom", .magnitude = -1}));
  EXPECT_FALSE(simulation.add({.id = "oom", .at = -24h * 1000}));
}

TEST(Simulation, RecoverEndsWhatLasts) {
  Simulation simulation = with({.id = "mount_hang", .subject = "mount//home"});
  EXPECT_EQ(simulation.recover("oom", 5s).error().code, Errc::not_found);
  EXPECT_EQ(subject_key("mount", "", simulation.pristine()).value(), "/");
  ASSERT_TRUE(simulation.recover("mount_hang", 5s));
  EXPECT_EQ(to_yaml(*simulation.at(6s).machine.find("filesystems")),
            to_yaml(*simulation.pristine().machine.find("filesystems")));
  EXPECT_THAT(new_lines(simulation, 6s), Contains("nfs: server storage01.example OK"));
}

TEST(Simulation, ItsClockMovesAndBootStays) {
  const Simulation simulation(machine_of("no-gpu"));
  const auto early = host::parse_machine_tree(to_yaml(simulation.at(0s).machine), "/t").value();
  const auto late = host::parse_machine_tree(to_yaml(simulation.at(90s).machine), "/t").value();
  EXPECT_EQ(late.time - early.time, 90s);
  EXPECT_EQ(late.time - late.uptime, early.time - early.uptime);
}

}  // namespace
}  // namespace autopilot::simulator
