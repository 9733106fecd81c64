// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <string_view>

#include "core/parse.hpp"
#include "workloads/migrate/job/effects.hpp"

namespace autopilot::workloads::migrate {
namespace {

constexpr std::uint64_t kMebibyte = std::uint64_t{1} << 20U;
// Less is probably a number of GiB without its unit.
constexpr std::int64_t kPlausibleBytes = std::int64_t{256} << 20U;

bool apply_memory(const EffectContext& context, Scope scope) {
  const auto size = parse_size(context.option.value);
  const auto bytes = size ? bytes_of(*size, kMebibyte) : std::nullopt;
  if (!bytes) return false;
  if (*bytes == 0) {
    context.part.wants_whole_memory = true;
    context.row.becomes = "all memory of the node";
    return true;
  }
  if (size->unit == 0 && *bytes < kPlausibleBytes)
    context.findings.add(
        Severity::decision, "M-UNIT", context.option.line,
        context.option.text + " is " + std::to_string(*bytes >> 20U) +
            " MiB, because Slurm counts in MB; the pod gets that limit and is probably killed",
        "Write the unit: " + context.option.text + "G");
  context.part.memory = Memory{*bytes, scope};
  context.part.wants_whole_memory = false;
  return true;
}

// "8", "a100:8"
struct TypedCount {
  std::string model;
  int count = 1;
};

std::optional<TypedCount> typed_count(std::string_view text) {
  TypedCount result;
  text = text.substr(0, text.find('('));
  const auto colon = text.rfind(':');
  const std::string_view last = colon == std::string_view::npos ? text : text.substr(colon + 1);
  const auto count = parse_number<int>(last);
  if (count) {
    if (*count < 0 || *count > 100'000) return std::nullopt;
    result.count = *count;
    if (colon != std::string_view::npos) result.model = std::string(text.substr(0, colon));
  } else {
    result.model = std::string(text);  // "gpu:a100" is one
  }
  return result;
}

bool apply_gres(const EffectContext& context) {
  for (const std::string& item : list_of(context.option.value, ",")) {
    const std::string_view text = trim(item);
    if (text == "none") continue;
    const auto colon = text.find(':');
    const std::string_view kind = text.substr(0, colon);
    if (kind != "gpu") {
      context.findings.add(
          Severity::warning, "M-RESOURCE", context.option.line,
          "--gres=" + std::string(kind) + " is a resource of the Slurm cluster; the pod does not request it",
          kind == "shard" || kind == "mps"
              ? "Use whole GPUs, or let the device plugin of the cluster share them"
              : "Nothing to do if the program does not need it");
      continue;
    }
    const auto typed =
        colon == std::string_view::npos ? std::optional(TypedCount{}) : typed_count(text.substr(colon + 1));
    if (!typed) return false;
    context.part.gpu.per_host = typed->count;
    context.part.gpu.model = typed->model;
  }
  return true;
}

bool apply_gpus(const EffectContext& context, std::optional<int> GpuRequest::*member) {
  const auto typed = typed_count(context.option.value);
  if (!typed || typed->count < 1) return false;
  context.part.gpu.*member = typed->count;
  if (!typed->model.empty()) context.part.gpu.model = typed->model;
  return true;
}

bool apply_slurm_dependency(const EffectContext& context) {
  context.job.dependencies.clear();
  for (const std::string& item : list_of(context.option.value, ",?")) {
    const auto parts = split(item, ':');
    const std::string kind(parts.front());
    constexpr std::array<std::string_view, 9> kinds{"after",      "afterany",         "afterok",
                                                    "afternotok", "afterburstbuffer", "aftercorr",
                                                    "singleton",  "expand",           "afterstart"};
    if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) return false;
    if (parts.size() == 1) context.job.dependencies.push_back({kind, ""});
    for (std::size_t at = 1; at < parts.size(); ++at)
      context.job.dependencies.push_back({kind, std::string(parts[at].substr(0, parts[at].find('+')))});
  }
  return !context.job.dependencies.empty();
}

bool apply_export(const EffectContext& context) {
  for (const std::string& item : list_of(context.option.value, ",")) {
    const auto equals = item.find('=');
    if (item == "NONE" || item == "NIL") {
      context.job.has_clean_environment = true;
    } else if (equals != std::string::npos && equals > 0) {
      context.job.variables.emplace_back(item.substr(0, equals), item.substr(equals + 1));
    } else if (item != "ALL") {
      context.findings.add(
          Severity::warning, "M-ENVIRONMENT", context.option.line,
          "--export=" + item +
              " takes the value from the shell of the submit command, which a pod does not have",
          "Give the value: --export=" + item + "=VALUE");
    }
  }
  return true;
}

// [R][B:]signal[@seconds]
bool apply_signal(const EffectContext& context) {
  std::string_view text = context.option.value;
  JobSignal signal;
  if (const auto colon = text.find(':'); colon != std::string_view::npos) {
    signal.is_for_script = text.substr(0, colon).find('B') != std::string_view::npos;
    text = text.substr(colon + 1);
  }
  const auto at = text.find('@');
  if (at != std::string_view::npos) {
    const auto seconds = parse_number<int>(text.substr(at + 1));
    if (!seconds || *seconds < 0 || *seconds > 65535) return false;
    signal.before = std::chrono::seconds{*seconds};
  }
  signal.name = std::string(text.substr(0, at));
  if (signal.name.starts_with("SIG")) signal.name.erase(0, 3);
  const bool is_valid = !signal.name.empty() && signal.name.size() < 12 &&
                        std::all_of(signal.name.begin(), signal.name.end(),
                                    [](char c) { return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); });
  if (!is_valid) return false;
  context.job.signal = signal;
  return true;
}

}  // namespace

