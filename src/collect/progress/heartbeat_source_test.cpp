// SPDX-License-Identifier: Apache-2.0
#include "collect/progress/heartbeat_source.hpp"

#include <cmath>
#include <csignal>
#include <cstring>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include <variant>
#include <vector>

#include "host/files/fd.hpp"
#include "tests/paths/paths.hpp"
#include "tests/support/host/test_folder.hpp"

namespace autopilot::collect::heartbeat_source_test {
namespace {

using jobs::Edge;
using jobs::Phase;
using std::chrono::seconds;

constexpr WallTime kNow{seconds{1'800'000'000}};

TEST(Heartbeat, all_keys_are_read_and_others_ignored) {
  const auto heartbeat = parse_heartbeat(
      "AP1 job=llama rank=17 world=512 ep=3 step=12345 t=1800000000000000000 ph=save dt=1.234 tok=4194304 "
      "loss=2.31 gn=0.8 ckpt=12300 tp=8 pp=4 dp=16 stage=2 next=900 ack=9");
  ASSERT_TRUE(heartbeat) << heartbeat.error().what;
  EXPECT_EQ(heartbeat->job, "llama");
  EXPECT_EQ(heartbeat->step, 12345);
  EXPECT_EQ(heartbeat->time, kNow);
  EXPECT_EQ(heartbeat->phase, Phase::checkpoint);
  EXPECT_EQ(heartbeat->step_s, 1.234);
  EXPECT_EQ(heartbeat->tokens, 4194304);
  EXPECT_EQ(heartbeat->loss, 2.31);
  EXPECT_EQ(heartbeat->checkpoint, 12300);
  EXPECT_EQ(heartbeat->ack, 9);
  EXPECT_TRUE(std::isnan(parse_heartbeat("AP1 job=a rank=0 step=1 loss=nan")->loss.value_or(0)));
}

TEST(Heartbeat, other_texts_are_refused) {
  for (const std::string_view text :
       {"", "AP1", "AP1 ", "AP1 job=a rank=0", "AP1 job=a step=1", "AP1 rank=0 step=1",
        "AP2 job=a rank=0 step=1", "AP1 job=a rank=0 step=-1", "AP1 job=a rank=0 step=1e5",
        "AP1 job=a rank=70000 step=1", "AP1 job=a rank=0 step=1 ph=sleep", "AP1 job=a rank=0 step=1 dt=0",
        "AP1 job=a rank=0 step=1 dt=nan", "AP1 job=a rank=0 step=1 noise", "AP1 job=a\x01 rank=0 step=1",
        "AP1 job= rank=0 step=1", "AP1 job=a rank=0 step=99999999999999999999",
        "AP1 job=a rank=0 step=1 tok=1e99"})
    EXPECT_FALSE(parse_heartbeat(text)) << text;
  EXPECT_FALSE(parse_heartbeat("AP1 job=a rank=0 step=1 x=" + std::string(600, 'y')));
}

TEST(Heartbeat, a_job_name_becomes_the_name_of_a_file) {
  EXPECT_EQ(command_file("ml/llama 7"), "ml_llama_7");
  EXPECT_EQ(command_file("../../etc/passwd"), ".._.._etc_passwd");
  EXPECT_EQ(command_file(".."), "");
  EXPECT_EQ(command_file(std::string(300, 'a')).size(), 200U);
}

class HeartbeatSourceTest : public ::testing::Test {
 protected:
  HeartbeatSourceTest() : source_({folder_ / "heartbeat"}), client_(::socket(AF_UNIX, SOCK_DGRAM, 0)) {
    (void)poll();  // opens the socket
  }

  void see(std::int64_t pid, int rank, std::vector<std::int64_t> children = {}) {
    SeenJob job;
    job.record.job = "ml/llama";
    RankProcess process;
    process.pid = pid;
    process.rank = rank;
    process.children = std::move(children);
    if (seen_.jobs.empty()) seen_.jobs.push_back(job);
    seen_.jobs[0].processes.push_back(process);
  }
  bool send(const std::string& text) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string path = folder_ / "heartbeat/socket";
    std::memcpy(address.sun_path, path.data(), path.size());
    // Waits while the queue of the kernel is full.
    ++sent_;
    return ::sendto(client_.get(), text.data(), text.size(), 0, reinterpret_cast<const sockaddr*>(&address),
                    sizeof address) >= 0;
  }
  // Until everything that was sent has arrived.
  std::vector<jobs::Record> poll() {
    std::vector<jobs::Record> records;
    now_ += seconds{1};
    const MonoTime deadline = host::mono_now() + seconds{10};
    do
      source_.poll(seen_, now_, records);
    while (arrived() < sent_ && host::mono_now() < deadline);
    return records;
  }
  [[nodiscard]] std::size_t arrived() const {
    const HeartbeatCounts counts = source_.counts();
    return counts.accepted + counts.malformed + counts.too_many + counts.unknown_sender + counts.dropped;
  }
  template <class T>
  static std::vector<T> of(const std::vector<jobs::Record>& records) {
    std::vector<T> found;
    for (const auto& record : records)
      if (const T* held = std::get_if<T>(&record)) found.push_back(*held);
    return found;
  }

  host::TestFolder folder_;
  HeartbeatSource source_;
  host::Fd client_;
  SeenJobs seen_;
  WallTime now_ = kNow;
  std::size_t sent_ = 0;
};

TEST_F(HeartbeatSourceTest, a_heartbeat_is_a_step_of_the_rank_whose_process_sent_it) {
  see(::getpid(), 5);
  ASSERT_TRUE(send("AP1 job=of-another rank=0 step=100 dt=0.5 tok=4096 loss=2.5"));
  const auto records = poll();
  const auto steps = of<jobs::StepRecord>(records);
  ASSERT_EQ(steps.size(), 1U);
  EXPECT_EQ(steps[0].job, "ml/llama");
  EXPECT_EQ(steps[0].rank, 5);
  EXPECT_EQ(steps[0].step, 100);
  EXPECT_EQ(steps[0].step_s, 0.5);
  EXPECT_EQ(steps[0].tokens, 4096);
  EXPECT_EQ(steps[0].loss, 2.5);
  EXPECT_EQ(steps[0].time, now_);
  ASSERT_EQ(of<jobs::HeartbeatRecord>(records).size(), 1U);
  struct stat status {};
  ASSERT_EQ(::stat((folder_ / "heartbeat/socket").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0666U);
}

TEST_F(HeartbeatSourceTest, a_child_of_a_rank_speaks_for_it_and_another_process_is_dropped) {
  see(1, 0, {::getpid()});
  ASSERT_TRUE(send("AP1 job=a rank=0 step=1"));
  EXPECT_EQ(of<jobs::StepRecord>(poll()).size(), 1U);
  seen_.jobs[0].processes[0].children.clear();
  ASSERT_TRUE(send("AP1 job=ml/llama rank=0 step=2"));
  EXPECT_TRUE(poll().empty());
  EXPECT_EQ(source_.counts().unknown_sender, 1U);
}

TEST_F(HeartbeatSourceTest, a_lying_step_is_bounded) {
  see(::getpid(), 0);
  for (const int step : {100, 1'000'000'000, 101, 5, 102})
    ASSERT_TRUE(send("AP1 job=a rank=0 step=" + std::to_string(step)));
  std::vector<std::int64_t> numbers;
  for (const auto& step : of<jobs::StepRecord>(poll()))
    numbers.push_back(step.step);
  EXPECT_EQ(numbers, (std::vector<std::int64_t>{100, 101, 102}));
}

TEST_F(HeartbeatSourceTest, a_clock_far_away_is_replaced_by_the_time_of_arrival) {
  see(::getpid(), 0);
  ASSERT_TRUE(send("AP1 job=a rank=0 step=1 t=1"));
  ASSERT_TRUE(send("AP1 job=a rank=0 step=2 t=9000000000000000000"));
  const auto steps = of<jobs::StepRecord>(poll());
  ASSERT_EQ(steps.size(), 2U);
  EXPECT_EQ(steps[0].time, now_);
  EXPECT_EQ(steps[1].time, now_);
}

TEST_F(HeartbeatSourceTest, twenty_a_second_are_accepted_and_the_rest_counted) {
  see(::getpid(), 0);
  for (int step = 0; step < 500; ++step)
    ASSERT_TRUE(send("AP1 job=a rank=0 step=" + std::to_string(step)));
  (void)poll();
  EXPECT_EQ(source_.counts().accepted, static_cast<std::size_t>(HeartbeatSource::kMaxPerSecond));
  EXPECT_EQ(source_.counts().too_many, 500U - HeartbeatSource::kMaxPerSecond);
  ASSERT_TRUE(send("AP1 job=a rank=0 step=501"));
  EXPECT_EQ(of<jobs::StepRecord>(poll()).size(), 1U);
}

TEST_F(HeartbeatSourceTest, malformed_and_long_datagrams_are_counted) {
  see(::getpid(), 0);
  ASSERT_TRUE(send("hello"));
  ASSERT_TRUE(send("AP1 job=a rank=0 step=1 " + std::string(2000, 'x')));
  ASSERT_TRUE(send(""));
  EXPECT_TRUE(poll().empty());
  EXPECT_EQ(source_.counts().malformed, 3U);
}

TEST_F(HeartbeatSourceTest, phases_begin_and_end_and_do_not_survive_their_rank) {
  see(::getpid(), 0);
  for (const std::string_view phase : {"train", "save", "save", "train", "eval"})
    ASSERT_TRUE(send("AP1 job=a rank=0 step=1 ph=" + std::string(phase)));
  const auto phases = of<jobs::PhaseRecord>(poll());
  ASSERT_EQ(phases.size(), 3U);
  EXPECT_EQ(phases[0].phase, Phase::checkpoint);
  EXPECT_EQ(phases[0].edge, Edge::begin);
  EXPECT_EQ(phases[1].edge, Edge::end);
  EXPECT_EQ(phases[2].phase, Phase::evaluate);
  seen_.jobs.clear();
  const auto ended = of<jobs::PhaseRecord>(poll());
  ASSERT_EQ(ended.size(), 1U);
  EXPECT_EQ(ended[0].phase, Phase::evaluate);
  EXPECT_EQ(ended[0].edge, Edge::end);
}

TEST_F(HeartbeatSourceTest, a_new_durable_step_is_the_end_of_a_checkpoint) {
  see(::getpid(), 0);
  for (const int checkpoint : {100, 100, 200})
    ASSERT_TRUE(send("AP1 job=a rank=0 step=1 ckpt=" + std::to_string(checkpoint)));
  const auto phases = of<jobs::PhaseRecord>(poll());
  ASSERT_EQ(phases.size(), 1U);
  EXPECT_EQ(phases[0].phase, Phase::checkpoint);
  EXPECT_EQ(phases[0].edge, Edge::end);
}

TEST_F(HeartbeatSourceTest, a_job_is_asked_for_a_checkpoint_and_acknowledges_it) {
  const auto refused = source_.request_checkpoint("ml/llama");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::not_found);
  see(::getpid(), 0);
  ASSERT_TRUE(send("AP1 job=llama/7 rank=0 step=1"));
  (void)poll();
  EXPECT_EQ(source_.request_checkpoint("ml/llama").value_or(0), 1);
  EXPECT_EQ(source_.request_checkpoint("ml/llama").value_or(0), 2);
  std::ifstream file(folder_ / "heartbeat/cmd/llama_7");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  EXPECT_EQ(text, "{\"seq\":2,\"cmd\":\"checkpoint_now\"}\n");
  EXPECT_FALSE(source_.acknowledged("ml/llama"));
  ASSERT_TRUE(send("AP1 job=llama/7 rank=0 step=2 ack=99"));  // never asked
  (void)poll();
  EXPECT_FALSE(source_.acknowledged("ml/llama"));
  ASSERT_TRUE(send("AP1 job=llama/7 rank=0 step=3 ack=2"));
  (void)poll();
  EXPECT_EQ(source_.acknowledged("ml/llama"), 2);
}

TEST(HeartbeatFolder, a_folder_that_cannot_be_used_is_stated_with_the_cure) {
  const host::TestFolder folder;
  folder.write("/file", "");
  HeartbeatSource source({folder / "file/heartbeat"});
  std::vector<jobs::Record> records;
  source.poll({}, kNow, records);
  ASSERT_EQ(source.not_seen().size(), 1U);
  EXPECT_NE(source.not_seen()[0].find("configure another"), std::string::npos);
}

// A Python program that waits for a line, sends heartbeats with the example, and obeys a command.
class Program {
 public:
  Program(const std::string& folder, std::vector<std::string> launcher) {
    int input[2];
    int output[2];
    EXPECT_EQ(::pipe(input) + ::pipe(output), 0);
    const std::string code =
        "import sys; sys.path.insert(0, '" + paths::source("deploy/examples") +
        "')\n"
        "sys.dont_write_bytecode = True\n"
        "from autopilot_heartbeat import Heartbeat\n"
        "heartbeat = Heartbeat('ml/llama', 0, '" +
        folder +
        "')\n"
        "print(open('/proc/self/stat').read().split()[0], flush=True)\n"
        "step = 0\n"
        "for line in sys.stdin:\n"
        "    step += 1\n"
        "    print('checkpoint' if heartbeat.wants_checkpoint() else 'train', flush=True)\n"
        "    heartbeat.send(step, ph='train', dt=0.25, loss=2.5)\n"
        "    print('sent', flush=True)\n";
    launcher.insert(launcher.end(), {"python3", "-c", code});
    std::vector<char*> words;
    for (std::string& word : launcher)
      words.push_back(word.data());
    words.push_back(nullptr);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::dup2(input[0], 0);
      ::dup2(output[1], 1);
      for (const int fd : {input[0], input[1], output[0], output[1]})
        ::close(fd);
      ::execvp(words[0], words.data());
      ::_exit(127);
    }
    ::close(input[0]);
    ::close(output[1]);
    input_ = host::Fd(input[1]);
    output_ = host::Fd(output[0]);
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  ~Program() {
    input_.reset();  // the program ends with its input
    ::waitpid(pid_, nullptr, 0);
  }

  [[nodiscard]] std::string line() {
    std::string text;
    char c = 0;
    while (::read(output_.get(), &c, 1) == 1 && c != '\n')
      text += c;
    return text;
  }
  void go() { EXPECT_EQ(::write(input_.get(), "\n", 1), 1); }
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = 0;
  host::Fd input_, output_;
};

TEST_F(HeartbeatSourceTest, the_example_in_python_sends_heartbeats_and_obeys_a_request) {
  Program program(folder_ / "heartbeat", {});
  if (program.line().empty()) GTEST_SKIP() << "needs python3";
  see(program.pid(), 0);
  program.go();
  EXPECT_EQ(program.line(), "train");
  EXPECT_EQ(program.line(), "sent");
  ++sent_;
  const auto steps = of<jobs::StepRecord>(poll());
  ASSERT_EQ(steps.size(), 1U);
  EXPECT_EQ(steps[0].step, 1);
  EXPECT_EQ(steps[0].step_s, 0.25);
  EXPECT_EQ(source_.request_checkpoint("ml/llama").value_or(0), 1);
  program.go();
  EXPECT_EQ(program.line(), "checkpoint");
  EXPECT_EQ(program.line(), "sent");
  ++sent_;
  (void)poll();
  EXPECT_EQ(source_.acknowledged("ml/llama"), 1);
}

TEST_F(HeartbeatSourceTest, a_heartbeat_from_another_pid_namespace_belongs_to_its_rank) {
  Program program(folder_ / "heartbeat", {"unshare", "--pid", "--fork", "--mount-proc"});
  const std::string inner = program.line();
  if (inner.empty()) GTEST_SKIP() << "needs permission to make a PID namespace";
  EXPECT_EQ(inner, "1");
  const std::string children =
      "/proc/" + std::to_string(program.pid()) + "/task/" + std::to_string(program.pid()) + "/children";
  std::int64_t outer = 0;
  std::ifstream(children) >> outer;
  ASSERT_GT(outer, 1);
  see(outer, 0);
  program.go();
  EXPECT_EQ(program.line(), "train");
  EXPECT_EQ(program.line(), "sent");
  ++sent_;
  const auto steps = of<jobs::StepRecord>(poll());
  ASSERT_EQ(steps.size(), 1U);
  EXPECT_EQ(steps[0].job, "ml/llama");
}

}  // namespace
}  // namespace autopilot::collect::heartbeat_source_test
