// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <array>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cli/cli.hpp"
#include "cli/verbs.hpp"
#include "diagnostics/child/dcgm_helper.hpp"
#include "diagnostics/child/deep_test_helper.hpp"
#include "diagnostics/child/gpu_probe_helper.hpp"
#include "diagnostics/child/known_arithmetic.hpp"
#include "diagnostics/child/nccl_helper.hpp"
#include "diagnostics/child/simulated_probe.hpp"
#include "diagnostics/operations/own_deep_diagnostic.hpp"
#include "host/ethtool/ethtool_helper.hpp"
#include "host/files/own_folder.hpp"
#include "host/gpu/amd_gpus.hpp"
#include "host/gpu/nvml_driver.hpp"
#include "host/helpers/helper_server.hpp"
#include "host/infiniband/ib_helper.hpp"
#include "host/kernel_log/kmsg_helper.hpp"
#include "host/kubelet/kubelet_helper.hpp"
#include "host/nccl_ras/ras_helper.hpp"
#include "host/process/own_process.hpp"
#include "host/scripts/confined_program.hpp"
#include "host/storage/system_storage.hpp"
#include "nettest/echo/ping_helper.hpp"

namespace autopilot::cli {
namespace {

// `arguments`: the words after the kind on the command line.
struct HelperKind {
  std::string_view name;
  int (*run)(const std::vector<std::string>& arguments);
};

constexpr std::array kKinds = {
    HelperKind{"nvml",
               [](const std::vector<std::string>& arguments) {
                 return host::run_nvml_helper(host::kHelperFd, arguments);
               }},
    HelperKind{"amdgpu",
               [](const std::vector<std::string>&) { return host::run_amdgpu_helper(host::kHelperFd); }},
    HelperKind{"storage",
               [](const std::vector<std::string>&) { return host::run_storage_helper(host::kHelperFd); }},
    HelperKind{"ib", [](const std::vector<std::string>&) { return host::run_ib_helper(host::kHelperFd); }},
    HelperKind{"ethtool",
               [](const std::vector<std::string>&) { return host::run_ethtool_helper(host::kHelperFd); }},
    HelperKind{"ping",
               [](const std::vector<std::string>&) { return nettest::run_ping_helper(host::kHelperFd); }},
    HelperKind{"kmsg", host::run_kmsg_helper_verb},
    HelperKind{"kubelet",
               [](const std::vector<std::string>& arguments) {
                 return host::run_kubelet_helper(host::kHelperFd, arguments);
               }},
    HelperKind{"ras",
               [](const std::vector<std::string>& arguments) {
                 return host::run_ras_helper(host::kHelperFd, arguments);
               }},
    HelperKind{"self_test", diagnostics::run_self_test},
    HelperKind{"simulated_probe", diagnostics::run_simulated_probe},
    HelperKind{"deep-test",
               [](const std::vector<std::string>& arguments) {
                 return diagnostics::run_deep_test(arguments, diagnostics::run_own_deep_test);
               }},
    HelperKind{"dcgm", diagnostics::run_dcgm},
    HelperKind{"gpu_probe", diagnostics::run_gpu_probe},
    HelperKind{"nccl_allreduce", diagnostics::run_nccl_allreduce},
    HelperKind{"confined", host::run_confined},
    HelperKind{"share_folder", host::run_share_folder},
};

int run_helper(const std::string& name, const std::vector<std::string>& arguments) {
  for (const HelperKind& kind : kKinds)
    if (kind.name == name) {
      host::keep_allocator_small();
      return kind.run(arguments);
    }
  std::cerr << "autopilot helper: unknown kind " << name << "\n";
  return kExitUsage;
}

}  // namespace

void add_helper(CLI::App& app, int& exit_code) {
  auto* verb = app.add_subcommand(
      "helper", "Started by the agent: runs calls that may hang, crash or need a permission");
  verb->group("");
  verb->prefix_command();  // the helper gets every word after the kind, including '--' and --help
  auto kind = std::make_shared<std::string>();
  verb->add_option("KIND", *kind)->required();
  verb->callback([verb, kind, &exit_code] { exit_code = run_helper(*kind, verb->remaining()); });
}

}  // namespace autopilot::cli
