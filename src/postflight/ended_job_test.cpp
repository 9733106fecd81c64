// SPDX-License-Identifier: Apache-2.0
#include "postflight/ended_job.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace autopilot::postflight {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr WallTime kEnded{std::chrono::hours(500000)};

TEST(OpenValidations, read_back) {
  const std::vector<EndedJob> jobs{
      {.job = "ml/a-1",
       .name = "ml/a\tb\n",
       .start = kEnded,
       .end = kEnded + std::chrono::seconds(3),
       .gpus = {0, 7}},
      {.job = "n0/pid-4", .name = "python", .start = kEnded, .end = kEnded, .gpus = {}}};
  const auto read = parse_open_jobs(to_text(jobs));
  ASSERT_TRUE(read) << read.error().what;
  ASSERT_THAT(*read, SizeIs(2));
  EXPECT_EQ((*read)[0].name, "ml/a b ");
  EXPECT_EQ((*read)[0].end, jobs[0].end);
  EXPECT_THAT((*read)[0].gpus, ElementsAre(0, 7));
  EXPECT_THAT((*read)[1].gpus, IsEmpty());
  EXPECT_THAT(*parse_open_jobs(""), IsEmpty());
}

TEST(OpenValidations, keep_the_first_jobs_that_fit) {
  const auto count_of = [](const EndedJob& job) {
    const std::string text = to_text(std::vector<EndedJob>(600, job));
    EXPECT_LE(text.size(), kMostOpenBytes);
    const auto read = parse_open_jobs(text);
    EXPECT_TRUE(read) << read.error().what;
    return read ? read->size() : 0;
  };
  EXPECT_EQ(count_of({.job = "ml/a", .name = "a", .start = kEnded, .end = kEnded, .gpus = {0}}),
            kMostOpenJobs);
  const std::string longest(253, 'x');
  const auto fit = count_of({.job = longest, .name = longest, .start = kEnded, .end = kEnded, .gpus = {0}});
  EXPECT_GT(fit, 100U);
  EXPECT_LT(fit, kMostOpenJobs);
}

TEST(OpenValidations, refuse_what_no_agent_writes) {
  for (const char* text : {"x\n", "a\tb\t1\t2\n", "a\tb\t1\t2\t3\t4\n", "\tb\t1\t2\t\n", "a\tb\tx\t2\t\n",
                           "a\tb\t1\t2\t-1\n", "a\tb\t1\t99999999999999999999\t\n", "\n"})
    EXPECT_FALSE(parse_open_jobs(text)) << text;
  std::string many;
  for (std::size_t at = 0; at <= kMostOpenJobs; ++at)
    many += "a\tb\t1\t2\t\n";
  EXPECT_FALSE(parse_open_jobs(many));
}

}  // namespace
}  // namespace autopilot::postflight