bool apply_slurm_effect(const EffectContext& context) {
  const std::string& value = context.option.value;
  switch (context.option.rule->effect) {
    case Effect::memory:
      return apply_memory(context, Scope::host);
    case Effect::memory_per_cpu:
      return apply_memory(context, Scope::cpu);
    case Effect::memory_per_gpu:
      return apply_memory(context, Scope::gpu);
    case Effect::gres:
      return apply_gres(context);
    case Effect::gpus_total:
      return apply_gpus(context, &GpuRequest::total);
    case Effect::gpus_per_host:
      return apply_gpus(context, &GpuRequest::per_host);
    case Effect::gpus_per_task:
      return apply_gpus(context, &GpuRequest::per_task);
    case Effect::gpus_per_socket:
      return apply_gpus(context, &GpuRequest::per_socket);
    case Effect::sockets_per_host: {
      const auto range = parse_range(value, '-');
      if (!range) return false;
      context.part.sockets_per_host = range->least;
      return true;
    }
    case Effect::shifter_image:
      context.job.container_image = value;
      context.findings.add(Severity::warning, "M-CONTAINER", context.option.line,
                           "--image starts the steps in a container of Shifter; the pod has this image, and "
                           "runs the script in it as well",
                           "Remove shifter from the commands, or give another image with --image");
      return true;
    case Effect::modules:
      context.findings.add(Severity::warning, "M-MODULE", context.option.line,
                           "--module=" + value + " loads modules of Shifter; the pod has none",
                           "Put their software into the image");
      return true;
    case Effect::scratch: {
      const auto size = parse_size(value);
      const auto bytes = size ? bytes_of(*size, kMebibyte) : std::nullopt;
      if (!bytes) return false;
      context.part.scratch_bytes = *bytes;
      return true;
    }
    case Effect::dependency:
      return apply_slurm_dependency(context);
    case Effect::environment:
      return apply_export(context);
    case Effect::signal:
      return apply_signal(context);
    case Effect::array: {
      const auto array = parse_array(value);
      if (!array) return false;
      context.job.array = *array;
      return true;
    }
    default:
      return apply_shared_effect(context);
  }
}

}  // namespace autopilot::workloads::migrate
