// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "host/files/fd.hpp"
#include "host/process/own_process.hpp"

namespace autopilot::host {

// The descriptor on which a helper started by HelperClient finds its agent.
inline constexpr int kHelperFd = 3;

// params and result are JSON text. May block for ever: then the agent kills the process.
using HelperMethod = std::function<Result<std::string>(std::string_view params, MonoTime deadline)>;
using HelperMethods = std::map<std::string, HelperMethod, std::less<>>;

// Answers one request after the other until the other end closes; returns the exit code of the process. When
// the agent dies the process ends at once, also in the middle of a method that hangs in user space.
[[nodiscard]] int serve(int fd, const HelperMethods& methods);

// A helper with rights that its agent has not: not the agent's child, but met at a Unix socket.

// The agent's end. unavailable: nobody listens, or not now. denied: the file is closed to this user, or the
// one who listens is neither root nor this user: such a one could say anything.
[[nodiscard]] Result<Fd> connect_to_helper(const std::string& path);

struct HelperListening {
  // Agents of one machine: one, and another that is just being replaced.
  static constexpr std::size_t kMaxAgents = 4;
  static constexpr std::size_t kMaxAllowed = 16;

  std::string name;  // begins the lines on standard error
  std::string path;
  std::vector<uid_t> allowed;                   // besides root and the user of this process
  Capabilities capabilities = kNoCapabilities;  // that it keeps once it listens; it starts no program
};

// "--listen /PATH [--allow-uid UID]...", in any order. Nothing: anything else, or more than kMaxAllowed
// users.
[[nodiscard]] std::optional<HelperListening> parse_listening(std::string name,
                                                             const std::vector<std::string>& arguments);

// Listens until SIGTERM or SIGINT; each agent gets a process of its own, which runs `serve` on the connection
// and ends with this one. Whoever is not allowed is told so and closed. Returns the exit code. The calling
// process must have no other thread; SIGTERM, SIGINT and SIGCHLD stay blocked.
[[nodiscard]] int listen_for_agents(const HelperListening& listening,
                                    const std::function<int(int fd)>& serve);

}  // namespace autopilot::host
