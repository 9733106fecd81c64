// SPDX-License-Identifier: Apache-2.0
#include "host/cpu/processors.hpp"

#include <gtest/gtest.h>

#include "tests/support/host/test_folder.hpp"

namespace autopilot::host {
namespace {

using namespace std::chrono_literals;

const std::string kCpus = "/sys/devices/system/cpu";

TEST(Processors, are_counted_and_their_packages_asked_once) {
  const TestFolder folder;
  folder.write(kCpus + "/online", "0-2\n");
  folder.write(kCpus + "/present", "0-3\n");
  folder.write(kCpus + "/smt/control", "on\n");
  for (const auto& [cpu, package] : {std::pair("0", "1"), std::pair("1", "0"), std::pair("2", "1")})
    folder.write(kCpus + "/cpu" + cpu + "/topology/physical_package_id", std::string(package) + "\n");
  folder.write(kCpus + "/cpu0/thermal_throttle/package_throttle_total_time_ms", "1500\n");
  folder.write(kCpus + "/cpu1/thermal_throttle/package_throttle_total_time_ms", "hot\n");
  const auto found = read_processors(Files(folder.path()));
  ASSERT_TRUE(found) << found.error().what;
  EXPECT_EQ(found->online, 3U);
  EXPECT_EQ(found->present, 4U);
  EXPECT_EQ(found->smt, "on");
  ASSERT_EQ(found->packages.size(), 2U);
  EXPECT_EQ(found->packages[0].id, 0);
  EXPECT_EQ(found->packages[0].throttled, std::nullopt);
  EXPECT_EQ(found->packages[1].throttled, 1500ms);
}

TEST(Processors, without_a_list_nothing_is_known) {
  const TestFolder folder;
  EXPECT_EQ(read_processors(Files(folder.path())).error().code, Errc::not_found);
  folder.write(kCpus + "/online", "many\n");
  EXPECT_EQ(read_processors(Files(folder.path())).error().code, Errc::malformed);
  folder.write(kCpus + "/online", "0\n");
  const auto found = read_processors(Files(folder.path()));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->present, std::nullopt);
  EXPECT_TRUE(found->packages.empty());
}

TEST(Processors, the_model_is_that_of_the_first_that_has_one) {
  const TestFolder folder;
  EXPECT_EQ(read_processor_model(Files(folder.path())).error().code, Errc::not_found);
  folder.write("/proc/cpuinfo",
               "processor\t: 0\nmodel name\t: Intel(R) Xeon(R) \nprocessor\t: 1\nmodel name\t: x\n");
  EXPECT_EQ(read_processor_model(Files(folder.path())).value(), "Intel(R) Xeon(R)");
  folder.write("/proc/cpuinfo", "processor\t: 0\nBogoMIPS\t: 50.00\n");
  EXPECT_EQ(read_processor_model(Files(folder.path())).value(), "");
}

TEST(Processors, of_this_machine_include_the_one_that_asks) {
  const auto found = read_processors(Files{});
  ASSERT_TRUE(found) << found.error().what;
  EXPECT_GE(found->online, 1U);
  EXPECT_GE(found->present.value_or(0), found->online);
}

}  // namespace
}  // namespace autopilot::host
