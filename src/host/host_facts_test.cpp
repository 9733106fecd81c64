// SPDX-License-Identifier: Apache-2.0
#include "host/host_facts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "host/clock/system_clock.hpp"
#include "host/files/test_folder.hpp"

namespace autopilot::host {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

void make_machine(const TestFolder& folder, std::string_view status) {
  folder.write("/proc/sys/kernel/hostname", "gpu-17\n");
  folder.write("/proc/sys/kernel/random/boot_id", "0f0e\n");
  folder.write("/proc/sys/kernel/osrelease", "6.1.0\n");
  folder.write("/proc/self/status", status);
}

TEST(HostFacts, are_read_from_proc) {
  const TestFolder folder;
  make_machine(folder, "Name:\tx\nUid:\t0\t1000\t0\t0\nCapEff:\t0000000400200000\n");
  const HostFacts facts = read_host_facts(Files(folder.path())).value();
  EXPECT_EQ(facts.node, "gpu-17");
  EXPECT_EQ(facts.boot_id, "0f0e");
  EXPECT_EQ(facts.kernel_release, "6.1.0");
  EXPECT_EQ(facts.uid, 1000U);
  EXPECT_THAT(facts.capabilities, ElementsAre("CAP_SYS_ADMIN", "CAP_SYSLOG"));
  EXPECT_TRUE(facts.has_capability("CAP_SYSLOG"));
  EXPECT_FALSE(facts.has_capability("CAP_BPF"));
}

TEST(HostFacts, garbage_is_malformed_and_names_the_file) {
  for (const std::string_view status :
       {"", "Uid:\t0\n", "Uid:\ta\tb\nCapEff:\t0\n", "Uid:\t0\t0\nCapEff:\tzz\n", "Uid:\t0\t0\nCapEff:\n"}) {
    const TestFolder folder;
    make_machine(folder, status);
    const auto facts = read_host_facts(Files(folder.path()));
    ASSERT_FALSE(facts.has_value()) << status;
    EXPECT_EQ(facts.error().code, Errc::malformed);
    EXPECT_THAT(facts.error().what, HasSubstr("/proc/self/status"));
  }
}

TEST(HostFacts, of_this_machine) {
  const HostFacts facts = read_host_facts(Files()).value();
  EXPECT_EQ(facts.uid, ::geteuid());
  EXPECT_EQ(facts.boot_id.size(), 36U);
}

TEST(SystemClock, moves_on) {
  const SystemClock clock;
  const Instant first = clock.now();
  const Instant second = clock.now();
  EXPECT_GE(second.mono, first.mono);
  EXPECT_GT(first.wall, parse_time("2024-01-01T00:00:00Z").value());
}

}  // namespace
}  // namespace autopilot::host
