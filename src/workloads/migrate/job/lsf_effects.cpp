// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <string_view>

#include "core/parse.hpp"
#include "workloads/migrate/job/effects.hpp"

namespace autopilot::workloads::migrate {
namespace {

// "select[a && b] rusage[mem=1]" as its sections; text outside of brackets is a section without a name.
struct Section {
  std::string name;
  std::string content;
};

std::vector<Section> sections_of(std::string_view text) {
  std::vector<Section> sections;
  std::string outside;
  const auto keep_outside = [&] {
    if (const auto kept = trim(outside); !kept.empty()) sections.push_back({"", std::string(kept)});
    outside.clear();
  };
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] != '[') {
      outside += text[at++];
      continue;
    }
    std::size_t end = at + 1;
    for (int depth = 1; end < text.size(); ++end) {
      depth += text[end] == '[' ? 1 : text[end] == ']' ? -1 : 0;
      if (depth == 0) break;
    }
    const auto begin = outside.find_last_of(" \t&|");
    std::string name(trim(outside.substr(begin == std::string::npos ? 0 : begin + 1)));
    outside.erase(begin == std::string::npos ? 0 : begin);
    keep_outside();
    sections.push_back({to_lower(name), std::string(text.substr(at + 1, end - at - 1))});
    at = std::min(end + 1, text.size());
  }
  keep_outside();
  return sections;
}

struct KeyValue {
  std::string key;
  std::string value;
};

std::vector<KeyValue> pairs_of(std::string_view text, std::string_view separators) {
  std::vector<KeyValue> pairs;
  for (const std::string& word : list_of(text, separators)) {
    const auto equals = word.find('=');
    std::string value(equals == std::string::npos ? std::string_view()
                                                  : trim(std::string_view(word).substr(equals + 1)));
    if (value.size() > 1 && value.front() == '\'' && value.back() == '\'')
      value = value.substr(1, value.size() - 2);
    pairs.push_back({to_lower(trim(std::string_view(word).substr(0, equals))), std::move(value)});
  }
  return pairs;
}

// "8000", "64GB", "8000/task"; a number without a unit needs --lsf-unit.
std::optional<Memory> lsf_memory_of(const EffectContext& context, std::string_view text) {
  Memory memory;
  const auto slash = text.find('/');
  if (slash != std::string_view::npos) {
    const std::string_view scope = text.substr(slash + 1);
    memory.has_scope = true;
    memory.scope = scope == "task" ? Scope::task : scope == "job" ? Scope::job : Scope::host;
    text = text.substr(0, slash);
  }
  const auto size = parse_size(text);
  if (!size) return std::nullopt;
  if (size->unit == 0 && !context.settings.lsf_unit) {
    context.findings.add(
        Severity::decision, "M-UNIT", context.option.line,
        context.option.text +
            ": the number has no unit, and its unit depends on LSF_UNIT_FOR_LIMITS of the cluster; "
            "the job gets no memory request",
        "Give the unit of your cluster: --lsf-unit KB, MB or GB");
    context.row.fate = Fate::dropped;
    context.row.becomes = "unknown unit: give --lsf-unit";
    memory.bytes = 0;
    return memory;
  }
  const auto bytes = bytes_of(*size, context.settings.lsf_unit.value_or(1));
  if (!bytes) return std::nullopt;
  memory.bytes = *bytes;
  return memory;
}

void keep_memory(const EffectContext& context, const Memory& memory) {
  if (memory.bytes > 0) context.part.memory = memory;
}

bool apply_usage(const EffectContext& context, std::string_view content) {
  const auto other = content.find("||");
  if (other != std::string_view::npos)
    context.findings.add(Severity::warning, "M-RESOURCE", context.option.line,
                         "rusage[] has alternatives; the pod requests the first",
                         "Check the resources of the pod");
  content = content.substr(0, other);
  for (const auto& [key, value] : pairs_of(content, ",:&;")) {
    if (key == "mem") {
      const auto memory = lsf_memory_of(context, value);
      if (!memory) return false;
      keep_memory(context, *memory);
    } else if (key == "ngpus_excl_p" || key == "ngpus_physical" || key == "ngpus_shared" || key == "ngpus") {
      const auto count = parse_number<int>(value.substr(0, value.find('/')));
      if (!count || *count < 0 || *count > 1024) return false;
      context.part.gpu.per_host = *count;
      context.part.gpu.is_shared = key == "ngpus_shared";
    } else if (key == "tmp" || key == "scratch") {
      const auto size = parse_size(value);
      const auto bytes = size ? bytes_of(*size, std::uint64_t{1} << 20U) : std::nullopt;
      if (!bytes) return false;
      context.part.scratch_bytes = *bytes;
    } else if (key == "duration" || key == "decay") {
      context.findings.add(Severity::note, "M-RESOURCE", context.option.line,
                           "rusage[" + key + "=" + value +
                               "] ends a reservation early; a pod keeps its requests for its whole life",
                           "Nothing to do");
    } else if (key == "swp") {
      context.findings.add(Severity::note, "M-RESOURCE", context.option.line,
                           "rusage[swp=" + value + "] reserves swap space; a pod does not request it",
                           "Raise the memory if the program needs it");
    } else if (!key.empty()) {
      context.findings.add(
          Severity::warning, "M-RESOURCE", context.option.line,
          "rusage[" + key + "] is a resource of the LSF cluster; the pod does not request it",
          "Nothing to do for licenses that the new cluster does not count");
    }
  }
  return true;
}

