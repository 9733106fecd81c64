// SPDX-License-Identifier: Apache-2.0
#include "host/scripts/confined_program.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <fcntl.h>
#include <grp.h>
#include <iostream>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <optional>
#include <pwd.h>
#include <sched.h>
#include <string>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/parse.hpp"
#include "host/files/fd.hpp"
#include "host/process/own_process.hpp"
#include "host/process/supervisor.hpp"

namespace autopilot::host {
namespace {

Status check_owner(const std::string& path, const struct stat& status, uid_t user) {
  if (status.st_uid != 0 && status.st_uid != user)
    return fail(Errc::unavailable, path + " belongs to user " + std::to_string(status.st_uid) +
                                       ", and that user can change what is executed; chown it to root");
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return fail(Errc::unavailable, path + " can be written by others than its owner; chmod go-w it");
  return {};
}

// Checks that only root and `user` can change what is executed: the path is absolute, names a regular,
// executable file without links, and it and every folder above belong to root or `user` and cannot be written
// by others. The error names the place and the remedy.
Status check_trusted_program(const std::string& path, uid_t user) {
  if (!path.starts_with('/')) return fail(Errc::unavailable, path + " is not an absolute path");
  for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string part = path.substr(0, end);
    struct stat status {};
    if (::lstat(part.c_str(), &status) != 0) return fail_errno(errno, part);
    if (S_ISLNK(status.st_mode)) return fail(Errc::unavailable, part + " is a link; name the file itself");
    TRY_STATUS(check_owner(part, status, user));
    if (end != std::string::npos) continue;
    if (!S_ISREG(status.st_mode)) return fail(Errc::unavailable, part + " is not a regular file");
    if ((status.st_mode & S_IXUSR) == 0)
      return fail(Errc::unavailable, part + " is not executable; chmod +x it");
    return {};
  }
}

#if defined(__x86_64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#else
#error "name the architecture that <linux/audit.h> has for this processor"
#endif
// Numbers from here on are calls of another convention (x32), with other numbers for socket().
constexpr std::uint32_t kForeignCalls = 0x40000000;

// Newer than the headers of the oldest system that this is built on.
constexpr std::uint64_t kTruncate = std::uint64_t{1} << 14;       // LANDLOCK_ACCESS_FS_TRUNCATE
constexpr std::uint64_t kScopeAbstractSocket = std::uint64_t{1};  // LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET
constexpr std::uint64_t kScopeSignal = std::uint64_t{1} << 1;     // LANDLOCK_SCOPE_SIGNAL
constexpr long kFirstWithRefer = 2;
constexpr long kFirstWithTruncate = 3;
constexpr long kFirstWithScopes = 6;

// struct landlock_ruleset_attr with all its fields.
struct Ruleset {
  std::uint64_t files = 0;
  std::uint64_t network = 0;
  std::uint64_t scoped = 0;
};

std::uint64_t writes(long version) {
  std::uint64_t all = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |
                      LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_CHAR |
                      LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |
                      LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO |
                      LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SYM;
  if (version >= kFirstWithRefer) all |= LANDLOCK_ACCESS_FS_REFER;
  if (version >= kFirstWithTruncate) all |= kTruncate;
  return all;
}

Status allow_below(int ruleset, const char* folder, std::uint64_t what) {
  const Fd place(::open(folder, O_PATH | O_CLOEXEC | O_DIRECTORY));
  if (!place) return fail_errno(errno, folder);
  landlock_path_beneath_attr rule{};
  rule.allowed_access = what;
  rule.parent_fd = place.get();
  if (::syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) != 0)
    return fail_errno(errno, std::string("Landlock: ") + folder);
  return {};
}

// Being in a Landlock domain is also what keeps /proc/<pid>/environ and the memory of others closed.
Status confine_files_and_processes() {
  const long version = ::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  if (version < 1)
    return fail(
        Errc::unsupported,
        "this kernel has no Landlock, without which a program of the agent's own user is not confined; "
        "run the agent as root, which runs scripts as another user");
  Ruleset rules;
  rules.files = writes(version);
  std::size_t size = offsetof(Ruleset, network);
  if (version >= kFirstWithScopes) {
    rules.scoped = kScopeAbstractSocket | kScopeSignal;
    size = sizeof(rules);
  }
  const Fd ruleset(static_cast<int>(::syscall(SYS_landlock_create_ruleset, &rules, size, 0)));
  if (!ruleset) return fail_errno(errno, "Landlock");
  const std::uint64_t truncate = version >= kFirstWithTruncate ? kTruncate : 0;
  TRY_STATUS(allow_below(ruleset.get(), "/dev", LANDLOCK_ACCESS_FS_WRITE_FILE | truncate));
  TRY_STATUS(allow_below(ruleset.get(), "/tmp", rules.files));
  if (::syscall(SYS_landlock_restrict_self, ruleset.get(), 0) != 0) return fail_errno(errno, "Landlock");
  return {};
}

constexpr sock_filter statement(unsigned code, std::uint32_t value) {
  return {static_cast<std::uint16_t>(code), 0, 0, value};
}
// Goes on behind `yes` more statements where the comparison holds, else behind `no` more.
constexpr sock_filter jump(unsigned comparison, std::uint32_t value, std::uint8_t yes, std::uint8_t no) {
  return {static_cast<std::uint16_t>(BPF_JMP | comparison | BPF_K), yes, no, value};
}

// io_uring makes and connects sockets without the calls that a filter sees.
Status filter_sockets(bool has_network) {
  constexpr unsigned kLoad = BPF_LD | BPF_W | BPF_ABS;
  const sock_filter other_sockets =
      statement(BPF_RET | BPF_K, has_network ? SECCOMP_RET_ALLOW : SECCOMP_RET_ERRNO | EACCES);
  std::array program{
      statement(kLoad, offsetof(seccomp_data, arch)),
      jump(BPF_JEQ, kArchitecture, 0, 7),
      statement(kLoad, offsetof(seccomp_data, nr)),
      jump(BPF_JGE, kForeignCalls, 5, 0),
      jump(BPF_JEQ, SYS_io_uring_setup, 4, 0),
      jump(BPF_JEQ, SYS_socket, 0, 4),
      statement(kLoad, offsetof(seccomp_data, args)),
      jump(BPF_JEQ, AF_UNIX, 1, 0),
      other_sockets,
      statement(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES),
      statement(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog filter{static_cast<unsigned short>(program.size()), program.data()};
  if (::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0) != 0)
    return fail_errno(errno, "cannot take sockets away (seccomp)");
  return {};
}

// Limits a program that runs as the user of an agent that is not root, for ever. Applies to the calling
// thread and to the processes that it starts: the process must have one thread, and no_new_privs.
//
// Afterwards this process
// - cannot create a Unix socket, over which the agent would accept it as itself, and other sockets only with
//   `has_network`;
// - cannot read the memory or the environment of other processes, the agent's included, nor send them a
// signal
//   if the kernel can forbid it (version 6 of Landlock);
// - can write files only below /dev and /tmp.
// It can still read all files of that user. unsupported: the kernel has no Landlock.
Status confine_own_user(bool has_network) {
  TRY_STATUS(confine_files_and_processes());
  return filter_sockets(has_network);
}

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
