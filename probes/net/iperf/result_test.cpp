// SPDX-License-Identifier: Apache-2.0
#include "probes/net/iperf/result.hpp"

#include <cerrno>
#include <cstdint>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <iperf_api.h>

namespace autopilot::probes::net {
namespace {

std::string_view word(int code, int errno_value = 0) {
  return to_string(failure_of({.code = code, .errno_value = errno_value, .text = ""}, "peer").reason);
}

TEST(Reason, of_a_failed_connection_is_the_error_of_the_kernel) {
  EXPECT_EQ(word(IECONNECT, ECONNREFUSED), "refused");
  EXPECT_EQ(word(IECONNECT, EHOSTUNREACH), "unreachable");
  EXPECT_EQ(word(IECONNECT, ENETUNREACH), "no_route");
  EXPECT_EQ(word(IECONNECT, EADDRNOTAVAIL), "no_address");
  EXPECT_EQ(word(IECONNECT, ETIMEDOUT), "timed_out");
  EXPECT_EQ(word(IECONNECT, EACCES), "denied");
  EXPECT_EQ(word(IESTREAMCONNECT, ECONNREFUSED), "refused");
  EXPECT_EQ(word(IECONNECT), "internal");
}

TEST(Reason, of_a_taken_port_is_its_user) {
  EXPECT_EQ(word(IELISTEN, EADDRINUSE), "port_taken");
  EXPECT_EQ(word(IELISTEN, EADDRNOTAVAIL), "no_address");
  EXPECT_EQ(word(IELISTEN, EACCES), "denied");
}

TEST(Reason, of_a_connection_that_breaks_is_the_peer) {
  EXPECT_EQ(word(IECTRLCLOSE), "peer_vanished");
  EXPECT_EQ(word(IESERVERTERM), "peer_vanished");
  EXPECT_EQ(word(IESTREAMWRITE, ECONNRESET), "peer_vanished");
  EXPECT_EQ(word(IERECVRESULTS, ECONNRESET), "peer_vanished");
  EXPECT_EQ(word(IESTREAMWRITE, ETIMEDOUT), "timed_out");
  EXPECT_EQ(word(IENOMSG), "timed_out");
}

TEST(Reason, of_a_peer_that_answers_is_its_message) {
  EXPECT_EQ(word(IEACCESSDENIED), "busy");
  EXPECT_EQ(word(IEMESSAGE), "wrong_version");
  EXPECT_EQ(word(IERECVRESULTS), "garbage");
  EXPECT_EQ(word(IETOTALRATE), "denied");
  EXPECT_EQ(word(-1), "internal");
}

TEST(Reason, the_sentence_names_the_peer_and_hides_what_cannot_be_printed) {
  const Failure failure =
      failure_of({.code = IECTRLCLOSE, .errno_value = 0, .text = "closed\x1b[2J"}, "10.0.0.2 port 5201");
  EXPECT_EQ(failure.text, "10.0.0.2 port 5201: the connection broke (closed?[2J)");
  EXPECT_LT(failure_of({.code = 1, .errno_value = 0, .text = std::string(100000, 'a')}, "peer").text.size(),
            400U);
}

TEST(Reason, the_error_number_is_found_at_the_end_of_the_message) {
  EXPECT_EQ(errno_at_end_of("unable to connect to server: Connection refused"), ECONNREFUSED);
  EXPECT_EQ(errno_at_end_of("unable to read from stream: Connection reset by peer"), ECONNRESET);
  EXPECT_EQ(errno_at_end_of("Connection refused"), 0);
  EXPECT_EQ(errno_at_end_of("the server is busy running a test. try again later"), 0);
  EXPECT_EQ(errno_at_end_of(""), 0);
}

using testing::HasSubstr;

// A report of iperf3 3.12, reduced to the fields that are read.
constexpr std::string_view kReport =
    R"({"start":{"version":"iperf 3.12","tcp_mss_default":1448,"test_start":{"protocol":"TCP","num_streams":1,"reverse":0}},)"
    R"("intervals":[)"
    R"({"sum":{"start":0,"seconds":1.0,"bits_per_second":5,"omitted":true,"sender":true}},)"
    R"({"sum":{"start":0,"seconds":1.0003,"bits_per_second":989000000.25,"omitted":false,"sender":true}}],)"
    R"("end":{"sum_sent":{"seconds":1.0003,"bits_per_second":990000000.5,"retransmits":3,"sender":true},)"
    R"("sum_received":{"seconds":1.002,"bits_per_second":985000000,"sender":true},)"
    R"("cpu_utilization_percent":{"host_total":12.5,"remote_total":50}},)"
    R"("server_output_json":{"start":{"version":"iperf 3.15"}}})";

std::string changed(std::string_view from, std::string_view to) {
  std::string text(kReport);
  const std::size_t place = text.find(from);
  EXPECT_NE(place, std::string::npos) << from;
  return text.replace(place, from.size(), to);
}

std::string error_of(const std::string& text) {
  const auto result = parse_iperf_result(text);
  return result ? "none" : result.error().what;
}

TEST(IperfResult, has_the_figures_of_both_sides) {
  const auto result = parse_iperf_result(kReport);
  ASSERT_TRUE(result) << result.error().what;
  ASSERT_TRUE(result->to_peer);
  EXPECT_FALSE(result->from_peer);
  EXPECT_EQ(result->to_peer->sent_bits_per_second, 990000000.5);
  EXPECT_EQ(result->to_peer->received_bits_per_second, 985000000);
  EXPECT_EQ(result->to_peer->retransmits, 3);
  EXPECT_EQ(result->mss_bytes, 1448);
  EXPECT_EQ(result->cpu_percent, 12.5);
  EXPECT_EQ(result->peer_cpu_percent, 50);
  EXPECT_EQ(result->version, "iperf 3.12");
  EXPECT_EQ(result->peer_version, "iperf 3.15");
}

TEST(IperfResult, omitted_seconds_are_not_samples) {
  const auto result = parse_iperf_result(changed(R"("reverse":0)", R"("reverse":1)"));
  ASSERT_EQ(result->from_peer->samples.size(), 1U);
  EXPECT_EQ(result->from_peer->samples[0].bits_per_second, 989000000.25);
  EXPECT_EQ(result->from_peer->samples[0].seconds, 1.0003);
}

TEST(IperfResult, samples_count_received_data) {
  const auto sample_with = [](std::string_view intervals) {
    const auto result =
        parse_iperf_result(changed(R"("server_output_json":{)",
                                   R"("server_output_json":{"intervals":[)" + std::string(intervals) + "],"));
    EXPECT_TRUE(result) << result.error().what;
    return result->to_peer->samples.empty() ? -1 : result->to_peer->samples[0].bits_per_second;
  };
  const std::string omitted = R"({"sum":{"seconds":1,"bits_per_second":7,"omitted":true}},)";
  const std::string second = R"({"sum":{"seconds":1,"bits_per_second":960000000,"omitted":false}})";
  const std::string rest = R"(,{"sum":{"seconds":0.0001,"bits_per_second":0,"omitted":false}})";
  EXPECT_EQ(sample_with(omitted + second), 960000000);
  EXPECT_EQ(sample_with(omitted + second + rest), 960000000);
  // Other times than this end's, or none that can be read: what was sent, by the share that arrived.
  const double share = 989000000.25 * (985000000 / 990000000.5);
  const std::string half = R"({"sum":{"seconds":0.5,"bits_per_second":960000000,"omitted":false}})";
  for (const std::string& intervals :
       {std::string(), half + "," + half, rest.substr(1), std::string("7"), std::string("{}")})
    EXPECT_DOUBLE_EQ(sample_with(intervals), share) << intervals;
}

TEST(IperfResult, the_reverse_direction_is_assigned_correctly) {
  const auto result = parse_iperf_result(changed(R"("reverse":0)", R"("reverse":1)"));
  ASSERT_TRUE(result);
  EXPECT_FALSE(result->to_peer);
  EXPECT_EQ(result->from_peer->received_bits_per_second, 985000000);
}

TEST(IperfResult, both_directions_are_separate) {
  std::string text = changed(R"("sum_received":)",
                             R"("sum_sent_bidir_reverse":{"bits_per_second":200},)"
                             R"("sum_received_bidir_reverse":{"bits_per_second":190},"sum_received":)");
  EXPECT_THAT(error_of(text), HasSubstr("intervals[0].sum_bidir_reverse: missing"));
  for (std::size_t place = 0; (place = text.find(R"({"sum":{)", place)) != std::string::npos; ++place)
    text.insert(place + 1, R"("sum_bidir_reverse":{"seconds":1,"bits_per_second":180,"omitted":false},)");
  const auto result = parse_iperf_result(text);
  ASSERT_TRUE(result) << result.error().what;
  EXPECT_EQ(result->to_peer->received_bits_per_second, 985000000);
  EXPECT_EQ(result->from_peer->sent_bits_per_second, 200);
  EXPECT_EQ(result->from_peer->received_bits_per_second, 190);
  EXPECT_EQ(result->from_peer->samples.size(), 2U);
  EXPECT_EQ(result->from_peer->retransmits, std::nullopt);
}

TEST(IperfResult, a_missing_number_is_not_zero) {
  EXPECT_EQ(error_of(changed(R"("bits_per_second":985000000)", R"("bytes":1)")),
            "end.sum_received.bits_per_second: missing");
  EXPECT_EQ(error_of(changed(R"("bits_per_second":985000000)", R"("bits_per_second":null)")),
            "end.sum_received.bits_per_second: missing");
  EXPECT_EQ(error_of(changed(R"("seconds":1.0003,"bits_per_second":989)", R"("bits_per_second":989)")),
            "intervals[1].sum.seconds: missing");
  EXPECT_THAT(error_of(changed(R"("reverse":0)", R"("reverse":2)")), HasSubstr("start.test_start.reverse"));
  EXPECT_THAT(error_of(changed(R"("intervals":[)", R"("others":[)")), HasSubstr("intervals: missing"));
}

TEST(IperfResult, an_invalid_amount_is_refused) {
  for (const char* number : {"-1", "\"985 Mbits/sec\"", "[985]", "true", "1e300", "1e16", "{}"})
    EXPECT_THAT(
        error_of(changed(R"("bits_per_second":985000000)", std::string(R"("bits_per_second":)") + number)),
        HasSubstr("end.sum_received.bits_per_second: invalid amount"))
        << number;
  EXPECT_THAT(error_of(changed(R"("host_total":12.5)", R"("host_total":-3)")),
              HasSubstr("host_total: invalid amount"));
  EXPECT_THAT(error_of(changed(R"("retransmits":3)", R"("retransmits":1.5)")),
              HasSubstr("retransmits: invalid count"));
}

TEST(IperfResult, an_unknown_count_is_not_set) {
  EXPECT_EQ(parse_iperf_result(changed(R"("retransmits":3)", R"("retransmits":-1)"))->to_peer->retransmits,
            std::nullopt);
  EXPECT_EQ(parse_iperf_result(changed(R"("retransmits":3)", R"("x":3)"))->to_peer->retransmits,
            std::nullopt);
  EXPECT_EQ(parse_iperf_result(changed("remote_total", "x"))->peer_cpu_percent, std::nullopt);
  EXPECT_EQ(parse_iperf_result(changed("server_output_json", "server_output_text"))->peer_version, "");
}

TEST(IperfResult, other_text_is_not_a_report) {
  for (const std::string text : {"", "{}", "[]", "null", "{\"start\":[]}", "\xff\xfe", "iperf3: error"})
    EXPECT_FALSE(parse_iperf_result(text)) << text;
  for (std::size_t size = 0; size < kReport.size(); ++size)
    EXPECT_FALSE(parse_iperf_result(kReport.substr(0, size)));
  EXPECT_FALSE(parse_iperf_result(std::string(100000, '[')));
  EXPECT_THAT(error_of(changed(R"("start":)", R"("error":"the server has terminated","start":)")),
              HasSubstr("has terminated"));
}

TEST(IperfResult, more_samples_than_requested_are_refused) {
  const std::string sample = R"({"sum":{"seconds":1,"bits_per_second":1,"omitted":false}},)";
  std::string many;
  for (std::size_t i = 0; i < kMostSamples; ++i)
    many += sample;
  const auto result = parse_iperf_result(changed(R"("intervals":[)", R"("intervals":[)" + many));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Errc::exhausted);
}

}  // namespace

}  // namespace autopilot::probes::net
