// SPDX-License-Identifier: Apache-2.0
#include "host/process/own_process.hpp"

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <fcntl.h>
#include <filesystem>
#include <grp.h>
#include <link.h>
#include <linux/capability.h>
#include <malloc.h>
#include <string>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace autopilot::host {
namespace {

// By default each thread may get an arena of its own, and every large block that is freed raises the size up
// to which blocks are kept.
constexpr int kArenas = 1;
constexpr int kKeptBytes = 128 * 1024;
// Small blocks that were freed are joined with their neighbours at once. Otherwise each large block, asked
// for or freed, searches all of them.
constexpr int kUnjoinedBytes = 0;

struct FileOwner {
  uid_t uid = 0;
  gid_t gid = 0;
};

// Of the file, or of the nearest folder above it that is there.
Result<FileOwner> owner_of(const std::string& path) {
  struct stat status {};
  // A link that another user made may name any file.
  if (::lstat(path.c_str(), &status) == 0 && status.st_uid != 0)
    return FileOwner{status.st_uid, status.st_gid};
  for (std::filesystem::path next = path; ::stat(next.c_str(), &status) != 0;) {
    if (errno != ENOENT) return fail_errno(errno, next.string());
    next = next.has_parent_path() ? next.parent_path() : std::filesystem::path(".");
  }
  return FileOwner{status.st_uid, status.st_gid};
}

}  // namespace

void keep_allocator_small() {
  (void)::mallopt(M_ARENA_MAX, kArenas);
  (void)::mallopt(M_MMAP_THRESHOLD, kKeptBytes);
  (void)::mallopt(M_MXFAST, kUnjoinedBytes);
  (void)::mallopt(M_TRIM_THRESHOLD, kKeptBytes);
}

void return_unused_memory() {
  (void)::malloc_trim(0);
}

namespace {

// Read-only parts of the file, which are unchanged in memory.
bool is_code(const ElfW(Phdr) & part) {
  return part.p_type == PT_LOAD && (part.p_flags & PF_W) == 0;
}

// The loader lists the program first.
int unmap_code_of_program(dl_phdr_info* program, std::size_t, void*) {
  for (int i = 0; i < program->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = program->dlpi_phdr[i];
    if (!is_code(part)) continue;
    const std::uintptr_t begin = (program->dlpi_addr + part.p_vaddr) & ~(part.p_align - 1);
    const std::uintptr_t end = program->dlpi_addr + part.p_vaddr + part.p_memsz;
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the loader gives numbers
    (void)::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
  }
  return 1;
}

}  // namespace

void unmap_own_code() {
  (void)::dl_iterate_phdr(unmap_code_of_program, nullptr);
}

namespace {

static_assert(kReadKernelLog == Capabilities{1} << CAP_SYSLOG);
static_assert(kEnterNamespaces == (Capabilities{1} << CAP_SYS_ADMIN | Capabilities{1} << CAP_SYS_PTRACE));

using Words = std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3>;

}  // namespace

void raise_open_files() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  (void)::setrlimit(RLIMIT_NOFILE, &limit);
}

Status keep_capabilities(Capabilities kept) {
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return fail_errno(errno, "no_new_privs");
  if (::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0)
    return fail_errno(errno, "drop the ambient capabilities");
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  Words words{};
  if (::syscall(SYS_capget, &header, words.data()) != 0) return fail_errno(errno, "read the capabilities");
  for (std::size_t i = 0; i < words.size(); ++i) {
    words[i].permitted &= static_cast<std::uint32_t>(kept >> (32 * i));
    words[i].effective &= words[i].permitted;
    words[i].inheritable = 0;
  }
  if (::syscall(SYS_capset, &header, words.data()) != 0) return fail_errno(errno, "drop capabilities");
  return {};
}

Result<bool> become_owner_of(const std::string& path) {
  if (::geteuid() != 0) return false;
  const FileOwner owner = TRY(owner_of(path));
  if (owner.uid == 0) return false;
  const std::string what = "cannot become the owner of " + path + ", uid " + std::to_string(owner.uid);
  if (::setgroups(0, nullptr) != 0) return fail_errno(errno, what);
  if (::setresgid(owner.gid, owner.gid, owner.gid) != 0) return fail_errno(errno, what);
  if (::setresuid(owner.uid, owner.uid, owner.uid) != 0) return fail_errno(errno, what);
  return true;
}

void keep_standard_streams_taken() {
  for (;;) {
    const int fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && fd <= STDERR_FILENO) continue;
    if (fd >= 0) ::close(fd);
    return;
  }
}

}  // namespace autopilot::host