bool apply_span(const EffectContext& context, std::string_view content) {
  for (const auto& [key, value] : pairs_of(content, ", ")) {
    const auto count = parse_positive(value);
    if (key == "ptile" && count) {
      context.part.tasks_per_host = *count;
      context.part.is_one_host = false;
    } else if (key == "hosts" && count && *count == 1) {
      context.part.is_one_host = true;
    } else if (key == "block" || key == "stride" || key == "ptile" || key == "gtile") {
      context.row.fate = Fate::approximated;
      if (key == "block" && count) context.part.tasks_per_host = *count;
    } else {
      return false;
    }
  }
  return true;
}

// affinity[core(4)]: processors of each task.
void apply_affinity(const EffectContext& context, std::string_view content) {
  for (const std::string_view unit : {"core(", "thread("}) {
    const auto at = content.find(unit);
    if (at == std::string_view::npos) continue;
    const std::string_view rest = content.substr(at + unit.size());
    if (const auto count = parse_positive(rest.substr(0, rest.find_first_of("),"))))
      context.part.cpus_per_task = *count;
    context.row.fate = Fate::approximated;
    return;
  }
}

bool apply_requirement(const EffectContext& context) {
  for (const Section& section : sections_of(context.option.value)) {
    if (section.name == "rusage") {
      if (!apply_usage(context, section.content)) return false;
    } else if (section.name == "span") {
      if (!apply_span(context, section.content)) return false;
    } else if (section.name == "affinity") {
      apply_affinity(context, section.content);
    } else if (section.name == "order" || section.name == "same" || section.name == "cu") {
      context.row.fate = Fate::approximated;
      context.findings.add(
          Severity::note, "M-PLACEMENT", context.option.line,
          section.name + "[] is a wish about placement; the scheduler of the cluster places the pods",
          "Use topology-aware scheduling of Kueue if the network distance matters");
    } else if (section.name.empty() || section.name == "select") {
      context.part.constraints.push_back(section.content);
    } else {
      return false;
    }
  }
  return true;
}

bool apply_gpu(const EffectContext& context) {
  GpuRequest gpu;
  if (trim(context.option.value) == "-") {
    context.part.gpu = GpuRequest{.per_host = 1, .per_task = {}, .total = {}, .model = "", .is_shared = true};
    return true;
  }
  int count = 1;
  bool is_for_task = false;
  for (const auto& [key, value] : pairs_of(context.option.value, ":")) {
    if (key == "num") {
      const auto number = parse_number<int>(value.substr(0, value.find('/')));
      if (!number || *number < 0 || *number > 1024) return false;
      count = *number;
      is_for_task = value.ends_with("/task");
    } else if (key == "mode") {
      gpu.is_shared = value == "shared";
    } else if (key == "gmodel") {
      gpu.model = value;
    } else if (key == "mps" && value != "no") {
      context.findings.add(Severity::warning, "M-MPS", context.option.line,
                           "mps=" + value + " starts the MPS server of NVIDIA for the job; a pod has none",
                           "Use whole GPUs, or let the device plugin of the cluster share them with MPS");
    } else if (key == "gmem") {
      context.findings.add(Severity::note, "M-GPU-MEMORY", context.option.line,
                           "gmem=" + value + " chooses GPUs by their memory; a pod chooses them by the model",
                           "Map a model to node labels with --queue-map if the nodes differ");
    } else if (key != "j_exclusive" && key != "gtile" && key != "glink" && key != "gvendor" && key != "aff" &&
               key != "mps" && key != "block" && key != "gpack") {
      return false;
    }
  }
  (is_for_task ? gpu.per_task : gpu.per_host) = count;
  if (!is_for_task)
    context.findings.add(Severity::note, "M-GPU-DEFAULT-PER-HOST", context.option.line,
                         "num=" + std::to_string(count) + " counts for each host, not for the job",
                         "Nothing to do");
  context.part.gpu = gpu;
  return true;
}

