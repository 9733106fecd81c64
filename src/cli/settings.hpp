// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/App.hpp>
#include <map>
#include <string>

#include "config/config.hpp"
#include "core/result.hpp"
#include "net/http_client.hpp"

namespace autopilot::cli {

// The environment of this process.
[[nodiscard]] std::map<std::string, std::string> environment();

// Of these; empty where it is not set.
[[nodiscard]] std::string variable(const std::map<std::string, std::string>& variables,
                                   const std::string& name);

// The named file, else the default one (which need not exist).
[[nodiscard]] std::string settings_file(const std::string& file);
// Configuration for a verb: the file (named, else the default one where it exists), the environment over it,
// and below it `base`, settings in YAML that something else than a file says.
[[nodiscard]] Result<config::Config> load_settings(const std::string& file, const std::string& base = {});

// A file that belongs to the configuration, at most 1 MiB; `what` it is, for the error.
[[nodiscard]] Result<std::string> read_settings_text(const std::string& path, const std::string& what);

// --socket PATH|HOST:PORT: which agent to ask.
void add_socket_option(CLI::App& verb, std::string& socket);
// What --socket says, else where the agent of this user or machine listens.
[[nodiscard]] Result<net::HttpTarget> agent_target(const std::string& socket);

}  // namespace autopilot::cli
