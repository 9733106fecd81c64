// SPDX-License-Identifier: Apache-2.0
#include "workloads/migrate/migrate.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <set>
#include <utility>

#include "core/parse.hpp"
#include "workloads/migrate/body/launcher.hpp"
#include "workloads/migrate/body/lints.hpp"
#include "workloads/migrate/body/rewrite.hpp"
#include "workloads/migrate/body/shell.hpp"
#include "workloads/migrate/body/site_paths.hpp"
#include "workloads/migrate/job/read_job.hpp"
#include "workloads/migrate/manifest/environment.hpp"
#include "workloads/migrate/manifest/yaml_writer.hpp"
#include "workloads/migrate/script/secrets.hpp"

namespace autopilot::workloads::migrate {
namespace {

// Names of pods have the name of the job, a task and two numbers, and at most 63 signs.
constexpr std::size_t kLongestName = 40;
constexpr std::size_t kMostScriptBytes = 900'000;  // a ConfigMap has at most 1 MiB
constexpr std::string_view kPlaceholderImage = "REPLACE-WITH-YOUR-IMAGE";

class Migrator {
 public:
  explicit Migrator(const MigrateSettings& settings) : settings_(settings) {}

  Result<Migration> run(std::string_view text) {
    const TextWithoutSecrets clean = remove_secrets(text, secret_variables_);
    TRY_STATUS(read(clean.text));
    add_secrets(clean.secrets);
    name_job();
    find_commands();
    plan_layouts();
    choose_target();
    finish_plan();
    lint();
    return result();
  }

 private:
  Status read(const std::string& text) {
    std::optional<Scheduler> scheduler = settings_.scheduler;
    std::vector<OptionWord> submitted;
    if (!settings_.submit_command.empty()) {
      const TextWithoutSecrets clean = remove_secrets(settings_.submit_command, secret_variables_);
      SubmitCommand command = TRY(parse_submit_command(clean.text));
      add_secrets(clean.secrets);
      submitted = std::move(command.words);
      if (!scheduler) scheduler = command.scheduler;
    }
    script_ = TRY(read_script(text, scheduler, findings_));
    std::vector<OptionWord> words = script_.words;
    words.insert(words.end(), submitted.begin(), submitted.end());
    GivenOptions given = recognise_options(words, script_.scheduler, findings_);
    ReadJob read = read_job(given.options, script_.scheduler, script_.parts, {settings_.lsf_unit}, findings_);
    plan_.job = std::move(read.job);
    keep_paths(given.options);
    rows_ = std::move(read.rows);
    add_submitted(given.rest);
    return {};
  }

  // Values of options that name files and directories.
  void keep_paths(const std::vector<GivenOption>& options) {
    constexpr std::array<Effect, 6> effects{Effect::workdir, Effect::input,       Effect::output,
                                            Effect::error,   Effect::pre_command, Effect::post_command};
    for (const GivenOption& option : options)
      if (std::find(effects.begin(), effects.end(), option.rule->effect) != effects.end())
        option_paths_.lines.push_back({option.line, option.value, true});
  }

  // A program of the submit command is the script, if there is no other.
  void add_submitted(const std::vector<std::string>& rest) {
    plan_.job.command = rest;
    if (!script_.body.empty()) {
      if (script_.scheduler == Scheduler::slurm && !rest.empty())
        plan_.job.command.erase(plan_.job.command.begin());
      return;
    }
    if (!plan_.job.wrapped.empty()) script_.body.push_back({0, plan_.job.wrapped});
    if (rest.empty()) return;
    std::string line;
    for (const std::string& word : rest)
      line += (line.empty() ? "" : " ") + (word.find_first_of(" \t'\"$&;|<>*") == std::string::npos ? word
                                           : rest.size() == 1                                       ? word
                                                              : shell_quoted(word));
    script_.body.push_back({0, line});
    plan_.job.command.clear();
  }

  void add_secrets(const std::vector<ScriptSecret>& secrets) {
    for (const ScriptSecret& secret : secrets) {
      secrets_.push_back(secret);
      if (std::find(plan_.secrets.begin(), plan_.secrets.end(), secret.variable) == plan_.secrets.end())
        plan_.secrets.push_back(secret.variable);
    }
  }

