// SPDX-License-Identifier: Apache-2.0
#include "workloads/migrate/manifest/pod.hpp"

#include <algorithm>
#include <set>

#include "core/parse.hpp"
#include "core/text.hpp"
#include "workloads/migrate/manifest/yaml_writer.hpp"

namespace autopilot::workloads::migrate {
namespace {

constexpr std::string_view kPrefix = "autopilot.ibm.com/";
constexpr std::size_t kLongestAnnotation = 32768;

// The label with the name of the job, which the controller of each kind sets on pods.
std::string_view key_label(Target target) {
  switch (target) {
    case Target::job:
    case Target::indexed:
    case Target::openshift:
      return "batch.kubernetes.io/controller-uid";
    case Target::jobset:
      return "jobset.sigs.k8s.io/jobset-name";
    case Target::volcano:
      return "volcano.sh/job-name";
    case Target::pytorchjob:
    case Target::mpijob:
      return "training.kubeflow.org/job-name";
  }
  return "";
}

void put_variable(YamlNode& env, std::string_view name, std::string_view value) {
  YamlNode& variable = add_map(env);
  put(variable, "name", name);
  put(variable, "value", value);
}

void put_field_variable(YamlNode& env, std::string_view name, const std::string& field) {
  YamlNode& variable = add_map(env);
  put(variable, "name", name);
  put(put_map(put_map(variable, "valueFrom"), "fieldRef"), "fieldPath", field);
}

std::string variable_of_claim(const Claim& claim) {
  return claim.path.starts_with('$') ? claim.path.substr(1) : std::string();
}

std::string mount_of_claim(const Claim& claim) {
  const std::string variable = variable_of_claim(claim);
  return variable.empty() ? claim.path : "/mnt/" + to_lower(variable);
}

void put_scheduler_variables(YamlNode& env, const Plan& plan, std::size_t part) {
  const Layout& layout = plan.layouts[part];
  const std::string key = "metadata.labels['" + std::string(key_label(plan.target)) + "']";
  const std::string& queue = plan.placements[part].queue_name;
  if (plan.job.scheduler == Scheduler::lsf) {
    put_field_variable(env, "LSB_JOBID", key);
    put_variable(env, "LSB_JOBNAME", plan.job.original_name);
    put_variable(env, "LSB_QUEUE", queue);
    if (!is_array(plan)) put_variable(env, "LSB_JOBINDEX", "0");
    put_variable(env, "LSB_DJOB_NUMPROC", std::to_string(layout.tasks));
    return;
  }
  put_field_variable(env, "SLURM_JOB_ID", key);
  put_variable(env, "SLURM_JOB_NAME", plan.job.original_name);
  if (!queue.empty()) put_variable(env, "SLURM_JOB_PARTITION", queue);
  put_variable(env, "SLURM_NNODES", std::to_string(layout.hosts));
  put_variable(env, "SLURM_NTASKS", std::to_string(layout.tasks));
}

void put_environment(YamlNode& container, const Plan& plan, const PodOptions& options) {
  YamlNode& env = put_list(container, "env");
  put_scheduler_variables(env, plan, options.part);
  if (plan.target == Target::jobset)
    put_field_variable(env, "AUTOPILOT_ARRAY_POSITION", "metadata.labels['jobset.sigs.k8s.io/job-index']");
  if (plan.layouts.size() > 1) put_variable(env, "AUTOPILOT_PART", std::to_string(options.part));
  // In a pod of another user of OpenShift, / is the home directory, which is not writable.
  if (plan.target == Target::openshift) put_variable(env, "HOME", "/tmp");
  const std::string user =
      plan.settings.user.empty() && plan.target == Target::openshift ? "user" : plan.settings.user;
  if (!user.empty()) {
    put_variable(env, "USER", user);
    put_variable(env, "LOGNAME", user);
  }
  for (const Claim& claim : plan.settings.claims)
    if (const std::string variable = variable_of_claim(claim); !variable.empty())
      put_variable(env, variable, mount_of_claim(claim));
  const std::set<std::string> secrets(plan.secrets.begin(), plan.secrets.end());
  const auto put_secret = [&](const std::string& name, std::string_view key) {
    YamlNode& variable = add_map(env);
    put(variable, "name", name);
    YamlNode& reference = put_map(put_map(variable, "valueFrom"), "secretKeyRef");
    put(reference, "name", plan.job.name + "-secrets");
    put(reference, "key", key);
  };
  for (const auto& [name, value] : plan.job.variables) {
    const bool is_reference = value.starts_with("${") && value.ends_with('}');
    const std::string key = is_reference ? value.substr(2, value.size() - 3) : std::string();
    if (secrets.contains(key) && key != name)
      put_secret(name, key);
    else if (!secrets.contains(name))
      put_variable(env, name, value);
  }
  for (const std::string& name : secrets)
    put_secret(name, name);
}

void put_resources(YamlNode& container, const Layout& layout, PodRole role) {
  YamlNode& resources = put_map(container, "resources");
  YamlNode requests = yaml_map();
  YamlNode limits = yaml_map();
  if (role == PodRole::launcher) {
    put(requests, "cpu", "1");
  } else {
    put(requests, "cpu", std::to_string(layout.cpus));
    if (layout.memory_bytes > 0) {
      put(requests, "memory", memory_text(layout.memory_bytes));
      put(limits, "memory", memory_text(layout.memory_limit_bytes));
    }
    if (layout.gpus > 0) {
      put(requests, "nvidia.com/gpu", std::to_string(layout.gpus));
      put(limits, "nvidia.com/gpu", std::to_string(layout.gpus));
    }
  }
  yaml_member(resources, "requests") = std::move(requests);
  if (!limits.members.empty()) yaml_member(resources, "limits") = std::move(limits);
}

struct Volume {
  std::string name;
  std::string path;
  YamlNode source;
  bool is_read_only = false;
};

YamlNode empty_dir(std::string_view medium, std::string_view limit) {
  YamlNode source = yaml_map();
  YamlNode& empty = put_map(source, "emptyDir");
  if (!medium.empty()) put(empty, "medium", medium);
  if (!limit.empty()) put(empty, "sizeLimit", limit);
  return source;
}

std::vector<Volume> volumes_of(const Plan& plan, const PodOptions& options) {
  std::vector<Volume> volumes;
  const Layout& layout = plan.layouts[options.part];
  YamlNode script = yaml_map();
  YamlNode& map = put_map(script, "configMap");
  put(map, "name", plan.job.name + "-script");
  put_integer(map, "defaultMode", 0555);
  volumes.push_back({"script", std::string(kScriptFolder), std::move(script), true});
  if (layout.gpus > 0 || layout.tasks > 1)
    volumes.push_back({"shm", "/dev/shm", empty_dir("Memory", plan.settings.shm), false});
  if (const auto bytes = plan.job.parts[options.part].scratch_bytes)
    volumes.push_back({"scratch", "/scratch-local", empty_dir("", memory_text(*bytes)), false});
  if (needs_ssh_keys(plan)) {
    YamlNode keys = yaml_map();
    YamlNode& secret = put_map(keys, "secret");
    put(secret, "secretName", plan.job.name + "-ssh");
    put_integer(secret, "defaultMode", 0600);
    volumes.push_back({"ssh", "/autopilot/ssh", std::move(keys), true});
  }
  for (std::size_t at = 0; at < plan.settings.claims.size(); ++at) {
    const Claim& claim = plan.settings.claims[at];
    YamlNode source = yaml_map();
    put(put_map(source, "persistentVolumeClaim"), "claimName", claim.name);
    volumes.push_back({"data-" + std::to_string(at), mount_of_claim(claim), std::move(source), false});
  }
  return volumes;
}

void put_volumes(YamlNode& spec, YamlNode& container, const Plan& plan, const PodOptions& options) {
  YamlNode& mounts = put_list(container, "volumeMounts");
  YamlNode& list = put_list(spec, "volumes");
  for (const Volume& volume : volumes_of(plan, options)) {
    YamlNode& mount = add_map(mounts);
    put(mount, "name", volume.name);
    put(mount, "mountPath", volume.path);
    if (volume.is_read_only) put_flag(mount, "readOnly", true);
    YamlNode& entry = add_map(list);
    put(entry, "name", volume.name);
    for (const YamlMember& member : volume.source.members)
      yaml_member(entry, member.key) = member.value;
  }
}

void add_expression(YamlNode& list, std::string_view key, std::string_view comparison,
                    const std::vector<std::string>& values) {
  YamlNode& expression = add_map(list);
  put(expression, "key", key);
  put(expression, "operator", comparison);
  if (values.empty()) return;
  YamlNode& words = put_list(expression, "values");
  for (const std::string& value : values)
    add_word(words, value);
}

void put_placement(YamlNode& spec, const Plan& plan, const PodOptions& options) {
  const Placement& placement = plan.placements[options.part];
  if (!placement.node_labels.empty()) {
    YamlNode& selector = put_map(spec, "nodeSelector");
    for (const auto& [key, value] : placement.node_labels)
      put(selector, key, value);
  }
  const bool has_hosts = !placement.hosts_included.empty() || !placement.hosts_excluded.empty();
  const bool is_exclusive = plan.layouts[options.part].is_exclusive && options.role != PodRole::launcher;
  if (!has_hosts && !is_exclusive) return;
  YamlNode& affinity = put_map(spec, "affinity");
  if (has_hosts) {
    YamlNode& required =
        put_map(put_map(affinity, "nodeAffinity"), "requiredDuringSchedulingIgnoredDuringExecution");
    YamlNode& expressions = put_list(add_map(put_list(required, "nodeSelectorTerms")), "matchExpressions");
    if (!placement.hosts_included.empty())
      add_expression(expressions, "kubernetes.io/hostname", "In", placement.hosts_included);
    if (!placement.hosts_excluded.empty())
      add_expression(expressions, "kubernetes.io/hostname", "NotIn", placement.hosts_excluded);
  }
  if (is_exclusive) {
    // Migrated jobs keep away from each other; other pods of the node, such as agents, stay.
    YamlNode& term = add_map(
        put_list(put_map(affinity, "podAntiAffinity"), "requiredDuringSchedulingIgnoredDuringExecution"));
    add_expression(put_list(put_map(term, "labelSelector"), "matchExpressions"),
                   std::string(kPrefix) + "migrated-from", "Exists", {});
    put(term, "topologyKey", "kubernetes.io/hostname");
  }
}

// An ssh server for mpirun.
std::string worker_command() {
  return "mkdir -p /run/sshd && exec /usr/sbin/sshd -D -e";
}

void put_command(YamlNode& container, const Plan& plan, PodRole role) {
  YamlNode& command = put_list(container, "command");
  if (role == PodRole::worker) {
    add_word(command, "/bin/sh");
    add_word(command, "-c");
    add_word(command, worker_command());
    return;
  }
  if (role == PodRole::script_or_worker) {
    std::string text = ". " + std::string(kScriptFolder) +
                       "/ssh.sh; if [ \"${JOB_COMPLETION_INDEX:-0}\" != 0 ]; then " + worker_command() +
                       "; fi; exec \"$@\"";
    add_word(command, "/bin/sh");
    add_word(command, "-c");
    add_word(command, text);
    add_word(command, "job");
  }
  for (const std::string& word : plan.command)
    add_word(command, word);
}

void put_signal(YamlNode& spec, YamlNode& container, const Job& job) {
  if (!job.signal) return;
  const auto seconds = job.signal->before.count();
  put_integer(spec, "terminationGracePeriodSeconds", seconds + 30);
  // A number or a name; kill of every shell accepts both. -1: all processes of the container but the first,
  // which is the script. LSF signals both, Slurm either.
  const std::string to_script = "kill -" + job.signal->name + " 1; ";
  const std::string to_steps = "kill -" + job.signal->name + " -1; ";
  const bool is_for_both = job.scheduler == Scheduler::lsf;
  const std::string kills = is_for_both                 ? to_steps + to_script
                            : job.signal->is_for_script ? to_script
                                                        : to_steps;
  YamlNode& command =
      put_list(put_map(put_map(put_map(container, "lifecycle"), "preStop"), "exec"), "command");
  add_word(command, "/bin/sh");
  add_word(command, "-c");
  add_word(command, kills + "sleep " + std::to_string(seconds));
}

void put_security(YamlNode& spec, YamlNode& container, Target target) {
  if (target != Target::openshift) return;
  YamlNode& pod = put_map(spec, "securityContext");
  put_flag(pod, "runAsNonRoot", true);
  put(put_map(pod, "seccompProfile"), "type", "RuntimeDefault");
  YamlNode& own = put_map(container, "securityContext");
  put_flag(own, "allowPrivilegeEscalation", false);
  add_word(put_list(put_map(own, "capabilities"), "drop"), "ALL");
}

// Of a pod of that part, or of the job.
void put_labels(YamlNode& metadata, const Plan& plan, bool is_pod, std::size_t part) {
  YamlNode& labels = put_map(metadata, "labels");
  put(labels, std::string(kPrefix) + "migrated-from", word_of(kSchedulers, plan.job.scheduler));
  if (const std::string queue = label_value(plan.placements[part].queue_name); !queue.empty())
    put(labels, std::string(kPrefix) + "queue", queue);
  for (const auto& [key, value] : plan.job.labels)
    if (const std::string text = label_value(value); !text.empty())
      put(labels, std::string(kPrefix) + key, text);
  if (is_pod && plan.settings.has_preflight) put(labels, "autopilot", "");
  if (!is_pod && !plan.placements.front().queue.local_queue.empty())
    put(labels, "kueue.x-k8s.io/queue-name", plan.placements.front().queue.local_queue);
}

}  // namespace

std::string memory_text(std::int64_t bytes) {
  constexpr std::int64_t mebibyte = std::int64_t{1} << 20U;
  const std::int64_t mebibytes = std::max<std::int64_t>(1, bytes / mebibyte + (bytes % mebibyte > 0 ? 1 : 0));
  return mebibytes % 1024 == 0 ? std::to_string(mebibytes / 1024) + "Gi" : std::to_string(mebibytes) + "Mi";
}

YamlNode job_metadata(const Plan& plan) {
  YamlNode metadata = yaml_map();
  put(metadata, "name", plan.job.name);
  put_labels(metadata, plan, false, 0);
  YamlNode& annotations = put_map(metadata, "annotations");
  put(annotations, std::string(kPrefix) + "original-name", plan.job.original_name);
  put(annotations, std::string(kPrefix) + "source-scheduler", word_of(kSchedulers, plan.job.scheduler));
  if (!plan.directives.empty())
    put(annotations, std::string(kPrefix) + "source-directives",
        cut_utf8(plan.directives, kLongestAnnotation));
  for (const auto& [key, value] : plan.job.labels)
    put(annotations, std::string(kPrefix) + "source-" + key, value);
  return metadata;
}

YamlNode pod_template(const Plan& plan, const PodOptions& options) {
  const Layout& layout = plan.layouts[options.part];
  YamlNode pod = yaml_map();
  put_labels(put_map(pod, "metadata"), plan, true, options.part);
  YamlNode& spec = put_map(pod, "spec");
  put(spec, "restartPolicy", "Never");
  if (options.has_deadline && plan.job.run_limit.limit)
    put_integer(spec, "activeDeadlineSeconds", plan.job.run_limit.limit->count());
  if (!plan.placements[options.part].queue.priority_class.empty())
    put(spec, "priorityClassName", plan.placements[options.part].queue.priority_class);
  YamlNode container = yaml_map();
  put(container, "name", options.container);
  put(container, "image", plan.settings.image);
  put_command(container, plan, options.role);
  const std::string workdir = plan.settings.workdir.empty() ? plan.job.workdir : plan.settings.workdir;
  if (workdir.starts_with('/') && workdir.find('$') == std::string::npos)
    put(container, "workingDir", workdir);
  put_environment(container, plan, options);
  put_resources(container, layout, options.role);
  if (options.role != PodRole::worker) put_signal(spec, container, plan.job);
  put_security(spec, container, plan.target);
  put_placement(spec, plan, options);
  put_volumes(spec, container, plan, options);
  put_list(spec, "containers").items.push_back(std::move(container));
  return pod;
}

YamlNode script_config_map(const Plan& plan) {
  YamlNode map = yaml_map();
  put(map, "apiVersion", "v1");
  put(map, "kind", "ConfigMap");
  YamlNode& metadata = put_map(map, "metadata");
  put(metadata, "name", plan.job.name + "-script");
  put(put_map(metadata, "labels"), std::string(kPrefix) + "migrated-from",
      word_of(kSchedulers, plan.job.scheduler));
  YamlNode& data = put_map(map, "data");
  for (const auto& [name, text] : plan.files)
    put(data, name, text);
  return map;
}

YamlNode headless_service(const Plan& plan, std::string_view label) {
  YamlNode service = yaml_map();
  put(service, "apiVersion", "v1");
  put(service, "kind", "Service");
  put(put_map(service, "metadata"), "name", plan.job.name);
  YamlNode& spec = put_map(service, "spec");
  put(spec, "clusterIP", "None");
  put_flag(spec, "publishNotReadyAddresses", true);
  put(put_map(spec, "selector"), label, plan.job.name);
  return service;
}

YamlNode object_of(std::string_view api_version, std::string_view kind, const Plan& plan) {
  YamlNode object = yaml_map();
  put(object, "apiVersion", api_version);
  put(object, "kind", kind);
  yaml_member(object, "metadata") = job_metadata(plan);
  return object;
}

}  // namespace autopilot::workloads::migrate
