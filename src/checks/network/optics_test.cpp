// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>

#include "checks/builtin.hpp"
#include "host/ethtool/module_image.hpp"
#include "tests/fakes/fake_host.hpp"

namespace autopilot::checks {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using namespace std::chrono_literals;
using host::EthtoolPort;
using host::ModuleImage;

struct FakePorts : host::Ethernet {
  std::vector<host::EthernetLink> present;
  [[nodiscard]] Result<std::vector<host::EthernetLink>> links(MonoTime) const override { return present; }
};

struct FakeEthtool : host::Ethtool {
  std::map<std::string, Result<EthtoolPort>> ports;
  mutable std::vector<std::string> asked;
  [[nodiscard]] std::vector<Result<EthtoolPort>> read(const std::vector<std::string>& interfaces,
                                                      MonoTime) const override {
    asked = interfaces;
    std::vector<Result<EthtoolPort>> answers;
    for (const std::string& name : interfaces)
      answers.push_back(ports.contains(name) ? ports.at(name) : fail(Errc::not_found, name));
    return answers;
  }
};

struct FakeSpared : host::SparedAdapters {
  std::string spared;
  [[nodiscard]] bool is_spared(const std::string& address, MonoTime) const override {
    return address == spared;
  }
};

host::EthernetLink ethernet_port(const std::string& name) {
  host::EthernetLink link;
  link.name = name;
  link.is_physical = true;
  link.is_up = true;
  link.has_carrier = true;
  link.carrier_changes = 3;
  link.pci_address = "0000:29:00.0";
  return link;
}

class NetworkOptics : public ::testing::Test {
 protected:
  NetworkOptics() {
    ethernet_.present = {ethernet_port("eth0")};
    set(ModuleImage::qsfp28());
  }

  void set(const ModuleImage& image) {
    ethtool_.ports.insert_or_assign(
        "eth0", EthtoolPort{host::PortLink{}, host::PortFec{"rs", 1000, 0}, image.memory().value()});
  }
  EthtoolPort& port() { return ethtool_.ports.at("eth0").value(); }
  host::EthernetLink& link() { return ethernet_.present.front(); }

  Result<Observed> observe() {
    const Instant now = empty_.clock.now();
    return kNetworkOptics.observe(host_, {.now = now, .deadline = now.mono + 10s});
  }
  Findings look() {
    empty_.clock.advance(60s);
    auto observed = observe();
    EXPECT_TRUE(observed);
    if (!observed) return {};
    history_.add(observed->observations, kNetworkOptics.info.window);
    return kNetworkOptics.judge({empty_.clock.now(), history_, catalog::builtin(), expectation_});
  }
  std::vector<std::string> reasons() {
    std::vector<std::string> words;
    last_ = look();
    for (const auto& finding : last_)
      words.push_back(to_string(finding.subject) + " " + finding.reason + " " +
                      std::string(to_string(finding.health)));
    return words;
  }
  [[nodiscard]] std::string evidence(std::string_view name) const {
    const Value* value = last_.empty() ? nullptr : find_attribute(last_.front().evidence, name);
    return value == nullptr ? "" : to_string(*value);
  }