  void name_job() {
    Job& job = plan_.job;
    if (job.original_name.empty()) {
      const auto base = base_name(settings_.file_name);
      job.original_name = base.empty() || base == "-" ? "job" : std::string(base.substr(0, base.rfind('.')));
    }
    job.name = object_name(job.original_name, kLongestName);
    for (const ScriptSecret& secret : secrets_)
      findings_.add(
          Severity::decision, "M-SECRET", secret.line,
          "The script contains what is probably a secret; its value is in no manifest, and " +
              secret.variable + " comes from the Secret " + job.name + "-secrets",
          "Replace the secret if others could read the script, then: kubectl create secret generic " +
              job.name + "-secrets --from-literal=" + secret.variable + "=VALUE");
  }

  void find_commands() {
    shell_ = is_bourne() ? read_shell(script_.body) : ShellScript{};
    if (!is_bourne()) {
      for (const ScriptLine& line : script_.body)
        shell_.lines.push_back({line.number, line.text, true});
      findings_.add(
          Severity::warning, "M-SHELL", 1,
          "The script is for " + interpreter().front() + "; its commands are not read, only its directives",
          "Check launchers and paths yourself");
    }
    KnownValues values;
    set_known_values(values);
    launchers_ = find_launchers(shell_, values);
  }

  // Variables of the scheduler, as far as directives give them.
  void set_known_values(KnownValues& values) const {
    const JobPart& part = plan_.job.parts.front();
    const auto known = [&values](const char* name, const std::optional<int>& value) {
      if (value) values.set(name, std::to_string(*value));
    };
    if (plan_.job.scheduler == Scheduler::slurm) {
      known("SLURM_NNODES", part.hosts);
      known("SLURM_JOB_NUM_NODES", part.hosts);
      known("SLURM_NTASKS_PER_NODE", part.tasks_per_host);
      known("SLURM_GPUS_PER_NODE", part.gpu.per_host);
      known("SLURM_GPUS_ON_NODE", part.gpu.per_host);
      known("SLURM_CPUS_PER_TASK", part.cpus_per_task);
      const std::optional<int> tasks =
          part.tasks   ? part.tasks
          : part.hosts ? std::optional(*part.hosts * std::min(part.tasks_per_host.value_or(1), 1024))
                       : std::nullopt;
      known("SLURM_NTASKS", tasks);
      known("SLURM_NPROCS", tasks);
    } else {
      known("LSB_DJOB_NUMPROC", part.tasks);
      known("LSB_MAX_NUM_PROCESSORS", part.tasks);
    }
  }

  [[nodiscard]] LaunchDemand demand() const {
    LaunchDemand demand;
    for (const LauncherCall& call : launchers_) {
      if (call.is_setup || call.kind != LauncherKind::jsrun) continue;
      demand = {call.ranks, call.ranks_per_host, call.hosts, call.gpus_per_rank, call.cpus_per_rank};
    }
    return demand;
  }

  void plan_layouts() {
    for (const JobPart& part : plan_.job.parts)
      allocated_.push_back(layout_of(part, plan_.job.scheduler, settings_.node, demand(), findings_));
    plan_.layouts = allocated_;
    if (plan_.layouts.size() > 1) return;
    const UseOfAllocation use =
        lint_allocation(allocated_.front(), launchers_, settings_.keeps_allocation, findings_);
    if (use.idle_hosts == 0 || settings_.keeps_allocation) return;
    Layout& layout = plan_.layouts.front();
    layout.hosts = 1;
  }

  // The launcher that starts the work: the last that spans hosts.
  [[nodiscard]] const LauncherCall* main_launcher() const {
    const LauncherCall* found = nullptr;
    for (const LauncherCall& call : launchers_)
      if (spans_hosts(call) &&
          (found == nullptr || !(is_torch_like(found->kind) && call.kind == LauncherKind::srun)))
        found = &call;
    return found;
  }

  void choose_target() {
    const int hosts = hosts_of(plan_);
    const LauncherCall* launcher = main_launcher();
    const bool is_mpi = launcher != nullptr && is_mpi_like(launcher->kind);
    Target target = Target::job;
    if (plan_.layouts.size() > 1)
      target = Target::volcano;
    else if (is_array(plan_))
      target = hosts > 1 ? Target::jobset : Target::indexed;
    else if (hosts > 1)
      target = is_mpi || launcher == nullptr ? Target::volcano : Target::indexed;
    plan_.target = settings_.target.value_or(target);
    choose_place(launcher, hosts, is_mpi);
    check_target(hosts);
  }

