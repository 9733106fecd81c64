// SPDX-License-Identifier: Apache-2.0
#include "host/process/capabilities.hpp"

#include <array>
#include <cerrno>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace autopilot::host {
namespace {

static_assert(kReadKernelLog == Capabilities{1} << CAP_SYSLOG);

using Words = std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3>;

}  // namespace

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

}  // namespace autopilot::host
