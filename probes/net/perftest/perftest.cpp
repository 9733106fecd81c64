// SPDX-License-Identifier: Apache-2.0
#include "probes/net/perftest/perftest.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string>
#include <vector>

#include "core/parse.hpp"

namespace autopilot::probes::net {
namespace {

constexpr std::size_t kLongestName = 63;
constexpr int kMostDevicePort = 254;
// Number of messages in each direction.
constexpr int kIterations = 5000;
constexpr std::string_view kGpuOption = "--use_cuda_bus_id";

bool is_of_a_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
         c == '.';
}

bool is_device_name(std::string_view text) {
  return !text.empty() && text.size() <= kLongestName && text[0] != '-' && text[0] != '.' &&
         std::all_of(text.begin(), text.end(), is_of_a_name);
}

std::string gigabits(std::uint64_t bits_per_second) {
  constexpr double kGigabit = 1e9;
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(),
                                 static_cast<double>(bits_per_second) / kGigabit, std::chars_format::fixed, 6)
                       .ptr;
  return {text.data(), end};
}

bool names(std::string_view help, std::string_view option) {
  const auto words = split_words(help);
  return std::any_of(words.begin(), words.end(),
                     [option](std::string_view word) { return word.substr(0, word.find('=')) == option; });
}

void add_source(std::vector<std::string>& words, const PerftestTest& test) {
  if (test.source_option == SourceOption::source_ip) words.push_back("--source_ip=" + test.address);
  if (test.source_option == SourceOption::bind_source_ip)
    words.insert(words.end(), {"--bind_source_ip", test.address});
}

}  // namespace

std::string_view program_of(Tool tool) {
  switch (tool) {
    case Tool::write_bandwidth:
      return "ib_write_bw";
    case Tool::read_bandwidth:
      return "ib_read_bw";
    case Tool::send_latency:
      return "ib_send_lat";
  }
  return {};
}

std::optional<Device> parse_device(std::string_view text) {
  const std::size_t slash = text.find('/');
  const std::string_view name = text.substr(0, slash);
  if (!is_device_name(name)) return std::nullopt;
  if (slash == std::string_view::npos) return Device{std::string(name), 1};
  const auto port = parse_number<int>(text.substr(slash + 1));
  if (!port || *port < 1 || *port > kMostDevicePort) return std::nullopt;
  return Device{std::string(name), *port};
}

std::optional<SourceOption> source_option_in(std::string_view help) {
  // If a version has both options, the other one is for raw packets.
  if (names(help, "--bind_source_ip")) return SourceOption::bind_source_ip;
  if (names(help, "--source_ip")) return SourceOption::source_ip;
  return std::nullopt;
}

bool has_cuda_in(std::string_view help) {
  return names(help, kGpuOption);
}

std::vector<std::string> perftest_arguments(const PerftestTest& test) {
  std::vector<std::string> words = {
      std::string(program_of(test.tool)), "-d", test.device.name,          "-i",
      std::to_string(test.device.port),   "-p", std::to_string(test.port), "-F"};
  if (test.tool == Tool::send_latency) {
    words.insert(words.end(), {"-n", std::to_string(kIterations), "-s", std::to_string(kLatencyBytes)});
  } else {
    // perftest's duration includes the margins.
    words.insert(words.end(), {"--report_gbits", "-D", std::to_string(test.seconds + 2 * kMarginSeconds),
                               "-f", std::to_string(kMarginSeconds), "-s", std::to_string(kBandwidthBytes),
                               "-q", std::to_string(test.queues)});
    if (!test.device.gpu.empty()) words.push_back(std::string(kGpuOption) + "=" + test.device.gpu);
    if (test.bits_per_second && !test.to.empty())
      words.insert(words.end(), {"--rate_limit=" + gigabits(*test.bits_per_second), "--rate_limit_type=SW",
                                 "--rate_units=g"});
  }
  add_source(words, test);
  if (!test.to.empty()) words.push_back(test.to);
  return words;
}

