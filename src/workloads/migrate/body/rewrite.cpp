// SPDX-License-Identifier: Apache-2.0
#include "workloads/migrate/body/rewrite.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <utility>

#include "core/parse.hpp"

namespace autopilot::workloads::migrate {
namespace {

struct Edit {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::string text;
};

class Rewriter {
 public:
  Rewriter(const ShellScript& script, const std::vector<LauncherCall>& launchers,
           const RewriteSettings& settings)
      : script_(script), launchers_(launchers), settings_(settings) {}

  Rewritten rewrite() {
    for (std::size_t at = 0; at < launchers_.size(); ++at)
      rewrite_call(at);
    for (const ShellCommand& command : script_.commands)
      rewrite_assignments(command);
    for (std::size_t at = 0; at < script_.lines.size(); ++at)
      result_.lines.push_back(edited(at));
    return std::move(result_);
  }

 private:
  [[nodiscard]] const ShellCommand& command_of(const LauncherCall& call) const {
    return script_.commands[call.command];
  }

  [[nodiscard]] std::string text_of(const ShellCommand& command, std::size_t begin, std::size_t end) const {
    return script_.lines[command.line].text.substr(begin, end - begin);
  }

  void replace(const ShellCommand& command, std::size_t begin, std::size_t end, std::string text) {
    auto& edits = edits_[command.line];
    const bool overlaps = std::any_of(edits.begin(), edits.end(),
                                      [&](const Edit& edit) { return begin < edit.end && edit.begin < end; });
    if (!overlaps) edits.push_back({begin, end, std::move(text)});
  }

  void note(int line, std::string before, Fate fate, std::string becomes) {
    constexpr std::size_t longest = 200;
    std::replace(before.begin(), before.end(), '\n', ' ');
    std::erase(before, '\\');
    if (before.size() > longest) before = before.substr(0, longest) + "...";
    result_.rows.push_back({line, to_utf8(before), fate, std::move(becomes)});
  }

  void rewrite_call(std::size_t at) {
    const LauncherCall& call = launchers_[at];
    const ShellCommand& command = command_of(call);
    if (call.is_in_text) {
      note(call.number, std::string(word_of(kLauncherKinds, call.kind)) + " in a variable", Fate::kept,
           "runs with the variables of the pods");
      return;
    }
    if (call.is_setup && is_mpi_like(call.kind)) {
      remove_setup(call, command);
      return;
    }
    switch (call.kind) {
      case LauncherKind::torchrun:
      case LauncherKind::deepspeed:
      case LauncherKind::accelerate:
        rewrite_torch(call, command);
        return;
      case LauncherKind::srun:
        rewrite_srun(at, command);
        return;
      case LauncherKind::blaunch:
        note(call.number, "blaunch", Fate::approximated,
             settings_.runs_in == RunsIn::launcher ? "mpirun" : "runs in this pod");
        rewrite_mpi(call, command);
        return;
      case LauncherKind::mpirun:
      case LauncherKind::jsrun:
      case LauncherKind::horovodrun:
      case LauncherKind::ddlrun:
        rewrite_mpi(call, command);
        return;
    }
  }

  // A helper on all hosts, such as a setting of SMT.
  void remove_setup(const LauncherCall& call, const ShellCommand& command) {
    if (settings_.runs_in == RunsIn::launcher && call.kind == LauncherKind::mpirun &&
        !changes_processors(call, command)) {
      rewrite_mpi(call, command);
      return;
    }
    const std::size_t begin = command.words[call.word].begin;
    const std::string before = text_of(command, begin, command.words.back().end);
    if (changes_processors(call, command)) {
      replace(command, begin, command.words.back().end,
              ": 'removed by autopilot migrate: processor settings of the old hosts'");
      note(call.number, before, Fate::dropped, "sets up the old hosts; a pod cannot");
    } else if (call.program_word < command.words.size()) {
      replace(command, begin, command.words[call.program_word].begin, "");
      note(call.number, before, Fate::approximated, "runs in this pod only");
    }
  }

