// SPDX-License-Identifier: Apache-2.0
#include "host/process/launch.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "core/parse.hpp"

namespace autopilot::host {
namespace {

constexpr auto kEnvironment = std::to_array<std::string_view>({
    "AUTOPILOT_JOB",
    "CLOUD_TPU_TASK_ID",
    "CUDA_VISIBLE_DEVICES",
    "GROUP_RANK",
    "JAX_COORDINATOR_ADDRESS",
    "JAX_NUM_PROCESSES",
    "JAX_PROCESS_ID",
    "JOB_COMPLETION_INDEX",
    "LOCAL_RANK",
    "LOCAL_WORLD_SIZE",
    "MASTER_ADDR",
    "MASTER_PORT",
    "MEGASCALE_COORDINATOR_ADDRESS",
    "MEGASCALE_NUM_SLICES",
    "MEGASCALE_SLICE_ID",
    "NCCL_RAS_ADDR",
    "NCCL_RAS_ENABLE",
    "OMPI_COMM_WORLD_LOCAL_RANK",
    "OMPI_COMM_WORLD_RANK",
    "OMPI_COMM_WORLD_SIZE",
    "PET_MASTER_ADDR",
    "PET_MASTER_PORT",
    "PET_NNODES",
    "PET_NODE_RANK",
    "PET_NPROC_PER_NODE",
    "PET_RDZV_ENDPOINT",
    "PET_RDZV_ID",
    "PMIX_NAMESPACE",
    "PMIX_RANK",
    "PMI_RANK",
    "PMI_SIZE",
    "RANK",
    "SLURM_ARRAY_JOB_ID",
    "SLURM_ARRAY_TASK_ID",
    "SLURM_JOB_ID",
    "SLURM_JOB_NAME",
    "SLURM_LOCALID",
    "SLURM_NNODES",
    "SLURM_NTASKS",
    "SLURM_PROCID",
    "TORCHELASTIC_ERROR_FILE",
    "TORCHELASTIC_RESTART_COUNT",
    "TORCHELASTIC_RUN_ID",
    "TORCH_FR_BUFFER_SIZE",
    "TORCH_FR_DEBUG_INFO_PIPE_FILE",
    "TORCH_FR_DUMP_TEMP_FILE",
    "TORCH_NCCL_DEBUG_INFO_PIPE_FILE",
    "TORCH_NCCL_DEBUG_INFO_TEMP_FILE",
    "TORCH_NCCL_DUMP_ON_TIMEOUT",
    "TORCH_NCCL_TRACE_BUFFER_SIZE",
    "WORLD_SIZE",
});
static_assert(std::ranges::is_sorted(kEnvironment));

constexpr auto kArguments = std::to_array<std::string_view>({
    "--context-parallel-size",
    "--control-port",  // of hydra_pmi_proxy: the same on all nodes of a job
    "--expert-model-parallel-size",
    "--nnodes",
    "--nproc-per-node",
    "--pipeline-model-parallel-size",
    "--tensor-model-parallel-size",
});
static_assert(std::ranges::is_sorted(kArguments));

// As the kernel shows them: at most 15 characters.
constexpr auto kLauncherNames = std::to_array<std::string_view>({
    "accelerate",
    "deepspeed",
    "horovodrun",
    "hydra_pmi_proxy",
    "mpiexec",
    "mpiexec.hydra",
    "mpirun",
    "orted",
    "orterun",
    "prte",
    "prted",
    "prterun",
    "slurmstepd",
    "srun",
    "torchrun",
});
static_assert(std::ranges::is_sorted(kLauncherNames));

// Python modules that start ranks.
constexpr auto kLauncherModules = std::to_array<std::string_view>({
    "accelerate.commands.launch",
    "deepspeed.launcher.launch",
    "torch.distributed.launch",
    "torch.distributed.run",
});

struct Server {
  std::string_view word;  // an argument, or the end of its path
  std::string_view name;
};
constexpr auto kServers = std::to_array<Server>({
    {"vllm", "vllm"},
    {"vllm.entrypoints.openai.api_server", "vllm"},
    {"vllm.entrypoints.api_server", "vllm"},
    {"tritonserver", "triton"},
    {"text-generation-server", "tgi"},
    {"text-generation-launcher", "tgi"},
    {"text-generation-router", "tgi"},
    {"sglang.launch_server", "sglang"},
    {"sglang", "sglang"},
});

// Beginnings of titles that servers give their processes.
constexpr auto kServerTitles = std::to_array<Server>({{"VLLM::", "vllm"}, {"sglang::", "sglang"}});

// A program or a module is among the first arguments that are no options: "python3 -u -m
// vllm.entrypoints...".
constexpr std::size_t kProgramWords = 2;

bool is_kept(std::string_view value) {
  return !value.empty() && value.size() <= Launch::kLongestValue && is_printable(value);
}

std::string_view name_in_path(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

std::string_view find(const Launch::Values& values, std::string_view name) {
  const auto found = values.find(name);
  return found == values.end() ? std::string_view{} : std::string_view(found->second);
}

void note_program(std::string_view argument, Launch& launch) {
  const std::string_view name = name_in_path(argument);
  if (is_launcher_name(name) || std::ranges::find(kLauncherModules, name) != kLauncherModules.end())
    launch.is_launcher = true;
  const auto server = std::ranges::find(kServers, name, &Server::word);
  if (server != kServers.end() && launch.server.empty()) launch.server = server->name;
  for (const Server& title : kServerTitles)
    if (argument.starts_with(title.word)) launch.server = title.name;
}

}  // namespace

std::string_view Launch::variable(std::string_view name) const {
  return find(environment, name);
}

std::string_view Launch::argument(std::string_view name) const {
  return find(arguments, name);
}

std::span<const std::string_view> environment_names() {
  return kEnvironment;
}

std::span<const std::string_view> argument_names() {
  return kArguments;
}

bool is_launcher_name(std::string_view name) {
  return std::ranges::binary_search(kLauncherNames, name);
}

void parse_environment(std::string_view text, Launch& launch) {
  std::vector<std::string_view> seen;
  while (!text.empty()) {
    const std::string_view row = text.substr(0, text.find('\0'));
    text.remove_prefix(std::min(text.size(), row.size() + 1));
    const std::size_t equals = row.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view name = row.substr(0, equals);
    if (!std::ranges::binary_search(kEnvironment, name)) continue;
    if (std::ranges::find(seen, name) != seen.end()) continue;
    seen.push_back(name);
    if (const std::string_view value = row.substr(equals + 1); is_kept(value))
      launch.environment.emplace(name, value);
  }
}

void parse_arguments(std::string_view text, Launch& launch) {
  std::string_view waiting;  // a name whose value is the next argument
  std::size_t words = 0;
  while (!text.empty()) {
    const std::string_view argument = text.substr(0, text.find('\0'));
    text.remove_prefix(std::min(text.size(), argument.size() + 1));
    if (!argument.starts_with('-') && words++ < kProgramWords) note_program(argument, launch);
    const std::size_t equals = argument.find('=');
    const std::string_view name = argument.substr(0, equals);
    const std::string_view value =
        equals == std::string_view::npos ? std::string_view{} : argument.substr(equals + 1);
    if (!waiting.empty() && !argument.starts_with("--") && is_kept(argument))
      launch.arguments.insert_or_assign(std::string(waiting), std::string(argument));
    waiting = {};
    // torchrun takes both spellings.
    std::string spelled(name.substr(0, Launch::kLongestValue));
    std::ranges::replace(spelled, '_', '-');
    const auto known = std::ranges::lower_bound(kArguments, std::string_view(spelled));
    if (known == kArguments.end() || *known != spelled) continue;
    if (equals == std::string_view::npos)
      waiting = *known;
    else if (is_kept(value))
      launch.arguments.insert_or_assign(std::string(*known), std::string(value));
  }
}

}  // namespace autopilot::host
