// SPDX-License-Identifier: Apache-2.0
#include "workloads/compare/readers.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>

namespace autopilot::workloads::compare {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const Series* find_series(const Readings& readings, std::string_view metric, std::string_view subject = "") {
  for (const Series& series : readings.series)
    if (series.metric == metric && series.subject == subject) return &series;
  return nullptr;
}

TEST(SarText, repeated_headers_averages_and_restarts_are_not_readings) {
  const auto found = parse_sar(
      "Linux 4.14.0 (node-1) \t04/20/2020 \t_ppc64le_\t(160 CPU)\n\n"
      "11:59:47 PM     CPU     %user     %nice   %system   %iowait    %steal     %idle\n"
      "11:59:52 PM     all      0.45      0.00      0.18      0.01      0.00     99.36\n"
      "11:59:57 PM     all      2.45      0.00      0.18      0.01      0.00     97.36\n"
      "\n11:59:57 PM     CPU     %user     %nice   %system   %iowait    %steal     %idle\n"
      "12:00:02 AM     all      1,45      0,00      0,18      0,01      0,00     98,36\n"
      "12:00:30 AM       LINUX RESTART (160 CPU)\n"
      "Average:        all      9.99      0.00      0.18      0.01      0.00     98.36\n",
      "cpu.txt");
  ASSERT_TRUE(found) << found.error().what;
  const Series* user = find_series(*found, "cpu.user");
  ASSERT_NE(user, nullptr);
  EXPECT_THAT(user->values, ElementsAre(0.45, 2.45, 1.45));
  EXPECT_THAT(user->seconds, ElementsAre(0, 5, 10));
  EXPECT_EQ(to_string(user->source), "cpu.txt:4-8, column 4 (%user)");
  ASSERT_EQ(found->notes.size(), 1U);
  EXPECT_THAT(found->notes[0], HasSubstr("restarted 1 times"));
}

TEST(SarText, memory_with_and_without_a_column_and_devices_are_read_by_their_headers) {
  const auto memory = parse_sar(
      "00:00:01    kbmemfree kbmemused  %memused kbbuffers\n00:00:06    100 50 33.33 0\n", "mem.txt");
  ASSERT_TRUE(memory);
  EXPECT_THAT(find_series(*memory, "mem.used")->values, ElementsAre(50));
  EXPECT_EQ(find_series(*memory, "mem.available"), nullptr);
  const auto disks = parse_sar(
      "00:00:01          DEV       tps     rkB/s     wkB/s     await     %util\n"
      "00:00:06         sda      10.0      2.00      1.00      0.50      3.00\n"
      "00:00:06     nvme0n1      20.0      4.00      1.00      0.25      5.00\n",
      "disk.txt");
  ASSERT_TRUE(disks);
  EXPECT_THAT(find_series(*disks, "io.read", "nvme0n1")->values, ElementsAre(4096));
  EXPECT_EQ(find_series(*disks, "io.read", "sda")->unit, "B/s");
}

TEST(SarText, a_cut_row_names_the_line) {
  const auto found = parse_sar("00:00:01 CPU %user %idle\n00:00:06 all 1.0\n", "cpu.txt");
  ASSERT_FALSE(found);
  EXPECT_THAT(found.error().what, HasSubstr("cpu.txt:2"));
}

constexpr std::string_view kSmi =
    "name, pstate, utilization.gpu [%], utilization.memory [%]\n"
    "Tesla V100, P0, 100 %, 57 %\nTesla V100, P0, 0 %, 0 %\n"
    "Tesla V100, P0, [N/A], 50 %\nTesla V100, P0, 2 %, 1 %\n";

TEST(SmiCsv, rows_without_an_index_are_dealt_to_the_gpus_in_turn) {
  const auto found = parse_smi_csv(kSmi, "gpu.txt", {2, 5.0});
  ASSERT_TRUE(found) << found.error().what;
  EXPECT_THAT(find_series(*found, "gpu.util", "GPU 0")->values, ElementsAre(100));
  EXPECT_EQ(find_series(*found, "gpu.util", "GPU 0")->missing, 1U);
  EXPECT_THAT(find_series(*found, "gpu.util", "GPU 1")->values, ElementsAre(0, 2));
  EXPECT_THAT(find_series(*found, "gpu.util", "GPU 1")->seconds, ElementsAre(0, 5));
  EXPECT_THAT(find_series(*found, "gpu.memory_busy", "GPU 0")->values, ElementsAre(57, 50));
}

TEST(SmiCsv, an_unknown_number_of_gpus_is_an_error_with_its_cure) {
  const auto found = parse_smi_csv(kSmi, "gpu.txt", {});
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, Errc::not_found);
  EXPECT_THAT(found.error().what, HasSubstr("sampled_gpus"));
}

