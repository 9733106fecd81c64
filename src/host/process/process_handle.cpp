// SPDX-License-Identifier: Apache-2.0
#include "host/process/process_handle.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <ctime>
#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <memory>
#include <optional>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
#include <utility>

#include "core/parse.hpp"
#include "host/process/processes.hpp"

namespace autopilot::host {
namespace {

constexpr std::size_t kMaxStat = 4096;

// Words of stat behind the name (proc_pid_stat(5)).
constexpr std::size_t kMemoryWord = 20;  // bytes of the address space; 0: the process ends
constexpr std::size_t kEnvironmentBegin = 47;
constexpr std::size_t kEnvironmentEnd = 48;

// At most `limit` bytes; the rest is not read.
Result<std::string> read_up_to(int fd, const std::string& shown, std::size_t limit) {
  std::string text;
  std::array<char, 4096> buffer;
  while (text.size() < limit) {
    const ssize_t got = ::read(fd, buffer.data(), std::min(buffer.size(), limit - text.size()));
    if (got < 0 && errno == EINTR) continue;
    // The kernel's answer for a process that has ended.
    if (got < 0 && errno == ESRCH) return fail(Errc::not_found, shown + ": the process has ended");
    if (got < 0) return fail_errno(errno, shown);
    if (got == 0) break;
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
  return text;
}

tl::unexpected<Error> open_error(int error, const std::string& shown) {
  if (error == ESRCH) return fail(Errc::not_found, shown + ": the process has ended");
  return fail_errno(error, shown);
}

struct AddressRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

// Empty: the process ends.
Result<AddressRange> environment_in(std::string_view stat) {
  const auto words = split_words(stat.substr(stat.rfind(')') + 1));
  if (words.size() <= kEnvironmentEnd) return fail(Errc::malformed, "stat: has no addresses");
  const auto memory = parse_number<std::uint64_t>(words[kMemoryWord]);
  const auto begin = parse_number<std::uint64_t>(words[kEnvironmentBegin]);
  const auto end = parse_number<std::uint64_t>(words[kEnvironmentEnd]);
  if (!memory || !begin || !end || *end < *begin) return fail(Errc::malformed, "stat: has no addresses");
  if (*begin == 0 && *memory != 0) return fail(Errc::denied, "its addresses: needs CAP_SYS_PTRACE");
  return AddressRange{*begin, *end};
}

std::string descriptor_path(int fd) {
  return "/proc/self/fd/" + std::to_string(fd);
}

}  // namespace

Result<ProcessHandle> ProcessHandle::open(std::int64_t pid, std::uint64_t started_ticks) {
  const std::string path = "/proc/" + std::to_string(pid);
  if (pid <= 0) return fail(Errc::malformed, path + ": not a process");
  Fd folder(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!folder) return open_error(errno, path);
  ProcessHandle handle(pid, std::move(folder));
  const std::string stat = TRY(handle.read("stat", kMaxStat));
  const TaskState state = TRY(parse_task_state(stat));
  if (state.started_ticks != started_ticks)
    return fail(Errc::not_found, path + ": the process has ended, and another one has its pid");
  return handle;
}

std::string ProcessHandle::shown(std::string_view name) const {
  return "/proc/" + std::to_string(pid_) + "/" + std::string(name);
}

Result<std::string> ProcessHandle::read(const std::string& name, std::size_t limit) const {
  const Fd file(::openat(folder_.get(), name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file) return open_error(errno, shown(name));
  return read_up_to(file.get(), shown(name), limit);
}

Result<std::map<std::string, std::string, std::less<>>> ProcessHandle::environment(
    const std::vector<std::string_view>& names) const {
  const std::string text = TRY(read("environ", kMaxEnvironment));
  std::map<std::string, std::string, std::less<>> found;
  for (const std::string_view entry : split(text, '\0')) {
    const std::size_t equals = entry.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view name = entry.substr(0, equals);
    if (std::ranges::find(names, name) == names.end()) continue;
    found.try_emplace(std::string(name), entry.substr(equals + 1));
  }
  return found;
}

Result<std::string> ProcessHandle::initial_environment(std::size_t limit) const {
  const std::string stat = TRY(read("stat", kMaxStat));
  const AddressRange range = TRY(environment_in(stat));
  std::string text(std::min<std::uint64_t>(limit, range.end - range.begin), '\0');
  if (text.empty()) return text;
  const iovec here{text.data(), text.size()};
  // NOLINTNEXTLINE(performance-no-int-to-ptr): an address of the other process
  const iovec there{reinterpret_cast<void*>(range.begin), text.size()};
  const ssize_t got = ::process_vm_readv(static_cast<pid_t>(pid_), &here, 1, &there, 1, 0);
  if (got < 0) return open_error(errno, shown("environ"));
  text.resize(static_cast<std::size_t>(got));
  // The pid belonged to this process all the time.
  TRY_STATUS(read("stat", 1));
  return text;
}

Result<std::vector<std::int64_t>> ProcessHandle::threads() const {
  const Fd folder(::openat(folder_.get(), "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder) return open_error(errno, shown("task"));
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(::fdopendir(::dup(folder.get())), ::closedir);
  if (!entries) return fail_errno(errno, shown("task"));
  std::vector<std::int64_t> threads;
  while (const dirent* const entry = ::readdir(entries.get()))
    if (const auto thread = parse_number<std::int64_t>(std::string_view(entry->d_name));
        thread && threads.size() < kMaxThreads)
      threads.push_back(*thread);
  if (threads.empty()) return fail(Errc::not_found, shown("task") + ": the process has ended");
  std::sort(threads.begin(), threads.end());
  return threads;
}

Result<std::int64_t> ProcessHandle::last_of_status(std::string_view member) const {
  const std::string status = TRY(read("status", std::size_t{64} << 10));
  for (const std::string_view line : split(status, '\n')) {
    if (!line.starts_with(member)) continue;
    const auto words = split_words(line.substr(member.size()));
    const auto number = words.empty() ? std::nullopt : parse_number<std::int64_t>(words.back());
    if (number) return *number;
  }
  return fail(Errc::malformed, shown("status") + ": has no line " + std::string(member));
}

Result<std::int64_t> ProcessHandle::inner_pid() const {
  return last_of_status("NSpid:");
}

// Real, effective, saved and file system user.
Result<std::uint32_t> ProcessHandle::file_user() const {
  return static_cast<std::uint32_t>(TRY(last_of_status("Uid:")));
}

Result<Fd> ProcessHandle::network_namespace() const {
  Fd found(::openat(folder_.get(), "ns/net", O_RDONLY | O_CLOEXEC));
  if (!found) return open_error(errno, shown("ns/net"));
  return found;
}

// The kernel makes the files below net/ once for each network namespace, and shows them to everybody.
Result<bool> ProcessHandle::shares_own_network() const {
  struct stat own {};
  struct stat other {};
  if (::stat("/proc/self/net/dev", &own) != 0) return fail_errno(errno, "/proc/self/net/dev");
  if (::fstatat(folder_.get(), "net/dev", &other, 0) != 0) return open_error(errno, shown("net/dev"));
  return own.st_dev == other.st_dev && own.st_ino == other.st_ino;
}

// Opens nothing yet: opening a device or a pipe already does something.
Result<Fd> ProcessHandle::find_in_root(const std::string& path) const {
  if (!path.starts_with('/') || path.find('\0') != std::string::npos)
    return fail(Errc::malformed,
                shown("root") + ": '" + to_printable(path, 200) + "' is not an absolute path");
  const Fd root(::openat(folder_.get(), "root", O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!root) return open_error(errno, shown("root"));
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC;
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  // The kernel asks to try again when something is renamed meanwhile.
  constexpr int kTries = 100;
  for (int tries = 0; tries < kTries; ++tries) {
    Fd found(static_cast<int>(::syscall(SYS_openat2, root.get(), path.c_str(), &how, sizeof how)));
    if (found) return found;
    if (errno != EAGAIN) break;
  }
  return open_error(errno, shown("root") + path);
}

Result<Fd> ProcessHandle::open_file(const std::string& path) const {
  const Fd place = TRY(find_in_root(path));
  struct stat status {};
  if (::fstat(place.get(), &status) != 0) return fail_errno(errno, shown("root") + path);
  if (!S_ISREG(status.st_mode)) return fail(Errc::malformed, shown("root") + path + ": not a regular file");
  Fd file(::open(descriptor_path(place.get()).c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!file) return open_error(errno, shown("root") + path);
  return file;
}

Result<Fd> ProcessHandle::open_pipe(const std::string& path) const {
  const Fd place = TRY(find_in_root(path));
  struct stat status {};
  if (::fstat(place.get(), &status) != 0) return fail_errno(errno, shown("root") + path);
  if (!S_ISFIFO(status.st_mode)) return fail(Errc::malformed, shown("root") + path + ": not a named pipe");
  Fd file(::open(descriptor_path(place.get()).c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
  if (!file && errno == ENXIO)
    return fail(Errc::unavailable, shown("root") + path + ": no program reads the pipe");
  if (!file) return open_error(errno, shown("root") + path);
  return file;
}

WallTime wall_time_of_start(std::uint64_t started_ticks) {
  timespec boot{};
  ::clock_gettime(CLOCK_BOOTTIME, &boot);
  const Duration since_boot = std::chrono::seconds(boot.tv_sec) + std::chrono::nanoseconds(boot.tv_nsec);
  const auto ticks_per_s = static_cast<std::uint64_t>(std::max(::sysconf(_SC_CLK_TCK), 1L));
  const Duration at = std::chrono::seconds(started_ticks / ticks_per_s) +
                      std::chrono::nanoseconds(started_ticks % ticks_per_s * (1'000'000'000 / ticks_per_s));
  return std::chrono::system_clock::now() - since_boot + at;
}

}  // namespace autopilot::host
