// SPDX-License-Identifier: Apache-2.0
#include "host/process/user_name.hpp"

#include <array>
#include <cstdio>
#include <memory>
#include <pwd.h>

namespace autopilot::host {

std::optional<std::string> local_user_name(std::uint32_t uid) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> users(std::fopen("/etc/passwd", "re"), std::fclose);
  if (!users) return std::nullopt;
  std::array<char, 4096> text{};
  passwd entry{};
  passwd* found = nullptr;
  while (::fgetpwent_r(users.get(), &entry, text.data(), text.size(), &found) == 0)
    if (found->pw_uid == uid) return found->pw_name;
  return std::nullopt;
}

}  // namespace autopilot::host
