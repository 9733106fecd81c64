// SPDX-License-Identifier: Apache-2.0
#include "probes/net/run/perftest_program.hpp"

#include "probes/net/perftest/failure.hpp"
#include "probes/net/processes/program.hpp"

namespace autopilot::probes::net {
namespace {

constexpr std::chrono::seconds kPatience{5};
constexpr const char* kHelp = "--help";

// The exit code has no meaning: with some versions even help is an error.
std::optional<Failure> failure_in(const ChildEnd& end, const std::string& place) {
  if (end.was_overdue)
    return Failure{Reason::timed_out, place + ": no end after " + format_duration(kPatience)};
  if (end.said_too_much) return Failure{Reason::garbage, place + ": too much output"};
  if (end.signal) return Failure{Reason::killed, place + ": ended by signal " + std::to_string(*end.signal)};
  return std::nullopt;
}

}  // namespace

std::variant<PerftestProgram, Failure> ask_program(Crew& crew, Tool tool, int& signal) {
  const std::string name(program_of(tool));
  const auto file = find_program(name);
  if (!file) return failure_without_program(tool);
  const auto child = crew.start(work_of_program(*file, {name, kHelp}), mono_now() + kPatience);
  if (!child) return Failure{Reason::internal, child.error().what};
  while (crew.is_running(*child)) {
    const Event event = crew.wait(MonoTime::max());
    if (event.kind != Event::Kind::signal) continue;
    signal = event.signal;
    return Failure{Reason::killed, name + ": stopped by a signal"};
  }
  if (auto failure = failure_in(crew.end(*child), name + " " + kHelp)) return std::move(*failure);
  const std::string& help = crew.output(*child);
  return PerftestProgram{*file, source_option_in(help), has_cuda_in(help)};
}

}  // namespace autopilot::probes::net