  void choose_place(const LauncherCall* launcher, int hosts, bool is_mpi) {
    if (plan_.target == Target::mpijob)
      plan_.runs_in = RunsIn::launcher;
    else if (hosts <= 1)
      plan_.runs_in = RunsIn::one_pod;
    else if (plan_.target == Target::pytorchjob)
      plan_.runs_in = RunsIn::each_pod;
    else if (is_mpi || (launcher == nullptr && plan_.target == Target::volcano && plan_.layouts.size() == 1))
      plan_.runs_in = RunsIn::launcher;
    else
      plan_.runs_in = RunsIn::each_pod;
  }

  void check_target(int hosts) {
    const Target target = plan_.target;
    const auto decide = [this](std::string_view id, std::string what, std::string cure) {
      findings_.add(Severity::decision, id, 0, std::move(what), std::move(cure));
    };
    const std::string name(word_of(kTargets, target));
    if (target == Target::job && hosts > 1)
      findings_.add(
          Severity::note, "M-TARGET", 0,
          "The job has " + std::to_string(hosts) + " hosts, so that the Job is indexed: a pod for each host",
          "Nothing to do");
    check_mpi(hosts);
    if (is_array(plan_) && hosts > 1 && target != Target::jobset)
      decide("M-TARGET",
             "An array whose elements have several hosts needs a JobSet; " + name + " runs one element",
             "Use --to jobset");
    else if (is_array(plan_) &&
             (target == Target::volcano || target == Target::pytorchjob || target == Target::mpijob))
      decide("M-TARGET", name + " has no arrays; the manifest runs one element",
             "Use --to indexed or --to jobset");
    if (plan_.layouts.size() > 1 && target != Target::volcano && target != Target::jobset)
      decide("M-TARGET", name + " cannot have components of different size; the manifest has the first",
             "Use --to volcano or --to jobset");
    if (is_array(plan_) && target == Target::jobset && plan_.job.array->throttle)
      decide("M-THROTTLE",
             "A JobSet cannot limit how many elements of an array run at once (" +
                 std::to_string(*plan_.job.array->throttle) + ")",
             "Limit it with a queue of Kueue, or start fewer elements");
    if (needs_ssh_keys(plan_))
      decide(
          "M-SSH-KEY",
          "mpirun starts ranks over ssh, and this kind of job brings no keys; they come from the Secret " +
              plan_.job.name + "-ssh",
          "Create it: ssh-keygen -t ed25519 -N '' -f id_ed25519 && cp id_ed25519.pub authorized_keys && "
          "kubectl create secret generic " +
              plan_.job.name +
              "-ssh --from-file=id_ed25519 --from-file=authorized_keys; or use --to volcano or --to mpijob");
    if (plan_.runs_in == RunsIn::launcher && main_launcher() == nullptr)
      decide("M-NO-LAUNCHER",
             "The script runs in the launcher, which has no GPU, and starts nothing in the workers",
             "Start the program with mpirun, or leave --keep-allocation out");
    if (plan_.runs_in == RunsIn::each_pod)
      findings_.add(repeats_commands(shell_, launchers_) ? Severity::warning : Severity::note, "M-EVERY-POD",
                    0,
                    std::string(title_of(plan_.job.scheduler)) +
                        " ran the script on the first host; now every pod runs it, each with its number in " +
                        (plan_.job.scheduler == Scheduler::slurm ? "SLURM_NODEID" : "AUTOPILOT_HOST_INDEX"),
                    "Let only the first pod do what must happen once, such as removing or creating files");
  }

  // Kinds of jobs whose pods cannot be reached with ssh.
  void check_mpi(int hosts) {
    const LauncherCall* launcher = main_launcher();
    if (launcher == nullptr || !is_mpi_like(launcher->kind) || hosts < 2) return;
    if (plan_.target == Target::pytorchjob)
      findings_.add(Severity::decision, "M-TARGET", launcher->number,
                    "A PyTorchJob starts no ssh servers, so that mpirun cannot start ranks in its pods",
                    "Use --to mpijob or --to volcano");
    if (plan_.target == Target::openshift)
      findings_.add(Severity::decision, "M-TARGET", launcher->number,
                    "mpirun needs ssh servers, which run as root; the restricted security context "
                    "constraints refuse them",
                    "Use --to mpijob with an image whose ssh server runs without root");
  }

