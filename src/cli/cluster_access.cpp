// SPDX-License-Identifier: Apache-2.0
#include "cli/cluster_access.hpp"

#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <utility>
#include <vector>

#include "cli/settings.hpp"
#include "host/files/fd.hpp"
#include "host/process/child_runner.hpp"
#include "kube/access.hpp"
#include "kube/kubeconfig.hpp"

namespace autopilot::cli {

namespace {

constexpr std::size_t kLargestFile = std::size_t{4} << 20;
constexpr Duration kPluginDeadline = std::chrono::seconds{30};

}  // namespace

Result<kube::ClusterDoor> open_cluster(const std::string& kubeconfig, const std::string& name_space,
                                       const std::map<std::string, std::string>& variables) {
  auto access = kubeconfig.empty() ? kube::in_cluster_access(variable(variables, "KUBERNETES_SERVICE_HOST"),
                                                             variable(variables, "KUBERNETES_SERVICE_PORT"),
                                                             read_cluster_file)
                                   : kube::read_kubeconfig({kubeconfig}, "", read_cluster_file);
  if (!access)
    return fail(
        access.error().code,
        access.error().what + (kubeconfig.empty() ? "; outside a pod, set `kubernetes.kubeconfig`" : ""));
  std::string own = name_space;
  if (own.empty()) own = kubeconfig.empty() ? access->name_space : "autopilot";
  const bool is_of_pod = kubeconfig.empty() && own == access->name_space;
  return kube::ClusterDoor{std::move(*access), read_cluster_file, run_credential_plugin, std::move(own),
                           is_of_pod ? variable(variables, "POD_NAME") : ""};
}

Result<std::string> read_cluster_file(const std::string& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) return fail_errno(errno == 0 ? ENOENT : errno, path);
  std::string text;
  std::array<char, 16384> piece{};
  while (!file.eof()) {
    file.read(piece.data(), piece.size());
    if (file.bad()) return fail_errno(EIO, path);
    text.append(piece.data(), static_cast<std::size_t>(file.gcount()));
    if (text.size() > kLargestFile) return fail(Errc::exhausted, path + ": too long");
  }
  return text;
}

std::string open_key_problem(const std::string& key, const std::map<std::string, std::string>& variables) {
  if (key.empty() || variables.contains("KUBERNETES_SERVICE_HOST")) return "";
  std::error_code missing;
  const auto mode = std::filesystem::status(key, missing).permissions();
  if (missing || (mode & std::filesystem::perms::others_read) == std::filesystem::perms::none) return "";
  return "every user of this machine can read the private key " + key +
         " and impersonate this program; run: chmod o-r " + key + ", then create a new key";
}

Result<std::string> run_credential_plugin(const kube::ExecPlugin& plugin, const std::string& exec_info) {
  host::Command command{
      .program = "/usr/bin/env", .arguments = {"--", plugin.command}, .environment = host::own_environment()};
  command.arguments.insert(command.arguments.end(), plugin.arguments.begin(), plugin.arguments.end());
  // Of equal names the first takes effect.
  std::vector<std::string> own{"KUBERNETES_EXEC_INFO=" + exec_info};
  for (const auto& [name, value] : plugin.environment) {
    own.push_back(name);
    own.back() += '=';
    own.back() += value;
  }
  command.environment.insert(command.environment.begin(), own.begin(), own.end());
  host::ChildRunner runner;
  const auto report = TRY(runner.run(command, host::mono_now() + kPluginDeadline));
  if (report.end == host::ChildEnd::timed_out)
    return fail(Errc::timed_out,
                plugin.command + ": no credentials within " + format_duration(kPluginDeadline));
  if (report.end != host::ChildEnd::exited || report.status.code != 0)
    return fail(Errc::unavailable, plugin.command + ": ended with " + to_string(report.status));
  return report.output;
}

}  // namespace autopilot::cli