TEST(SmiCsv, an_index_or_timestamps_state_the_gpu) {
  const auto index = parse_smi_csv("index, utilization.gpu [%]\n0, 5 %\n1, 6 %\n0, 7 %\n", "gpu.txt", {});
  ASSERT_TRUE(index);
  EXPECT_THAT(find_series(*index, "gpu.util", "GPU 0")->values, ElementsAre(5, 7));
  const auto times = parse_smi_csv(
      "timestamp, utilization.gpu [%], power.draw [W]\n"
      "2020/04/20 12:00:00.100, 5 %, 55.5 W\n2020/04/20 12:00:00.110, 6 %, 50 W\n"
      "2020/04/20 12:00:05.100, 7 %, 60 W\n2020/04/20 12:00:05.110, 8 %, 61 W\n",
      "gpu.txt", {});
  ASSERT_TRUE(times);
  EXPECT_THAT(find_series(*times, "gpu.power", "GPU 1")->values, ElementsAre(50, 61));
  EXPECT_NEAR(find_series(*times, "gpu.util", "GPU 1")->seconds[1], 5, 1e-6);
}

TEST(CsvSheet, fractions_become_percent_and_a_missing_column_is_no_error) {
  const auto found = parse_csv_sheet("id,gpu0,mem0\n1,0.5,0.25\n2,1,\n", "gpu.csv");
  ASSERT_TRUE(found);
  EXPECT_THAT(find_series(*found, "gpu.util", "GPU 0")->values, ElementsAre(50, 100));
  EXPECT_EQ(find_series(*found, "gpu.memory_busy", "GPU 0")->missing, 1U);
  EXPECT_TRUE(find_series(*found, "gpu.util", "GPU 0")->seconds.empty());
  ASSERT_EQ(found->notes.size(), 1U);
  const auto percent = parse_csv_sheet("id,gpu0\n1,55\n2,99\n", "gpu.csv");
  EXPECT_THAT(find_series(*percent, "gpu.util", "GPU 0")->values, ElementsAre(55, 99));
}

TEST(CsvSheet, other_columns_keep_their_name) {
  const auto found = parse_csv_sheet("Time,\"images, per second\"\n10:00:00,5\n10:00:05,6\n", "x.csv");
  ASSERT_TRUE(found);
  EXPECT_THAT(find_series(*found, "csv.images, per second")->seconds, ElementsAre(0, 5));
  EXPECT_FALSE(parse_csv_sheet("a,b\nx,y\n", "x.csv"));
}

TEST(CsvSheet, impossible_values_are_left_out_counted_and_reported) {
  const auto found = parse_csv_sheet(
      "time,gpu0,mem0\n10:00:01,50,\n10:00:02,abc,20\n10:00:03,1e400,20\n10:00:04,150,20\n10:00:05,-1,nan\n",
      "g.csv");
  ASSERT_TRUE(found);
  EXPECT_THAT(find_series(*found, "gpu.util", "GPU 0")->values, ElementsAre(50));
  EXPECT_THAT(find_series(*found, "gpu.memory_busy", "GPU 0")->values, ElementsAre(20, 20, 20));
  EXPECT_THAT(found->notes,
              ElementsAre("g.csv: 4 values are not numbers or impossible and were left out; the first is "
                          "\"abc\" in line 3, column 2 (gpu0)"));
}

TEST(CsvSheet, a_first_line_of_readings_is_an_error_with_its_cure) {
  const auto found = parse_csv_sheet("10:00:00,5,1\n10:00:05,5,1\n", "cpu.csv");
  ASSERT_FALSE(found);
  EXPECT_THAT(found.error().what, HasSubstr("cpu.csv:1: the first line has numbers and no column names"));
}

