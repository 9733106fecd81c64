// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "tests/fakes/fake_host.hpp"

namespace autopilot::fakes {

// Name servers that say what the test wants.
struct ToldNameServers final : host::NameServers {
  [[nodiscard]] Result<host::NameServersSeen> ask(MonoTime until) const override {
    deadline = until;
    return seen;
  }
  Result<host::NameServersSeen> seen;
  mutable std::optional<MonoTime> deadline;  // of the last question
};

// A machine that has nothing else.
inline host::Host host_with(const EmptyHost& empty, const host::NameServers& name_servers) {
  return {.clock = empty.clock,
          .files = empty.files,
          .kernel_log = empty.kernel_log,
          .nvidia_gpus = empty.gpus,
          .filesystems = empty.filesystems,
          .ethernet = empty.ethernet,
          .time_sync = empty.time_sync,
          .nvme = empty.nvme,
          .name_servers = name_servers};
}

}  // namespace autopilot::fakes
