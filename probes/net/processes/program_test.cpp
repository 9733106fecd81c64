// SPDX-License-Identifier: Apache-2.0
#include "probes/net/processes/program.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autopilot::probes::net {
namespace {

struct Told {
  std::string output;
  ChildEnd end;
};

Told run(const std::string& file, std::vector<std::string> arguments,
         Duration patience = std::chrono::seconds(20)) {
  const auto crew = Crew::create();
  const auto child = (*crew)->start(work_of_program(file, std::move(arguments)), mono_now() + patience);
  while ((*crew)->is_running(*child))
    (void)(*crew)->wait(MonoTime::max());
  return {(*crew)->output(*child), (*crew)->end(*child)};
}

TEST(Program, what_it_writes_is_what_the_child_says) {
  const Told told = run("/bin/sh", {"sh", "-c", "echo out; echo err >&2; exit 7"});
  EXPECT_EQ(told.output, "out\nerr\n");
  EXPECT_EQ(told.end.code, 7);
}

TEST(Program, one_that_hangs_ends_at_its_deadline) {
  const Told told = run("/bin/sh", {"sh", "-c", "exec sleep 60"}, std::chrono::milliseconds(200));
  EXPECT_TRUE(told.end.was_overdue);
}

TEST(Program, what_it_started_holds_up_nobody) {
  const MonoTime began = mono_now();
  const Told told = run("/bin/sh", {"sh", "-c", "sleep 10 & wait"}, std::chrono::milliseconds(200));
  EXPECT_TRUE(told.end.was_overdue);
  EXPECT_TRUE(run("/bin/sh", {"sh", "-c", "yes"}).end.said_too_much);
  EXPECT_LT(mono_now() - began, std::chrono::seconds(8));
}

TEST(Program, one_that_cannot_be_started_says_so) {
  const Told told = run("/nosuch/program", {"program"});
  EXPECT_THAT(told.output, testing::HasSubstr("/nosuch/program cannot be started: No such file"));
  EXPECT_EQ(told.end.code, 126);
}

TEST(Program, it_is_found_in_a_folder_of_path_and_nowhere_else) {
  EXPECT_THAT(find_program("sh"), testing::Optional(testing::EndsWith("/sh")));
  for (const char* name : {"no-such-program", "", ".", ".."})
    EXPECT_FALSE(find_program(name)) << name;
}

}  // namespace
}  // namespace autopilot::probes::net
