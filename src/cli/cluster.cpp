// SPDX-License-Identifier: Apache-2.0
#include "cli/cluster.hpp"

#include <cerrno>
#include <fstream>
#include <iterator>
#include <utility>
#include <vector>

#include "cli/settings.hpp"
#include "host/process/child_runner.hpp"
#include "host/process/poll.hpp"
#include "kube/in_cluster.hpp"
#include "kube/kubeconfig.hpp"

namespace autopilot::cli {
namespace {

constexpr std::size_t kLargestFile = std::size_t{4} << 20;
constexpr Duration kPluginDeadline = std::chrono::seconds{30};

Result<std::string> read_file(const std::string& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) return fail_errno(errno == 0 ? ENOENT : errno, path);
  std::string text(std::istreambuf_iterator<char>(file), {});
  if (file.bad()) return fail_errno(EIO, path);
  if (text.size() > kLargestFile) return fail(Errc::exhausted, path + ": too long");
  return text;
}

Result<std::string> run_plugin(const kube::ExecPlugin& plugin, const std::string& exec_info) {
  host::Command command{
      .program = "/usr/bin/env", .arguments = {"--", plugin.command}, .environment = host::own_environment()};
  command.arguments.insert(command.arguments.end(), plugin.arguments.begin(), plugin.arguments.end());
  // The first of equal names counts.
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
    return fail(Errc::timed_out, plugin.command + ": no credentials in " + format_duration(kPluginDeadline));
  if (report.end != host::ChildEnd::exited || report.status.code != 0)
    return fail(Errc::unavailable, plugin.command + ": ended with " + to_string(report.status));
  return report.output;
}

}  // namespace

Result<agent::ClusterDoor> open_cluster(const config::Kubernetes& settings,
                                        const std::map<std::string, std::string>& variables) {
  auto access = settings.kubeconfig.empty()
                    ? kube::in_cluster_access(variable(variables, "KUBERNETES_SERVICE_HOST"),
                                              variable(variables, "KUBERNETES_SERVICE_PORT"), read_file)
                    : kube::read_kubeconfig({settings.kubeconfig}, "", read_file);
  if (!access)
    return fail(access.error().code, "kubernetes.write_node is on: " + access.error().what +
                                         (settings.kubeconfig.empty()
                                              ? "; `kubernetes.kubeconfig` names the cluster outside of a pod"
                                              : ""));
  std::string name_space = settings.name_space;
  if (name_space.empty()) name_space = settings.kubeconfig.empty() ? access->name_space : "autopilot";
  const bool is_own = settings.kubeconfig.empty() && name_space == access->name_space;
  return agent::ClusterDoor{std::move(*access), read_file, run_plugin, std::move(name_space),
                            is_own ? variable(variables, "POD_NAME") : ""};
}

}  // namespace autopilot::cli
