// SPDX-License-Identifier: Apache-2.0
#include "host/ethtool/module.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "host/ethtool/module_image.hpp"

namespace autopilot::host {
namespace {

using ::testing::HasSubstr;

Result<Module> parse(const ModuleImage& image) {
  return parse_module(image.memory().value());
}

bool has_diagnostics(const Module& module) {
  return module.celsius || module.volts || !module.lanes.empty();
}

void expect_usual(const ModuleLane& lane) {
  ASSERT_TRUE(lane.received_mw && lane.sent_mw && lane.bias_ma);
  EXPECT_NEAR(lane.received_mw->value, 0.631, 0.0001);
  EXPECT_NEAR(lane.sent_mw->value, 0.7943, 0.0001);
  EXPECT_NEAR(lane.bias_ma->value, 7.2, 0.0001);
  ASSERT_TRUE(lane.received_mw->limits && lane.sent_mw->limits && lane.bias_ma->limits);
  EXPECT_NEAR(lane.received_mw->limits->low_alarm, 0.0776, 0.0001);
  EXPECT_NEAR(lane.sent_mw->limits->high_warning, 1.7783, 0.0001);
  EXPECT_NEAR(lane.bias_ma->limits->low_warning, 2.5, 0.0001);
}

void expect_usual(const Module& module) {
  EXPECT_EQ(module.vendor, "EXAMPLE OPTICS");
  EXPECT_FALSE(module.is_copper);
  ASSERT_TRUE(module.celsius && module.volts);
  EXPECT_EQ(module.celsius->value, 38);
  EXPECT_NEAR(module.volts->value, 3.3, 0.0001);
  ASSERT_TRUE(module.celsius->limits && module.volts->limits);
  EXPECT_EQ(module.celsius->limits->high_alarm, 75);
  EXPECT_EQ(module.celsius->limits->low_alarm, -5);
  EXPECT_NEAR(module.volts->limits->low_warning, 3.135, 0.0001);
  for (const ModuleLane& lane : module.lanes)
    expect_usual(lane);
}

TEST(SfpMemory, says_what_the_module_measures_and_what_its_limits_are) {
  const auto module = parse(ModuleImage::sfp28());
  ASSERT_TRUE(module) << module.error().what;
  EXPECT_EQ(module->kind, "SFP");
  EXPECT_EQ(module->part, "EX-25G-SR");
  EXPECT_EQ(module->lanes.size(), 1U);
  expect_usual(*module);
}

TEST(SfpMemory, of_an_externally_calibrated_module_is_made_right_with_its_constants) {
  ModuleImage image = ModuleImage::sfp28();
  image.set({0x50, 0, 92}, 0x58);
  // Received light: raw * 2 + 10; sent: half; current: raw + 100; temperature: 1 degree more; volts as they
  // are.
  image.set_word({0x51, 0, 68}, 0x4000);  // 2.0 as a float
  image.set_word({0x51, 0, 72}, 0x4120);  // 10.0
  image.set_word({0x51, 0, 76}, 0x0100);
  image.set_word({0x51, 0, 78}, 100);
  image.set_word({0x51, 0, 80}, 0x0080);
  image.set_word({0x51, 0, 84}, 0x0100);
  image.set_word({0x51, 0, 86}, 0x0100);
  image.set_word({0x51, 0, 88}, 0x0100);
  image.seal();
  const auto module = parse(image);
  ASSERT_TRUE(module) << module.error().what;
  EXPECT_EQ(module->celsius->value, 39);
  EXPECT_EQ(module->celsius->limits->high_alarm, 76);
  EXPECT_NEAR(module->volts->value, 3.3, 0.0001);
  const ModuleLane& lane = module->lanes.front();
  EXPECT_NEAR(lane.received_mw->value, 1.263, 0.0001);
  EXPECT_NEAR(lane.received_mw->limits->low_alarm, 0.1562, 0.0001);
  EXPECT_NEAR(lane.sent_mw->value, 0.39715, 0.0001);
  EXPECT_NEAR(lane.bias_ma->value, 7.4, 0.0001);
}

TEST(SfpMemory, of_a_copper_cable_measures_nothing) {
  ModuleImage image = ModuleImage::sfp28();
  image.set({0x50, 0, 8}, 0x04);
  image.set({0x50, 0, 92}, 0);
  image.seal();
  const auto module = parse(image);
  ASSERT_TRUE(module) << module.error().what;
  EXPECT_TRUE(module->is_copper);
  EXPECT_FALSE(has_diagnostics(*module));
}

TEST(SfpMemory, of_a_copper_module_measures_no_light) {
  ModuleImage image = ModuleImage::sfp28();
  image.set({0x50, 0, 2}, 0x22);
  image.seal();
  const auto module = parse(image);
  ASSERT_TRUE(module) << module.error().what;
  EXPECT_EQ(module->celsius->value, 38);
  EXPECT_TRUE(module->lanes.empty());
}

TEST(SfpMemory, with_a_wrong_checksum_is_malformed) {
  ModuleImage identity = ModuleImage::sfp28();
  identity.set({0x50, 0, 21}, 'x');
  EXPECT_THAT(parse(identity).error().what, HasSubstr("checksum of the identity"));
  ModuleImage limits = ModuleImage::sfp28();
  limits.set({0x51, 0, 3}, 0x7F);
  EXPECT_THAT(parse(limits).error().what, HasSubstr("checksum of the limits"));
  EXPECT_EQ(parse(limits).error().code, Errc::malformed);
}

TEST(SfpMemory, that_a_kernel_gives_twice_is_not_taken_for_what_is_measured) {
  const ModuleImage image = ModuleImage::sfp28();
  const auto memory = read_module_memory([&](ModulePlace place, std::size_t size) {
    place.i2c_address = 0x50;
    return image.read(place, size);
  });
  const auto module = parse_module(memory.value());
  ASSERT_FALSE(module);
  EXPECT_EQ(module.error().code, Errc::unavailable);
  EXPECT_THAT(module.error().what, HasSubstr("A0h for A2h"));
}

TEST(QsfpMemory, has_four_lanes) {
  const auto module = parse(ModuleImage::qsfp28());
  ASSERT_TRUE(module) << module.error().what;
  EXPECT_EQ(module->kind, "QSFP");
  EXPECT_EQ(module->part, "EX-100G-SR4");
  ASSERT_EQ(module->lanes.size(), 4U);
  EXPECT_EQ(module->lanes.back().number, 4);
  expect_usual(*module);
}

TEST(QsfpMemory, tells_the_light_that_it_sends_only_where_it_measures_that) {
  ModuleImage image = ModuleImage::qsfp28();
  image.set({0x50, 0, 220}, 0x08);
  const auto module = parse(image);
  ASSERT_TRUE(module);
  EXPECT_FALSE(module->lanes.front().sent_mw);
  EXPECT_TRUE(module->lanes.front().received_mw);
}

TEST(QsfpMemory, of_a_passive_cable_measures_nothing_and_of_an_active_one_no_light) {
  ModuleImage image = ModuleImage::qsfp28();
  image.set({0x50, 0, 147}, 0xB0);
  image.seal();
  EXPECT_FALSE(has_diagnostics(*parse(image)));
  image.set({0x50, 0, 147}, 0xC0);
  image.seal();
  const auto active = parse(image);
  EXPECT_TRUE(active->is_copper);
  EXPECT_TRUE(active->celsius);
  EXPECT_TRUE(active->lanes.empty());
}

TEST(QsfpMemory, without_limits_still_tells_what_it_measures) {
  ModuleImage image = ModuleImage::qsfp28();
  for (unsigned i = 128; i < 200; ++i)
    image.set({0x50, 3, static_cast<std::uint8_t>(i)}, i % 2 == 0 ? 0 : 0xFF);
  image.set({0x50, 0, 2}, 0x04);
  const auto flat = parse(image);
  ASSERT_TRUE(flat);
  EXPECT_EQ(flat->celsius->value, 38);
  EXPECT_FALSE(flat->celsius->limits);
  image.set({0x50, 0, 2}, 0);
  EXPECT_FALSE(parse(image)->celsius->limits) << "equal limits are none";
}

TEST(QsfpMemory, that_is_not_ready_is_not_believed) {
  ModuleImage image = ModuleImage::qsfp28();
  image.set({0x50, 0, 2}, 0x01);
  EXPECT_EQ(parse(image).error().code, Errc::unavailable);
  ModuleImage damaged = ModuleImage::qsfp28();
  damaged.set({0x50, 0, 150}, 0);
  EXPECT_EQ(parse(damaged).error().code, Errc::malformed);
}

TEST(CmisMemory, has_the_lanes_that_carry_something) {
  ModuleImage image = ModuleImage::qsfp_dd();
  const auto all = parse(image);
  ASSERT_TRUE(all) << all.error().what;
  EXPECT_EQ(all->kind, "CMIS");
  EXPECT_EQ(all->state, "ready");
  EXPECT_EQ(all->part, "EX-400G-SR8");
  ASSERT_EQ(all->lanes.size(), 8U);
  expect_usual(*all);
  image.set({0x50, 0, 210}, 0x0F);     // the module has only the last four
  image.set({0x50, 0x11, 131}, 0x14);  // and the last is not activated
  const auto some = parse(image);
  ASSERT_TRUE(some);
  ASSERT_EQ(some->lanes.size(), 3U);
  EXPECT_EQ(some->lanes.front().number, 5);
  EXPECT_EQ(some->lanes.back().number, 7);
}

TEST(CmisMemory, multiplies_the_current_as_the_module_says) {
  ModuleImage image = ModuleImage::qsfp_dd();
  image.set({0x50, 1, 160}, 0x17);
  image.seal();
  const auto module = parse(image);
  ASSERT_TRUE(module);
  EXPECT_NEAR(module->lanes.front().bias_ma->value, 28.8, 0.0001);
  EXPECT_NEAR(module->lanes.front().bias_ma->limits->high_alarm, 48, 0.0001);
}

TEST(CmisMemory, tells_only_what_the_module_measures) {
  ModuleImage image = ModuleImage::qsfp_dd();
  image.set({0x50, 1, 159}, 0x01);
  image.set({0x50, 1, 160}, 0x04);
  image.seal();
  const auto module = parse(image);
  ASSERT_TRUE(module);
  EXPECT_TRUE(module->celsius);
  EXPECT_FALSE(module->volts);
  EXPECT_TRUE(module->lanes.front().received_mw);
  EXPECT_FALSE(module->lanes.front().sent_mw);
  EXPECT_FALSE(module->lanes.front().bias_ma);
}

TEST(CmisMemory, of_a_module_at_fault_says_why) {
  ModuleImage image = ModuleImage::qsfp_dd();
  image.set({0x50, 0, 3}, 0x0B);
  image.set({0x50, 0, 41}, 2);
  image.set({0x50, 2, 130}, 0xEE);  // what else it says does not matter then
  const auto module = parse(image);
  ASSERT_TRUE(module) << module.error().what;
  EXPECT_EQ(module->state, "fault");
  EXPECT_EQ(module->fault, "the memory of its data is damaged");
  image.set({0x50, 0, 41}, 77);
  EXPECT_EQ(parse(image)->fault, "cause 77");
}

TEST(CmisMemory, with_a_wrong_checksum_is_malformed) {
  for (const std::uint8_t page : {std::uint8_t{1}, std::uint8_t{2}}) {
    ModuleImage image = ModuleImage::qsfp_dd();
    image.set({0x50, page, 200}, 0xEE);
    EXPECT_EQ(parse(image).error().code, Errc::malformed) << int{page};
  }
}

TEST(CmisMemory, of_a_passive_cable_measures_nothing) {
  ModuleImage image = ModuleImage::qsfp_dd();
  image.set({0x50, 0, 2}, 0x80);
  image.set({0x50, 0, 85}, 3);
  const auto module = parse(image);
  ASSERT_TRUE(module);
  EXPECT_TRUE(module->is_copper);
  EXPECT_FALSE(has_diagnostics(*module));
}

TEST(ModuleMemoryOfNobody, is_told_from_that_of_an_unknown_module) {
  ModuleMemory nobody;
  nobody.parts[{0x50, 0, 0}] = "\xFF\xFF\xFF";
  EXPECT_EQ(parse_module(nobody).error().code, Errc::malformed);
  ModuleMemory unknown;
  unknown.parts[{0x50, 0, 0}] = "\x06\x01\x02";
  EXPECT_EQ(parse_module(unknown).error().code, Errc::unsupported);
  EXPECT_EQ(parse_module(ModuleMemory{}).error().code, Errc::unavailable);
}

TEST(ModuleMemoryThatEnds, says_why_where_something_needed_is_missing) {
  for (const ModuleImage& image : {ModuleImage::sfp28(), ModuleImage::qsfp28(), ModuleImage::qsfp_dd()}) {
    ModuleMemory memory = image.memory().value();
    std::erase_if(memory.parts, [](const auto& part) { return part.first.offset > 2; });
    EXPECT_EQ(parse_module(memory).error().code, Errc::unavailable);
    memory.problem = Error{Errc::timed_out, "50/00/3: gone"};
    EXPECT_EQ(parse_module(memory).error().what, "50/00/3: gone");
  }
}

}  // namespace
}  // namespace autopilot::host
