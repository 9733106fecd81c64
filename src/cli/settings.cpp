// SPDX-License-Identifier: Apache-2.0
#include "cli/settings.hpp"

#include <CLI/CLI.hpp>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>
#include <unistd.h>

#include "cli/agent_client.hpp"
#include "cli/open_machine.hpp"
#include "cli/output/print.hpp"
#include "core/parse.hpp"

extern char** environ;

namespace autopilot::cli {
namespace {

constexpr std::size_t kMaxFile = std::size_t{1} << 20;

}  // namespace

Result<std::string> read_settings_text(const std::string& path, const std::string& what) {
  std::error_code ignored;
  const auto kind = std::filesystem::status(path, ignored).type();
  if (kind == std::filesystem::file_type::directory)
    return fail(Errc::malformed, what + " " + path + " is a folder; name a file in it");
  if (kind == std::filesystem::file_type::fifo || kind == std::filesystem::file_type::socket)
    return fail(Errc::malformed, what + " " + path + " is a pipe or a socket; name a file");
  std::ifstream file(path, std::ios::binary);
  if (!file)
    return fail(Errc::malformed,
                "cannot read " + what + " " + path + ": " + std::generic_category().message(errno));
  std::string text(kMaxFile + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > kMaxFile) return fail(Errc::malformed, what + " " + path + " is larger than 1 MiB");
  return text;
}

std::map<std::string, std::string> environment() {
  std::map<std::string, std::string> variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    if (const auto equals = text.find('='); equals != std::string_view::npos)
      variables.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return variables;
}

std::string variable(const std::map<std::string, std::string>& variables, const std::string& name) {
  const auto found = variables.find(name);
  return found == variables.end() ? "" : found->second;
}

std::string settings_file(const std::string& file) {
  return file.empty() ? config::default_file(environment(), ::geteuid() == 0) : file;
}

Result<config::Config> load_settings(const std::string& file, const std::string& base) {
  const auto variables = environment();
  config::Config settings = config::default_config(variables, ::geteuid() == 0);
  if (!base.empty()) settings = TRY(config::parse(base, "flags and variables", std::move(settings)));
  const std::string path = settings_file(file);
  std::error_code ignored;
  if (!file.empty() || std::filesystem::exists(path, ignored)) {
    const auto text = TRY(read_settings_text(path, "configuration"));
    settings = TRY(config::parse(text, path, std::move(settings)));
  }
  return config::apply_environment(variables, std::move(settings));
}

void add_socket_option(CLI::App& verb, std::string& socket) {
  verb.add_option("--socket", socket, "Address of the agent: its socket, or HOST:PORT")->type_name("PATH");
}

void add_machine_options(CLI::App& verb, MachineChoice& choice) {
  auto* root = verb.add_option("--root", choice.root, "Check a machine tree instead (docs/machine-tree.md)")
                   ->type_name("TREE");
  verb.add_option("--simulate", choice.simulate,
                  "Check a simulated machine: hgx-h100-8, ..., or a scenario file")
      ->type_name("SCENARIO")
      ->excludes(root);
}

namespace {

constexpr std::string_view kServiceSocket = "/run/autopilot/agent.sock";

bool is_there(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

bool is_on_loopback(const config::Config& settings) {
  return settings.listen.starts_with("127.0.0.1:") || settings.listen.starts_with("localhost:");
}

// The agent of the service, or one on the loopback, which answers questions and takes no actions.
std::optional<net::HttpTarget> other_agent(const config::Config& settings, Duration patience) {
  net::HttpTarget service;
  service.socket_path = kServiceSocket;
  if (service.socket_path != settings.socket && is_there(service.socket_path) &&
      AgentClient(service).answers(patience))
    return service;
  if (!is_on_loopback(settings)) return std::nullopt;
  const auto loopback = net::parse_target(settings.listen);
  if (!loopback || !AgentClient(*loopback).answers(patience)) return std::nullopt;
  return *loopback;
}

// A socket that an agent left behind refuses connections at once.
bool may_be_used(const std::string& socket, Duration patience) {
  if (!is_there(socket)) return false;
  net::HttpTarget target;
  target.socket_path = socket;
  const auto answer = AgentClient(target).get("/healthz", {}, patience);
  return answer || answer.error().code == Errc::timed_out || answer.error().code == Errc::malformed;
}

}  // namespace

Result<FoundAgent> find_agent(const std::string& socket, const std::string& config_file, Duration patience) {
  if (!socket.empty()) return FoundAgent{TRY(net::parse_target(socket))};
  const config::Config settings = TRY(load_settings(config_file));
  net::HttpTarget target;
  target.socket_path = settings.socket;
  const bool is_default = settings.socket == config::default_config(environment(), ::geteuid() == 0).socket;
  if (!is_default || may_be_used(settings.socket, patience)) return FoundAgent{target};
  const auto other = other_agent(settings, patience);
  return other ? FoundAgent{*other, true} : FoundAgent{target};
}

Result<std::vector<net::HttpTarget>> agent_candidates(const std::string& socket) {
  std::vector<net::HttpTarget> candidates(1);
  if (!socket.empty()) {
    candidates.front() = TRY(net::parse_target(socket));
    return candidates;
  }
  const config::Config settings = TRY(load_settings(""));
  candidates.front().socket_path = settings.socket;
  const bool is_default = settings.socket == config::default_config(environment(), ::geteuid() == 0).socket;
  if (!is_default) return candidates;
  net::HttpTarget service;
  service.socket_path = kServiceSocket;
  candidates.push_back(std::move(service));
  if (auto loopback = net::parse_target(settings.listen); is_on_loopback(settings) && loopback)
    candidates.push_back(std::move(*loopback));
  return candidates;
}

Result<net::HttpTarget> agent_target(const std::string& socket, const std::string& config_file) {
  const FoundAgent found = TRY(find_agent(socket, config_file));
  if (found.is_other)
    tell("no agent of this user runs; the agent at " + net::to_string(found.target) + " answers");
  return found.target;
}

Result<net::HttpTarget> quick_agent_target(const std::string& socket, Duration patience) {
  return TRY(find_agent(socket, {}, patience)).target;
}

void add_duration_option(CLI::App& verb, const std::string& name, std::optional<Duration>& duration,
                         const std::string& description) {
  verb.add_option_function<std::string>(
          name,
          [&duration, name](const std::string& text) {
            duration = parse_duration(text);
            if (!duration)
              throw CLI::ValidationError(name, "expected a duration such as 2s or 500ms, not '" + text + "'");
          },
          description)
      ->type_name("DURATION");
}

}  // namespace autopilot::cli
