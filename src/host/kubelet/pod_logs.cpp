// SPDX-License-Identifier: Apache-2.0
#include "host/kubelet/pod_logs.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "core/parse.hpp"
#include "host/helpers/helper_client.hpp"
#include "host/helpers/helper_server.hpp"
#include "host/helpers/message.hpp"

namespace autopilot::host {
namespace {

constexpr std::size_t kLongestPath = 1024;

// Path of the log below `pods`: three names.
Result<std::string> name_of(const std::string& path, std::string_view pods) {
  const bool is_below =
      path.size() <= kLongestPath && path.starts_with(pods) && path.substr(pods.size()).starts_with('/');
  std::string name = is_below ? path.substr(pods.size() + 1) : std::string();
  const auto parts = split(name, '/');
  const auto is_name = [](std::string_view part) { return !part.empty() && part != "." && part != ".."; };
  if (parts.size() != 3 || !std::ranges::all_of(parts, is_name) || !name.ends_with(".log") ||
      name.find('\0') != std::string::npos)
    return fail(Errc::malformed,
                "'" + to_printable(path, 200) + "' is not the path of a log below " + std::string(pods));
  return name;
}

}  // namespace

Result<Fd> open_pod_log(const std::string& path, std::string_view pods) {
  const std::string name = TRY(name_of(path, pods));
  const Fd folder(::open(std::string(pods).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!folder) return fail_errno(errno, pods);
  open_how how{};
  how.flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS;
  Fd file(static_cast<int>(::syscall(SYS_openat2, folder.get(), name.c_str(), &how, sizeof how)));
  if (!file && errno == ELOOP) return fail(Errc::unsupported, path + ": behind a symbolic link");
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0) return fail_errno(errno, path);
  if (!S_ISREG(status.st_mode)) return fail(Errc::unsupported, path + ": not a regular file");
  return file;
}

Result<Fd> ask_pod_log(const std::string& socket, const std::string& path, MonoTime deadline) {
  HelperStream stream("kubelet helper at " + socket, TRY(connect_to_helper(socket)));
  auto answer = stream.exchange(kOpenPodLog, make_text_message(path), deadline);
  if (!answer) return fail(error_of_subject(std::move(answer).error()));
  Fd file = stream.take_descriptor();
  if (!file) return fail(Errc::malformed, "kubelet helper at " + socket + ": sent no descriptor");
  return file;
}

}  // namespace autopilot::host