  [[nodiscard]] std::vector<std::string> interpreter() const {
    if (!plan_.job.shell.empty()) return {plan_.job.shell, "-l"};
    std::vector<std::string> words;
    for (const std::string_view word : split_words(script_.shebang))
      words.emplace_back(word);
    if (!words.empty() && base_name(words.front()) == "env") {
      words.erase(words.begin());
      if (!words.empty() && words.front() == "-S") words.erase(words.begin());
    }
    if (words.empty()) words.emplace_back("/bin/bash");
    return words;
  }

  [[nodiscard]] bool is_bourne() const {
    constexpr std::array<std::string_view, 6> shells{"bash", "sh", "zsh", "dash", "ksh", "ash"};
    const std::string program(base_name(interpreter().front()));
    return std::find(shells.begin(), shells.end(), program) != shells.end();
  }

  void finish_plan() {
    for (const JobPart& part : plan_.job.parts)
      plan_.placements.push_back(place(part, settings_.map, findings_));
    plan_.settings = settings_.manifest;
    if (plan_.settings.image.empty()) plan_.settings.image = image_of_job();
    for (const ScriptLine& line : script_.directives)
      plan_.directives += line.text + '\n';
    add_script();
    plan_.files.emplace_back("env.sh", environment_text(plan_));
    for (auto& program : stand_in_programs(plan_))
      plan_.files.push_back(std::move(program));
    std::size_t bytes = 0;
    for (const auto& [name, text] : plan_.files)
      bytes += text.size();
    if (bytes > kMostScriptBytes)
      findings_.add(Severity::decision, "M-SCRIPT-SIZE", 0,
                    "The script has " + std::to_string(bytes) + " bytes, and a ConfigMap at most 1 MiB",
                    "Put the script into the image or a PersistentVolumeClaim");
  }

  std::string image_of_job() {
    std::string image = plan_.job.container_image;
    for (const std::string_view scheme : {"docker://", "docker:"})
      if (image.starts_with(scheme)) image.erase(0, scheme.size());
    std::replace(image.begin(), image.end(), '#', '/');
    if (!image.empty() && image.find(".sqsh") == std::string::npos &&
        image.find(".sif") == std::string::npos && image.front() != '/')
      return image;
    findings_.add(Severity::decision, "M-IMAGE", 0,
                  "No container image is given; the manifest has a placeholder",
                  "Give the image with your software: --image IMAGE");
    return std::string(kPlaceholderImage);
  }

  void add_script() {
    const RewriteSettings settings{
        plan_.runs_in,
        plan_.layouts.front(),
        first_host(plan_),
        host_index(plan_),
        plan_.job.scheduler == Scheduler::slurm ? "${SLURM_JOB_ID}" : "${LSB_JOBID}",
        ranks_file(plan_)};
    Rewritten rewritten = rewrite_body(shell_, launchers_, settings);
    rows_.insert(rows_.end(), rewritten.rows.begin(), rewritten.rows.end());
    std::stable_sort(rows_.begin(), rows_.end(), [](const DirectiveRow& left, const DirectiveRow& right) {
      constexpr int last = std::numeric_limits<int>::max();  // the submit command
      return (left.line == 0 ? last : left.line) < (right.line == 0 ? last : right.line);
    });
    const std::vector<std::string> words = interpreter();
    std::string text = "#!" + (script_.shebang.empty() ? words.front() : script_.shebang) + "\n";
    const std::string environment = std::string(kScriptFolder) + "/env.sh";
    if (is_bourne()) text += ". " + environment + "\n";
    for (const std::string& line : rewritten.lines)
      text += line + '\n';
    plan_.files.emplace_back("job.sh", std::move(text));
    const std::string job = std::string(kScriptFolder) + "/job.sh";
    if (is_bourne()) {
      plan_.command = words;
      plan_.command.push_back(job);
    } else {
      std::string start = ". " + environment + " && exec";
      for (const std::string& word : words)
        start += " " + word;
      plan_.command = {"/bin/sh", "-c", start + " " + job + " \"$@\"", "job"};
    }
    plan_.command.insert(plan_.command.end(), plan_.job.command.begin(), plan_.job.command.end());
  }