std::string place_of(const PerftestTest& test) {
  const std::string where = test.to.empty() ? " at " + test.address : " to " + test.to;
  return std::string(program_of(test.tool)) + where + " port " + std::to_string(test.port);
}

namespace {

constexpr std::size_t kLastLines = 3;
// The peer's adapter did not acknowledge in all retries.
constexpr int kRetriesExceeded = 12;

struct Words {
  std::string_view part;
  Reason reason;
};

// The first match counts. The order only ensures that a cause precedes its consequences.
constexpr std::array kKnown{
    Words{"Couldn't connect to", Reason::refused},
    Words{"Couldn't listen to port", Reason::port_taken},
    Words{"not compatible with versions", Reason::wrong_version},
    Words{"Did not detect devices", Reason::no_address},
    Words{"Unable to find the Infiniband/RoCE device", Reason::no_address},
    Words{"Couldn't allocate MR", Reason::denied},
    Words{"Cannot allocate memory", Reason::denied},
    Words{"Failed status ", Reason::peer_vanished},
    Words{"Completion with error at client", Reason::peer_vanished},
    Words{"ethernet_read_keys: Couldn't read remote address", Reason::peer_vanished},
    Words{"Unable to exchange", Reason::peer_vanished},
    Words{"Failed to exchange data between server and client", Reason::peer_vanished},
};

// The cause of a failure in the output of a program.
struct Cause {
  Reason reason = Reason::internal;
  std::string_view line;
  std::optional<int> status{};  // of a completion
};

std::string_view line_around(std::string_view text, std::size_t place) {
  const std::size_t before = text.substr(0, place).rfind('\n');
  const std::size_t begin = before == std::string_view::npos ? 0 : before + 1;
  return trim(text.substr(begin, text.find('\n', place) - begin));
}

std::optional<int> status_in(std::string_view after) {
  return parse_number<int>(after.substr(0, after.find_first_not_of("0123456789")));
}

bool is_about_a_missing_device(std::string_view line) {
  const std::size_t begin = line.find("IB device ");
  return begin != std::string_view::npos && line.find("not found", begin) != std::string_view::npos;
}

std::optional<Cause> cause_in(std::string_view output) {
  for (const std::string_view line : split(output, '\n'))
    if (is_about_a_missing_device(line)) return Cause{Reason::no_address, trim(line)};
  for (const auto& [part, reason] : kKnown) {
    const std::size_t place = output.find(part);
    if (place == std::string_view::npos) continue;
    Cause cause{reason, line_around(output, place)};
    if (part == "Failed status ") cause.status = status_in(output.substr(place + part.size()));
    if (cause.status == kRetriesExceeded) cause.reason = Reason::timed_out;
    return cause;
  }
  return std::nullopt;
}

// True for lines that every test prints before its results.
bool is_of_the_banner(std::string_view line) {
  constexpr std::array<std::string_view, 8> kBeginnings{
      "---",  "RDMA_",           "Send Latency", "local address:", "remote address:",
      "GID:", "Conflicting CPU", "* Wai"};
  return line.find(" : ") != std::string_view::npos || line.find("***") != std::string_view::npos ||
         std::any_of(kBeginnings.begin(), kBeginnings.end(),
                     [line](std::string_view beginning) { return line.starts_with(beginning); });
}

std::string last_words(std::string_view output) {
  std::vector<std::string_view> lines;
  for (const std::string_view whole : split(output, '\n')) {
    const std::string_view line = trim(whole);
    if (!line.empty() && !is_of_the_banner(line)) lines.push_back(line);
  }
  std::string text;
  for (std::size_t i = lines.size() - std::min(lines.size(), kLastLines); i < lines.size(); ++i)
    text.append(text.empty() ? "" : "; ").append(lines[i]);
  return text;
}

std::string sentence_of(const Cause& cause, const PerftestTest& test) {
  switch (cause.reason) {
    case Reason::refused:
      return "connection refused: no program listens on the port";
    case Reason::port_taken:
      return "another program listens on the port";
    case Reason::wrong_version:
      return "the perftest versions of both sides are incompatible";
    case Reason::no_address:
      return "this machine has no device " + test.device.name;
    case Reason::denied:
      return test.device.gpu.empty()
                 ? "no memory for the adapter: is the limit of locked memory (memlock) too low?"
                 : "the adapter cannot reach the memory of GPU " + test.device.gpu +
                       ": is the module nvidia_peermem loaded?";
    case Reason::timed_out:
      return "the peer's adapter does not answer";
    default:
      return cause.status ? "the connection broke with status " + std::to_string(*cause.status)
                          : "the connection broke";
  }
}

std::string in_brackets(std::string_view words) {
  return words.empty() ? std::string() : " (" + std::string(words) + ")";
}

}  // namespace

