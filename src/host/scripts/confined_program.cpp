// SPDX-License-Identifier: Apache-2.0
#include "host/scripts/confined_program.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <grp.h>
#include <iostream>
#include <optional>
#include <pwd.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/parse.hpp"
#include "host/process/capabilities.hpp"
#include "host/process/supervisor.hpp"
#include "host/scripts/own_user_limits.hpp"
#include "host/scripts/trusted_program.hpp"

namespace autopilot::host {
namespace {

constexpr std::string_view kNetwork = "network";
constexpr std::string_view kNoNetwork = "no_network";
constexpr rlim_t kMaxFiles = 256;

Status fail_here(const std::string& what) {
  return fail_errno(errno, what);
}

Result<uid_t> uid_of(const std::string& user) {
  if (const passwd* entry = ::getpwnam(user.c_str()); entry != nullptr) return entry->pw_uid;
  if (const auto number = parse_number<uid_t>(user)) return *number;
  return fail(Errc::not_found, "there is no user " + user);
}

// Another user than root can run programs only as itself, and only if the configuration names it.
Status check_user(const std::string& user) {
  const uid_t self = ::geteuid();
  if (self == 0) return {};
  const auto uid = uid_of(user);
  if (uid && *uid == self) return {};
  return fail(Errc::denied,
              "cannot run as user " + user + ": the agent is not root but user " + std::to_string(self) +
                  "; run it as root, or let the script run as the agent's own user (`user: \"" +
                  std::to_string(self) + "\"`), with access to the journal and the keys of the agent");
}

Status leave_network() {
  if (::unshare(CLONE_NEWNET) == 0) return {};
  return fail_here("cannot take the network away (set `network: true` for this script to allow it)");
}

Status become(const std::string& user) {
  const passwd* entry = ::getpwnam(user.c_str());
  if (entry == nullptr) return fail(Errc::not_found, "there is no user " + user);
  const uid_t uid = entry->pw_uid;
  const gid_t gid = entry->pw_gid;
  if (::setgroups(0, nullptr) != 0) return fail_here("setgroups");
  if (::setresgid(gid, gid, gid) != 0) return fail_here("setresgid");
  if (::setresuid(uid, uid, uid) != 0) return fail_here("setresuid");
  return {};
}

Status limit() {
  const rlimit none{0, 0};
  const rlimit files{kMaxFiles, kMaxFiles};
  if (::setrlimit(RLIMIT_CORE, &none) != 0) return fail_here("RLIMIT_CORE");
  if (::setrlimit(RLIMIT_NOFILE, &files) != 0) return fail_here("RLIMIT_NOFILE");
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return fail_here("no_new_privs");
  if (::chdir("/") != 0) return fail_here("chdir /");
  return {};
}

// What `helper confined` was asked for.
struct Request {
  pid_t agent = 0;
  ConfinedProgram program;
};

Status give_up_rights(const ConfinedProgram& program) {
  TRY_STATUS(check_user(program.user));
  const bool is_root = ::geteuid() == 0;
  if (is_root && !program.has_network) TRY_STATUS(leave_network());
  if (is_root) TRY_STATUS(become(program.user));
  TRY_STATUS(limit());
  if (is_root) return {};
  TRY_STATUS(keep_capabilities(kNoCapabilities));
  return confine_own_user(program.has_network);
}

Status become_program(const ConfinedProgram& program, pid_t supervisor) {
  TRY_STATUS(check_trusted_program(program.path, ::geteuid()));
  TRY_STATUS(give_up_rights(program));
  TRY_STATUS(die_with(supervisor, SIGKILL));
  std::vector<std::string> words{program.path};
  words.insert(words.end(), program.arguments.begin(), program.arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words)
    argv.push_back(word.data());
  argv.push_back(nullptr);
  std::string search_path = "PATH=/usr/sbin:/usr/bin:/sbin:/bin";
  std::string language = "LANG=C.UTF-8";
  const std::array<char*, 3> environment{search_path.data(), language.data(), nullptr};
  ::execve(program.path.c_str(), argv.data(), environment.data());
  return fail_here(program.path);
}

int not_confined(const Error& error) {
  std::cerr << error.what << "\n" << std::flush;
  return kNotConfined;
}

std::optional<Request> parse_request(const std::vector<std::string>& arguments) {
  if (arguments.size() < 4 || (arguments[2] != kNetwork && arguments[2] != kNoNetwork)) return std::nullopt;
  const auto agent = parse_number<pid_t>(arguments[0]);
  if (!agent) return std::nullopt;
  return Request{*agent,
                 {.path = arguments[3],
                  .arguments = {arguments.begin() + 4, arguments.end()},
                  .user = arguments[1],
                  .has_network = arguments[2] == kNetwork}};
}

}  // namespace

Result<Command> confined_command(const ConfinedProgram& program) {
  TRY_STATUS(check_user(program.user));
  TRY_STATUS(check_trusted_program(program.path, ::geteuid()));
  Command command;
  command.program = TRY(own_executable());
  command.arguments = {"helper",
                       "confined",
                       std::to_string(::getpid()),
                       program.user,
                       std::string(program.has_network ? kNetwork : kNoNetwork),
                       program.path};
  command.arguments.insert(command.arguments.end(), program.arguments.begin(), program.arguments.end());
  return command;
}

int run_confined(const std::vector<std::string>& arguments) {
  const auto request = parse_request(arguments);
  if (!request) {
    std::cerr << "expected AGENT USER network|no_network PATH [ARGUMENT...]\n";
    return kNotConfined;
  }
  const pid_t supervisor = ::getpid();
  const auto ended = run_supervised(
      request->agent, [&] { return not_confined(become_program(request->program, supervisor).error()); });
  return ended ? *ended : not_confined(ended.error());
}

}  // namespace autopilot::host
