// SPDX-License-Identifier: Apache-2.0
#include "cli/doctor/diagnosis.hpp"

#include <gtest/gtest.h>

namespace autopilot::cli {
namespace {

CheckInfo check_needing(std::string id, std::vector<std::string> rights) {
  CheckInfo info;
  info.id = std::move(id);
  info.rights = std::move(rights);
  return info;
}

DoctorRow row_with(RowState state) {
  return {.topic = "topic", .state = state, .what = "what", .adds = {}, .command = {}, .checks = {}};
}

TEST(Doctor, the_worst_row_is_the_result) {
  Diagnosis diagnosis;
  EXPECT_EQ(state_of(diagnosis), RowState::ok);
  diagnosis.rows.push_back(row_with(RowState::not_applicable));
  EXPECT_EQ(state_of(diagnosis), RowState::ok) << "what does not apply is not a problem";
  diagnosis.rows.push_back(row_with(RowState::limited));
  EXPECT_EQ(state_of(diagnosis), RowState::limited);
  diagnosis.rows.push_back(row_with(RowState::problem));
  EXPECT_EQ(state_of(diagnosis), RowState::problem);
}

TEST(Doctor, a_permission_lists_the_checks_that_need_it) {
  const std::vector<CheckInfo> checks{check_needing("a", {"CAP_SYS_PTRACE"}),
                                      check_needing("b", {"CAP_SYSLOG", "CAP_SYS_PTRACE"}),
                                      check_needing("c", {}), check_needing("d", {"CAP_NET_ADMIN"})};
  CheckResults results;
  CheckResult unsupported;
  unsupported.check = "d";
  unsupported.health = Health::unsupported;
  results.push_back(unsupported);
  const auto uses = uses_of_rights(checks, results);
  ASSERT_EQ(uses.size(), 2U) << "the hardware of d is not there";
  EXPECT_EQ(uses[0].right, "CAP_SYS_PTRACE");
  EXPECT_EQ(uses[0].checks, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(uses[1].checks, std::vector<std::string>{"b"});
}

TEST(Doctor, many_checks_are_shortened) {
  EXPECT_EQ(added_checks({"a"}), "1 check sees more: a");
  EXPECT_EQ(added_checks({"a", "b", "c", "d", "e"}), "5 checks see more: a, b, c, d, ...");
}

TEST(Doctor, the_page_fits_its_width_and_shows_what_a_row_adds) {
  Diagnosis diagnosis{"gpu-7", "1.0", true, {}};
  diagnosis.rows.push_back({.topic = "kernel log",
                            .state = RowState::limited,
                            .what = std::string(100, 'x') + "\033[2J",
                            .adds = "12 checks",
                            .command = "sudo autopilot check",
                            .checks = {}});
  diagnosis.rows.push_back(row_with(RowState::not_applicable));
  const std::string page = render_diagnosis(diagnosis, {});
  EXPECT_NE(page.find("SIMULATED"), std::string::npos);
  EXPECT_NE(page.find("adds: 12 checks"), std::string::npos);
  EXPECT_NE(page.find("how: sudo autopilot check"), std::string::npos);
  EXPECT_NE(page.find("Not applicable here: topic"), std::string::npos);
  EXPECT_EQ(page.find('\033'), std::string::npos);
  for (std::size_t begin = 0; begin < page.size(); begin = page.find('\n', begin) + 1)
    EXPECT_LE(page.find('\n', begin) - begin, 80U);
}

}  // namespace
}  // namespace autopilot::cli
