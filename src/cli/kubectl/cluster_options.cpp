// SPDX-License-Identifier: Apache-2.0
#include "cli/kubectl/cluster_options.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>

namespace autopilot::cli {
namespace {

constexpr Duration kLongestTimeout = std::chrono::minutes{10};
constexpr std::size_t kLongestName = 253;

std::string name_problem(const std::string& text) {
  return is_object_name(text) ? "" : "expected a name of letters, digits, - and .";
}

}  // namespace

bool is_object_name(std::string_view text) {
  const auto is_allowed = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '.' || c == '_';
  };
  return !text.empty() && text.size() <= kLongestName && !text.starts_with('.') &&
         std::ranges::all_of(text, is_allowed);
}

void add_cluster_options(CLI::App& verb, ClusterOptions& options) {
  verb.add_option("--context", options.context, "Context of the kubeconfig (default: the current context)")
      ->type_name("NAME");
  verb.add_option("--kubeconfig", options.kubeconfig,
                  "Kubeconfig file (default: $KUBECONFIG, else ~/.kube/config)")
      ->type_name("FILE");
  verb.add_option_function<std::string>(
          "--request-timeout",
          [&options](const std::string& text) {
            const auto timeout = parse_duration(text);
            if (!timeout || *timeout <= Duration{0} || *timeout > kLongestTimeout)
              throw CLI::ValidationError("--request-timeout",
                                         "expected a duration such as 5s, at most 10m, not '" + text + "'");
            options.request_timeout = *timeout;
          },
          "Deadline of each request to the API server (default: 15s)")
      ->type_name("DURATION");
}

void add_namespace_option(CLI::App& verb, std::string& name_space) {
  verb.add_option("-n,--namespace", name_space, "Namespace of Autopilot (default: autopilot)")
      ->type_name("NAME")
      ->check(name_problem);
}

void add_installation_options(CLI::App& verb, InstallationOptions& options) {
  add_namespace_option(verb, options.name_space);
  verb.add_option("--label-prefix", options.label_prefix, "Label prefix (default: autopilot.ibm.com)")
      ->type_name("PREFIX")
      ->check(name_problem);
}

CLI::Option* add_node_argument(CLI::App& verb, std::string& node, const std::string& description) {
  return verb.add_option("NODE", node, description)->check(name_problem);
}

}  // namespace autopilot::cli
