// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "config/config.hpp"

// The files of an agent's state that a verb reads while no agent answers.
namespace autopilot::cli {

struct StateFile {
  std::string path;
  std::string note = {};  // for standard error, if this is not the file of the configuration
};

// The journal of the configuration. If it does not exist: the newest journal of a simulated machine, which an
// agent keeps in the folder `simulated` beside it.
[[nodiscard]] StateFile journal_to_read(const config::Config& settings);
// Likewise the history. A database of PostgreSQL is always the one of the configuration.
[[nodiscard]] StateFile history_to_read(const config::Config& settings);

}  // namespace autopilot::cli
