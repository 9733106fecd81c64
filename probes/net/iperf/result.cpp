// SPDX-License-Identifier: Apache-2.0
#include "probes/net/iperf/result.hpp"

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <cerrno>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <iperf_api.h>

#include "core/parse.hpp"
#include "core/word_table.hpp"

namespace autopilot::probes::net {
namespace {

constexpr WordTable<Reason, 16> kWords{{
    {Reason::refused, "refused"},
    {Reason::unreachable, "unreachable"},
    {Reason::no_route, "no_route"},
    {Reason::no_address, "no_address"},
    {Reason::timed_out, "timed_out"},
    {Reason::busy, "busy"},
    {Reason::wrong_version, "wrong_version"},
    {Reason::peer_vanished, "peer_vanished"},
    {Reason::port_taken, "port_taken"},
    {Reason::denied, "denied"},
    {Reason::garbage, "garbage"},
    {Reason::killed, "killed"},
    {Reason::no_program, "no_program"},
    {Reason::no_cuda, "no_cuda"},
    {Reason::no_end, "no_end"},
    {Reason::internal, "internal"},
}};

// Error numbers of Linux are below this.
constexpr int kEndOfErrnos = 134;
constexpr std::size_t kLongestText = 300;

// During connection setup.
Reason reason_of_connecting(int errno_value) {
  switch (errno_value) {
    case ECONNREFUSED:
      return Reason::refused;
    case EHOSTUNREACH:
    case EHOSTDOWN:
      return Reason::unreachable;
    case ENETUNREACH:
    case ENETDOWN:
    case EINVAL:  // a blackhole route
      return Reason::no_route;
    case EADDRNOTAVAIL:
    case ENODEV:
      return Reason::no_address;
    case ETIMEDOUT:
    case EINPROGRESS:
      return Reason::timed_out;
    case EACCES:
    case EPERM:
      return Reason::denied;
    case ECONNRESET:
    case EPIPE:
      return Reason::peer_vanished;
    default:
      return Reason::internal;
  }
}

Reason reason_of_listening(int errno_value) {
  switch (errno_value) {
    case EADDRINUSE:
      return Reason::port_taken;
    case EADDRNOTAVAIL:
    case ENODEV:
      return Reason::no_address;
    case EACCES:
    case EPERM:
      return Reason::denied;
    default:
      return Reason::internal;
  }
}

// On an established connection.
Reason reason_of_talking(int errno_value) {
  switch (errno_value) {
    case ETIMEDOUT:
      return Reason::timed_out;
    case EHOSTUNREACH:
      return Reason::unreachable;
    case ENETUNREACH:
      return Reason::no_route;
    default:
      return Reason::peer_vanished;
  }
}

Reason reason_of(const IperfError& error) {
  switch (error.code) {
    case IECONNECT:
    case IESTREAMCONNECT:
    case IEBINDDEV:
      return reason_of_connecting(error.errno_value);
    case IELISTEN:
    case IESTREAMLISTEN:
      return reason_of_listening(error.errno_value);
    case IEACCESSDENIED:
      return Reason::busy;
    case IETOTALRATE:
    case IEAUTHTEST:
      return Reason::denied;
    case IENOMSG:
      return Reason::timed_out;
    case IEMESSAGE:
    case IEPROTOCOL:
    case IERECVPARAMS:
    case IERECVCOOKIE:
      return Reason::wrong_version;
    case IERECVRESULTS:
    case IEPACKAGERESULTS:
      return error.errno_value == 0 ? Reason::garbage : reason_of_talking(error.errno_value);
    case IESENDCOOKIE:
    case IECTRLWRITE:
    case IECTRLREAD:
    case IECTRLCLOSE:
    case IESENDMESSAGE:
    case IERECVMESSAGE:
    case IESENDPARAMS:
    case IESENDRESULTS:
    case IECLIENTTERM:
    case IESERVERTERM:
    case IESTREAMWRITE:
    case IESTREAMREAD:
    case IESTREAMCLOSE:
      return reason_of_talking(error.errno_value);
    default:
      return Reason::internal;
  }
}

std::string_view sentence_of(Reason reason) {
  switch (reason) {
    case Reason::refused:
      return "connection refused: no program listens on the port";
    case Reason::unreachable:
      return "the address is unreachable";
    case Reason::no_route:
      return "this machine has no route to the address";
    case Reason::no_address:
      return "this machine does not have the given address or interface";
    case Reason::timed_out:
      return "no response within the time limit";
    case Reason::busy:
      return "the peer is running another test";
    case Reason::wrong_version:
      return "the peer does not use the iperf3 protocol";
    case Reason::peer_vanished:
      return "the connection broke";
    case Reason::port_taken:
      return "another program listens on the port";
    case Reason::denied:
      return "permission denied";
    case Reason::garbage:
      return "the peer's results are malformed";
    case Reason::killed:
    case Reason::no_program:
    case Reason::no_cuda:
    case Reason::no_end:
    case Reason::internal:
      return "libiperf failed";
  }
  return {};
}

}  // namespace

std::string_view to_string(Reason reason) {
  return word_of(kWords, reason);
}

Failure failure_of(const IperfError& error, const std::string& place) {
  const Reason reason = reason_of(error);
  std::string text = place + ": " + std::string(sentence_of(reason));
  if (!error.text.empty()) text += " (" + to_printable(error.text, kLongestText) + ")";
  return {reason, std::move(text)};
}

int errno_at_end_of(std::string_view text) {
  for (int number = 1; number < kEndOfErrnos; ++number)
    if (text.ends_with(std::string(": ") + std::strerror(number))) return number;
  return 0;
}

namespace {

namespace json = boost::json;

// Above every link and processor: a larger number is not a measurement.
constexpr double kMostAmount = 1e15;
constexpr std::size_t kLongestVersion = 80;

const json::value* find(const json::object& parent, std::string_view name) {
  const auto found = parent.find(name);
  return found == parent.end() || found->value().is_null() ? nullptr : &found->value();
}

Result<const json::object*> object_at(const json::object& parent, std::string_view name,
                                      const std::string& path) {
  const json::value* found = find(parent, name);
  if (found == nullptr || !found->is_object())
    return fail(Errc::malformed, path + ": missing or not an object");
  return &found->get_object();
}

// Not negative and finite.
Result<double> amount_of(const json::value& value, const std::string& path) {
  double number = -1;
  if (value.is_double()) number = value.get_double();
  if (value.is_int64()) number = static_cast<double>(value.get_int64());
  if (value.is_uint64()) number = static_cast<double>(value.get_uint64());
  if (!std::isfinite(number) || number < 0 || number > kMostAmount)
    return fail(Errc::malformed, path + ": invalid amount: " + to_printable(json::serialize(value), 40));
  return number;
}

Result<double> amount_at(const json::object& parent, std::string_view name, const std::string& path) {
  const json::value* found = find(parent, name);
  const std::string place = path + "." + std::string(name);
  if (found == nullptr) return fail(Errc::malformed, place + ": missing");
  return amount_of(*found, place);
}

Result<std::optional<double>> optional_amount_at(const json::object& parent, std::string_view name,
                                                 const std::string& path) {
  const json::value* found = find(parent, name);
  if (found == nullptr) return std::nullopt;
  const double amount = TRY(amount_of(*found, path + "." + std::string(name)));
  return amount;
}

// -1 means unknown.
Result<std::optional<std::int64_t>> count_at(const json::object& parent, std::string_view name,
                                             const std::string& path) {
  const json::value* found = find(parent, name);
  if (found == nullptr) return std::nullopt;
  if (found->is_int64() && found->get_int64() == -1) return std::nullopt;
  if (!found->is_int64() || found->get_int64() < 0)
    return fail(Errc::malformed, path + "." + std::string(name) +
                                     ": invalid count: " + to_printable(json::serialize(*found), 40));
  return found->get_int64();
}

Result<bool> flag_at(const json::object& parent, std::string_view name, const std::string& path) {
  const json::value* found = find(parent, name);
  if (found != nullptr && found->is_bool()) return found->get_bool();
  if (found != nullptr && found->is_int64() && (found->get_int64() == 0 || found->get_int64() == 1))
    return found->get_int64() == 1;
  return fail(Errc::malformed, path + "." + std::string(name) + ": missing or not a boolean");
}

std::string version_in(const json::object& start) {
  const json::value* found = find(start, "version");
  if (found == nullptr || !found->is_string()) return {};
  return to_printable(found->get_string(), kLongestVersion);
}

// Only from a peer that reports in JSON.
const json::object* peer_report_in(const json::object& report) {
  const json::value* theirs = find(report, "server_output_json");
  return theirs != nullptr ? theirs->if_object() : nullptr;
}

std::string peer_version_in(const json::object& report) {
  const json::object* theirs = peer_report_in(report);
  const json::value* start = theirs != nullptr ? find(*theirs, "start") : nullptr;
  return start != nullptr && start->is_object() ? version_in(start->get_object()) : std::string();
}

// The totals of one direction; with two directions, names of the reverse direction have a suffix.
Result<Direction> totals_of(const json::object& end, const std::string& suffix) {
  Direction direction;
  const std::string sent_path = "end.sum_sent" + suffix;
  const json::object* sent = TRY(object_at(end, "sum_sent" + suffix, sent_path));
  direction.sent_bits_per_second = TRY(amount_at(*sent, "bits_per_second", sent_path));
  direction.retransmits = TRY(count_at(*sent, "retransmits", sent_path));
  const std::string received_path = "end.sum_received" + suffix;
  const json::object* received = TRY(object_at(end, "sum_received" + suffix, received_path));
  direction.received_bits_per_second = TRY(amount_at(*received, "bits_per_second", received_path));
  return direction;
}

Status take_sample(const json::object& interval, std::string_view name, const std::string& path,
                   std::vector<Sample>& samples) {
  const json::object* sum = TRY(object_at(interval, name, path));
  const bool is_omitted = TRY(flag_at(*sum, "omitted", path));
  Sample sample;
  sample.seconds = TRY(amount_at(*sum, "seconds", path));
  sample.bits_per_second = TRY(amount_at(*sum, "bits_per_second", path));
  if (!is_omitted) samples.push_back(sample);
  return {};
}

struct Samples {
  std::vector<Sample> all;
  std::vector<Sample> of_reverse;  // in a test of both directions
};

Result<Samples> samples_in(const json::object& report, bool has_both) {
  const json::value* found = find(report, "intervals");
  if (found == nullptr || !found->is_array())
    return fail(Errc::malformed, "intervals: missing or not a list");
  const json::array& intervals = found->get_array();
  if (intervals.size() > kMostSamples)
    return fail(Errc::exhausted, "intervals: more than this probe requests");
  Samples samples;
  for (std::size_t i = 0; i < intervals.size(); ++i) {
    const std::string path = "intervals[" + std::to_string(i) + "]";
    if (!intervals[i].is_object()) return fail(Errc::malformed, path + ": not an object");
    const json::object& interval = intervals[i].get_object();
    TRY_STATUS(take_sample(interval, "sum", path + ".sum", samples.all));
    if (has_both)
      TRY_STATUS(take_sample(interval, "sum_bidir_reverse", path + ".sum_bidir_reverse", samples.of_reverse));
  }
  return samples;
}

// Empty if the peer reports as text, or not at all.
std::vector<Sample> peer_samples_in(const json::object& report) {
  const json::object* theirs = peer_report_in(report);
  if (theirs == nullptr) return {};
  auto samples = samples_in(*theirs, false);
  return samples ? std::move(samples->all) : std::vector<Sample>();
}

// The peer has intervals of its own, and can have an extra one without duration.
bool are_of_the_same_times(const std::vector<Sample>& theirs, const std::vector<Sample>& ours) {
  constexpr double kMostApart = 0.2;
  if (theirs.size() < ours.size()) return false;
  for (std::size_t i = 0; i < ours.size(); ++i)
    if (std::abs(theirs[i].seconds - ours[i].seconds) > kMostApart * ours[i].seconds) return false;
  return true;
}

// Data that left the sender in a second can be queued where the sender does not see it. Uses the peer's
// numbers, or without them the received share of the total.
std::vector<Sample> arrived_of(std::vector<Sample> received, const Direction& direction,
                               std::vector<Sample> sent) {
  if (are_of_the_same_times(received, sent)) {
    received.resize(sent.size());
    return received;
  }
  const double share = direction.sent_bits_per_second > 0
                           ? direction.received_bits_per_second / direction.sent_bits_per_second
                           : 1;
  for (Sample& sample : sent)
    sample.bits_per_second *= share;
  return sent;
}

Status take_samples(const json::object& report, IperfResult& result) {
  const bool has_both = result.to_peer && result.from_peer;
  Samples samples = TRY(samples_in(report, has_both));
  if (result.from_peer) result.from_peer->samples = has_both ? std::move(samples.of_reverse) : samples.all;
  // In a test of both directions, the peer uses other names.
  auto received = has_both ? std::vector<Sample>() : peer_samples_in(report);
  if (result.to_peer)
    result.to_peer->samples = arrived_of(std::move(received), *result.to_peer, std::move(samples.all));
  return {};
}

Status take_totals(const json::object& report, IperfResult& result) {
  const json::object* start = TRY(object_at(report, "start", "start"));
  const json::object* setup = TRY(object_at(*start, "test_start", "start.test_start"));
  const bool is_reverse = TRY(flag_at(*setup, "reverse", "start.test_start"));
  const json::object* end = TRY(object_at(report, "end", "end"));
  // iperf3 3.12 does not record that both directions were requested.
  if (find(*end, "sum_sent_bidir_reverse") != nullptr) {
    result.to_peer = TRY(totals_of(*end, ""));
    result.from_peer = TRY(totals_of(*end, "_bidir_reverse"));
  } else if (is_reverse) {
    result.from_peer = TRY(totals_of(*end, ""));
  } else {
    result.to_peer = TRY(totals_of(*end, ""));
  }
  const json::value* cpu = find(*end, "cpu_utilization_percent");
  if (cpu != nullptr && cpu->is_object()) {
    const std::string path = "end.cpu_utilization_percent";
    result.cpu_percent = TRY(optional_amount_at(cpu->get_object(), "host_total", path));
    result.peer_cpu_percent = TRY(optional_amount_at(cpu->get_object(), "remote_total", path));
  }
  result.version = version_in(*start);
  // The name depends on whether a segment size was requested.
  result.mss_bytes = TRY(count_at(*start, "tcp_mss", "start"));
  if (!result.mss_bytes) result.mss_bytes = TRY(count_at(*start, "tcp_mss_default", "start"));
  return {};
}

}  // namespace

Result<IperfResult> parse_iperf_result(std::string_view report_text) {
  json::error_code error;
  const json::value parsed = json::parse(report_text, error);
  if (error) return fail(Errc::malformed, "not JSON: " + error.message());
  if (!parsed.is_object()) return fail(Errc::malformed, "not an iperf3 report");
  const json::object& report = parsed.get_object();
  if (const json::value* message = find(report, "error"))
    return fail(Errc::malformed, "iperf3 reports: " + to_printable(json::serialize(*message), 200));
  IperfResult result;
  TRY_STATUS(take_totals(report, result));
  TRY_STATUS(take_samples(report, result));
  result.peer_version = peer_version_in(report);
  return result;
}

}  // namespace autopilot::probes::net
