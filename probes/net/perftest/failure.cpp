// SPDX-License-Identifier: Apache-2.0
#include "probes/net/perftest/failure.hpp"

#include <algorithm>
#include <array>

#include "core/parse.hpp"

namespace autopilot::probes::net {
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
  if (end.said_too_much)
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

}  // namespace autopilot::probes::net
