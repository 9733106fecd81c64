// SPDX-License-Identifier: Apache-2.0
#include "cli/open_machine.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "catalog/catalog.hpp"
#include "checks/kernel_log/decode.hpp"
#include "checks/kernel_log/nvidia_lines.hpp"
#include "cli/output/table.hpp"
#include "cli/simulation.hpp"
#include "diagnostics/child/dcgm_helper.hpp"
#include "diagnostics/child/gpu_probe_helper.hpp"
#include "diagnostics/child/nccl_helper.hpp"
#include "diagnostics/operations/operation_kinds.hpp"
#include "host/helpers/helper_client.hpp"
#include "host/kernel_log/kmsg_source.hpp"
#include "host/machine_tree/machine_tree.hpp"
#include "host/open_host.hpp"
#include "host/pci/pci.hpp"

namespace autopilot::cli {
namespace {

std::vector<std::string> required_checks(const config::Config& config, const host::Files& files) {
  if (config.required_checks) return *config.required_checks;
  std::vector<std::string> required;
  if (const auto* profile = catalog::builtin().profile(config.profile))
    for (const auto& one : profile->required)
      if ((one.when == "always" || host::has_devices(files, one.when)) &&
          std::ranges::find(required, one.check) == required.end())
        required.push_back(one.check);
  return required;
}

// Parts of the log with a known record in this batch; most kernel log records are not known.
LogParts news_in(const std::vector<host::SourcedRecord>& batch, const checks::OperatorRules* rules) {
  LogParts news = LogParts::none;
  for (const auto& [record, lost] : batch) {
    const LogParts part = checks::log_part_of(record.text);
    if (!overlap(news, part) && checks::builtin_decoder().decode(record)) news = news | part;
    if (rules != nullptr && !overlap(news, LogParts::operator_rules) && rules->recognise(record))
      news = news | LogParts::operator_rules;
  }
  return news;
}

// Store of diagnostic results, empty except for the reason why no result exists yet.
std::shared_ptr<host::TestBoard> make_board(const config::Config& config) {
  auto board = std::make_shared<host::TestBoard>();
  if (config.pvc.is_on())
    board->put("storage.pvc",
               fail(Errc::unavailable, "the agent tests storage classes; no such test has completed here"));
  if (config.deep_test.every > Duration{0})
    board->put("gpu.diagnosis", fail(Errc::unavailable,
                                     "the Node object holds the results of deep diagnostics, "
                                     "which the agent reads"));
  return board;
}

agent::Machine to_machine(host::OpenedHost opened, const config::Config& config,
                          std::shared_ptr<host::TestBoard> tests) {
  agent::Machine machine;
  machine.tests = std::move(tests);
  machine.host = opened.host;
  machine.node = config.node.empty() ? opened.node : config.node;
  machine.boot_id = opened.boot_id;
  machine.simulated = opened.simulated;
  machine.has_accelerator =
      host::has_devices(opened.host->files, "nvidia_gpu") || host::has_devices(opened.host->files, "amd_gpu");
  machine.required_checks = [host = opened.host](const config::Config& now) {
    return required_checks(now, host->files);
  };
  machine.complete_self = std::move(opened.complete_self);
  machine.inject = [](const api::InjectRequest&) -> Status {
    return fail(Errc::denied,
                "faults can be injected only into simulated machines (autopilot agent --simulate), not into "
                "this one");
  };
  return machine;
}

// The diagnostics that `probes` of a machine tree lists.
std::vector<diagnostics::OperationKind> tests_of_tree(const std::string& directory) {
  constexpr Duration kDeadline = std::chrono::minutes{1};
  std::vector<diagnostics::OperationKind> kinds;
  const auto file = host::MachineTreeFile::open(directory);
  const auto tree = file ? (*file)->read() : fail(file.error());
  if (!tree) return kinds;
  for (const auto& [id, probe] : (*tree)->probes) {
    const checks::Check* check = checks::find_check(id);
    if (check == nullptr) continue;
    kinds.push_back(
        {id, check->info.title, kDeadline, host::helper_command("simulated_probe", {directory, id}), true});
  }
  return kinds;
}

// Does nothing if the kind is already in the list.
void add_kind(std::vector<diagnostics::OperationKind>& kinds, diagnostics::OperationKind kind) {
  if (std::ranges::find(kinds, kind.id, &diagnostics::OperationKind::id) == kinds.end())
    kinds.push_back(std::move(kind));
}

// Diagnostics of a simulated machine: the GPU probe if it has a CUDA driver, then those of its tree. Programs
// that would test the real machine run only if the configuration names a substitute.
std::vector<diagnostics::OperationKind> tests_of_tree(const std::string& directory,
                                                      const config::Config& config,
                                                      const std::string& library) {
  std::vector<diagnostics::OperationKind> kinds;
  std::error_code ignored;
  const auto cuda_library = simulated_cuda_library();
  if (cuda_library && std::filesystem::exists(directory + "/cuda.yaml", ignored))
    kinds = diagnostics::gpu_probe_operations(config.gpu_probe, {directory, library, *cuda_library});
  for (auto& kind : tests_of_tree(directory))
    add_kind(kinds, std::move(kind));
  if (!config.dcgm.command.empty())
    add_kind(kinds, diagnostics::dcgm_operation(config.dcgm, config.deep_test.fatal, {directory, library}));
  if (!config.nccl.command.empty())
    add_kind(kinds, diagnostics::nccl_operation(config.nccl, {directory, library}));
  return kinds;
}

// Without DCGM the result states what to install.
void offer_dcgm(agent::Machine& machine, const config::Config& config) {
  if (!host::has_devices(machine.host->files, "nvidia_gpu")) return;
  if (diagnostics::has_dcgmi() || !config.dcgm.command.empty())
    machine.operations.push_back(diagnostics::dcgm_operation(config.dcgm, config.deep_test.fatal));
  else
    machine.tests->put("gpu.dcgm", fail(Errc::unsupported, diagnostics::without_dcgmi()));
}

// Without the program the result states where to install it.
void offer_gpu_probe(agent::Machine& machine, const config::Config& config) {
  if (!host::has_devices(machine.host->files, "nvidia_gpu")) return;
  const auto program = diagnostics::gpu_probe_program();
  for (auto& kind : diagnostics::gpu_probe_operations(config.gpu_probe))
    if (program)
      machine.operations.push_back(std::move(kind));
    else
      machine.tests->put(kind.id, fail(Errc::unsupported, program.error().what));
}

void offer_nccl(agent::Machine& machine, const config::Config& config) {
  if (!host::has_devices(machine.host->files, "nvidia_gpu")) return;
  const auto program = diagnostics::find_all_reduce_perf();
  if (program || !config.nccl.command.empty())
    machine.operations.push_back(diagnostics::nccl_operation(config.nccl));
  else
    machine.tests->put("gpu.nccl_allreduce", fail(Errc::unsupported, program.error().what));
}

// On a real machine injection writes only a marked kernel record, and only if the operator allows it.
Status inject_for_real(const api::InjectRequest& request) {
  if (request.fault != "xid" || request.subject.kind != SubjectKind::gpu || !request.magnitude)
    return fail(Errc::unsupported,
                "a real machine accepts only: xid --subject gpu/<PCI address> --magnitude <code>");
  return host::inject_kernel_record("NVRM: Xid (PCI:" + request.subject.key +
                                    "): " + to_string(Value{static_cast<std::int64_t>(*request.magnitude)}) +
                                    ", injected for a test");
}

Result<host::OpenedHost> open_tree(const std::string& root, const host::OpenOptions& options) {
  auto opened = host::open_tree_host(root, options);
  if (!opened && opened.error().code == Errc::not_found)
    return fail(Errc::malformed, opened.error().what +
                                     "; a machine tree is a folder with that file "
                                     "(create one with: autopilot record DIR)");
  return opened;
}

Result<agent::Machine> open_simulation(const MachineChoice& choice, const config::Config& config,
                                       Timeline timeline, const host::OpenOptions& options,
                                       const OnKernelNews& on_kernel_news,
                                       std::shared_ptr<host::TestBoard> tests) {
  const std::shared_ptr<Simulation> simulation = TRY(Simulation::create(choice.simulate, timeline));
  auto machine =
      to_machine(TRY(host::open_tree_host(simulation->directory(), options)), config, std::move(tests));
  machine.operations = tests_of_tree(simulation->directory(), config, options.nvml_library);
  const auto log_may_have_grown = [on_kernel_news] { on_kernel_news(LogParts::all); };
  if (timeline == Timeline::live) simulation->play(log_may_have_grown);
  machine.inject = [simulation, log_may_have_grown](const api::InjectRequest& request) -> Status {
    TRY_STATUS(simulation->inject(request));
    log_may_have_grown();
    return {};
  };
  return machine;
}

}  // namespace

bool is_recording(const MachineChoice& choice) {
  if (choice.root.empty()) return false;
  const auto file = host::MachineTreeFile::open(choice.root);
  const auto tree = file ? (*file)->read() : fail(file.error());
  return tree && !(*tree)->simulated;
}

std::string recorded_line(const MachineChoice& choice) {
  return is_recording(choice) ? "RECORDED from a real machine: " + printable(choice.root) + "\n" : "";
}

Result<agent::Machine> open_machine(const MachineChoice& choice, const config::Config& config,
                                    Timeline timeline, const KernelNews& kernel_news) {
  host::OpenOptions options;
  options.news_in = [rules = kernel_news.operator_rules](const std::vector<host::SourcedRecord>& batch) {
    return news_in(batch, rules.get());
  };
  options.part_of = [](const host::KernelRecord& record) { return checks::log_part_of(record.text); };
  options.on_kernel_news = kernel_news.tell;
  options.kernel_log_socket = config.kernel_log.helper_socket;
  // A recording contains its own pods.
  if (choice.root.empty()) options.kubelet_socket = config.kubelet.helper_socket;
  options.trusts_injected = config.inject;
  auto tests = make_board(config);
  options.tests = tests;
  if (choice.is_this_machine()) {
    auto machine = to_machine(TRY(host::open_system_host(options)), config, std::move(tests));
    if (config.inject) machine.inject = inject_for_real;
    offer_dcgm(machine, config);
    offer_gpu_probe(machine, config);
    offer_nccl(machine, config);
    return machine;
  }
  options.nvml_library = TRY(simulated_library());
  if (!choice.root.empty()) {
    auto machine = to_machine(TRY(open_tree(choice.root, options)), config, std::move(tests));
    machine.operations = tests_of_tree(choice.root, config, options.nvml_library);
    return machine;
  }
  return open_simulation(choice, config, timeline, options, kernel_news.tell, std::move(tests));
}

}  // namespace autopilot::cli
