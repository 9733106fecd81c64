// SPDX-License-Identifier: Apache-2.0
#include "host/ethtool/ethtool_netlink.hpp"

#include <array>
#include <cstring>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autopilot::host {
namespace {

using ::testing::HasSubstr;

// An attribute as the kernel lays it out: length, number, bytes, padding to four.
std::string attribute(std::uint16_t number, const std::string& bytes) {
  const std::array<std::uint16_t, 2> head{static_cast<std::uint16_t>(bytes.size() + 4), number};
  std::string text(sizeof head, '\0');
  std::memcpy(text.data(), head.data(), sizeof head);
  text += bytes;
  text.resize((text.size() + 3) / 4 * 4);
  return text;
}

template <class... T>
std::string numbers(T... values) {
  std::string bytes;
  const auto add = [&bytes](auto value) {
    std::string text(sizeof value, '\0');
    std::memcpy(text.data(), &value, sizeof value);
    bytes += text;
  };
  (add(values), ...);
  return bytes;
}

TEST(LinkAttributes, say_why_there_is_no_link) {
  const auto link = parse_link_attributes(attribute(2, std::string(1, char{0})) + attribute(5, "\x01") +
                                          attribute(6, "\x04"));
  ASSERT_TRUE(link) << link.error().what;
  EXPECT_EQ(link->reason, "link_training_failed");
  EXPECT_EQ(link->detail, "remote_fault");
  EXPECT_FALSE(link->signal_quality);
}

TEST(LinkAttributes, of_a_link_that_is_there_say_how_good_it_is) {
  const auto link = parse_link_attributes(attribute(2, "\x01") + attribute(3, numbers(std::uint32_t{5})) +
                                          attribute(4, numbers(std::uint32_t{7})));
  ASSERT_TRUE(link);
  EXPECT_EQ(link->reason, "");
  EXPECT_EQ(link->signal_quality, 5);
  EXPECT_EQ(link->signal_quality_max, 7);
  EXPECT_TRUE(parse_link_attributes(""));
}

TEST(FecAttributes, have_the_sum_of_all_lanes) {
  const std::string counters =
      attribute(2, numbers(std::uint64_t{700}, std::uint64_t{300}, std::uint64_t{400})) +
      attribute(3, numbers(std::uint64_t{2}));
  const auto fec = parse_fec_attributes(attribute(4, numbers(std::uint32_t{50})) + attribute(5, counters));
  ASSERT_TRUE(fec) << fec.error().what;
  EXPECT_EQ(fec->mode, "rs");
  EXPECT_EQ(fec->corrected_blocks, 700U);
  EXPECT_EQ(fec->uncorrectable_blocks, 2U);
}

TEST(FecAttributes, of_a_driver_that_does_not_count_have_no_counters) {
  const auto fec =
      parse_fec_attributes(attribute(4, numbers(std::uint32_t{49})) + attribute(5, attribute(2, "")));
  ASSERT_TRUE(fec);
  EXPECT_EQ(fec->mode, "off");
  EXPECT_FALSE(fec->corrected_blocks);
  EXPECT_FALSE(fec->uncorrectable_blocks);
  EXPECT_EQ(parse_fec_attributes(attribute(4, numbers(std::uint32_t{74})))->mode, "llrs");
}

TEST(ModuleAttributes, are_the_bytes) {
  EXPECT_EQ(parse_module_attributes(attribute(7, "abc")), "abc");
  EXPECT_EQ(parse_module_attributes("").error().code, Errc::malformed);
}

// The real kernel. lo is in every namespace and has none of the operations of a driver.
TEST(EthtoolOfTheKernel, tells_what_the_driver_of_an_interface_does_not_have) {
  auto kernel = EthtoolNetlink::open();
  if (!kernel) GTEST_SKIP() << kernel.error().what;
  const auto link = kernel->link("lo");
  ASSERT_TRUE(link) << link.error().what;
  EXPECT_EQ(link->reason, "");
  EXPECT_EQ(kernel->fec("lo").error().code, Errc::unsupported);
  const auto module = kernel->module_bytes("lo", {}, 3);
  ASSERT_FALSE(module);
  EXPECT_TRUE(module.error().code == Errc::unsupported || module.error().code == Errc::denied)
      << module.error().what;
}

TEST(EthtoolOfTheKernel, names_an_interface_that_is_not_there) {
  auto kernel = EthtoolNetlink::open();
  if (!kernel) GTEST_SKIP() << kernel.error().what;
  const auto link = kernel->link("nosuchif0");
  ASSERT_FALSE(link);
  EXPECT_EQ(link.error().code, Errc::not_found);
  EXPECT_THAT(link.error().what, HasSubstr("nosuchif0"));
  EXPECT_TRUE(kernel->link("lo")) << "one question that fails does not spoil the next";
}

}  // namespace
}  // namespace autopilot::host
