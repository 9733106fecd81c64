// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <gtest/gtest.h>
#include <set>

#include "workloads/migrate/job/layout.hpp"
#include "workloads/migrate/job/options.hpp"
#include "workloads/migrate/job/read_job.hpp"
#include "workloads/migrate/job/values.hpp"

namespace autopilot::workloads::migrate {
namespace {

std::int64_t lsf_seconds(std::string_view text) {
  const auto limit = parse_lsf_limit(text);
  return limit && limit->limit ? limit->limit->count() : -1;
}
std::int64_t slurm_seconds(std::string_view text) {
  const auto limit = parse_slurm_limit(text);
  return limit && limit->limit ? limit->limit->count() : -1;
}

TEST(Values, the_same_text_is_another_time_in_each_scheduler) {
  EXPECT_EQ(lsf_seconds("30:00"), 108000);
  EXPECT_EQ(slurm_seconds("30:00"), 1800);
  EXPECT_EQ(lsf_seconds("1200"), 72000);
  EXPECT_EQ(lsf_seconds("12:00/hostA"), 43200);
  EXPECT_EQ(slurm_seconds("1-12:30"), 131400);
  EXPECT_EQ(slurm_seconds("UNLIMITED"), -1);
  EXPECT_TRUE(parse_slurm_limit("UNLIMITED").has_value());
  for (const std::string_view text : {"", ":", "1:2:3:4", "a", "-5", "1:", "99999999999999999999"})
    EXPECT_FALSE(parse_lsf_limit(text).has_value()) << text;
}

TEST(Values, sizes_have_binary_units) {
  const auto bytes = [](std::string_view text, std::uint64_t unit) {
    const auto size = parse_size(text);
    return size ? bytes_of(*size, unit).value_or(-1) : -1;
  };
  EXPECT_EQ(bytes("64GB", 1), std::int64_t{64} << 30U);
  EXPECT_EQ(bytes("1.5T", 1), std::int64_t{1536} << 30U);
  EXPECT_EQ(bytes("40", 1U << 20U), std::int64_t{40} << 20U);
  EXPECT_EQ(bytes("x", 1), -1);
  EXPECT_EQ(bytes("1e9", 1), -1);
  EXPECT_EQ(bytes("99999999T", 1), -1);
}

TEST(Values, arrays) {
  EXPECT_EQ(parse_array("1-10:4")->indices, (std::vector<int>{1, 5, 9}));
  EXPECT_EQ(parse_array("0,6,4-6%2")->indices, (std::vector<int>{0, 4, 5, 6}));
  EXPECT_EQ(parse_array("0-0%1")->throttle, 1);
  for (const std::string_view text : {"", "5-1", "1-", "1-10:0", "0-100000000", "1-3%0", "a"})
    EXPECT_FALSE(parse_array(text).has_value()) << text;
}

TEST(Values, names_of_objects) {
  EXPECT_EQ(object_name("BigGAN128-ImageNet", 40), "biggan128-imagenet");
  EXPECT_EQ(object_name("make_hdf5", 40), "make-hdf5");
  EXPECT_EQ(object_name("7b.run", 40), "job-7b-run");
  EXPECT_EQ(object_name("---", 40), "job");
  EXPECT_EQ(object_name(std::string(80, 'a'), 40).size(), 40U);
}

class Options : public ::testing::Test {
 protected:
  ReadJob read(const std::vector<std::string>& words, Scheduler scheduler) {
    std::vector<OptionWord> given;
    for (const std::string& word : words)
      given.push_back({word, 3, 0, given.empty()});
    options_ = recognise_options(given, scheduler, findings_);
    return read_job(options_.options, scheduler, 1, settings_, findings_);
  }

