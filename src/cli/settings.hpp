// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/App.hpp>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "core/clock.hpp"
#include "core/result.hpp"
#include "net/http_client.hpp"

namespace autopilot::cli {

struct MachineChoice;

// The environment of this process.
[[nodiscard]] std::map<std::string, std::string> environment();

// The value of the variable; empty if not set.
[[nodiscard]] std::string variable(const std::map<std::string, std::string>& variables,
                                   const std::string& name);

// `file`; if empty, the default file (which may be missing).
[[nodiscard]] std::string settings_file(const std::string& file);
// Configuration for a verb. Later sources override earlier ones: `base` (settings in YAML that do not come
// from a file), the file (`file`, or the default file if it exists), the environment.
[[nodiscard]] Result<config::Config> load_settings(const std::string& file, const std::string& base = {});

// Reads a file of the configuration, at most 1 MiB. `what` names its role in errors.
[[nodiscard]] Result<std::string> read_settings_text(const std::string& path, const std::string& what);

// --socket PATH|HOST:PORT
void add_socket_option(CLI::App& verb, std::string& socket);
// The value of --socket; if empty, the socket of the configuration: of `config_file`, or of this user's or
// machine's agent. If that is the default and does not exist: the socket of the service, else the loopback,
// where an agent answers; a line on standard error then states which one.
[[nodiscard]] Result<net::HttpTarget> agent_target(const std::string& socket,
                                                   const std::string& config_file = {});
// The same addresses in the order in which they are tried. Asks no agent.
[[nodiscard]] Result<std::vector<net::HttpTarget>> agent_candidates(const std::string& socket);

// The same for a program that must be quick and print nothing: each agent that may answer is asked for
// `patience` at most.
[[nodiscard]] Result<net::HttpTarget> quick_agent_target(const std::string& socket, Duration patience);

// The agent that agent_target() chooses, without a line on standard error.
struct FoundAgent {
  net::HttpTarget target;
  bool is_other = false;  // not the one of the configuration, which does not exist
};
// Each address is asked for `patience` at most.
[[nodiscard]] Result<FoundAgent> find_agent(const std::string& socket, const std::string& config_file = {},
                                            Duration patience = std::chrono::seconds{2});

// --root TREE, --simulate SCENARIO
void add_machine_options(CLI::App& verb, MachineChoice& choice);
// An option that accepts "500ms", "2s", "1h30m"; other text is a usage error.
void add_duration_option(CLI::App& verb, const std::string& name, std::optional<Duration>& duration,
                         const std::string& description);

}  // namespace autopilot::cli