Failure failure_at(const PerftestTest& test, Reason reason, const std::string& sentence) {
  return {reason, to_printable(place_of(test) + ": " + sentence, kLongestFailure)};
}

Failure failure_without_program(Tool tool) {
  return {Reason::no_program, std::string(program_of(tool)) + ": no such program in PATH; install perftest"};
}

std::optional<Failure> failure_without_cuda(const PerftestTest& test, bool has_cuda) {
  if (has_cuda || test.device.gpu.empty() || test.tool == Tool::send_latency) return std::nullopt;
  return failure_at(test, Reason::no_cuda,
                    "it cannot use the memory of GPUs; perftest has to be built with CUDA");
}

Failure failure_of_end(const PerftestTest& test, const ChildEnd& end, std::string_view output) {
  const std::string words = in_brackets(last_words(output));
  // The silent part is unknown: the adapter, the peer's program over TCP, or this program.
  if (end.was_overdue) return failure_at(test, Reason::no_end, "no end within its time limit" + words);
  if (end.had_too_much_output)
    return failure_at(test, Reason::garbage, "more than " + std::to_string(kMostOutputBytes) + " bytes");
  if (end.signal)
    return failure_at(test, Reason::killed,
                      "the program was ended by signal " + std::to_string(*end.signal) + words);
  if (const auto cause = cause_in(output))
    return failure_at(test, cause->reason, sentence_of(*cause, test) + in_brackets(cause->line));
  return failure_at(test, Reason::internal,
                    "the program ended with code " + std::to_string(end.code.value_or(-1)) + words);
}

Failure failure_of_figures(const PerftestTest& test, const Error& error) {
  return failure_at(test, Reason::garbage, "malformed output: " + error.what);
}

namespace {

// Above every link rate and message time: a larger number is not a measurement.
constexpr double kMostBits = 1e15;
constexpr double kMostMicroseconds = 1e9;
constexpr double kGigabit = 1e9;
constexpr std::string_view kFirstColumn = "#bytes";
constexpr std::size_t kLongestQuote = 60;

// The column names and the numbers of the only row.
struct Table {
  std::vector<std::string> columns;
  std::vector<double> row;
};

tl::unexpected<Error> refuse(const std::string& what) {
  return fail(Errc::malformed, what);
}

std::string in_quotes(std::string_view text) {
  return "'" + to_printable(text, kLongestQuote) + "'";
}

// A name can end with a unit in brackets or begin with '#', and can have several words.
std::vector<std::string> columns_in(std::string_view header) {
  std::vector<std::string> columns;
  std::string name;
  for (const std::string_view word : split_words(header)) {
    name.append(name.empty() ? "" : " ").append(word);
    if (!name.starts_with('#') && !name.ends_with(']')) continue;
    columns.push_back(std::move(name));
    name.clear();
  }
  if (!name.empty()) columns.push_back(std::move(name));
  return columns;
}

bool has_column(const Table& table, std::string_view name) {
  return std::find(table.columns.begin(), table.columns.end(), name) != table.columns.end();
}

bool begins_with_number(const std::vector<std::string_view>& words) {
  return !words.empty() && parse_number<double>(words[0]).has_value();
}

Status take_header(std::string_view line, Table& table) {
  if (!table.columns.empty()) return refuse("more than one table");
  table.columns = columns_in(line);
  std::vector<std::string> sorted = table.columns;
  std::sort(sorted.begin(), sorted.end());
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) return refuse("duplicate column");
  return {};
}

