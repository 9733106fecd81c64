// SPDX-License-Identifier: Apache-2.0
#include "host/scripts/own_user_limits.hpp"

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <string>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "host/files/fd.hpp"

namespace autopilot::host {
namespace {

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

}  // namespace

Status confine_own_user(bool has_network) {
  TRY_STATUS(confine_files_and_processes());
  return filter_sockets(has_network);
}

}  // namespace autopilot::host