  void lint() {
    std::vector<std::string> mounted;
    for (const Claim& claim : settings_.manifest.claims)
      mounted.push_back(claim.path);
    lint_body({plan_.job, shell_, launchers_, mounted, !settings_.manifest.image.empty()}, findings_);
    const bool has_launcher_pod = plan_.runs_in == RunsIn::launcher &&
                                  (plan_.target == Target::volcano || plan_.target == Target::mpijob);
    lint_launchers(
        shell_, launchers_,
        {plan_.layouts.front(), plan_.runs_in, static_cast<int>(plan_.layouts.size()), has_launcher_pod},
        findings_);
    lint_site_paths(option_paths_, mounted, findings_);
    if (!plan_.job.has_run_limit)
      findings_.add(Severity::warning, "M-NO-WALLTIME", 0,
                    "The job has no run limit; a job that hangs keeps its GPUs",
                    plan_.job.scheduler == Scheduler::lsf ? "Add one, for example: #BSUB -W 24:00"
                                                          : "Add one, for example: #SBATCH --time=24:00:00");
    for (const Dependency& dependency : plan_.job.dependencies)
      findings_.add(Severity::decision, "M-DEPENDENCY", 0,
                    "The job waits for another job (" + dependency.kind +
                        (dependency.target.empty() ? "" : " " + dependency.target) +
                        "); Kubernetes starts it at once",
                    dependency.kind == "singleton"
                        ? "Create the next Job when this one has ended; two Jobs of one name cannot exist at "
                          "the same time"
                        : "Before you apply the manifest: kubectl wait --for=condition=complete job/NAME");
    if (!plan_.job.begin.empty() && plan_.job.is_held)
      findings_.add(Severity::decision, "M-BEGIN", 0,
                    "The job begins at a time (" + plan_.job.begin + "); the migrated job is suspended",
                    "At that time: kubectl patch job/" + plan_.job.name +
                        " --type=merge -p '{\"spec\":{\"suspend\":false}}'; or use a CronJob");
    lint_output();
  }

  void lint_output() {
    const std::string& workdir = plan_.settings.workdir.empty() ? plan_.job.workdir : plan_.settings.workdir;
    if (workdir.empty())
      findings_.add(Severity::note, "M-WORKDIR", 0,
                    "The script ran in the directory of its submission; now it runs in the working directory "
                    "of the image",
                    "Give --workdir PATH if the script has relative paths");
    if (!plan_.job.output.empty() || !plan_.job.error.empty())
      findings_.add(Severity::note, "M-OUTPUT", 0,
                    "Output goes to the log of the pod, not to " +
                        (plan_.job.output.empty() ? plan_.job.error : plan_.job.output),
                    "Read it with: kubectl logs -l " +
                        std::string(plan_.target == Target::volcano  ? "volcano.sh/job-name="
                                    : plan_.target == Target::jobset ? "jobset.sigs.k8s.io/jobset-name="
                                    : plan_.target == Target::pytorchjob || plan_.target == Target::mpijob
                                        ? "training.kubeflow.org/job-name="
                                        : "batch.kubernetes.io/job-name=") +
                        plan_.job.name);
  }

  Migration result() {
    Migration migration;
    for (const YamlNode& object : make_manifests(plan_)) {
      const std::string kind = object.find("kind")->text;
      const std::string name = object.find("metadata")->find("name")->text;
      migration.files.push_back({name + "-" + to_lower(kind) + ".yaml", manifest_text(object)});
    }
    migration.script = plan_.files.front().second;
    migration.job = std::move(plan_.job);
    migration.target = plan_.target;
    migration.layouts = std::move(plan_.layouts);
    migration.allocated = std::move(allocated_);
    migration.rows = std::move(rows_);
    migration.findings = findings_.sorted();
    migration.needs_decision = findings_.needs_decision();
    return migration;
  }

  const MigrateSettings& settings_;
  Findings findings_;
  Script script_;
  ShellScript shell_;
  std::vector<LauncherCall> launchers_;
  std::vector<ScriptSecret> secrets_;
  SecretVariables secret_variables_;
  std::vector<DirectiveRow> rows_;
  ShellScript option_paths_;
  std::vector<Layout> allocated_;
  Plan plan_;
};

}  // namespace

Result<Migration> migrate(std::string_view script, const MigrateSettings& settings) {
  return Migrator(settings).run(script);
}

std::string manifest_stream(const Migration& migration) {
  std::string text;
  for (const ManifestFile& file : migration.files)
    text += (text.empty() ? "" : "---\n") + file.text;
  return text;
}

}  // namespace autopilot::workloads::migrate
