// SPDX-License-Identifier: Apache-2.0
#include "cli/history_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/history_records.hpp"
#include "cli/output/history_tables.hpp"
#include "tests/support/host/test_folder.hpp"
#include "tests/support/learning/record_samples.hpp"

namespace autopilot::cli {
namespace {

namespace samples = learning::testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(HistoryFile, reads_all_lines_and_names_each_that_is_malformed) {
  const host::TestFolder folder;
  const std::string good = api::to_history_line(samples::repair());
  folder.write("/tickets.jsonl", good + "\n  \r\n{\"type\":\"repair\"}\n" + good.substr(0, good.size() - 1));
  const auto lines = read_history_lines(folder / "tickets.jsonl");
  ASSERT_TRUE(lines) << lines.error().what;
  EXPECT_EQ(lines->records.size(), 2U) << "the last line needs no end";
  EXPECT_EQ(lines->malformed, 1U);
  EXPECT_THAT(lines->problems, ElementsAre(folder / "tickets.jsonl" + ":4: id: missing"));
}

TEST(HistoryFile, keeps_twenty_problems_and_counts_all) {
  const host::TestFolder folder;
  std::string text;
  for (int i = 0; i < 50; ++i)
    text += "{}\n";
  folder.write("/bad.jsonl", text);
  const auto lines = read_history_lines(folder / "bad.jsonl");
  ASSERT_TRUE(lines);
  EXPECT_EQ(lines->problems.size(), HistoryLines::kMostProblems);
  EXPECT_EQ(lines->malformed, 50U);
}

TEST(HistoryFile, refuses_what_is_not_a_file_of_lines) {
  const host::TestFolder folder;
  folder.write("/x.jsonl.gz", "\x1f\x8b\x08");
  EXPECT_EQ(read_history_lines(folder / "missing").error().code, Errc::not_found);
  EXPECT_EQ(read_history_lines(folder.path()).error().code, Errc::malformed);
  EXPECT_THAT(read_history_lines(folder / "x.jsonl.gz").error().what, HasSubstr("gunzip"));
}

TEST(HistoryFile, a_missing_history_names_the_cure) {
  const host::TestFolder folder;
  const auto history = open_history(folder / "history.db");
  ASSERT_FALSE(history);
  EXPECT_THAT(history.error().what, HasSubstr("Start the agent"));
}

TEST(HistoryTables, a_person_reads_one_line_for_each_record) {
  const auto records = samples::one_of_each();
  const std::string table = render_history(records, {.width = 160});
  EXPECT_THAT(table, HasSubstr("2025-11-24 16:00"));
  EXPECT_THAT(table, HasSubstr("replace; part GPU; ticket OPS-4711; slot 3; lasted 2d"));
  EXPECT_THAT(table, HasSubstr("quick validation failed; gpu.xid; job j1; the job failed"));
  EXPECT_THAT(table, HasSubstr("j1; failed; hardware; lasted 5h; 2 GPUs"));
  EXPECT_THAT(table, HasSubstr("faulty, by rma; HBM stack; vendor; replaced under RMA 4711; fault f1"));
  EXPECT_THAT(table, HasSubstr("driver 570.86.15; firmware 96.00.74.00.01; kernel 6.8.0-51"));
}

TEST(HistoryTables, csv_quotes_and_holds_no_formula) {
  learning::Repair repair = samples::repair();
  repair.id = "=cmd()";
  repair.note = "a, \"b\"";
  EXPECT_EQ(to_csv(repair),
            "repair,'=cmd(),prod,gpu-017,S1,,2025-11-24T16:00:00.000Z,2025-11-26T16:00:00.000Z,,"
            "\"replace; part GPU; ticket OPS-4711; a, \"\"b\"\"; lasted 2d\"\r\n");
  repair.note = "\x1b]0;title\x07";
  EXPECT_EQ(to_csv(repair).find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace autopilot::cli
