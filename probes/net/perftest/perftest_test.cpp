// SPDX-License-Identifier: Apache-2.0
#include "probes/net/perftest/perftest.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autopilot::probes::net {
namespace {

std::string joined(const PerftestTest& test) {
  std::string text;
  for (const std::string& word : perftest_arguments(test))
    text.append(text.empty() ? "" : " ").append(word);
  return text;
}

PerftestTest server(Tool tool) {
  return {.tool = tool,
          .device = {"mlx5_0", 2},
          .address = "10.0.0.1",
          .source_option = SourceOption::source_ip,
          .port = 4000,
          .seconds = 5,
          .queues = 4};
}

PerftestTest client(Tool tool) {
  PerftestTest test = server(tool);
  test.to = "10.0.0.2";
  return test;
}

TEST(PerftestArguments, of_bandwidth_have_the_margins_in_the_duration) {
  EXPECT_EQ(joined(server(Tool::write_bandwidth)),
            "ib_write_bw -d mlx5_0 -i 2 -p 4000 -F --report_gbits -D 7 -f 1 -s 65536 -q 4 "
            "--source_ip=10.0.0.1");
  EXPECT_EQ(joined(client(Tool::read_bandwidth)),
            "ib_read_bw -d mlx5_0 -i 2 -p 4000 -F --report_gbits -D 7 -f 1 -s 65536 -q 4 "
            "--source_ip=10.0.0.1 10.0.0.2");
}

TEST(PerftestArguments, of_latency_have_a_number_of_messages) {
  EXPECT_EQ(joined(client(Tool::send_latency)),
            "ib_send_lat -d mlx5_0 -i 2 -p 4000 -F -n 5000 -s 2 --source_ip=10.0.0.1 10.0.0.2");
}

TEST(PerftestArguments, the_local_address_is_passed_in_the_form_of_the_version) {
  PerftestTest test = client(Tool::send_latency);
  test.source_option = SourceOption::bind_source_ip;
  EXPECT_THAT(joined(test), testing::EndsWith(" --bind_source_ip 10.0.0.1 10.0.0.2"));
  test.source_option.reset();
  EXPECT_THAT(joined(test), testing::EndsWith(" -s 2 10.0.0.2"));
}

TEST(PerftestArguments, a_limit_is_of_the_client_and_of_bandwidth) {
  const std::string limited = " --rate_limit=9.900000 --rate_limit_type=SW --rate_units=g";
  PerftestTest test = client(Tool::write_bandwidth);
  test.bits_per_second = 9'900'000'000;
  EXPECT_THAT(joined(test), testing::HasSubstr(limited));
  test.tool = Tool::send_latency;
  EXPECT_THAT(joined(test), testing::Not(testing::HasSubstr("rate")));
  test = server(Tool::write_bandwidth);
  test.bits_per_second = 9'900'000'000;
  EXPECT_THAT(joined(test), testing::Not(testing::HasSubstr("rate")));
}

TEST(PerftestArguments, the_memory_of_a_gpu_is_used_for_bandwidth) {
  for (PerftestTest test : {client(Tool::write_bandwidth), server(Tool::read_bandwidth)}) {
    EXPECT_THAT(joined(test), testing::Not(testing::HasSubstr("cuda")));
    test.device.gpu = "0000:1b:00.0";
    EXPECT_THAT(joined(test), testing::HasSubstr(" --use_cuda_bus_id=0000:1b:00.0 "));
  }
  PerftestTest latency = client(Tool::send_latency);
  latency.device.gpu = "0000:1b:00.0";
  EXPECT_THAT(joined(latency), testing::Not(testing::HasSubstr("cuda")));
}

TEST(PerftestArguments, each_side_is_named_by_its_peer) {
  EXPECT_EQ(place_of(server(Tool::read_bandwidth)), "ib_read_bw at 10.0.0.1 port 4000");
  EXPECT_EQ(place_of(client(Tool::send_latency)), "ib_send_lat to 10.0.0.2 port 4000");
}

TEST(Device, is_a_name_with_or_without_a_port) {
  EXPECT_EQ(parse_device("mlx5_0")->name, "mlx5_0");
  EXPECT_EQ(parse_device("mlx5_0")->port, 1);
  EXPECT_EQ(parse_device("rocep59s0f1/2")->port, 2);
  EXPECT_EQ(parse_device("mlx5_bond-0.1/254")->name, "mlx5_bond-0.1");
}

TEST(Device, other_text_is_refused) {
  for (const char* text : {"", "/1", "mlx5_0/", "mlx5_0/0", "mlx5_0/255", "mlx5_0/1/1", "mlx5_0/x", "-d",
                           "..", "mlx5 0", "mlx5_0\n", "mlx5;0", "\xff"})
    EXPECT_FALSE(parse_device(text)) << text;
  EXPECT_FALSE(parse_device(std::string(64, 'a')));
}

TEST(Help, names_the_memory_of_gpus_where_perftest_is_built_with_cuda) {
  EXPECT_TRUE(
      has_cuda_in("      --use_cuda=<cuda device id>\n      --use_cuda_bus_id=<cuda full BUS id>  Use it\n"));
  for (const char* text : {"", "--use_cuda=<cuda device id>", "use_cuda_bus_id", "--use_cuda_bus_idx"})
    EXPECT_FALSE(has_cuda_in(text)) << text;
}

TEST(SourceOption, is_read_from_the_help) {
  EXPECT_EQ(source_option_in("      --ipv6  Use IPv6 GID\n      --source_ip  Source IP of the interface\n"),
            SourceOption::source_ip);
  EXPECT_EQ(source_option_in("  --bind_source_ip=<ip>  Source IP\n  --source_ip <ip>\n"),
            SourceOption::bind_source_ip);
  for (const char* text : {"", "--source_ipx", "source_ip", "--source_port\n"})
    EXPECT_FALSE(source_option_in(text)) << text;
}

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

const PerftestTest kTest{.tool = Tool::write_bandwidth,
                         .device = {"mlx5_0", 1},
                         .address = "10.0.0.1",
                         .to = "10.0.0.2",
                         .port = 4000};

ChildEnd code(int number) {
  return {.code = number, .signal = {}};
}

Failure failure_of(const std::string& output) {
  return failure_of_end(kTest, code(1), output);
}

std::string word(const std::string& output) {
  return std::string(to_string(failure_of(output).reason));
}

TEST(PerftestFailure, has_the_reason_of_its_message) {
  EXPECT_EQ(word("Couldn't connect to 10.0.0.2:4000\n Unable to open file descriptor for socket connection\n"
                 " Failed to exchange data between server and clients\n"),
            "refused");
  EXPECT_EQ(word("Couldn't listen to port 4000\n"), "port_taken");
  EXPECT_EQ(word("Current implementation is not compatible with versions older than 5.70\n"),
            "wrong_version");
  EXPECT_EQ(word(" Did not detect devices \n If device exists, check if driver is up\n"
                 " Unable to find the Infiniband/RoCE device\n"),
            "no_address");
  EXPECT_EQ(word("IB device mlx5_0 not found\n Unable to find the Infiniband/RoCE device\n"), "no_address");
  EXPECT_EQ(word("Couldn't allocate MR\n"), "denied");
  EXPECT_EQ(word("Failed to create QP: Cannot allocate memory\n"), "denied");
  EXPECT_EQ(word("ethernet_read_keys: Couldn't read remote address\n"), "peer_vanished");
  EXPECT_EQ(word(" Unable to exchange data\n"), "peer_vanished");
  EXPECT_EQ(word(" Failed to exchange data between server and clients\n"), "peer_vanished");
  EXPECT_EQ(word("something else\n"), "internal");
  EXPECT_EQ(word(""), "internal");
}

TEST(PerftestFailure, of_a_completion_has_its_status) {
  const std::string begin = " Completion with error at client\n Failed status ";
  EXPECT_EQ(word(begin + "12: wr_id 0 syndrom 0x81\n"), "timed_out");
  EXPECT_THAT(failure_of(begin + "10: wr_id 0 syndrom 0x88\nscnt=128, ccnt=0\n").text,
              HasSubstr("the connection broke with status 10 (Failed status 10: wr_id 0"));
  EXPECT_EQ(word(begin + "10: wr_id 0 syndrom 0x88\n"), "peer_vanished");
  EXPECT_EQ(word(begin + "129: wr_id 0\n"), "peer_vanished");
  EXPECT_EQ(word(begin), "peer_vanished");
  EXPECT_EQ(word(" Completion with error at client\n"), "peer_vanished");
}

TEST(PerftestFailure, the_end_of_the_process_has_precedence_over_its_message) {
  const std::string words = "Couldn't connect to 10.0.0.2:4000\n";
  EXPECT_EQ(failure_of_end(kTest, {.was_overdue = true, .code = {}, .signal = 9}, words).reason,
            Reason::no_end);
  EXPECT_EQ(failure_of_end(kTest, {.had_too_much_output = true, .code = {}, .signal = 9}, "").reason,
            Reason::garbage);
  EXPECT_EQ(failure_of_end(kTest, {.code = {}, .signal = 11}, words).reason, Reason::killed);
  EXPECT_THAT(failure_of_end(kTest, code(3), "").text, HasSubstr("ended with code 3"));
}

TEST(PerftestFailure, names_the_program_the_place_and_the_last_line) {
  EXPECT_EQ(failure_of("Couldn't connect to 10.0.0.2:4000\n").text,
            "ib_write_bw to 10.0.0.2 port 4000: connection refused: no program listens on the port (Couldn't "
            "connect to 10.0.0.2:4000)");
  EXPECT_EQ(failure_of("a\nfirst\nsecond\n ---\n Mtu : 1024[B]\nthird\n local address: LID 1\n").text,
            "ib_write_bw to 10.0.0.2 port 4000: the program ended with code 1 (first; second; third)");
  EXPECT_THAT(failure_of("IB device mlx5_0 not found").text, HasSubstr("this machine has no device mlx5_0"));
  EXPECT_THAT(failure_of("Couldn't allocate MR").text, HasSubstr("memlock"));
  EXPECT_THAT(failure_without_program(Tool::send_latency).text, StartsWith("ib_send_lat: "));
  EXPECT_THAT(failure_without_program(Tool::send_latency).text, EndsWith("install perftest"));
  EXPECT_EQ(to_string(failure_without_program(Tool::send_latency).reason), "no_program");
}

TEST(PerftestFailure, is_short_and_printable) {
  const std::string text = failure_of(std::string(1U << 20U, 'a') + "\x1b[2J\xff").text;
  EXPECT_LE(text.size(), kLongestFailure);
  EXPECT_THAT(failure_of("bad\x1b[2J\n").text, HasSubstr("(bad?[2J)"));
  EXPECT_EQ(failure_of_figures(kTest, {Errc::malformed, "missing table"}).text,
            "ib_write_bw to 10.0.0.2 port 4000: malformed output: missing table");
}

constexpr const char* kLine =
    "---------------------------------------------------------------------------------------\n";
constexpr const char* kBandwidthHeader =
    " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n";
constexpr const char* kLatencyHeader =
    " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]   "
    "99% percentile[usec]   99.9% percentile[usec] \n";

std::string bandwidth(const std::string& rows, const std::string& header = kBandwidthHeader) {
  return std::string("WARNING: BW peak won't be measured in this run.\n") + kLine +
         "                    RDMA_Write BW Test\n"
         " Dual-port       : OFF\t\tDevice         : mlx5_0\n"
         " Number of qps   : 1\t\tTransport type : IB\n" +
         kLine + " local address: LID 0x3b QPN 0x0c55 PSN 0x8c2f2c RKey 0x203e00 VAddr 0x007f2f1f9b0000\n" +
         kLine + header + rows + kLine;
}

std::string latency(const std::string& rows) {
  return std::string("                    Send Latency Test\n") + kLine + kLatencyHeader + rows + kLine;
}

std::string refusal(const std::string& output) {
  const auto read = parse_perftest_bandwidth(output);
  EXPECT_FALSE(read) << output;
  if (read) return {};
  EXPECT_EQ(read.error().code, Errc::malformed);
  return read.error().what;
}

std::string latency_refusal(const std::string& output) {
  const auto read = parse_perftest_latency(output);
  EXPECT_FALSE(read) << output;
  if (read) return {};
  EXPECT_EQ(read.error().code, Errc::malformed);
  return read.error().what;
}

TEST(PerftestBandwidth, is_the_average) {
  const auto read = parse_perftest_bandwidth(
      bandwidth(" 65536      560845           0.00               98.02  \t\t     0.186950\n"));
  ASSERT_TRUE(read) << read.error().what;
  EXPECT_DOUBLE_EQ(*read, 98.02e9);
}

TEST(PerftestBandwidth, warnings_are_ignored_anywhere) {
  const std::string warning =
      "Conflicting CPU frequency values detected: 1500.000000 != 3300.016000. CPU Frequency is not max.\n";
  EXPECT_TRUE(parse_perftest_bandwidth(
      warning + bandwidth(warning + " 65536 560845 0.00 98.02 0.186950\n" + warning) + warning));
}

TEST(PerftestBandwidth, the_column_is_found_by_its_name) {
  const auto read = parse_perftest_bandwidth(
      bandwidth(" 65536 0.19 391.4 560845 17.5\n",
                " #bytes MsgRate[Mpps] BW average[Gb/sec] #iterations CPU_Util[%]\n"));
  ASSERT_TRUE(read) << read.error().what;
  EXPECT_DOUBLE_EQ(*read, 391.4e9);
}

TEST(PerftestBandwidth, another_unit_is_refused) {
  for (const char* unit : {"MB/sec", "MiB/sec", "GB/sec", "Gb/s"})
    EXPECT_THAT(refusal(bandwidth(" 65536 5 0.00 98.02\n", std::string(" #bytes #iterations BW peak[") +
                                                               unit + "] BW average[" + unit + "]\n")),
                HasSubstr("not in Gb/sec"))
        << unit;
}

TEST(PerftestBandwidth, what_does_not_fit_the_table_is_refused) {
  EXPECT_THAT(refusal(bandwidth(" 65536 5 0.0 98.0 0.1\n 65536 5 0.0 98.0 0.1\n")),
              HasSubstr("more than one row"));
  EXPECT_THAT(refusal(bandwidth(" 65536 5 0.0 98.0\n")), HasSubstr("4 numbers below 5 columns"));
  EXPECT_THAT(refusal(bandwidth(" 65536 5 0.0 98.0 0.1 7\n")), HasSubstr("6 numbers below 5 columns"));
  EXPECT_THAT(refusal(bandwidth(" 2 5 0.0 98.0 0.1\n")), HasSubstr("not of 65536"));
  EXPECT_THAT(refusal(bandwidth("")), HasSubstr("no row"));
  EXPECT_THAT(refusal(bandwidth(" 65536 5 98.0\n", " #bytes #iterations BW peak[Gb/sec]\n")),
              HasSubstr("missing column 'BW average[Gb/sec]'"));
  EXPECT_THAT(refusal(bandwidth(" 65536 98.0 99.0\n", " #bytes BW average[Gb/sec] BW average[Gb/sec]\n")),
              HasSubstr("duplicate column"));
  const std::string whole = bandwidth(" 65536 5 0.0 98.0 0.1\n");
  EXPECT_THAT(refusal(whole + whole), HasSubstr("more than one table"));
}

TEST(PerftestBandwidth, an_invalid_amount_is_refused) {
  for (const char* number : {"nan", "-nan", "inf", "-98.02", "0.00", "0", "1000000", "1e300", "1e999",
                             "98,02", "98.02Gb", "0x62", "--", "98.0\x01"})
    EXPECT_FALSE(parse_perftest_bandwidth(bandwidth(std::string(" 65536 5 0.00 ") + number + " 0.1\n")))
        << number;
  EXPECT_FALSE(parse_perftest_bandwidth(bandwidth(" 65536 nan 0.00 98.02 0.1\n")));
}

TEST(PerftestBandwidth, without_a_table_there_is_no_measurement) {
  EXPECT_THAT(refusal(""), HasSubstr("missing table"));
  EXPECT_THAT(refusal(std::string(1U << 20U, '9')), HasSubstr("missing table"));
  EXPECT_THAT(refusal(std::string("\0\xff\x7f#bytes\0", 9)), HasSubstr("missing table"));
  EXPECT_THAT(refusal(latency(" 2 5000 1.24 5.19 1.27 1.27 0.00 1.37 5.19\n")), HasSubstr("not of 65536"));
}

TEST(PerftestBandwidth, a_truncated_output_has_no_other_result) {
  const std::string whole =
      bandwidth(" 65536      560845           0.00               98.02        0.186950\n");
  const std::size_t end = whole.find("0.186950");
  for (std::size_t size = 0; size < end; ++size)
    EXPECT_FALSE(parse_perftest_bandwidth(whole.substr(0, size))) << size;
}

TEST(PerftestLatency, is_of_three_columns) {
  const auto read = parse_perftest_latency(latency(
      " 2       1000          1.24           5.19         1.27     \t       1.28        \t0.00   \t\t1.37    "
      "\t\t4.19   \n"));
  ASSERT_TRUE(read) << read.error().what;
  EXPECT_DOUBLE_EQ(read->typical_microseconds, 1.27);
  EXPECT_DOUBLE_EQ(read->p99_microseconds, 1.37);
  EXPECT_DOUBLE_EQ(read->max_microseconds, 5.19);
}

TEST(PerftestLatency, what_does_not_fit_is_refused) {
  EXPECT_THAT(latency_refusal(latency("")), HasSubstr("no row"));
  EXPECT_THAT(latency_refusal(latency(" 64 1000 1.24 5.19 1.27 1.27 0.00 1.37 5.19\n")),
              HasSubstr("not of 2"));
  EXPECT_THAT(latency_refusal(latency(" 2 1000 1.24 5.19 nan 1.27 0.00 1.37 5.19\n")),
              HasSubstr("'nan' is not a number"));
  EXPECT_THAT(latency_refusal(latency(" 2 1000 1.24 5.19 0.00 1.27 0.00 1.37 5.19\n")),
              HasSubstr("t_typical[usec] is not a valid amount"));
  EXPECT_THAT(latency_refusal(latency(" 2 1000 1.24 1.30 1.27 1.27 0.00 1.37 1.37\n")),
              HasSubstr("the maximum is not the largest value"));
  EXPECT_THAT(latency_refusal(latency(" 2 1000 1.24 1e12 1.27 1.27 0.00 1.37 1.37\n")),
              HasSubstr("t_max[usec] is not a valid amount"));
  EXPECT_THAT(latency_refusal(" #bytes #iterations t_typical[usec] t_max[usec]\n 2 1000 1.27 5.19\n"),
              HasSubstr("missing column '99% percentile[usec]'"));
  EXPECT_THAT(latency_refusal(" #bytes t_typical[msec] 99% percentile[usec] t_max[usec]\n 2 1 1 1\n"),
              HasSubstr("not in usec"));
  EXPECT_THAT(latency_refusal(""), HasSubstr("missing table"));
}

}  // namespace

}  // namespace autopilot::probes::net
