// SPDX-License-Identifier: Apache-2.0
#include "host/scripts/confined_program.hpp"

#include <array>
#include <cerrno>
#include <grp.h>
#include <iostream>
#include <pwd.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "host/scripts/trusted_program.hpp"

namespace autopilot::host {
namespace {

constexpr std::string_view kNetwork = "network";
constexpr std::string_view kNoNetwork = "no_network";
constexpr rlim_t kMaxFiles = 256;

Status fail_here(const std::string& what) {
  return fail_errno(errno, what);
}

// A user who may not make network namespaces can make one inside a user namespace.
Status leave_network() {
  if (::unshare(CLONE_NEWNET) == 0) return {};
  if (::unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0) return {};
  return fail_here("cannot take the network away (set `network: true` for this script to allow it)");
}

Status become(const std::string& user) {
  if (::geteuid() != 0) return {};
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

Status become_program(const std::string& user, bool has_network, const std::string& path,
                      const std::vector<std::string>& arguments) {
  TRY_STATUS(check_trusted_program(path, ::geteuid()));
  if (!has_network) TRY_STATUS(leave_network());
  TRY_STATUS(become(user));
  TRY_STATUS(limit());
  std::vector<std::string> words{path};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words)
    argv.push_back(word.data());
  argv.push_back(nullptr);
  std::string search_path = "PATH=/usr/sbin:/usr/bin:/sbin:/bin";
  std::string language = "LANG=C.UTF-8";
  const std::array<char*, 3> environment{search_path.data(), language.data(), nullptr};
  ::execve(path.c_str(), argv.data(), environment.data());
  return fail_here(path);
}

}  // namespace

Result<Command> confined_command(const ConfinedProgram& program) {
  TRY_STATUS(check_trusted_program(program.path, ::geteuid()));
  Command command;
  command.program = TRY(own_executable());
  command.arguments = {"helper", "confined", program.user,
                       std::string(program.has_network ? kNetwork : kNoNetwork), program.path};
  command.arguments.insert(command.arguments.end(), program.arguments.begin(), program.arguments.end());
  return command;
}

int run_confined(const std::vector<std::string>& arguments) {
  if (arguments.size() < 3 || (arguments[1] != kNetwork && arguments[1] != kNoNetwork)) {
    std::cerr << "expected USER network|no_network PATH [ARGUMENT...]\n";
    return kNotConfined;
  }
  const auto ended = become_program(arguments[0], arguments[1] == kNetwork, arguments[2],
                                    {arguments.begin() + 3, arguments.end()});
  std::cerr << ended.error().what << "\n";
  return kNotConfined;
}

}  // namespace autopilot::host
