// SPDX-License-Identifier: Apache-2.0
#include "diagnostics/child/simulated_probe.hpp"

#include <algorithm>
#include <iostream>
#include <iterator>
#include <memory>
#include <thread>

#include "core/clock.hpp"
#include "diagnostics/child/child_line.hpp"
#include "host/files/fd.hpp"

namespace autopilot::diagnostics {
namespace {

constexpr Duration kSimulatedTellEvery = std::chrono::milliseconds{100};
constexpr int kProbeUsage = 64;

Result<host::TreeProbe> read_probe_of(const host::MachineTreeFile& file, const std::string& check) {
  const auto tree = TRY(file.read());
  const auto found = tree->probes.find(check);
  if (found == tree->probes.end()) return fail(Errc::not_found, "this machine has no test of " + check);
  return found->second;
}

std::string count_of(std::size_t subjects) {
  if (subjects == 0) return "the whole machine";
  return std::to_string(subjects) + (subjects == 1 ? " subject" : " subjects");
}

// A link is where both its ends are.
bool is_among(std::span<const Subject> subjects, const Subject& one) {
  const auto has = [subjects](std::string_view key) {
    return std::ranges::find(subjects, key, &Subject::key) != subjects.end();
  };
  if (one.kind != SubjectKind::link) return std::ranges::find(subjects, one) != subjects.end();
  return has(ends_of(one).first) && has(ends_of(one).second);
}

}  // namespace

Observations found_of(const host::TreeProbe& probe, std::span<const Subject> subjects) {
  Observations found;
  std::ranges::copy_if(probe.found, std::back_inserter(found), [subjects](const Observation& one) {
    return subjects.empty() || one.subject == host_subject() || is_among(subjects, one.subject);
  });
  return found;
}

Status probe_simulated(const host::MachineTreeFile& file, const std::string& check,
                       std::span<const Subject> subjects,
                       const std::function<void(const std::string& line)>& on_line) {
  const MonoTime begin = host::mono_now();
  host::TreeProbe probe = TRY(read_probe_of(file, check));
  const std::string what = check + " of " + count_of(subjects.size());
  for (Duration elapsed{0}; probe.hangs || elapsed < probe.takes; elapsed = host::mono_now() - begin) {
    const double progress = probe.takes > elapsed ? to_seconds(elapsed) / to_seconds(probe.takes) : 1;
    on_line(to_line(ChildProgress{progress, what}));
    std::this_thread::sleep_for(probe.hangs ? kSimulatedTellEvery
                                            : std::min(kSimulatedTellEvery, probe.takes - elapsed));
    probe = TRY(read_probe_of(file, check));
  }
  on_line(to_line(ChildProgress{1, what}));
  on_line(to_line(found_of(probe, subjects)));
  return {};
}

int run_simulated_probe(const std::vector<std::string>& arguments) {
  std::vector<Subject> subjects;
  for (std::size_t i = 2; i < arguments.size(); ++i)
    if (const auto subject = parse_subject(arguments[i])) subjects.push_back(*subject);
  if (arguments.size() < 2 || subjects.size() + 2 != arguments.size()) {
    std::cerr << "autopilot helper simulated_probe: expected TREE CHECK [SUBJECT...]\n";
    return kProbeUsage;
  }
  const auto file = host::MachineTreeFile::open(arguments[0]);
  // The parent process reads line by line; without a reader the next line ends the process.
  const auto write = [](const std::string& line) { std::cout << line << std::flush; };
  const Status made =
      file ? probe_simulated(**file, arguments[1], subjects, write) : Status(fail(file.error()));
  if (!made) std::cerr << made.error().what << "\n";
  return made && std::cout.good() ? 0 : 1;
}

}  // namespace autopilot::diagnostics