  fakes::EmptyHost empty_;
  FakePorts ethernet_;
  FakeEthtool ethtool_;
  FakeSpared spared_;
  host::Host host_{.clock = empty_.clock,
                   .files = empty_.files,
                   .kernel_log = empty_.kernel_log,
                   .nvidia_gpus = empty_.gpus,
                   .filesystems = empty_.filesystems,
                   .ethernet = ethernet_,
                   .time_sync = empty_.time_sync,
                   .nvme = empty_.nvme,
                   .spared_adapters = spared_,
                   .ethtool = ethtool_};
  History history_;
  Expectation expectation_;
  Findings last_;
};

TEST_F(NetworkOptics, a_sound_module_of_each_kind_is_healthy) {
  for (const ModuleImage& image : {ModuleImage::sfp28(), ModuleImage::qsfp28(), ModuleImage::qsfp_dd()}) {
    set(image);
    EXPECT_THAT(reasons(), IsEmpty());
  }
  EXPECT_THAT(observe()->witnesses, ElementsAre("ethtool", "module memory"));
}

TEST_F(NetworkOptics, little_light_degrades_the_port_and_names_the_lane_that_is_worst_off) {
  ModuleImage image = ModuleImage::qsfp28();
  image.set_word({0x50, 0, 36}, ModuleImage::light(-10.5));
  set(image);
  EXPECT_THAT(reasons(), ElementsAre("nic_port/eth0 module_light_received degraded"));
  EXPECT_EQ(last_.front().message,
            "eth0 receives -10.5 dBm on lane 2, below its own warning limit of -10.1 dBm");
  EXPECT_EQ(evidence("module"), "EXAMPLE OPTICS EX-100G-SR4");
  image.set_word({0x50, 0, 40}, ModuleImage::light(-14));
  set(image);
  EXPECT_THAT(reasons(), ElementsAre("nic_port/eth0 module_light_received degraded"));
  EXPECT_EQ(last_.front().message,
            "eth0 receives -14.0 dBm on lane 4, below its own alarm limit of -11.1 dBm");
  EXPECT_EQ(evidence("lanes"), "2 4");
}

TEST_F(NetworkOptics, a_dark_lane_of_a_port_with_a_link_is_none_of_its_own) {
  ModuleImage image = ModuleImage::qsfp28();
  image.set_word({0x50, 0, 40}, 1);  // another port of the module has it, and its other end is off
  image.set_word({0x50, 0, 52}, 0);  // nobody uses it: its laser is off
  image.set_word({0x50, 0, 44}, 0);
  set(image);
  EXPECT_THAT(reasons(), IsEmpty());
}

TEST_F(NetworkOptics, each_quantity_has_its_own_reason) {
  ModuleImage image = ModuleImage::sfp28();
  image.set_word({0x51, 0, 96}, ModuleImage::heat(72));
  image.set_word({0x51, 0, 98}, 31000);
  image.set_word({0x51, 0, 100}, 7000);
  image.set_word({0x51, 0, 102}, ModuleImage::light(-12));
  image.set_word({0x51, 0, 104}, ModuleImage::light(5));
  set(image);
  EXPECT_THAT(
      reasons(),
      ElementsAre("nic_port/eth0 module_temperature degraded", "nic_port/eth0 module_voltage degraded",
                  "nic_port/eth0 module_light_received degraded", "nic_port/eth0 module_light_sent degraded",
                  "nic_port/eth0 module_laser_current degraded"));
  EXPECT_EQ(last_[0].message, "eth0 has a module at 72 °C, above its own warning limit of 70 °C");
  EXPECT_EQ(last_[1].message,
            "eth0 has a module with a supply voltage of 3.1 V, below its own warning limit of 3.135 V");
  EXPECT_EQ(last_[4].message,
            "eth0 has a laser bias current of 14 mA on lane 1, above its own alarm limit of 12 mA");
}

TEST_F(NetworkOptics, light_is_judged_only_while_there_is_a_link) {
  ModuleImage image = ModuleImage::qsfp28();
  image.set_word({0x50, 0, 36}, 0);
  image.set_word({0x50, 0, 22}, ModuleImage::heat(80));
  set(image);
  link().is_up = false;
  link().has_carrier = false;
  EXPECT_THAT(reasons(), ElementsAre("nic_port/eth0 module_temperature degraded"));
}

TEST_F(NetworkOptics, a_module_at_fault_fails_the_port) {
  ModuleImage image = ModuleImage::qsfp_dd();
  image.set({0x50, 0, 3}, 0x0B);
  image.set({0x50, 0, 41}, 1);
  set(image);
  link().has_carrier = false;
  EXPECT_THAT(reasons(), ElementsAre("nic_port/eth0 module_fault failed"));
  EXPECT_THAT(last_.front().message, HasSubstr("the cooler of the laser ran away"));
}

TEST_F(NetworkOptics, the_driver_says_why_a_lost_link_is_lost) {
  link().has_carrier = false;
  const std::vector<std::pair<std::string, std::string>> told{
      {"no_cable", "link_unplugged"},
      {"autonegotiation_failed", "link_not_agreed"},
      {"link_training_failed", "link_not_agreed"},
      {"logical_mismatch", "link_not_agreed"},
      {"bad_signal_integrity", "link_signal_bad"},
      {"cable_issue", "link_module_unusable"},
      {"eeprom_issue", "link_module_unusable"},
      {"calibration_failure", "link_module_unusable"},
      {"power_budget_exceeded", "link_module_unusable"},
      {"overheat", "link_module_unusable"},
      {"module", "link_module_unusable"}};
  for (const auto& [word, reason] : told) {
    port().link = host::PortLink{word, "", {}, {}};
    EXPECT_THAT(reasons(), ElementsAre("nic_port/eth0 " + reason + " degraded")) << word;
    EXPECT_EQ(evidence("linkReason"), word);
  }
  port().link = host::PortLink{"link_training_failed", "remote_fault", {}, {}};
  EXPECT_THAT(reasons(), ElementsAre("nic_port/eth0 link_not_agreed degraded"));
  EXPECT_EQ(last_.front().message,
            "eth0 has no link: it could not train with its link partner (remote fault)");
  port().link = host::PortLink{"42", "", {}, {}};
  EXPECT_THAT(reasons(), IsEmpty()) << "a reason that is not known here says nothing";
}

TEST_F(NetworkOptics, a_port_that_nobody_uses_may_have_no_cable) {
  link().has_carrier = false;
  link().carrier_changes = 1;
  port().link = host::PortLink{"no_cable", "", {}, {}};
  EXPECT_THAT(reasons(), IsEmpty());
  expectation_.expected_interfaces = {"eth0"};
  EXPECT_THAT(reasons(), ElementsAre("nic_port/eth0 link_unplugged degraded"));
  expectation_ = {};
  port().link = host::PortLink{"overheat", "", {}, {}};
  EXPECT_THAT(reasons(), ElementsAre("nic_port/eth0 link_module_unusable degraded"))
      << "somebody plugged it in";
  expectation_.ignored_interfaces = {"eth0"};
  EXPECT_THAT(reasons(), IsEmpty());
}

TEST_F(NetworkOptics, a_port_in_the_dark_says_so_where_its_driver_does_not) {
  link().has_carrier = false;
  EXPECT_THAT(reasons(), IsEmpty()) << "there is light";
  ModuleImage image = ModuleImage::qsfp28();
  for (const std::uint8_t offset : {std::uint8_t{34}, std::uint8_t{36}, std::uint8_t{38}})
    image.set_word({0x50, 0, offset}, 1);
  set(image);
  EXPECT_THAT(reasons(), IsEmpty()) << "the fourth lane has light";
  image.set_word({0x50, 0, 40}, 1);
  set(image);
  EXPECT_THAT(reasons(), ElementsAre("nic_port/eth0 link_no_light degraded"));
  link().carrier_changes = 1;
  EXPECT_THAT(reasons(), IsEmpty()) << "nobody ever used it";
}

TEST_F(NetworkOptics, blocks_beyond_correction_degrade_a_link_that_stays_up) {
  EXPECT_THAT(reasons(), IsEmpty());
  port().fec->uncorrectable_blocks = 120;
  port().fec->corrected_blocks = 3000;
  EXPECT_THAT(reasons(), ElementsAre("nic_port/eth0 fec_uncorrectable degraded"));
  EXPECT_EQ(last_.front().message, "eth0 loses data: 120 uncorrectable FEC blocks per minute (limit 1)");
  EXPECT_EQ(evidence("correctedPerMinute"), "2000");
  EXPECT_EQ(evidence("fec"), "rs");
}

TEST_F(NetworkOptics, blocks_of_a_link_that_came_up_are_none) {
  EXPECT_THAT(reasons(), IsEmpty());
  port().fec->uncorrectable_blocks = 120;
  link().carrier_changes = 5;
  EXPECT_THAT(reasons(), IsEmpty());
}

TEST_F(NetworkOptics, corrected_blocks_are_shown_and_not_judged) {
  EXPECT_THAT(reasons(), IsEmpty());
  port().fec->corrected_blocks = 1'000'000'000;
  EXPECT_THAT(reasons(), IsEmpty());
}

TEST_F(NetworkOptics, without_the_right_the_link_and_fec_are_still_judged) {
  port().module = fail(Errc::denied, "needs CAP_NET_ADMIN");
  EXPECT_THAT(reasons(), ElementsAre("host not_permitted unknown"));
  EXPECT_THAT(last_.front().message, HasSubstr("CAP_NET_ADMIN"));
  port().fec->uncorrectable_blocks = 500;
  EXPECT_THAT(reasons(),
              ElementsAre("nic_port/eth0 fec_uncorrectable degraded", "host not_permitted unknown"));
  EXPECT_THAT(observe()->witnesses, ElementsAre("ethtool"));
}

TEST_F(NetworkOptics, memory_that_cannot_be_trusted_is_unknown_while_the_link_is_up) {
  ModuleImage image = ModuleImage::qsfp28();
  image.set({0x50, 0, 150}, 0);
  set(image);
  EXPECT_THAT(reasons(), ElementsAre("nic_port/eth0 could_not_look unknown"));
  EXPECT_THAT(last_.front().message, HasSubstr("checksum"));
  host::ModuleMemory nobody;
  nobody.parts[{0x50, 0, 0}] = "\xFF\xFF\xFF";
  port().module = nobody;
  EXPECT_THAT(reasons(), ElementsAre("nic_port/eth0 could_not_look unknown"));
  link().has_carrier = false;
  EXPECT_THAT(reasons(), IsEmpty()) << "the cage may be empty";
}

TEST_F(NetworkOptics, a_port_that_measures_nothing_is_not_supported) {
  ModuleImage cable = ModuleImage::qsfp28();
  cable.set({0x50, 0, 147}, 0xA0);
  cable.seal();
  set(cable);
  EXPECT_THAT(reasons(), IsEmpty()) << "it counts blocks";
  port().fec = fail(Errc::unsupported, "no such operation");
  EXPECT_THAT(reasons(), ElementsAre("host not_supported unsupported"));
  ethernet_.present.push_back(ethernet_port("eth1"));
  ethtool_.ports.insert_or_assign("eth1", ethtool_.ports.at("eth0"));
  EXPECT_THAT(reasons(), ElementsAre("host not_supported unsupported"));
  port().fec = host::PortFec{"rs", 1000, 0};
  EXPECT_THAT(reasons(), ElementsAre("nic_port/eth1 not_supported unsupported"));
}

TEST_F(NetworkOptics, one_port_that_does_not_answer_hides_no_other) {
  ethernet_.present.push_back(ethernet_port("eth1"));
  ethtool_.ports.insert_or_assign("eth1", Result<EthtoolPort>(fail(Errc::timed_out, "eth1: no answer")));
  EXPECT_THAT(reasons(), ElementsAre("nic_port/eth1 timed_out unknown"));
  ethtool_.ports.insert_or_assign("eth0", Result<EthtoolPort>(fail(Errc::exhausted, "two hang")));
  const auto nobody = observe();
  ASSERT_FALSE(nobody);
  EXPECT_EQ(nobody.error().code, Errc::exhausted);
}

TEST_F(NetworkOptics, asks_only_ports_of_hardware_and_spares_those_that_complain) {
  auto function = ethernet_port("vf0");
  function.is_virtual_function = true;
  auto infiniband = ethernet_port("ib0");
  infiniband.is_infiniband = true;
  auto veth = ethernet_port("veth0");
  veth.is_physical = false;
  auto complaining = ethernet_port("eth1");
  complaining.pci_address = spared_.spared = "0000:d2:00.0";
  ethernet_.present.insert(ethernet_.present.end(), {function, infiniband, veth, complaining});
  EXPECT_THAT(reasons(), ElementsAre("nic_port/eth1 could_not_look unknown"));
  EXPECT_THAT(ethtool_.asked, ElementsAre("eth0"));
  ethernet_.present = {veth};
  EXPECT_EQ(observe().error().code, Errc::unsupported);
}

}  // namespace
}  // namespace autopilot::checks
