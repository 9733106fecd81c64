// SPDX-License-Identifier: Apache-2.0
#include "collect/telemetry/host_table.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

#include "tests/support/host/test_folder.hpp"

namespace autopilot::collect::host_table_test {
namespace {

using jobs::Metric;
using namespace std::chrono_literals;

float value_of(const jobs::WindowRecord& window, Metric metric) {
  for (const jobs::Column& column : window.columns)
    if (column.metric == metric) return column.values.at(0);
  return jobs::kMissing;
}

class HostTableTest : public testing::Test {
 protected:
  void write(std::uint64_t sectors, std::uint64_t waited_us) {
    folder_.write("/sys/block/sda/size", "1000\n");
    folder_.write("/proc/diskstats", "8 0 sda 1 0 " + std::to_string(sectors) + " 0 1 0 " +
                                         std::to_string(2 * sectors) + " 0 0 0 0\n");
    for (const char* resource : {"cpu", "io", "memory"})
      folder_.write(std::string("/proc/pressure/") + resource,
                    "some avg10=0.00 avg60=0.00 avg300=0.00 total=" + std::to_string(waited_us) + "\n");
  }
  [[nodiscard]] jobs::WindowRecord close(MonoTime now) {
    jobs::WindowRecord window;
    table_.close(now, window);
    return window;
  }

  host::TestFolder folder_;
  host::Files files_{folder_.path()};
  HostTable table_{files_};
};

TEST_F(HostTableTest, counters_become_shares_and_rates) {
  write(1000, 1'000'000);
  table_.start(MonoTime(100s));
  write(3000, 3'500'000);
  const auto window = close(MonoTime(110s));
  EXPECT_FLOAT_EQ(value_of(window, Metric::host_psi_memory), 0.25);
  EXPECT_FLOAT_EQ(value_of(window, Metric::host_storage_read_bytes_s), 2000 * 512 / 10.0F);
  EXPECT_FLOAT_EQ(value_of(window, Metric::host_storage_write_bytes_s), 4000 * 512 / 10.0F);
  EXPECT_TRUE(std::isnan(value_of(window, Metric::host_cpu))) << "a missing file became a number";
}

TEST_F(HostTableTest, counters_that_were_reset_have_no_value) {
  write(std::numeric_limits<std::uint32_t>::max(), 9'000'000);
  table_.start(MonoTime(100s));
  write(5, 4'000'000);
  const auto window = close(MonoTime(110s));
  EXPECT_TRUE(window.columns.empty()) << "a reset became a number";
  write(15, 5'000'000);
  EXPECT_FLOAT_EQ(value_of(close(MonoTime(120s)), Metric::host_psi_io), 0.1F);
}

TEST_F(HostTableTest, a_machine_without_files_has_no_columns) {
  table_.start(MonoTime(100s));
  table_.sample();
  EXPECT_TRUE(close(MonoTime(110s)).columns.empty());
}

TEST(HostTableOfThisMachine, has_plausible_shares) {
  const host::Files files;
  HostTable table(files);
  table.start(MonoTime(100s));
  table.sample();
  jobs::WindowRecord window;
  table.close(MonoTime(101s), window);
  for (const jobs::Column& column : window.columns) {
    EXPECT_GE(column.values.at(0), 0) << jobs::info(column.metric).name;
    EXPECT_LE(column.values.at(0), jobs::info(column.metric).max) << jobs::info(column.metric).name;
  }
  EXPECT_FALSE(std::isnan(value_of(window, Metric::host_run_queue)));
}

}  // namespace
}  // namespace autopilot::collect::host_table_test