Status take_row(const std::vector<std::string_view>& words, int bytes, Table& table) {
  if (!table.row.empty()) return refuse("the table has more than one row");
  if (words.size() != table.columns.size())
    return refuse("a row of " + std::to_string(words.size()) + " numbers below " +
                  std::to_string(table.columns.size()) + " columns");
  for (const std::string_view word : words) {
    const auto number = parse_number<double>(word);
    if (!number) return refuse(in_quotes(word) + " is not a number");
    table.row.push_back(*number);
  }
  if (parse_number<int>(words[0]) != bytes)
    return refuse("a row of messages of " + in_quotes(words[0]) + " bytes, not of " + std::to_string(bytes));
  return {};
}

// Other lines can be anywhere.
Result<Table> table_in(std::string_view output, int bytes) {
  Table table;
  for (const std::string_view line : split(output, '\n')) {
    const auto words = split_words(line);
    if (!words.empty() && words[0] == kFirstColumn)
      TRY_STATUS(take_header(line, table));
    else if (!table.columns.empty() && begins_with_number(words))
      TRY_STATUS(take_row(words, bytes, table));
  }
  if (table.columns.empty()) return refuse("missing table");
  if (table.row.empty()) return refuse("the table has no row");
  return table;
}

Result<double> amount_of(const Table& table, const std::string& name, double most) {
  const auto found = std::find(table.columns.begin(), table.columns.end(), name);
  if (found == table.columns.end()) return refuse("missing column " + in_quotes(name));
  const double amount = table.row[static_cast<std::size_t>(found - table.columns.begin())];
  if (amount <= 0 || amount >= most)
    return refuse(name + " is not a valid amount: " + std::to_string(amount));
  return amount;
}

// The unit in the table, if it is not the expected one.
std::optional<std::string> other_unit_of(const Table& table, const std::string& name) {
  for (const std::string& column : table.columns)
    if (column.starts_with(name + "[")) return column.substr(name.size());
  return std::nullopt;
}

Result<double> measured_in(const Table& table, const std::string& name, const std::string& unit,
                           double most) {
  const std::string column = name + "[" + unit + "]";
  const auto other = other_unit_of(table, name);
  if (!has_column(table, column) && other)
    return refuse(name + " is in " + in_quotes(*other) + ", not in " + unit);
  return amount_of(table, column, most);
}

}  // namespace

Result<double> parse_perftest_bandwidth(std::string_view output) {
  const Table table = TRY(table_in(output, kBandwidthBytes));
  const double gigabits = TRY(measured_in(table, "BW average", "Gb/sec", kMostBits / kGigabit));
  return gigabits * kGigabit;
}

Result<PerftestLatency> parse_perftest_latency(std::string_view output) {
  const Table table = TRY(table_in(output, kLatencyBytes));
  PerftestLatency latency;
  latency.typical_microseconds = TRY(measured_in(table, "t_typical", "usec", kMostMicroseconds));
  latency.p99_microseconds = TRY(measured_in(table, "99% percentile", "usec", kMostMicroseconds));
  latency.max_microseconds = TRY(measured_in(table, "t_max", "usec", kMostMicroseconds));
  if (latency.max_microseconds < latency.typical_microseconds ||
      latency.max_microseconds < latency.p99_microseconds)
    return refuse("the maximum is not the largest value");
  return latency;
}

}  // namespace autopilot::probes::net
