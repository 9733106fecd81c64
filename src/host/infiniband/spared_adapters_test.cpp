// SPDX-License-Identifier: Apache-2.0
#include "host/infiniband/spared_adapters.hpp"

#include <gtest/gtest.h>

#include "checks/kernel_log/test_log.hpp"
#include "tests/fakes/fake_host.hpp"

namespace autopilot::host {
namespace {

constexpr const char* kComplaint =
    "mlx5_core 0000:d2:00.0: mlx5_cmd_out_err:808:(pid 4242): ACCESS_REG(0x805) op_mod(0x1) failed, status "
    "bad "
    "operation(0x2), syndrome (0x305684), err(-22)";

TEST(ComplainingAdapters, are_spared_from_their_first_complaint_on) {
  checks::TestLog log;
  const ComplainingAdapters spared(log);
  EXPECT_FALSE(spared.is_spared("0000:d2:00.0", {}));
  log.write({}, kComplaint);
  EXPECT_TRUE(spared.is_spared("0000:d2:00.0", {}));
  EXPECT_FALSE(spared.is_spared("0000:18:00.0", {}));
  log.refuse();
  EXPECT_TRUE(spared.is_spared("0000:d2:00.0", {}));
}

TEST(ComplainingAdapters, are_not_made_by_user_space_nor_by_other_lines) {
  checks::TestLog log;
  const ComplainingAdapters spared(log);
  log.write({}, kComplaint, [](KernelRecord& record) { record.facility = 1; });
  log.write({}, "mlx5_core 0000:d2:00.0: mlx5_cmd_out_err:808:(pid 1): QUERY_HCA_CAP(0x100) failed");
  log.write({}, "mlx5_core: ACCESS_REG failed mlx5_cmd mlx5_core");
  EXPECT_FALSE(spared.is_spared("0000:d2:00.0", {}));
  EXPECT_FALSE(spared.is_spared("", {}));
}

TEST(ComplainingAdapters, have_a_limit) {
  checks::TestLog log;
  const ComplainingAdapters spared(log);
  const auto address = [](std::size_t i) {
    const std::string hex = "0123456789abcdef";
    return std::string("000") + hex[i / 256] + ":" + hex[i / 16 % 16] + hex[i % 16] + ":00.0";
  };
  for (std::size_t i = 0; i < ComplainingAdapters::kMaxAdapters + 5; ++i)
    log.write({}, "mlx5_core " + address(i) + ": mlx5_cmd_out_err: ACCESS_REG(0x805) failed");
  EXPECT_TRUE(spared.is_spared(address(ComplainingAdapters::kMaxAdapters - 1), {}));
  EXPECT_FALSE(spared.is_spared(address(ComplainingAdapters::kMaxAdapters), {}));
}

TEST(ComplainingAdapters, are_unknown_without_the_log) {
  const fakes::EmptyHost empty;
  EXPECT_FALSE(ComplainingAdapters(empty.kernel_log).is_spared("0000:d2:00.0", {}));
}

}  // namespace
}  // namespace autopilot::host
