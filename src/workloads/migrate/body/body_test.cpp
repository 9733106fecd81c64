// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "core/parse.hpp"
#include "workloads/migrate/body/launcher.hpp"
#include "workloads/migrate/body/rewrite.hpp"
#include "workloads/migrate/body/shell.hpp"
#include "workloads/migrate/body/site_paths.hpp"
#include "workloads/migrate/body/values_of.hpp"

namespace autopilot::workloads::migrate {
namespace {

std::vector<ScriptLine> lines_of_text(std::string_view text) {
  std::vector<ScriptLine> lines;
  for (const std::string_view line : split(text, '\n'))
    lines.push_back({static_cast<int>(lines.size()) + 1, std::string(line)});
  return lines;
}

ShellScript shell_of(std::string_view text) {
  return read_shell(lines_of_text(text));
}

std::string joined_lines(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines)
    text += (text.empty() ? "" : "\n") + line;
  return text;
}

TEST(Shell, commands_with_their_lines) {
  const ShellScript script =
      shell_of("A=1 B=\"x y\" run --flag \\\n  --other 'a b' | tee log; if true; then kill $PID; fi");
  ASSERT_GE(script.commands.size(), 4U);
  EXPECT_EQ(script.commands[0].assignments.size(), 2U);
  EXPECT_EQ(script.commands[0].words.back().value, "a b");
  EXPECT_EQ(script.commands[1].words.front().value, "tee");
  EXPECT_EQ(script.commands[3].words.front().value, "kill");
  EXPECT_EQ(script.commands[3].number, 2);
}

TEST(Shell, here_documents_are_not_commands) {
  const ShellScript script = shell_of("cat > f <<EOF\nmpirun x\nEOF\nls");
  ASSERT_EQ(script.commands.size(), 2U);
  EXPECT_EQ(script.commands[0].output_file, "f");
  EXPECT_TRUE(script.lines[1].is_text);
}

TEST(Shell, nested_commands) {
  const ShellScript script =
      shell_of("X=$(scontrol show hostnames $L | head -n 1)\nsrun bash -c 'torchrun a.py'");
  std::vector<std::string> programs;
  for (const ShellCommand& command : script.commands)
    if (!command.words.empty()) programs.push_back(command.words.front().value);
  EXPECT_EQ(programs, (std::vector<std::string>{"scontrol", "head", "srun", "torchrun"}));
}

TEST(Shell, an_open_quote_does_not_swallow_the_script) {
  const ShellScript script = shell_of("echo it's\nmpirun ./app");
  EXPECT_EQ(script.lines.size(), 2U);
  EXPECT_EQ(script.commands.back().words.front().value, "mpirun");
}

TEST(KnownValues, arithmetic_and_defaults) {
  KnownValues values;
  values.set("N", "4");
  EXPECT_EQ(values.expand("a${N}b$N"), "a4b4");
  EXPECT_EQ(values.expand("$((N * 2 + 1))"), "9");
  EXPECT_EQ(values.expand("${M:-7}"), "7");
  EXPECT_FALSE(values.expand("$M").has_value());
  EXPECT_FALSE(values.expand("$(date)").has_value());
  EXPECT_FALSE(values.expand("$((N / 0))").has_value());
}

std::vector<LauncherCall> launchers_of(std::string_view text) {
  KnownValues values;
  values.set("SLURM_NNODES", "2");
  return find_launchers(shell_of(text), values);
}

TEST(Launchers, counts) {
  const auto jsrun = launchers_of("jsrun -n12 -r 6 -a 2 -c 7 -g 1 ./app -n 3");
  ASSERT_EQ(jsrun.size(), 1U);
  EXPECT_EQ(jsrun[0].ranks, 24);
  EXPECT_EQ(jsrun[0].ranks_per_host, 12);
  EXPECT_EQ(jsrun[0].hosts, 2);
  const auto torch =
      launchers_of("srun torchrun --nnodes=$SLURM_NNODES --nproc_per_node 8 train.py --nnodes 9");
  ASSERT_EQ(torch.size(), 2U);
  EXPECT_EQ(torch[1].hosts, 2);
  EXPECT_EQ(torch[1].ranks_per_host, 8);
  EXPECT_TRUE(spans_hosts(torch[1]));
  const auto module = launchers_of("python -u -m torch.distributed.run --standalone --nproc_per_node=4 x.py");
  ASSERT_EQ(module.size(), 1U);
  EXPECT_FALSE(spans_hosts(module[0]));
  const auto mpi = launchers_of("R=16\nmpirun -np $((R * 2)) --map-by ppr:8:node -x PATH ./a");
  EXPECT_EQ(mpi[0].ranks, 32);
  EXPECT_EQ(mpi[0].ranks_per_host, 8);
}

TEST(Launchers, values_of_options_are_not_the_program) {
  for (const std::string_view text : {"jsrun --stdio_stdout out ./x", "jsrun -k e -o o ./x",
                                      "jsrun --erf_input f ./x", "mpirun -rf rank.txt -np 12 ./x",
                                      "ddlrun --cores 4 ./x", "srun --hint nomultithread --wait 60 ./x"}) {
    const ShellScript script = shell_of(text);
    KnownValues values;
    const auto calls = find_launchers(script, values);
    ASSERT_EQ(calls.size(), 1U) << text;
    EXPECT_EQ(script.commands[0].words[calls[0].program_word].value, "./x") << text;
    EXPECT_TRUE(calls[0].unknown.empty()) << text;
  }
  EXPECT_EQ(launchers_of("mpirun --fancy ./x")[0].unknown, std::vector<std::string>{"--fancy"});
}

TEST(Launchers, what_starts_no_work) {
  EXPECT_TRUE(launchers_of("module load mpirun\necho srun\nwhich mpirun\npython train.py srun").empty());
  const auto setup = launchers_of("mpirun hostname\nsrun nvidia-smi");
  ASSERT_EQ(setup.size(), 2U);
  EXPECT_TRUE(setup[0].is_setup);
  EXPECT_FALSE(spans_hosts(setup[1]));
}

TEST(Launchers, launchers_in_variables) {
  const auto calls = launchers_of(
      "export LAUNCHER=\"torchrun --nnodes $SLURM_NNODES --nproc_per_node 8\"\n$LAUNCHER train.py");
  ASSERT_EQ(calls.size(), 1U);
  EXPECT_TRUE(calls[0].is_in_text);
  EXPECT_TRUE(spans_hosts(calls[0]));
}

std::string rewritten(std::string_view text, const RewriteSettings& settings) {
  const ShellScript script = shell_of(text);
  KnownValues values;
  return joined_lines(rewrite_body(script, find_launchers(script, values), settings).lines);
}

RewriteSettings two_pods(RunsIn place) {
  RewriteSettings settings{place, {}, "a-0.a", "${JOB_COMPLETION_INDEX}", "$ID", "/hosts"};
  settings.layout.hosts = 2;
  settings.layout.tasks = 4;
  settings.layout.tasks_per_host = 2;
  return settings;
}

TEST(Rewrite, torchrun_meets_at_the_first_pod) {
  EXPECT_EQ(
      rewritten("torchrun --nnodes=$N --nproc_per_node=8 \\\n  train.py --x  1", two_pods(RunsIn::each_pod)),
      "torchrun --node_rank=${JOB_COMPLETION_INDEX} --master_addr=a-0.a --master_port=${MASTER_PORT} "
      "--nnodes=2 --nproc_per_node=8 \\\n"
      "  train.py --x  1");
}

TEST(Rewrite, mpirun_gets_the_hosts_of_the_manifest) {
  EXPECT_EQ(
      rewritten("mpirun -np 4 -hostfile $LSB_DJOB_HOSTFILE -x A ./app > log", two_pods(RunsIn::launcher)),
      "mpirun --hostfile /hosts -np 4 -x A ./app > log");
  EXPECT_EQ(rewritten("jsrun -n 4 -r 2 -c 7 ./app", two_pods(RunsIn::launcher)),
            "mpirun --hostfile /hosts -np 4 --map-by ppr:2:node:PE=7 ./app");
  EXPECT_EQ(rewritten("mpirun -np 4 ./app", two_pods(RunsIn::one_pod)), "mpirun -np 4 ./app");
}

TEST(Rewrite, names_of_hosts_and_interfaces) {
  EXPECT_EQ(rewritten("export NCCL_SOCKET_IFNAME=ib0 X=$(scontrol show hostname $L | head -n1); echo ok",
                      two_pods(RunsIn::each_pod)),
            "export NCCL_SOCKET_IFNAME=eth0 X=a-0.a; echo ok");
}

TEST(Rewrite, random_values_that_pods_share_become_fixed) {
  EXPECT_EQ(
      rewritten(
          "MASTER_PORT=$((RANDOM + 1000))\ntorchrun --nnodes 2 --rdzv_id $RANDOM --rdzv_endpoint h:1 a.py",
          two_pods(RunsIn::each_pod)),
      "MASTER_PORT=29500\ntorchrun --node_rank=${JOB_COMPLETION_INDEX} --nnodes 2 --rdzv_id $ID "
      "--rdzv_endpoint a-0.a:${MASTER_PORT} a.py");
}

TEST(Rewrite, everything_else_stays_byte_for_byte) {
  const std::string_view text =
      "# comment\n\tfor i in 1 2; do\n  echo \"$i\"  >>  x\ndone\ncat <<'E'\nsrun x\nE\n";
  EXPECT_EQ(rewritten(text, two_pods(RunsIn::each_pod)), text);
}

TEST(SitePaths, paths_behind_expansions_are_not_roots) {
  Findings findings;
  lint_site_paths(shell_of("a ${D}/x `pwd`/y $(pwd)/z https://host/p -I/q"), {}, findings);
  EXPECT_TRUE(findings.sorted().empty());
  lint_site_paths(shell_of("cd /gpfs/x\nexport A=/gpfs/y:/scratch/z"), {"/scratch"}, findings);
  ASSERT_EQ(findings.sorted().size(), 1U);
  EXPECT_EQ(findings.sorted().front().lines, (std::vector<int>{1, 2}));
}

TEST(SitePaths, roots) {
  EXPECT_EQ(site_root("/nobackup/users/x"), "/nobackup");
  EXPECT_EQ(site_root("/usr/bin/python"), "");
  EXPECT_EQ(site_root("//x"), "");
  EXPECT_EQ(site_root("/"), "");
}

}  // namespace
}  // namespace autopilot::workloads::migrate
