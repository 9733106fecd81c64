// SPDX-License-Identifier: Apache-2.0
#include "workloads/migrate/body/launcher.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include "core/parse.hpp"
#include "workloads/migrate/job/options.hpp"

namespace autopilot::workloads::migrate {
namespace {

using Words = std::vector<ShellWord>;

// Programs that name a launcher without starting it.
constexpr std::array<std::string_view, 16> kNotStarting{"echo", "which", "module", "ml",  "type", "printf",
                                                        "pip",  "pip3",  "conda",  "ls",  "kill", "pkill",
                                                        "man",  "alias", "unset",  "grep"};
// Programs that only prepare the work of a job.
constexpr std::array<std::string_view, 24> kSetupPrograms{
    "hostname", "nvidia-smi", "echo",    "date",  "env",   "printenv",  "ls",     "mkdir",
    "cp",       "rsync",      "rm",      "cat",   "sleep", "ppc64_cpu", "ulimit", "uname",
    "free",     "df",         "numactl", "lscpu", "pkill", "killall",   "mv",     "ln"};

std::string option_name(std::string_view word) {
  std::string name(word.substr(0, word.find('=')));
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

// Names of options by the number of words behind them that are their value, if they have no "=". Launchers of
// MPI accept one dash and two.
struct OptionTable {
  std::string_view flags;
  std::string_view with_value;
  std::string_view with_two_values = "";
};

// Open MPI, Spectrum MPI, MPICH, Intel MPI and Horovod.
constexpr OptionTable kMpiOptions{
    "oversubscribe nooversubscribe use-hwthread-cpus use-hwthreads-as-cpus display-map "
    "display-allocation display-devel-map report-bindings tag-output timestamp-output merge- "
    "stderr-to-stdout bind-to-core bind-to-socket bind-to-none bycore byslot bynode bysocket "
    "allow-run-as-root v verbose q quiet nolocal pernode V version h help show-progress "
    "enable-recovery disable-recovery do-not-launch do-not-resolve display-topo debug-devel d "
    "debug-daemons leave-session-attached novm report-state-on-timeout get-stack-traces "
    "genvall genvnone envall envnone prepend-rank l print-all-exitcodes rr prot gpu aff pami- "
    "noib PAMI MXM mxm TCP tcp verbs IBV ibv hcoll HCOLL FCA async check-mpi trace disable- "
    "auto-cleanup gloo mpi disable-cache no-disable-cache timeline-mark-cycles autotune "
    "hierarchical-allreduce hierarchical-allgather no-stall-check check-build",
    "np n c npernode N ppn perhost map-by mapby rank-by rankby bind-to hostfile machinefile "
    "default-hostfile f H host hosts x wdir wd prefix path npersocket timeout output-filename "
    "output stdin stdio am tune ompi-server app cpu-set cpu-list cpus-per-proc cpus-per-rank "
    "rf rankfile slot-list ppr max-restarts personality runtime-options display dvm dvm-uri "
    "genvlist genvexcl envlist launcher launcher-exec bootstrap rmk iface grr configfile "
    "usize order-nodes binding tmpdir xterm forward-signals smpiargs num-proc p ssh-port "
    "start-timeout network-interface network-interfaces min-np max-np slots host-discovery- "
    "script fusion-threshold-mb cycle-time-ms cache-capacity timeline-filename autotune-log- "
    "file log-level mpi-args binding-args num-nccl-streams config-file reset-limit",
    "mca gmca pmixmca prtemca genv env"};
constexpr OptionTable kJsrunOptions{
    "i immediate V version help",
    "n nrs a tasks-per-rs c cpu-per-rs g gpu-per-rs r rs-per-host K rs-per-socket b bind d "
    "launch-distribution l latency-priority E env F env-eval D env-no-propagate p np m "
    "memory-per-rs h chdir M smpiargs o stdio-stdout k stdio-stderr t stdio-input e stdio- "
    "mode U erf-input erf-output X exit-on-error P pre-post-exec S save-resources J use- "
    "resources f debug A appfile use-spindle progress"};
constexpr OptionTable kDdlrunOptions{"tcp no-ddloptions v verbose h help",
                                     "accelerators cores sockets mpiarg mode topology H hosts rankfile x"};
constexpr OptionTable kBlaunchOptions{"n no-wait use-login-shell no-shell k h V", "z u"};
// Options of torchrun, deepspeed and accelerate that have no value.
constexpr std::array<std::string_view, 16> kFlags{
    "--standalone", "--use-env",   "--no-python",     "-m",
    "--module",     "--multi-gpu", "--multi-node",    "--mixed",
    "--cpu",        "--no-ssh",    "--use-deepspeed", "--use-fsdp",
    "--verbose",    "--debug",     "--same-network",  "--no-local-rank"};
// Options of srun that sbatch does not have, or not with a value.
constexpr OptionTable kSrunOptions{
    "--exact --overlap --whole --multi-prog --immediate -I --bcast --send-libs --disable- "
    "status -X --no-allocate -Z --preserve-env -E --debugger-test --interactive --external "
    "--external-launcher --x11 --container-mount-home --container-remap-root --no-container- "
    "remap-root --container-entrypoint --no-container-entrypoint --container-readonly",
    "--het-group --pack-group --jobid -r --relative --cpu-bind --mpi --task-prolog --task- "
    "epilog --prolog --epilog --accel-bind --wait -W --threads -T --bcast-exclude --msg- "
    "timeout --max-threads --treewidth --slurmd-debug --launcher-opts --container-save "
    "--container-env"};

bool is_in(std::string_view list, std::string_view name) {
  const auto words = split_words(list);
  return std::find(words.begin(), words.end(), name) != words.end();
}

// Missing: the launcher does not have the option.
std::optional<std::size_t> values_in(const OptionTable& table, std::string_view name) {
  if (is_in(table.flags, name)) return 0;
  if (is_in(table.with_value, name)) return 1;
  if (is_in(table.with_two_values, name)) return 2;
  return std::nullopt;
}

std::optional<std::size_t> values_of_srun(std::string_view name) {
  if (const auto count = values_in(kSrunOptions, name)) return count;
  for (const OptionRule& rule : slurm_options())
    if (rule.name == name || (!rule.short_name.empty() && rule.short_name == name))
      return rule.takes == Takes::value ? 1 : 0;
  // Flags in one word: -lu, -vvv; also -K1.
  const bool is_short = name.size() > 2 && name[0] == '-' && name[1] != '-';
  if (is_short && name.substr(1).find_first_not_of("luvsOQKXZEkIH01") == std::string_view::npos) return 0;
  return std::nullopt;
}

std::optional<std::size_t> value_count(LauncherKind kind, std::string_view name, std::string_view raw) {
  const std::string_view bare = name.substr(std::min(name.find_first_not_of('-'), name.size()));
  switch (kind) {
    case LauncherKind::mpirun:
    case LauncherKind::horovodrun:
      return values_in(kMpiOptions, bare);
    case LauncherKind::ddlrun:
      return values_in(kDdlrunOptions, bare);
    case LauncherKind::jsrun:
      return values_in(kJsrunOptions, bare);
    case LauncherKind::srun:
      return values_of_srun(raw);
    case LauncherKind::blaunch:
      return values_in(kBlaunchOptions, bare);
    case LauncherKind::torchrun:
    case LauncherKind::deepspeed:
    case LauncherKind::accelerate:
      return std::find(kFlags.begin(), kFlags.end(), name) == kFlags.end() ? 1 : 0;
  }
  return std::nullopt;
}

bool has_attached_value(LauncherKind kind, std::string_view word) {
  const bool is_short = word.size() > 2 && word[0] == '-' && word[1] != '-';
  // Short options of srun have their value in the same word, whatever it is: -wnode1.
  constexpr std::string_view srun_letters = "nNcwxoeiJpAtmGCDrdMLqSTWBFba";
  if (kind == LauncherKind::srun && is_short && srun_letters.find(word[1]) != std::string_view::npos)
    return true;
  const bool is_number = is_short && (parse_number<int>(word.substr(2)).has_value() || word[2] == '$');
  return is_number &&
         (kind == LauncherKind::jsrun || kind == LauncherKind::srun || kind == LauncherKind::mpirun);
}

// Reads the options behind the launcher; program_word becomes the first word behind them.
void read_launcher_options(LauncherCall& call, const Words& words, std::size_t at) {
  while (at < words.size()) {
    const std::string& word = words[at].value;
    if (word.size() < 2 || word.front() != '-') break;
    if (word == "--") {
      ++at;
      break;
    }
    LauncherOption option{option_name(word), "", at, at};
    const auto equals = word.find('=');
    if (has_attached_value(call.kind, word)) {
      option.name = word.substr(0, 2);
      option.value = word.substr(2);
    } else if (equals != std::string::npos && word.starts_with("--")) {
      option.value = word.substr(equals + 1);
      if (!value_count(call.kind, option.name, word.substr(0, equals))) call.unknown.push_back(option.name);
    } else {
      const auto count = value_count(call.kind, option.name, word);
      const bool is_reference = word.find('$') != std::string::npos;
      if (!count && !is_reference) call.unknown.push_back(option.name);
      for (std::size_t value = 0; value < count.value_or(0) && at + 1 < words.size(); ++value) {
        option.value += (option.value.empty() ? "" : " ") + words[++at].value;
        option.last_word = at;
      }
    }
    call.options.push_back(std::move(option));
    ++at;
  }
  call.program_word = at;
}

std::optional<int> count_option(const LauncherCall& call, const KnownValues& values,
                                std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names)
    if (const LauncherOption* option = option_of(call, name)) return values.count(option->value);
  return std::nullopt;
}

void read_mpi_counts(LauncherCall& call, const KnownValues& values) {
  call.ranks = count_option(call, values, {"-np", "-n", "--np", "-c"});
  call.ranks_per_host = count_option(call, values, {"-npernode", "--npernode", "-N", "-ppn", "-perhost"});
  for (const std::string_view name : {"-map-by", "--map-by"}) {
    const LauncherOption* option = option_of(call, name);
    if (option == nullptr || !option->value.starts_with("ppr:")) continue;
    const auto parts = split(option->value, ':');
    if (parts.size() > 2 && parts[2].starts_with("node")) call.ranks_per_host = values.count(parts[1]);
  }
}

void read_jsrun_counts(LauncherCall& call, const KnownValues& values) {
  const int each = count_option(call, values, {"-a", "--tasks-per-rs"}).value_or(1);
  const auto sets = count_option(call, values, {"-n", "--nrs"});
  const auto sets_per_host = count_option(call, values, {"-r", "--rs-per-host"});
  call.ranks = count_option(call, values, {"-p", "--np"});
  if (sets && *sets <= 1'000'000 / each) call.ranks = *sets * each;
  if (sets_per_host && *sets_per_host <= 10'000 / each) call.ranks_per_host = *sets_per_host * each;
  if (sets && sets_per_host) call.hosts = (*sets + *sets_per_host - 1) / *sets_per_host;
  const auto gpus = count_option(call, values, {"-g", "--gpu-per-rs"});
  if (gpus) call.gpus_per_rank = std::max(1, *gpus / each);
  if (gpus && *gpus > 0) call.gpus_of_set = *gpus;
  call.ranks_of_set = each;
  const auto cpus = count_option(call, values, {"-c", "--cpu-per-rs"});
  if (cpus) call.cpus_per_rank = std::max(1, *cpus / each);
}

void read_counts(LauncherCall& call, const KnownValues& values) {
  switch (call.kind) {
    case LauncherKind::mpirun:
    case LauncherKind::horovodrun:
    case LauncherKind::ddlrun:
      read_mpi_counts(call, values);
      return;
    case LauncherKind::jsrun:
      read_jsrun_counts(call, values);
      return;
    case LauncherKind::srun:
      call.ranks = count_option(call, values, {"-n", "--ntasks"});
      call.hosts = count_option(call, values, {"-N", "--nodes"});
      call.ranks_per_host = count_option(call, values, {"--ntasks-per-node", "--tasks-per-node"});
      call.gpus_per_rank = count_option(call, values, {"--gpus-per-task"});
      call.gpus_of_set = call.gpus_per_rank;
      call.cpus_per_rank = count_option(call, values, {"-c", "--cpus-per-task"});
      return;
    case LauncherKind::torchrun:
      call.hosts = count_option(call, values, {"--nnodes"});
      call.ranks_per_host = count_option(call, values, {"--nproc-per-node"});
      return;
    case LauncherKind::deepspeed:
      call.hosts = count_option(call, values, {"--num-nodes"});
      call.ranks_per_host = count_option(call, values, {"--num-gpus"});
      return;
    case LauncherKind::accelerate:
      call.hosts = count_option(call, values, {"--num-machines"});
      call.ranks = count_option(call, values, {"--num-processes"});
      return;
    case LauncherKind::blaunch:
      return;
  }
}

std::optional<LauncherKind> launcher_named(std::string_view program) {
  program = base_name(program);
  if (program == "mpirun" || program == "mpiexec" || program == "mpirun.lsf" || program == "orterun" ||
      program == "mpiexec.hydra" || program == "prterun")
    return LauncherKind::mpirun;
  if (program == "torchrun" || program == "torch.distributed.run" || program == "torch.distributed.launch")
    return LauncherKind::torchrun;
  return value_of(kLauncherKinds, program);
}

bool is_python(std::string_view program) {
  return base_name(program).starts_with("python");
}

// Files that the script itself writes, and whether anything but setup is in them.
std::set<std::string> setup_files(const ShellScript& script) {
  std::set<std::string> files;
  std::set<std::string> other;
  const auto is_setup_line = [](std::string_view text) {
    const auto words = split_words(text);
    for (const std::string_view word : words)
      if (is_python(word) || launcher_named(word)) return false;
    return true;
  };
  for (const ShellCommand& command : script.commands) {
    if (command.output_file.empty() || command.words.empty()) continue;
    const std::string_view program = command.words.front().value;
    if (program != "cat" && program != "echo" && program != "printf") continue;
    bool is_setup = true;
    for (std::size_t at = 1; at < command.words.size(); ++at)
      is_setup = is_setup && is_setup_line(command.words[at].value);
    for (std::size_t line = command.line + 1; line < script.lines.size() && script.lines[line].is_text;
         ++line)
      is_setup = is_setup && is_setup_line(script.lines[line].text);
    (is_setup ? files : other).insert(std::string(base_name(command.output_file)));
  }
  for (const std::string& file : other)
    files.erase(file);
  return files;
}

class Finder {
 public:
  Finder(const ShellScript& script, KnownValues& values)
      : script_(script), values_(values), setup_files_(setup_files(script)) {}

  std::vector<LauncherCall> all() {
    for (std::size_t at = 0; at < script_.commands.size(); ++at) {
      const ShellCommand& command = script_.commands[at];
      for (const ShellWord& word : command.assignments)
        assign(word, at);
      const bool is_export = !command.words.empty() &&
                             (command.words[0].value == "export" || command.words[0].value == "declare" ||
                              command.words[0].value == "local" || command.words[0].value == "readonly");
      if (is_export)
        for (std::size_t word = 1; word < command.words.size(); ++word)
          assign(command.words[word], at);
      else
        find_in(command, at);
    }
    return std::move(calls_);
  }

 private:
  void assign(const ShellWord& word, std::size_t command) {
    const auto equals = word.value.find('=');
    if (equals == std::string::npos) return;
    const std::string name = word.value.substr(0, equals);
    const std::string value = word.value.substr(equals + 1);
    if (!is_shell_name(name)) return;
    const auto known = values_.expand(value);
    // A value that depends on itself grows; a known variable of the scheduler stays what it is.
    if (known)
      values_.set(name, *known);
    else
      values_.forget(name);
    find_in_text(value, command);
  }

  // LAUNCHER="torchrun --nnodes 2 ..."
  void find_in_text(const std::string& value, std::size_t command) {
    Words words;
    for (const std::string_view part : split_words(value))
      words.push_back({std::string(part), 0, 0, false});
    const auto is_call = [&words](std::size_t at) {
      return launcher_named(words[at].value).has_value() && at + 1 < words.size();
    };
    for (std::size_t at = 0; at < words.size(); ++at)
      if (is_call(at)) {
        add(words, at, command, true);
        return;
      }
  }

  void find_in(const ShellCommand& command, std::size_t index) {
    if (command.words.empty()) return;
    const std::string_view first = base_name(command.words.front().value);
    if (std::find(kNotStarting.begin(), kNotStarting.end(), first) != kNotStarting.end()) return;
    for (std::size_t at = 0; at < command.words.size(); ++at) {
      if (!launcher_named(command.words[at].value)) {
        // Behind a program, its arguments follow; a Python script may be called srun.
        if (is_program_with_arguments(command, at)) return;
        continue;
      }
      const bool is_accelerate = base_name(command.words[at].value) == "accelerate";
      if (is_accelerate && (at + 1 >= command.words.size() || command.words[at + 1].value != "launch"))
        return;
      add(command.words, at, index, false);
      at = std::max(at, calls_.back().program_word > 0 ? calls_.back().program_word - 1 : at);
    }
  }

  static bool is_program_with_arguments(const ShellCommand& command, std::size_t at) {
    const std::string_view word = command.words[at].value;
    if (is_python(word)) {
      const bool is_module = at + 2 < command.words.size() &&
                             std::any_of(command.words.begin() + static_cast<std::ptrdiff_t>(at) + 1,
                                         command.words.end(), [](const ShellWord& one) {
                                           return launcher_named(one.value) == LauncherKind::torchrun;
                                         });
      return !is_module;
    }
    return word.ends_with(".py");
  }

  void add(const Words& words, std::size_t at, std::size_t command, bool is_in_text) {
    LauncherCall call;
    call.kind = *launcher_named(words[at].value);
    call.command = command;
    call.word = at;
    call.number = script_.commands[command].number;
    call.is_in_text = is_in_text;
    read_launcher_options(call, words, at + (call.kind == LauncherKind::accelerate ? 2 : 1));
    read_counts(call, values_);
    call.is_setup = is_setup(words, call);
    calls_.push_back(std::move(call));
  }

  [[nodiscard]] bool is_setup(const Words& words, const LauncherCall& call) const {
    if (call.program_word >= words.size()) return false;
    const auto known = values_.expand(words[call.program_word].value);
    const std::string program(base_name(known ? *known : words[call.program_word].value));
    if (std::find(kSetupPrograms.begin(), kSetupPrograms.end(), program) != kSetupPrograms.end()) return true;
    if (setup_files_.contains(program)) return true;
    const bool is_shell = program == "bash" || program == "sh";
    if (!is_shell || call.program_word + 1 >= words.size()) return false;
    const auto file = values_.expand(words[call.program_word + 1].value);
    return file && setup_files_.contains(std::string(base_name(*file)));
  }

  const ShellScript& script_;
  KnownValues& values_;
  std::set<std::string> setup_files_;
  std::vector<LauncherCall> calls_;
};

}  // namespace

SrunOptions srun_options() {
  SrunOptions options;
  const auto add = [&options](std::string_view name, bool has_value) {
    if (name.empty()) return;
    auto& list = has_value ? options.with_value : options.flags;
    if (std::find(list.begin(), list.end(), name) == list.end()) list.emplace_back(name);
  };
  for (const std::string_view name : split_words(kSrunOptions.flags))
    add(name, false);
  for (const std::string_view name : split_words(kSrunOptions.with_value))
    add(name, true);
  for (const OptionRule& rule : slurm_options())
    for (const std::string_view name : {rule.name, rule.short_name})
      if (!values_in(kSrunOptions, name)) add(name, rule.takes == Takes::value);
  return options;
}

std::vector<LauncherCall> find_launchers(const ShellScript& script, KnownValues& values) {
  return Finder(script, values).all();
}

const LauncherOption* option_of(const LauncherCall& call, std::string_view name) {
  for (const LauncherOption& option : call.options)
    if (option.name == name) return &option;
  return nullptr;
}

bool is_mpi_like(LauncherKind kind) {
  return kind == LauncherKind::mpirun || kind == LauncherKind::jsrun || kind == LauncherKind::horovodrun ||
         kind == LauncherKind::ddlrun || kind == LauncherKind::blaunch;
}

bool is_torch_like(LauncherKind kind) {
  return kind == LauncherKind::torchrun || kind == LauncherKind::deepspeed ||
         kind == LauncherKind::accelerate;
}

bool spans_hosts(const LauncherCall& call) {
  if (call.is_setup || option_of(call, "--standalone") != nullptr) return false;
  if (is_torch_like(call.kind) && call.hosts) return *call.hosts > 1;
  if (is_torch_like(call.kind)) {
    const bool has_hosts =
        option_of(call, "--nnodes") != nullptr || option_of(call, "--num-machines") != nullptr ||
        option_of(call, "--num-nodes") != nullptr || option_of(call, "--hostfile") != nullptr;
    return has_hosts;
  }
  if (call.kind == LauncherKind::srun && call.hosts) return *call.hosts > 1;
  return !(call.ranks && *call.ranks == 1);
}

}  // namespace autopilot::workloads::migrate
