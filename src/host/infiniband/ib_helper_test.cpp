// SPDX-License-Identifier: Apache-2.0
#include "host/infiniband/ib_helper.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <optional>
#include <string>

#include "host/infiniband/infiniband.hpp"
#include "tests/paths/paths.hpp"
#include "tests/support/host/fuse_server.hpp"
#include "tests/support/host/test_folder.hpp"

namespace autopilot::host {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

std::optional<Errc> problem_of(const IbPort& port) {
  return port.problem ? std::optional(port.problem->code) : std::nullopt;
}

// Two adapters in a tree, read by a real helper process; the agent's side sees the rest of the tree itself.
class IbHelper : public ::testing::Test {
 protected:
  IbHelper() {
    for (const char* adapter : {"mlx5_0", "mlx5_1"}) {
      folder_.write(port(adapter) + "/state", "4: ACTIVE\n");
      folder_.write(port(adapter) + "/phys_state", "5: LinkUp\n");
      folder_.write(port(adapter) + "/rate", "400 Gb/sec (4X NDR)\n");
      folder_.write(port(adapter) + "/counters/symbol_error", "7\n");
    }
    folder_.write("/etc/secret", "x\n");
  }

  static std::string port(const std::string& adapter) {
    return "/sys/class/infiniband/" + adapter + "/ports/1";
  }
  [[nodiscard]] Command helper(const std::string& kind) const {
    return {.program = paths::fake("fake_helper"),
            .arguments = {kind, folder_.path()},
            .environment = own_environment()};
  }
  Files files_by(IbFiles& reader) const {
    return Files(folder_.path(), {},
                 {std::string(IbFiles::kFolder), [&reader](auto path) { return reader.read(path); }});
  }

  const TestFolder folder_;
};

TEST_F(IbHelper, reads_every_port_and_its_counters) {
  IbFiles reader(helper("ib"));
  const Files files = files_by(reader);
  const auto ports = scan_ib_ports(files);
  ASSERT_TRUE(ports) << ports.error().what;
  ASSERT_EQ(ports->size(), 2U);
  EXPECT_EQ(ports->front().state, "active");
  EXPECT_EQ(ports->front().rate_gbps, 400);
  EXPECT_EQ(read_ib_counter(files, ports->front(), "counters/symbol_error"), 7U);
  EXPECT_EQ(read_ib_counter(files, ports->front(), "counters/no_such").error().code, Errc::not_found);
  EXPECT_EQ(reader.stats().starts, 1U);
  EXPECT_GE(reader.stats().calls, 8U);
}

TEST_F(IbHelper, reads_nothing_but_adapters) {
  IbFiles reader(helper("ib"));
  EXPECT_EQ(reader.read("/etc/secret").error().code, Errc::malformed);
  EXPECT_EQ(reader.read("/sys/class/infiniband/../../../etc/secret").error().code, Errc::malformed);
  HelperClient asked_directly("ib", helper("ib"));
  const auto answer =
      asked_directly.call("read", R"("/sys/class/infiniband/../../../etc/secret")", mono_now() + 20s);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().error.code, Errc::malformed);
}

TEST_F(IbHelper, a_helper_that_dies_or_lies_is_no_statement_about_the_port) {
  for (const char* kind : {"dies_at_once", "ib_that_lies"}) {
    IbFiles reader(helper(kind));
    const auto ports = scan_ib_ports(files_by(reader));
    ASSERT_TRUE(ports) << ports.error().what;
    ASSERT_EQ(ports->size(), 2U);
    EXPECT_EQ(problem_of(ports->front()), Errc::internal) << kind;
    EXPECT_THAT(ports->front().problem.value_or(Error{}).what, HasSubstr("ib helper"));
  }
}

TEST_F(IbHelper, an_adapter_whose_firmware_hangs_hides_no_other_and_comes_back) {
  HangingFile hanging(folder_.path() + port("mlx5_0") + "/state", "4: ACTIVE\n");
  if (!hanging.why_not().empty()) GTEST_SKIP() << "no FUSE mount here: " << hanging.why_not();
  IbFiles reader(helper("ib"), 0s);
  const Files files = files_by(reader);
  const auto begin = mono_now();
  const auto ports = scan_ib_ports(files);
  EXPECT_LT(mono_now() - begin, 10s);
  ASSERT_TRUE(ports) << ports.error().what;
  EXPECT_EQ(problem_of(ports->front()), Errc::timed_out);
  EXPECT_EQ(problem_of(ports->back()), std::nullopt);
  EXPECT_EQ(ports->back().state, "active");
  EXPECT_EQ(reader.stats().stuck, 1);  // killed, and still in the kernel

  // The sick one is not asked again while its helper hangs.
  const auto starts = reader.stats().starts;
  const auto again = scan_ib_ports(files);
  ASSERT_TRUE(again);
  EXPECT_TRUE(again->front().problem);
  EXPECT_EQ(again->back().state, "active");
  EXPECT_EQ(reader.stats().starts, starts);

  // The first answer goes to the helper that was killed.
  hanging.answer();
  const auto give_up = mono_now() + 20s;
  auto healed = scan_ib_ports(files);
  while (healed && healed->front().problem && mono_now() < give_up)
    healed = scan_ib_ports(files);
  ASSERT_TRUE(healed);
  EXPECT_EQ(healed->front().state, "active");
  EXPECT_EQ(reader.stats().stuck, 0);
}

}  // namespace
}  // namespace autopilot::host