  [[nodiscard]] bool changes_processors(const LauncherCall& call, const ShellCommand& command) const {
    if (call.program_word >= command.words.size()) return false;
    const auto is_it = [](std::string_view text) { return text.find("ppc64_cpu") != std::string_view::npos; };
    if (is_it(command.words[call.program_word].value)) return true;
    // A helper that the script wrote.
    return std::any_of(script_.lines.begin(), script_.lines.end(),
                       [&](const ShellLine& line) { return is_it(line.text); });
  }

  // The value of an option, or the option with its value before the program.
  void set_option(const LauncherCall& call, const ShellCommand& command,
                  std::initializer_list<std::string_view> names, const std::string& value,
                  std::string& missing) {
    for (const std::string_view name : names) {
      const LauncherOption* option = option_of(call, name);
      if (option == nullptr) continue;
      const ShellWord& first = command.words[option->first_word];
      const ShellWord& last = command.words[option->last_word];
      const bool is_joined = option->first_word == option->last_word;
      if (is_joined) {
        const std::string written = first.value.substr(0, first.value.find('='));
        replace(command, first.begin, last.end, written + "=" + value);
      } else {
        replace(command, last.begin, last.end, value);
      }
      return;
    }
    std::string name(*names.begin());
    if (call.kind != LauncherKind::mpirun) std::replace(name.begin() + 2, name.end(), '-', '_');
    missing += " " + name + "=" + value;
  }

  void rewrite_torch(const LauncherCall& call, const ShellCommand& command) {
    const std::string before =
        text_of(command, command.words[call.word].begin, end_of_options(call, command));
    if (settings_.runs_in != RunsIn::each_pod || settings_.layout.hosts < 2 || !spans_hosts(call)) {
      note(call.number, before, Fate::kept, "runs in this pod");
      return;
    }
    std::string missing;
    const std::string hosts = std::to_string(settings_.layout.hosts);
    if (call.kind == LauncherKind::accelerate) {
      set_option(call, command, {"--num-machines"}, hosts, missing);
      set_option(call, command, {"--machine-rank"}, settings_.host_index, missing);
      set_option(call, command, {"--main-process-ip"}, settings_.first_host, missing);
      set_option(call, command, {"--main-process-port"}, "${MASTER_PORT}", missing);
    } else if (call.kind == LauncherKind::deepspeed) {
      set_option(call, command, {"--num-nodes"}, hosts, missing);
      set_option(call, command, {"--hostfile"}, "/tmp/autopilot-hosts-deepspeed", missing);
      if (option_of(call, "--no-ssh") == nullptr) missing += " --no_ssh";
      set_option(call, command, {"--node-rank"}, settings_.host_index, missing);
      set_option(call, command, {"--master-addr"}, settings_.first_host, missing);
      set_option(call, command, {"--master-port"}, "${MASTER_PORT}", missing);
    } else {
      set_option(call, command, {"--nnodes"}, hosts, missing);
      set_option(call, command, {"--node-rank"}, settings_.host_index, missing);
      if (option_of(call, "--rdzv-endpoint") != nullptr) {
        set_option(call, command, {"--rdzv-endpoint"}, settings_.first_host + ":${MASTER_PORT}", missing);
      } else {
        set_option(call, command, {"--master-addr"}, settings_.first_host, missing);
        set_option(call, command, {"--master-port"}, "${MASTER_PORT}", missing);
      }
      // A random id would be another one in each pod.
      const LauncherOption* id = option_of(call, "--rdzv-id");
      if (id != nullptr && is_random(id->value))
        set_option(call, command, {"--rdzv-id"}, settings_.job_id, missing);
    }
    const std::size_t end = end_of_launcher(call, command);
    if (!missing.empty()) replace(command, end, end, missing);
    note(call.number, before, Fate::translated, hosts + " pods that meet at " + settings_.first_host);
  }

  // Behind the launcher itself: "torchrun" or "python -m torch.distributed.run" or "accelerate launch".
  [[nodiscard]] static std::size_t end_of_launcher(const LauncherCall& call, const ShellCommand& command) {
    const std::size_t last = call.word + (call.kind == LauncherKind::accelerate ? 1 : 0);
    return command.words[std::min(last, command.words.size() - 1)].end;
  }

  [[nodiscard]] static std::size_t end_of_options(const LauncherCall& call, const ShellCommand& command) {
    return call.program_word > call.word
               ? command.words[std::min(call.program_word, command.words.size()) - 1].end
               : command.words[call.word].end;
  }

