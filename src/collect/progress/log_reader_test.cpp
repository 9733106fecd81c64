// SPDX-License-Identifier: Apache-2.0
#include "collect/progress/log_reader.hpp"

#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <memory>
#include <optional>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <variant>
#include <vector>

#include "collect/progress/log_source.hpp"
#include "host/files/fd.hpp"
#include "host/files/files.hpp"
#include "host/process/processes.hpp"
#include "tests/support/host/test_folder.hpp"

namespace autopilot::collect::log_reader_test {
namespace {

using std::chrono::seconds;

constexpr WallTime kNow{seconds{4'000'000'000}};  // later than the clock of any file

// A process that does nothing, with its standard output in a file.
class Rank {
 public:
  explicit Rank(const std::string& output = "/dev/null") {
    int ready[2];
    EXPECT_EQ(::pipe(ready), 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      const int file = ::open(output.c_str(), O_WRONLY | O_APPEND);
      if (::dup2(file, 1) == 1 && ::write(ready[1], "x", 1) == 1)
        while (true)
          ::pause();
      ::_exit(1);
    }
    char byte = 0;
    EXPECT_EQ(::read(ready[0], &byte, 1), 1);
    ::close(ready[0]);
    ::close(ready[1]);
    const auto row = host::Files{}.read("/proc/" + std::to_string(pid_) + "/stat");
    if (row) started_ = host::parse_task_state(*row).value_or(host::TaskState{}).started_ticks;
  }
  Rank(const Rank&) = delete;
  Rank& operator=(const Rank&) = delete;
  ~Rank() { end(); }

  void end() {
    if (pid_ == 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }
  [[nodiscard]] RankProcess process(int rank, const std::string& pod = {}) const {
    RankProcess process;
    process.pid = pid_;
    process.started_ticks = started_;
    process.rank = rank;
    process.pod_uid = pod;
    return process;
  }

 private:
  pid_t pid_ = 0;
  std::uint64_t started_ = 0;
};

SeenJob job_of(std::vector<RankProcess> processes, std::vector<JobPod> pods = {}) {
  SeenJob job;
  job.record.job = "ml/llama";
  job.processes = std::move(processes);
  job.pods = std::move(pods);
  return job;
}

JobPod pod_of(const std::string& uid) {
  return {.uid = uid, .name_space = "ml", .name = "llama-" + uid, .container = "train", .settings = {}};
}

class LogReaderTest : public ::testing::Test {
 protected:
  LogReaderTest() { options_.pods_folder = folder_.path(); }

  void append(const std::string& uid, std::string_view line, const std::string& file = "0.log") {
    const std::string name = folder_ / ("ml_llama-" + uid + "_" + uid + "/train");
    std::filesystem::create_directories(name);
    std::ofstream(name + "/" + file, std::ios::app)
        << "2026-01-01T00:00:0" << second_++ % 10 << "Z stdout F " << line << "\n";
  }
  std::vector<jobs::Record> read(const std::vector<SeenJob>& jobs) {
    std::vector<jobs::Record> records;
    now_ += seconds{1};
    SeenJobs seen;
    seen.jobs = jobs;
    reader().read(seen, now_, records);
    return records;
  }
  LogReader& reader() {
    if (!reader_) reader_ = std::make_unique<LogReader>(options_);
    return *reader_;
  }
  std::vector<std::int64_t> steps(const std::vector<SeenJob>& jobs) {
    std::vector<std::int64_t> steps;
    for (const jobs::Record& record : read(jobs))
      if (const auto* step = std::get_if<jobs::StepRecord>(&record)) steps.push_back(step->step);
    return steps;
  }
  template <class T>
  static std::vector<T> of(const std::vector<jobs::Record>& records) {
    std::vector<T> found;
    for (const auto& record : records)
      if (const T* held = std::get_if<T>(&record)) found.push_back(*held);
    return found;
  }

  host::TestFolder folder_;
  LogOptions options_;
  std::unique_ptr<LogReader> reader_;
  WallTime now_ = kNow;
  int second_ = 0;
};

TEST_F(LogReaderTest, steps_of_a_pod_are_read_with_the_clock_of_its_runtime) {
  const Rank rank;
  const auto job = job_of({rank.process(3, "u1")}, {pod_of("u1")});
  append("u1", "step 1 loss 2.0");
  append("u1", "step 2 loss 2.0");
  const auto first = of<jobs::StepRecord>(read({job}));
  ASSERT_EQ(first.size(), 1U);  // of the lines before, the last
  EXPECT_EQ(first[0].step, 2);
  EXPECT_EQ(first[0].rank, 3);
  EXPECT_EQ(format_time(first[0].time), "2026-01-01T00:00:01.000Z");
  append("u1", "step 3 loss 2.0");
  append("u1", "step 4 loss 2.0");
  EXPECT_EQ(steps({job}), (std::vector<std::int64_t>{3, 4}));
  EXPECT_EQ(steps({job}), (std::vector<std::int64_t>{}));
  EXPECT_TRUE(reader().not_seen().empty());
}

TEST_F(LogReaderTest, a_rotated_log_and_a_container_that_starts_again_are_followed) {
  const Rank rank;
  const auto job = job_of({rank.process(0, "u1")}, {pod_of("u1")});
  append("u1", "step 1 loss 2.0");
  EXPECT_EQ(steps({job}), (std::vector<std::int64_t>{1}));
  const std::string folder = folder_ / "ml_llama-u1_u1/train/";
  append("u1", "step 2 loss 2.0");
  std::filesystem::rename(folder + "0.log", folder + "0.log.20260101-000000");
  std::ofstream(folder + "0.log.20251231-000000.gz") << "\x1f\x8b step 900 loss 2.0\n";
  append("u1", "step 3 loss 2.0");
  EXPECT_EQ(steps({job}), (std::vector<std::int64_t>{2}));
  EXPECT_EQ(steps({job}), (std::vector<std::int64_t>{3}));
  append("u1", "step 4 loss 2.0", "1.log");
  EXPECT_EQ(steps({job}), (std::vector<std::int64_t>{4}));
}

TEST_F(LogReaderTest, the_pattern_of_an_annotation_is_used_and_a_wrong_one_is_stated) {
  const Rank rank;
  JobPod pod = pod_of("u1");
  pod.settings["autopilot.ibm.com/step-pattern"] = R"(tick=(?P<step>\d+))";
  append("u1", "tick=5");
  EXPECT_EQ(steps({job_of({rank.process(0, "u1")}, {pod})}), (std::vector<std::int64_t>{5}));
  pod = pod_of("u2");
  pod.settings["autopilot.ibm.com/step-pattern"] = "tick=(";
  append("u2", "step 6 loss 1.0");
  EXPECT_EQ(steps({job_of({rank.process(0, "u2")}, {pod})}), (std::vector<std::int64_t>{6}));
  ASSERT_EQ(reader().not_seen().size(), 1U);
  EXPECT_NE(reader().not_seen()[0].find("Step pattern of job ml/llama"), std::string::npos);
}

TEST_F(LogReaderTest, output_of_rank_0_in_a_file_is_read_and_a_device_is_stated_with_the_cure) {
  folder_.write("/slurm-1.out", "");
  const Rank rank(folder_ / "slurm-1.out");
  std::ofstream(folder_ / "slurm-1.out", std::ios::app)
      << "Epoch 0:  10%|# | 7/100 [00:01<00:10,  9.00it/s]\r";
  const auto records = of<jobs::StepRecord>(read({job_of({rank.process(0)})}));
  ASSERT_EQ(records.size(), 1U);
  EXPECT_EQ(records[0].step, 7);
  EXPECT_LT(records[0].time, now_ - seconds{1000});  // of the file, which is older
  const Rank other;
  EXPECT_TRUE(steps({job_of({other.process(0)})}).empty());
  ASSERT_EQ(reader().not_seen().size(), 1U);
  EXPECT_NE(reader().not_seen()[0].find("write it to a file"), std::string::npos);
}

TEST_F(LogReaderTest, a_missing_folder_of_logs_is_stated_with_the_cure) {
  const Rank rank;
  options_.pods_folder = folder_ / "missing";
  EXPECT_TRUE(read({job_of({rank.process(0, "u1")}, {pod_of("u1")})}).empty());
  ASSERT_EQ(reader().not_seen().size(), 1U);
  EXPECT_NE(reader().not_seen()[0].find("mount"), std::string::npos);
}

TEST_F(LogReaderTest, a_pod_name_cannot_lead_out_of_the_folder) {
  const Rank rank;
  JobPod pod = pod_of("u1");
  pod.container = "../../ml_llama-u1_u1/train";
  append("u1", "step 1 loss 2.0");
  EXPECT_TRUE(steps({job_of({rank.process(0, "u1")}, {pod})}).empty());
}

TEST_F(LogReaderTest, sixteen_logs_are_read_the_lowest_ranks_first) {
  const Rank rank;
  std::vector<RankProcess> processes;
  std::vector<JobPod> pods;
  for (int i = 0; i < 20; ++i) {
    const std::string uid = "u" + std::to_string(i);
    processes.push_back(rank.process(i, uid));
    pods.push_back(pod_of(uid));
    append(uid, "step 1 loss 2.0");
  }
  const auto records = of<jobs::StepRecord>(read({job_of(processes, pods)}));
  EXPECT_EQ(records.size(), 16U);
  for (const auto& record : records)
    EXPECT_LT(record.rank.value_or(99), 16);
  ASSERT_EQ(reader().not_seen().size(), 1U);
  EXPECT_NE(reader().not_seen()[0].find("Logs of 4 ranks"), std::string::npos);
}

TEST_F(LogReaderTest, a_flood_of_lines_is_bounded_and_the_newest_step_counts) {
  const Rank rank;
  const auto job = job_of({rank.process(0, "u1")}, {pod_of("u1")});
  append("u1", "step 1 loss 2.0");
  (void)read({job});
  {
    std::ofstream file(folder_ / "ml_llama-u1_u1/train/0.log", std::ios::app);
    const std::string filler(4000, 'x');
    for (int i = 2; i <= 2000; ++i)
      file << "2026-01-01T00:00:00Z stdout F " << filler << "\n2026-01-01T00:00:00Z stdout F step " << i
           << " loss 2.0\n";
  }
  const auto numbers = steps({job});
  EXPECT_LE(numbers.size(), LogReader::kMaxRecords);
  ASSERT_FALSE(numbers.empty());
  EXPECT_EQ(numbers.back(), 2000);
}

TEST_F(LogReaderTest, the_last_words_of_a_failed_rank_are_reported_with_its_exit_code) {
  Rank rank;
  std::optional<PodEnd> end;
  options_.pod_end = [&](const std::string& uid) { return uid == "u1" ? end : std::nullopt; };
  const auto job = job_of({rank.process(5, "u1")}, {pod_of("u1")});
  append("u1", "step 1 loss 2.0");
  (void)read({job});
  for (int i = 0; i < 400; ++i)
    append("u1", "a line before");
  append("u1", "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB");
  rank.end();
  EXPECT_TRUE(of<jobs::LogRecord>(read({})).empty());  // the exit code is not known yet
  EXPECT_TRUE(reader().has_more());
  end = PodEnd{.code = 1, .signal = {}, .oom = false, .reason = {}};
  const auto records = read({});
  const auto exits = of<jobs::ExitRecord>(records);
  ASSERT_EQ(exits.size(), 1U);
  EXPECT_EQ(exits[0].rank, 5);
  EXPECT_EQ(exits[0].code, 1);
  const auto logs = of<jobs::LogRecord>(records);
  ASSERT_EQ(logs.size(), 1U);
  EXPECT_LE(logs[0].text.size(), jobs::LogRecord::kMaxText);
  EXPECT_NE(logs[0].text.find("CUDA out of memory"), std::string::npos);
  EXPECT_EQ(logs[0].text.find("stdout F"), std::string::npos);
  EXPECT_FALSE(reader().has_more());
  EXPECT_TRUE(read({}).empty());
}

TEST_F(LogReaderTest, the_log_of_a_rank_that_completed_stays_on_the_node) {
  Rank rank;
  options_.pod_end = [](const std::string&) {
    return PodEnd{.code = 0, .signal = {}, .oom = false, .reason = {}};
  };
  append("u1", "RuntimeError: CUDA out of memory (handled)");
  (void)read({job_of({rank.process(0, "u1")}, {pod_of("u1")})});
  rank.end();
  const auto records = read({});
  EXPECT_EQ(of<jobs::ExitRecord>(records).size(), 1U);
  EXPECT_TRUE(of<jobs::LogRecord>(records).empty());
}

TEST_F(LogReaderTest, an_evicted_pod_is_reported_as_such) {
  Rank rank;
  options_.pod_end = [](const std::string&) {
    return PodEnd{.code = 143, .signal = {}, .oom = false, .reason = jobs::PodReason::evicted};
  };
  append("u1", "step 1 loss 2.0");
  (void)read({job_of({rank.process(2, "u1")}, {pod_of("u1")})});
  rank.end();
  const auto records = read({});
  ASSERT_EQ(of<jobs::PodRecord>(records).size(), 1U);
  EXPECT_EQ(of<jobs::PodRecord>(records)[0].reason, jobs::PodReason::evicted);
  EXPECT_TRUE(of<jobs::LogRecord>(records).empty());
}

TEST_F(LogReaderTest, outside_pods_the_words_themselves_show_a_failure) {
  folder_.write("/good.out", "step 1 loss 2.0\ntraining is complete\n");
  folder_.write("/bad.out",
                "step 1 loss 2.0\nRuntimeError: CUDA error: an illegal memory access was encountered");
  Rank good(folder_ / "good.out");
  Rank bad(folder_ / "bad.out");
  auto first = job_of({good.process(0)});
  auto second = job_of({bad.process(0)});
  second.record.job = "other";
  (void)read({first, second});
  good.end();
  bad.end();
  const auto logs = of<jobs::LogRecord>(read({}));
  ASSERT_EQ(logs.size(), 1U);
  EXPECT_EQ(logs[0].job, "other");
  EXPECT_NE(logs[0].text.find("illegal memory access"), std::string::npos);
}

TEST_F(LogReaderTest, a_search_that_misses_a_living_rank_is_not_its_end) {
  const Rank rank;
  options_.pod_end = [](const std::string&) {
    return PodEnd{.code = 1, .signal = {}, .oom = false, .reason = {}};
  };
  const auto job = job_of({rank.process(0, "u1")}, {pod_of("u1")});
  append("u1", "step 1 loss 2.0");
  (void)read({job});
  EXPECT_TRUE(of<jobs::ExitRecord>(read({})).empty());
  EXPECT_TRUE(of<jobs::ExitRecord>(read({job})).empty());
}

TEST(LastWords, of_a_long_text_the_last_4_kib_of_whole_characters_are_kept) {
  std::string text;
  for (int i = 0; i < 4096; ++i)
    text += "\xc3\xa4\xff";  // a letter of two bytes, and a byte that is not UTF-8
  const std::string words = last_words(text);
  EXPECT_LE(words.size(), jobs::LogRecord::kMaxText);
  EXPECT_GT(words.size(), jobs::LogRecord::kMaxText - 4);
  EXPECT_NE(static_cast<unsigned char>(words[0]) & 0xC0U, 0x80U);
}

TEST(LogSource, records_arrive_with_a_later_poll_without_waiting) {
  const host::TestFolder folder;
  folder.write("/out", "step 41 loss 2.0\n");
  const Rank rank(folder / "out");
  LogSource source({});
  SeenJobs seen;
  seen.jobs.push_back(job_of({rank.process(0)}));
  std::vector<jobs::Record> records;
  WallTime now = kNow;
  const MonoTime deadline = host::mono_now() + seconds{10};
  while (records.empty() && host::mono_now() < deadline)
    source.poll(seen, now += seconds{1}, records);
  ASSERT_EQ(records.size(), 1U);
  EXPECT_EQ(std::get<jobs::StepRecord>(records[0]).step, 41);
}

}  // namespace
}  // namespace autopilot::collect::log_reader_test