TEST(CsvSheet, semicolons_decimal_commas_and_a_byte_order_mark_are_read) {
  const std::string text = "\xef\xbb\xbftime;gpu0;mem0\n10:00:00;90,5;50\n10:00:05;80;40\n";
  EXPECT_EQ(format_of(text), TextFormat::csv);
  const auto found = parse_csv_sheet(text, "g.csv");
  ASSERT_TRUE(found);
  EXPECT_THAT(find_series(*found, "gpu.util", "GPU 0")->values, ElementsAre(90.5, 80));
  EXPECT_THAT(find_series(*found, "gpu.util", "GPU 0")->seconds, ElementsAre(0, 5));
}

TEST(SmiCsv, impossible_values_are_reported_and_missing_ones_are_not) {
  const auto found = parse_smi_csv(
      "index, utilization.gpu [%], power.draw [W]\n0, 150 %, [N/A]\n0, 50 %, 60 W\n0, [N/A], -3 W\n",
      "gpu.txt", {});
  ASSERT_TRUE(found);
  EXPECT_THAT(find_series(*found, "gpu.util", "GPU 0")->values, ElementsAre(50));
  ASSERT_EQ(found->notes.size(), 1U);
  EXPECT_THAT(found->notes[0], HasSubstr("2 values"));
  EXPECT_THAT(found->notes[0], HasSubstr("\"150\" in line 2, column 2"));
}

TEST(NcclTests, sizes_and_the_average_are_measures) {
  const auto found = parse_nccl_tests(
      "# nThread 1 nGpus 1 minBytes 1024\n"
      "[1,0]<stdout>:  1073741824     268435456     float     sum      -1   4300.1  249.70  468.19      0   "
      "4302.2  "
      "249.58  467.96      0\n"
      "# Avg bus bandwidth    : 468.075\n",
      "nccl.log");
  ASSERT_TRUE(found) << found.error().what;
  ASSERT_EQ(found->measures.size(), 3U);
  EXPECT_EQ(found->measures[0].subject, "1073741824 B");
  EXPECT_EQ(found->measures[0].value, 468.19);
  EXPECT_EQ(found->measures[1].value, 467.96);
  EXPECT_EQ(found->measures[2].value, 468.075);
}

TEST(NodeHealthCheck, a_bandwidth_has_its_threshold) {
  const auto found = parse_node_health_check(
      "SUCCESS:  nhc:  Health check passed:  check_nccl_allreduce: Measured Avg NCCL allreduce bus BW "
      "477.873 GB/s "
      "(expected >=460.0 GB/s)\n",
      "health.log");
  ASSERT_TRUE(found) << found.error().what;
  EXPECT_EQ(found->measures[0].subject, "Avg NCCL allreduce bus BW");
  EXPECT_EQ(found->measures[0].value, 477.873);
  EXPECT_EQ(found->measures[0].threshold, 460);
}

TEST(Sysbench, totals_are_measures) {
  const auto found = parse_sysbench(
      "sysbench 1.0.20\n    events per second:  2551.37\n    total time:   10.0011s\n", "s.txt");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->measures[0].value, 2551.37);
  EXPECT_EQ(found->measures[1].value, 10.0011);
}

TEST(FormatOf, each_text_is_recognised_by_its_contents) {
  EXPECT_EQ(format_of("Linux 4.14\n\n10:00:00 CPU %user %idle\n"), TextFormat::sar);
  EXPECT_EQ(format_of(kSmi), TextFormat::smi_csv);
  EXPECT_EQ(format_of("id,gpu0\n1,2\n"), TextFormat::csv);
  EXPECT_EQ(format_of("# nThread 1\n"), TextFormat::nccl_tests);
  EXPECT_TRUE(is_utf16(std::string_view("\xff\xfet\0", 4)));
  EXPECT_FALSE(is_utf16("time,gpu0"));
  for (const char* text : {"", "\x00\x01\x02", "a photograph\nof a cat\n"})
    EXPECT_FALSE(format_of(text));
}

TEST(Readers, damaged_texts_are_errors_and_never_end_the_program) {
  const std::string binary(
      "\x7f"
      "ELF\0\1,\n\xff\xfe,,\n",
      13);
  const std::string long_line(1 << 20, ',');
  for (const TextFormat format :
       {TextFormat::sar, TextFormat::smi_csv, TextFormat::csv, TextFormat::nccl_tests,
        TextFormat::node_health_check, TextFormat::sysbench})
    for (const std::string& text :
         {std::string(), binary, long_line, std::string("1:1:1 %user\n1:1:2 1e999\n")})
      EXPECT_FALSE(parse_readings(format, text, "file", {2, 5.0}));
}

}  // namespace
}  // namespace autopilot::workloads::compare