  Findings findings_;
  GivenOptions options_;
  ReadSettings settings_;
};

TEST_F(Options, every_name_is_in_its_table_once) {
  for (const auto rules : {lsf_options(), slurm_options()}) {
    std::set<std::string_view> names;
    for (const OptionRule& rule : rules) {
      EXPECT_TRUE(names.insert(rule.name).second) << rule.name;
      if (!rule.short_name.empty()) {
        EXPECT_TRUE(names.insert(rule.short_name).second) << rule.short_name;
      }
      EXPECT_FALSE(rule.becomes.empty()) << rule.name;
    }
  }
}

TEST_F(Options, every_option_with_a_value_is_read_or_reported) {
  for (const Scheduler scheduler : {Scheduler::lsf, Scheduler::slurm})
    for (const OptionRule& rule : scheduler == Scheduler::lsf ? lsf_options() : slurm_options()) {
      const auto read_one = read({std::string(rule.name), "?"}, scheduler);
      EXPECT_EQ(read_one.rows.size(), 1U) << rule.name;
    }
}

TEST_F(Options, forms_of_slurm_options) {
  const auto job = read({"-N2", "--ntasks-per-node=8", "-c", "4", "--gres=gpu:a100:8", "--mem=64G", "--time",
                         "1-0", "-p", "a,b"},
                        Scheduler::slurm)
                       .job;
  const JobPart& part = job.parts.front();
  EXPECT_EQ(part.hosts, 2);
  EXPECT_EQ(part.tasks_per_host, 8);
  EXPECT_EQ(part.cpus_per_task, 4);
  EXPECT_EQ(part.gpu.per_host, 8);
  EXPECT_EQ(part.gpu.model, "a100");
  EXPECT_EQ(part.memory->bytes, std::int64_t{64} << 30U);
  EXPECT_EQ(part.queues, (std::vector<std::string>{"a", "b"}));
  EXPECT_FALSE(findings_.needs_decision());
}

TEST_F(Options, long_options_can_be_cut_while_they_are_unambiguous) {
  EXPECT_EQ(read({"--job=x"}, Scheduler::slurm).job.original_name, "x");
  EXPECT_FALSE(findings_.needs_decision());
  read({"--ntasks-per=2"}, Scheduler::slurm);
  EXPECT_TRUE(findings_.has("M-UNKNOWN-OPTION"));
}

TEST_F(Options, resource_requirements_of_lsf_add_up) {
  settings_.lsf_unit = 1U << 20U;
  const auto job =
      read({"-R", "select[type==any] rusage[mem=8000/task,ngpus_excl_p=1]", "-R", "span[ptile=4]", "-n", "8"},
           Scheduler::lsf)
          .job;
  const JobPart& part = job.parts.front();
  EXPECT_EQ(part.memory->bytes, std::int64_t{8000} << 20U);
  EXPECT_EQ(part.memory->scope, Scope::task);
  EXPECT_EQ(part.gpu.per_host, 1);
  EXPECT_EQ(part.tasks_per_host, 4);
}

TEST_F(Options, memory_of_lsf_without_a_unit_is_not_guessed) {
  EXPECT_FALSE(read({"-M", "8000000"}, Scheduler::lsf).job.parts.front().memory.has_value());
  EXPECT_TRUE(findings_.has("M-UNIT"));
}

TEST_F(Options, the_last_gpu_option_wins) {
  const auto job =
      read({"-gpu", "num=4:mode=shared", "-gpu", "num=2/task:gmodel=TeslaV100_SXM2_32GB"}, Scheduler::lsf)
          .job;
  EXPECT_EQ(job.parts.front().gpu.per_task, 2);
  EXPECT_FALSE(job.parts.front().gpu.per_host.has_value());
  EXPECT_EQ(job.parts.front().gpu.model, "TeslaV100_SXM2_32GB");
}

TEST_F(Options, values_in_the_same_word_and_typing_errors) {
  EXPECT_EQ(read({"-n4"}, Scheduler::lsf).job.parts.front().tasks, 4);
  EXPECT_EQ(read({"-n", "=4"}, Scheduler::lsf).job.parts.front().tasks, 4);
  EXPECT_TRUE(findings_.has("M-VALUE"));
  read({"-nodes", "4"}, Scheduler::lsf);
  EXPECT_TRUE(findings_.has("M-UNKNOWN-OPTION"));
  read({"-q", "normal", "stray"}, Scheduler::lsf);
  EXPECT_TRUE(findings_.has("M-STRAY-WORD"));
}

TEST_F(Options, dependencies) {
  const auto lsf = read({"-w", "done(\"prep*\") && (ended(17) || exit(x))"}, Scheduler::lsf).job.dependencies;
  ASSERT_EQ(lsf.size(), 3U);
  EXPECT_EQ(lsf[0].target, "prep*");
  EXPECT_EQ(lsf[1].kind, "ended");
  const auto slurm = read({"--dependency=afterok:1:2,singleton"}, Scheduler::slurm).job.dependencies;
  ASSERT_EQ(slurm.size(), 3U);
  EXPECT_EQ(slurm[1].target, "2");
}

TEST_F(Options, signals) {
  const auto signal = read({"--signal=B:SIGUSR1@180"}, Scheduler::slurm).job.signal;
  ASSERT_TRUE(signal.has_value());
  EXPECT_EQ(signal->name, "USR1");
  EXPECT_EQ(signal->before.count(), 180);
  EXPECT_TRUE(signal->is_for_script);
  EXPECT_FALSE(read({"--signal=$(rm -rf /)@1"}, Scheduler::slurm).job.signal.has_value());
}

TEST_F(Options, every_part_of_rusage_counts) {
  for (const std::string usage : {"mem=4GB:ngpus_physical=2:tmp=8GB", "mem=4GB,ngpus_physical=2,tmp=8GB",
                                  "mem=4GB && ngpus_physical=2 && tmp=8GB"}) {
    const JobPart part = read({"-R", "rusage[" + usage + "]"}, Scheduler::lsf).job.parts.front();
    ASSERT_TRUE(part.memory.has_value()) << usage;
    EXPECT_EQ(part.memory->bytes, std::int64_t{4} << 30U);
    EXPECT_EQ(part.gpu.per_host, 2);
    EXPECT_EQ(part.scratch_bytes, std::int64_t{8} << 30U);
  }
  EXPECT_FALSE(findings_.has("M-RESOURCE"));
  read({"-R", "rusage[mem=4GB:duration=30:license=1]"}, Scheduler::lsf);
  EXPECT_EQ(findings_.sorted().size(), 2U);
}

TEST_F(Options, gpus_of_sockets) {
  const auto gpus = [this](const std::vector<std::string>& words) {
    return layout_of(read(words, Scheduler::slurm).job.parts.front(), Scheduler::slurm, {}, {}, findings_)
        .gpus;
  };
  EXPECT_EQ(gpus({"--gpus-per-socket=2", "--sockets-per-node=2"}), 4);
  EXPECT_FALSE(findings_.needs_decision());
  EXPECT_EQ(gpus({"--gpus-per-socket=2"}), 2);
  EXPECT_TRUE(findings_.has("M-GPU-SOCKET"));
}

TEST_F(Options, shifter_has_its_findings) {
  EXPECT_EQ(
      read({"--image=docker:nersc/pytorch:1", "--module=gpu,nccl"}, Scheduler::slurm).job.container_image,
      "docker:nersc/pytorch:1");
  EXPECT_TRUE(findings_.has("M-CONTAINER"));
  EXPECT_TRUE(findings_.has("M-MODULE"));
  EXPECT_FALSE(findings_.has("M-UNKNOWN-OPTION"));
}

TEST_F(Options, a_reservation_and_a_limit_of_memory_are_two_values) {
  const auto plan = [this](const std::vector<std::string>& words) {
    return layout_of(read(words, Scheduler::lsf).job.parts.front(), Scheduler::lsf, {}, {}, findings_);
  };
  const Layout two = plan({"-M", "16GB", "-R", "rusage[mem=4GB]"});
  EXPECT_EQ(two.memory_bytes, std::int64_t{4} << 30U);
  EXPECT_EQ(two.memory_limit_bytes, std::int64_t{16} << 30U);
  const Layout tasks = plan({"-n", "2", "-R", "span[hosts=1] rusage[mem=4GB/task]", "-M", "8GB/task"});
  EXPECT_EQ(tasks.memory_bytes, std::int64_t{8} << 30U);
  EXPECT_EQ(tasks.memory_limit_bytes, std::int64_t{16} << 30U);
  EXPECT_EQ(plan({"-M", "16GB"}).memory_bytes, std::int64_t{16} << 30U);
  EXPECT_FALSE(findings_.has("M-MEMORY-SCOPE"));
  plan({"-n", "8", "-R", "span[hosts=1] rusage[mem=4GB]"});
  EXPECT_TRUE(findings_.has("M-MEMORY-SCOPE"));
  EXPECT_EQ(plan({"-M", "2GB", "-R", "rusage[mem=4GB]"}).memory_limit_bytes, std::int64_t{4} << 30U);
  EXPECT_TRUE(findings_.has("M-MEMORY-LIMIT"));
}

class Layouts : public ::testing::Test {
 protected:
  Layout plan(const JobPart& part, Scheduler scheduler, const NodeShape& node = {}) {
    return layout_of(part, scheduler, node, {}, findings_);
  }
  Findings findings_;
};

TEST_F(Layouts, slots_of_lsf_become_hosts) {
  JobPart part;
  part.tasks = 12;
  part.tasks_per_host = 5;
  EXPECT_EQ(plan(part, Scheduler::lsf).hosts, 3);
  part.tasks_per_host = 32;
  EXPECT_EQ(plan(part, Scheduler::lsf).hosts, 1);
  EXPECT_TRUE(findings_.has("M-PTILE-GT-N"));
}

TEST_F(Layouts, tasks_without_hosts_are_spread_by_the_size_of_nodes) {
  JobPart part;
  part.tasks = 96;
  part.cpus_per_task = 2;
  EXPECT_EQ(plan(part, Scheduler::slurm).hosts, 1);
  EXPECT_TRUE(findings_.has("M-ONE-HOST"));
  EXPECT_EQ(plan(part, Scheduler::slurm, {.cpus = 64, .gpus = {}, .memory_bytes = {}}).hosts, 3);
}

TEST_F(Layouts, gpus_of_a_job_have_to_split_evenly) {
  JobPart part;
  part.hosts = 2;
  part.gpu.total = 16;
  EXPECT_EQ(plan(part, Scheduler::slurm).gpus, 8);
  EXPECT_FALSE(findings_.has("M-GPU-SPLIT"));
  part.gpu.total = 5;
  EXPECT_EQ(plan(part, Scheduler::slurm).gpus, 3);
  EXPECT_TRUE(findings_.has("M-GPU-SPLIT"));
}

TEST_F(Layouts, memory_by_its_scope) {
  JobPart part;
  part.hosts = 2;
  part.tasks_per_host = 4;
  part.cpus_per_task = 2;
  part.memory = Memory{1000, Scope::cpu};
  EXPECT_EQ(plan(part, Scheduler::slurm).memory_bytes, 8000);
  part.memory = Memory{1000, Scope::job};
  EXPECT_EQ(plan(part, Scheduler::slurm).memory_bytes, 500);
}

TEST_F(Layouts, absurd_numbers_stay_within_limits) {
  JobPart part;
  part.tasks = 10'000'000;
  part.tasks_per_host = 1;
  part.gpu.per_task = 1024;
  part.cpus_per_task = 10'000'000;
  const Layout layout = plan(part, Scheduler::slurm);
  EXPECT_EQ(layout.hosts, 10'000);
  EXPECT_LE(layout.cpus, 100'000);
  EXPECT_TRUE(findings_.needs_decision());
}

}  // namespace
}  // namespace autopilot::workloads::migrate