  void rewrite_srun(std::size_t at, const ShellCommand& command) {
    const LauncherCall& call = launchers_[at];
    const std::string before =
        text_of(command, command.words[call.word].begin, end_of_options(call, command));
    const bool has_inner = at + 1 < launchers_.size() && launchers_[at + 1].command == call.command &&
                           !launchers_[at + 1].is_in_text;
    const bool one_rank = call.ranks_per_host.value_or(settings_.layout.tasks_per_host) == 1;
    if (call.program_word >= command.words.size() || command.is_nested) {
      note(call.number, before, Fate::translated, "the program srun of the manifest");
      return;
    }
    if (has_inner && is_torch_like(launchers_[at + 1].kind) && one_rank) {
      replace(command, command.words[call.word].begin, command.words[call.program_word].begin, "");
      note(call.number, before, Fate::translated, "the script runs in each pod");
      return;
    }
    if (settings_.runs_in == RunsIn::launcher && !call.is_setup) {
      rewrite_mpi(call, command);
      return;
    }
    note(call.number, before, Fate::translated,
         "the program srun of the manifest: " + std::to_string(settings_.layout.tasks_per_host) +
             " ranks in each pod");
  }

  [[nodiscard]] std::string option_text(const ShellCommand& command, const LauncherOption& option) const {
    return text_of(command, command.words[option.first_word].begin, command.words[option.last_word].end);
  }

  // mpirun with the hosts of the manifest. Options that other MPI libraries share stay.
  void rewrite_mpi(const LauncherCall& call, const ShellCommand& command) {
    const std::size_t begin = command.words[call.word].begin;
    const std::size_t end = end_of_options(call, command);
    const std::string before = text_of(command, begin, end);
    const int each = call.ranks_per_host.value_or(settings_.layout.tasks_per_host);
    std::string after = "mpirun";
    if (call.kind == LauncherKind::horovodrun) after = "horovodrun";
    if (settings_.runs_in == RunsIn::launcher) after += " --hostfile " + settings_.ranks_file;
    after += " -np " + ranks_text(call);
    if (call.kind == LauncherKind::jsrun || call.kind == LauncherKind::srun) {
      after += " --map-by ppr:" + std::to_string(each) + ":node";
      if (call.cpus_per_rank && *call.cpus_per_rank > 1)
        after += ":PE=" + std::to_string(*call.cpus_per_rank);
    }
    if (call.kind == LauncherKind::mpirun || call.kind == LauncherKind::horovodrun)
      for (const LauncherOption& option : call.options)
        if (is_kept(option)) after += " " + option_text(command, option);
    if (call.program_word < command.words.size()) after += gpus_text(call);
    if (after == before) {
      note(call.number, before, Fate::kept, "the same command");
      return;
    }
    replace(command, begin, end, after);
    note(call.number, before, Fate::translated, after);
  }

  // mpirun does not bind ranks to GPUs, as jsrun and srun do.
  [[nodiscard]] std::string gpus_text(const LauncherCall& call) const {
    if (!call.gpus_of_set || *call.gpus_of_set >= settings_.layout.gpus) return "";
    const LauncherOption* bind = option_of(call, "--gpu-bind");
    if (bind != nullptr && bind->value == "none") return "";
    return " " + std::string(kGpusOfRankProgram) + " " + std::to_string(*call.gpus_of_set) + " " +
           std::to_string(call.ranks_of_set);
  }

  [[nodiscard]] std::string ranks_text(const LauncherCall& call) const {
    if (call.kind == LauncherKind::mpirun || call.kind == LauncherKind::horovodrun)
      for (const std::string_view name : {"-np", "-n", "--np", "-c"})
        if (const LauncherOption* option = option_of(call, name)) {
          const bool is_reference = option->value.find('$') != std::string::npos;
          return is_reference && option->value.front() != '"' ? "\"" + option->value + "\"" : option->value;
        }
    if (call.ranks) return std::to_string(*call.ranks);
    if (call.ranks_per_host)
      return std::to_string(static_cast<std::int64_t>(settings_.layout.hosts) * *call.ranks_per_host);
    if (call.kind == LauncherKind::ddlrun && settings_.layout.gpus > 0)
      return std::to_string(static_cast<std::int64_t>(settings_.layout.hosts) * settings_.layout.gpus);
    return std::to_string(settings_.layout.tasks);
  }

