// SPDX-License-Identifier: Apache-2.0
#include "host/kernel_log/journal_files.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "core/parse.hpp"
#include "host/process/child.hpp"
#include "host/process/child_runner.hpp"

namespace autopilot::host {
namespace {

constexpr std::size_t kMaxTreeJournal = std::size_t{32} << 20;
constexpr std::string_view kFields =
    "MESSAGE,MESSAGE_ID,PRIORITY,SYSLOG_FACILITY,SYSLOG_IDENTIFIER,_TRANSPORT,_UID,_SYSTEMD_UNIT,_BOOT_ID,"
    "_SOURCE_MONOTONIC_TIMESTAMP,COREDUMP_PID,COREDUMP_COMM,COREDUMP_UNIT,COREDUMP_CGROUP,"
    "COREDUMP_SIGNAL_NAME,UNIT,UNIT_RESULT";
// journalctl prints it for a user outside the groups that may read the journal of the system.
constexpr std::string_view kHintOfUser = "not seeing messages from other users";

std::vector<std::string> with_form(std::vector<std::string> arguments) {
  std::vector<std::string> all{"--no-pager", "--output=json", "--output-fields=" + std::string(kFields)};
  std::ranges::move(arguments, std::back_inserter(all));
  return all;
}

std::vector<std::string> arguments_since(WallTime since) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(since.time_since_epoch()).count();
  std::vector<std::string> arguments{"--lines=50000",
                                     "--since=@" + std::to_string(std::max<std::int64_t>(0, seconds))};
  for (const std::string& match : journal_matches()) {
    if (arguments.size() > 2) arguments.emplace_back("+");
    arguments.push_back(match);
  }
  return with_form(std::move(arguments));
}

std::vector<std::string> arguments_of_previous_end() {
  return with_form({"--lines=60", "--boot=-1"});
}

class Journalctl {
 public:
  Journalctl(std::string program, MonoTime deadline) : program_(std::move(program)), deadline_(deadline) {}

  // An error only if the program cannot run to its end.
  Status read(std::vector<std::string> arguments, JournalReader& reader) {
    const Command command{.program = program_,
                          .arguments = std::move(arguments),
                          .environment = {"LC_ALL=C", "SYSTEMD_COLORS=0"}};
    const auto report = TRY(runner_.run(command, deadline_, {.output_bytes = std::size_t{1} << 16}, {},
                                        [&reader](std::string_view line) { reader.add_line(line); }));
    if (report.end == ChildEnd::timed_out)
      return fail(Errc::timed_out, "journalctl did not end within its deadline");
    if (report.errors.find(kHintOfUser) != std::string::npos) is_of_user_only_ = true;
    return {};
  }

  [[nodiscard]] bool is_of_user_only() const { return is_of_user_only_; }

 private:
  std::string program_;
  MonoTime deadline_;
  ChildRunner runner_;
  bool is_of_user_only_ = false;
};

// Adds when and how boots ended. Records of both are the same, so those of `ends` are left out.
std::vector<JournaledBoot> with_ends(std::vector<JournaledBoot> boots, std::vector<JournaledBoot> ends) {
  for (JournaledBoot& end : ends) {
    const auto known = std::ranges::find(boots, end.id, &JournaledBoot::id);
    if (known == boots.end()) {
      boots.push_back(std::move(end));
      continue;
    }
    known->last = std::max(known->last, end.last);
    known->was_stopped = known->was_stopped || end.was_stopped;
    known->has_system_entries = known->has_system_entries || end.has_system_entries;
  }
  std::ranges::stable_sort(boots, {}, &JournaledBoot::first);
  return boots;
}

Error not_permitted() {
  return {Errc::denied,
          "the system journal is readable for root and the groups systemd-journal and adm only"};
}

Result<std::vector<JournaledBoot>> read_with_journalctl(const JournalRequest& request) {
  const auto program = find_program("journalctl", own_environment());
  if (!program) return fail(Errc::unsupported, "this machine has no journalctl");
  Journalctl journal(*program, request.deadline);
  JournalReader recent;
  TRY_STATUS(journal.read(arguments_since(request.since), recent));
  JournalReader previous;
  TRY_STATUS(journal.read(arguments_of_previous_end(), previous));
  auto boots = with_ends(recent.finish(), previous.finish());
  const bool has_any = std::ranges::any_of(boots, &JournaledBoot::has_system_entries);
  if (!has_any && journal.is_of_user_only()) return fail(not_permitted());
  if (!has_any) return fail(Errc::unavailable, "the journal has no entry of the system");
  return boots;
}

Result<std::vector<JournaledBoot>> read_of_tree(const Files& files) {
  const auto slash = files.root().rfind('/');
  const std::string directory = slash == std::string::npos ? "." : files.root().substr(0, slash);
  const Files tree(directory);
  if (!tree.exists(kTreeJournal)) return fail(Errc::unsupported, "this machine tree has no journal.jsonl");
  const std::string text = TRY(tree.read(kTreeJournal, kMaxTreeJournal));
  JournalReader reader;
  for (const std::string_view line : split(text, '\n'))
    reader.add_line(line);
  return reader.finish();
}

}  // namespace

Result<std::vector<JournaledBoot>> read_journaled_boots(const Files& files, const JournalRequest& request) {
  return files.is_tree() ? read_of_tree(files) : read_with_journalctl(request);
}

}  // namespace autopilot::host