bool apply_dependency(const EffectContext& context) {
  std::string_view text = context.option.value;
  constexpr std::string_view of_words = " \t&|()!";
  while (!text.empty()) {
    const auto begin = text.find_first_not_of(of_words);
    if (begin == std::string_view::npos) break;
    text.remove_prefix(begin);
    const auto end = text.find_first_of(of_words);
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end);
    if (!text.starts_with('(')) {
      context.job.dependencies.push_back({"done", std::string(word)});
      continue;
    }
    const auto close = text.find(')');
    std::string target(trim(text.substr(1, close == std::string_view::npos ? close : close - 1)));
    std::erase(target, '"');
    context.job.dependencies.push_back({to_lower(word), std::move(target)});
    text.remove_prefix(close == std::string_view::npos ? text.size() : close + 1);
  }
  return !context.job.dependencies.empty();
}

void apply_environment_list(const EffectContext& context) {
  for (const std::string& word : list_of(context.option.value, ",")) {
    const std::string_view text = trim(word);
    const auto equals = text.find('=');
    if (text == "none") {
      context.job.has_clean_environment = true;
    } else if (text.starts_with("LSB_CONTAINER_IMAGE=")) {
      context.job.container_image = std::string(text.substr(equals + 1));
    } else if (equals != std::string_view::npos) {
      context.job.variables.emplace_back(text.substr(0, equals), text.substr(equals + 1));
    }
  }
}

bool apply_requeue_codes(const EffectContext& context) {
  bool excludes = false;
  for (const std::string& word : list_of(context.option.value, " ,")) {
    if (to_lower(word).starts_with("exclude")) excludes = true;
    for (const std::string& code : list_of(word, "EXCLUDEexclude()~")) {
      if (code == "all") continue;
      const auto number = parse_number<int>(code);
      if (!number || *number < 0 || *number > 255) return false;
      if (*number > 0) context.job.retried_exit_codes.push_back(*number);
    }
  }
  if (excludes) context.row.fate = Fate::approximated;
  return true;
}

void apply_allocation(const EffectContext& context) {
  const std::string flags = to_lower(context.option.value);
  if (flags.find("smt") != std::string::npos)
    context.findings.add(Severity::warning, "M-ARCH", context.option.line,
                         "SMT modes are set by LSF on POWER machines; a pod cannot change them",
                         "Remove it; requests.cpu counts hardware threads");
  if (flags.find("nvme") != std::string::npos)
    context.findings.add(Severity::warning, "M-SCRATCH", context.option.line,
                         "The local NVMe disks of the job (for example /mnt/bb/$USER) do not exist in the "
                         "pod; /tmp is a local "
                         "emptyDir",
                         "Write to $TMPDIR, and copy results into a PersistentVolumeClaim");
  if (flags.find("mps") != std::string::npos)
    context.findings.add(Severity::warning, "M-MPS", context.option.line,
                         "gpumps starts the MPS server of NVIDIA for the job; a pod has none",
                         "Use whole GPUs, or let the device plugin of the cluster share them with MPS");
}

}  // namespace

bool apply_lsf_effect(const EffectContext& context) {
  const std::string& value = context.option.value;
  switch (context.option.rule->effect) {
    case Effect::lsf_requirement:
      return apply_requirement(context);
    case Effect::lsf_gpu:
      return apply_gpu(context);
    case Effect::lsf_memory: {
      std::string_view text = value;
      if (text.ends_with('!')) text.remove_suffix(1);
      const auto memory = lsf_memory_of(context, text);
      if (!memory) return false;
      if (memory->bytes > 0) context.part.memory_limit = memory;
      return true;
    }
    case Effect::lsf_dependency:
      return apply_dependency(context);
    case Effect::lsf_environment:
      apply_environment_list(context);
      return true;
    case Effect::lsf_host_list:
      context.part.hosts_included = list_of(value, " ,");
      return true;
    case Effect::lsf_rerun:
      context.job.is_requeued = true;
      return true;
    case Effect::lsf_requeue_codes:
      return apply_requeue_codes(context);
    case Effect::lsf_allocation:
      apply_allocation(context);
      return true;
    case Effect::lsf_warning_time: {
      const auto limit = parse_lsf_limit(value);
      if (!limit || !limit->limit) return false;
      if (!context.job.signal) context.job.signal = JobSignal{"USR2", *limit->limit, false};
      context.job.signal->before = *limit->limit;
      return true;
    }
    case Effect::lsf_warning_signal:
      if (!context.job.signal) context.job.signal = JobSignal{};
      context.job.signal->name = value.starts_with("SIG") ? value.substr(3) : value;
      return true;
    default:
      return apply_shared_effect(context);
  }
}

}  // namespace autopilot::workloads::migrate