  // Neither hosts nor ranks, which the manifest gives, nor options of one MPI library.
  [[nodiscard]] bool is_kept(const LauncherOption& option) const {
    constexpr std::array<std::string_view, 17> replaced{
        "-np", "-n",    "--np",   "-c",   "-hostfile",  "--hostfile", "-machinefile", "--machinefile", "-f",
        "-H",  "-host", "--host", "-gpu", "-pami-noib", "-pami_noib", "--smpiargs",   "-smpi"};
    return std::find(replaced.begin(), replaced.end(), option.name) == replaced.end();
  }

  void rewrite_assignments(const ShellCommand& command) {
    for (const ShellWord& word : command.assignments)
      rewrite_assignment(command, word);
    const bool is_export = !command.words.empty() && command.words.front().value == "export";
    if (is_export)
      for (std::size_t at = 1; at < command.words.size(); ++at)
        rewrite_assignment(command, command.words[at]);
  }

  void rewrite_assignment(const ShellCommand& command, const ShellWord& word) {
    const auto equals = word.value.find('=');
    if (equals == std::string::npos) return;
    const std::string name = word.value.substr(0, equals);
    const std::string_view value = std::string_view(word.value).substr(equals + 1);
    const bool is_interface =
        name == "NCCL_SOCKET_IFNAME" || name == "GLOO_SOCKET_IFNAME" || name == "TP_SOCKET_IFNAME";
    std::string becomes;
    if (is_interface && value.find("ib") != std::string_view::npos)
      becomes = "eth0";
    else if (settings_.runs_in == RunsIn::each_pod && name.ends_with("PORT") && is_random(value))
      becomes = "29500";
    else if (is_first_host(name, value))
      becomes = settings_.first_host.empty() ? "localhost" : settings_.first_host;
    if (becomes.empty()) return;
    const std::string before = text_of(command, word.begin, word.end);
    replace(command, word.begin, word.end, name + "=" + becomes);
    note(command.number, before, Fate::translated, name + "=" + becomes);
  }

  static bool is_random(std::string_view value) {
    return value.find("RANDOM") != std::string_view::npos || value.find("shuf ") != std::string_view::npos ||
           value.find("uuidgen") != std::string_view::npos;
  }

  // MASTER_ADDR=$(scontrol show hostnames ... | head -n 1), and other forms of the same.
  [[nodiscard]] bool is_first_host(std::string_view name, std::string_view value) const {
    const auto has = [value](std::string_view part) { return value.find(part) != std::string_view::npos; };
    const bool runs_command = has("$(") || has("`");
    if (!runs_command) return false;
    if (has("scontrol show host") && (has("head -n 1") || has("head -n1") || has("head -1"))) return true;
    if (has("srun") && has("hostname")) return true;
    const bool is_address =
        name == "MASTER_ADDR" || name == "MASTER_ADDRESS" || name == "MASTER_IP" || name == "master_addr";
    return is_address && (has("hostname") || has("LSB_") || has("SLURM_"));
  }

  [[nodiscard]] std::string edited(std::size_t line) {
    std::string text = script_.lines[line].text;
    const auto found = edits_.find(line);
    if (found == edits_.end()) return text;
    std::vector<Edit>& edits = found->second;
    std::sort(edits.begin(), edits.end(),
              [](const Edit& left, const Edit& right) { return left.begin > right.begin; });
    for (const Edit& edit : edits)
      text.replace(edit.begin, edit.end - edit.begin, edit.text);
    return text;
  }

  const ShellScript& script_;
  const std::vector<LauncherCall>& launchers_;
  const RewriteSettings& settings_;
  std::map<std::size_t, std::vector<Edit>> edits_;
  Rewritten result_;
};

}  // namespace

Rewritten rewrite_body(const ShellScript& script, const std::vector<LauncherCall>& launchers,
                       const RewriteSettings& settings) {
  return Rewriter(script, launchers, settings).rewrite();
}

}  // namespace autopilot::workloads::migrate
