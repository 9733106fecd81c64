// SPDX-License-Identifier: Apache-2.0
#include "api/job_records.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace autopilot::api {
namespace {

constexpr std::string_view kWindow =
    R"({"type":"window","t":1767225640,"window":10,"node":"gpu-001",)"
    R"("gpu":{"index":[0,1],"power_w":[612.5,null],"sm_clock_mhz":[1755,1755],"tensor":[0.41,0.42]},)"
    R"("process":{"job":["ml/llama","ml/llama"],"rank":[0,1],"cpu":[1.02,1.01]},)"
    R"("nic":{"nic":["mlx5_0"],"tx_bytes_s":[2.1e10],"rx_bytes_s":[2.1e10],"up":[1]},)"
    R"("host":{"cpu":0.31,"inlet_c":-4.5,"storage_read_bytes_s":1.2e8},)"
    R"("fast":[{"gpus":[0,1],"power_w":[610,615,612,260,590,611,613,612,255,null]}]})";

// One line of each type, as the writer writes it.
const std::vector<std::pair<JobFile, std::string_view>> kLines{
    {JobFile::jobs,
     R"({"type":"format","t":1767225600.25,"format":"autopilot-job-telemetry","version":1,"simulated":true,"source":"generator","seed":7})"},
    {JobFile::jobs,
     R"({"type":"node","t":1,"node":"gpu-001","leaf":"leaf-1","gpu":{"model":"H100 SXM","count":8,"idle_w":90,"spin_w":230,"busy_w":640},"nics":[{"nic":"mlx5_0","bytes_s":5e+10,"gpus":[0,1]},{"nic":"mlx5_1"}]})"},
    {JobFile::jobs,
     R"({"type":"job","t":1,"job":"ml/llama","name":"llama","owner":"PyTorchJob ml/llama","kind":"inference","attempt":2,"ranks":[{"rank":0,"node":"gpu-001","gpu":0,"role":"stage 0","replica":"r0","pod":"llama-0","pid":4711},{"rank":1,"node":"gpu-001"}],"restart_s":900,"checkpoint_interval_s":1800,"checkpoint_cost_s":60.5,"watchdog_s":600,"remaining_s":864000,"spares":1,"local_ranks":true})"},
    {JobFile::jobs, R"({"type":"job_end","t":2,"job":"ml/llama","outcome":"failed"})"},
    {JobFile::progress,
     R"({"type":"step","t":2,"job":"j","rank":3,"step":12,"step_s":1.5,"tokens":4096,"loss":"nan"})"},
    {JobFile::progress, R"({"type":"step","t":2.000000001,"job":"j","step":12})"},
    {JobFile::progress, R"({"type":"phase","t":2,"job":"j","phase":"checkpoint","edge":"end"})"},
    {JobFile::progress, R"({"type":"heartbeat","t":2,"job":"j","rank":0})"},
    {JobFile::progress,
     R"({"type":"collectives","t":2,"job":"j","source":"ras","communicators":[{"id":"0x6f1c","size":2,"ranks":[0,1],"started":[912,null],"completed":[911,911],"missing":[1],"dead":[1]}]})"},
    {JobFile::progress,
     R"({"type":"serving","t":2,"job":"j","replica":"r0","running":3,"waiting":0,"tokens_s":1200,"requests_s":2,"first_token_s":0.2,"per_token_s":0.01})"},
    {JobFile::progress, R"({"type":"answer","t":2,"job":"j","source":"inspector","status":"timeout"})"},
    {JobFile::events, R"({"type":"xid","t":2,"node":"n","gpu":1,"xid":79,"text":"fallen off the bus"})"},
    {JobFile::events, R"({"type":"link","t":2,"node":"n","nic":"mlx5_0","edge":"down"})"},
    {JobFile::events,
     R"({"type":"finding","t":2,"node":"n","subject":"gpu/3","check":"gpu.ecc","reason":"ecc","health":"failed"})"},
    {JobFile::events,
     R"({"type":"finding","t":2,"node":"n","subject":"host","check":"host.kernel","reason":"old_kernel","health":"degraded","since":1.5})"},
    {JobFile::events, R"({"type":"node_state","t":2,"node":"n","state":"lost"})"},
    {JobFile::events, R"({"type":"exit","t":2,"job":"j","rank":0,"code":-1,"signal":9,"oom":true})"},
    {JobFile::events, R"({"type":"log","t":2,"job":"j","rank":0,"text":"line\u000aend \"quoted\" ü"})"},
    {JobFile::events, R"({"type":"pod","t":2,"job":"j","rank":0,"reason":"evicted"})"},
    {JobFile::events,
     R"({"type":"validation","t":2,"node":"n","job":"j","id":"6f1c","depth":"quick","verdict":"failed","text":"1 of 31 checks","failed":[{"check":"network.rdma","reason":"port_down","text":"mlx5_0 port 1: down"},{"check":"gpu.ecc","gpu":"1234"}]})"},
    {JobFile::events,
     R"({"type":"validation","t":2,"node":"n","job":"j","depth":"passive","verdict":"passed"})"},
    {JobFile::labels,
     R"({"type":"fault","t":1,"end":9,"id":"f1","class":"gpu_clock","effect":"slow","job":"j","node":"n","gpu":3,"nic":"mlx5_0","leaf":"l","rank":24,"magnitude":0.1,"localisable":false})"},
    {JobFile::labels, R"({"type":"confounder","t":1,"end":9,"class":"checkpoint","job":"j","node":"n"})"},
    {JobFile::labels, R"({"type":"healthy","t":1,"end":9})"},
};

std::string problem_of(std::string_view line, JobFile file = JobFile::telemetry) {
  const auto parsed = parse_job_line(line, file);
  return parsed ? "accepted" : parsed.error().what;
}

std::string with(std::string_view part, std::string_view instead) {
  std::string line(kWindow);
  const auto at = line.find(part);
  return at == std::string::npos ? "" : line.replace(at, part.size(), instead);
}

jobs::WindowRecord window_of(std::string_view line) {
  auto parsed = parse_job_line(line, JobFile::telemetry);
  EXPECT_TRUE(parsed) << parsed.error().what;
  return parsed ? std::get<jobs::WindowRecord>(std::get<jobs::Record>(*parsed)) : jobs::WindowRecord{};
}

TEST(JobRecords, every_type_of_line_is_read_and_written_again) {
  for (const auto& [file, line] : kLines) {
    const auto parsed = parse_job_line(line, file);
    ASSERT_TRUE(parsed) << line << "\n" << parsed.error().what;
    EXPECT_EQ(to_line(*parsed), std::string(line) + "\n");
    if (const auto* record = std::get_if<jobs::Record>(&*parsed)) EXPECT_EQ(file_of(*record), file);
  }
}

TEST(JobRecords, a_window_keeps_every_value_and_what_is_missing) {
  const auto window = window_of(kWindow);
  EXPECT_EQ(window.node, "gpu-001");
  EXPECT_EQ(window.length, std::chrono::seconds(10));
  EXPECT_EQ(window.gpus, (std::vector{0, 1}));
  ASSERT_EQ(window.columns.size(), 10U);
  EXPECT_EQ(window.columns[0].metric, jobs::Metric::gpu_power_w);
  EXPECT_FLOAT_EQ(window.columns[0].values.at(0), 612.5F);
  EXPECT_TRUE(std::isnan(window.columns[0].values.at(1)));
  EXPECT_EQ(window.processes.at(1).job, "ml/llama");
  EXPECT_EQ(window.processes.at(1).rank, 1);
  EXPECT_EQ(window.nics, std::vector<std::string>{"mlx5_0"});
  ASSERT_EQ(window.fast.size(), 1U);
  EXPECT_TRUE(std::isnan(window.fast[0].power_w.at(9)));
  const auto again = window_of(to_line(jobs::Record(window)));
  EXPECT_EQ(to_line(jobs::Record(again)), to_line(jobs::Record(window)));
}

TEST(JobRecords, members_may_come_in_any_order) {
  const auto window = window_of(
      R"({"gpu":{"util":[1,0.5],"index":[4,5]},"node":"n","window":1,"x_mine":{"a":[1,{"b":null}]},"t":5,"type":"window"})");
  EXPECT_EQ(window.gpus, (std::vector{4, 5}));
  EXPECT_EQ(window.time, WallTime{std::chrono::seconds(5)});
}

TEST(JobRecords, null_means_missing) {
  const auto window = window_of(
      R"({"type":"window","t":5,"window":1,"node":"n","gpu":null,"host":{"cpu":null},"fast":null})");
  EXPECT_TRUE(window.gpus.empty());
  EXPECT_TRUE(window.columns.empty());
  EXPECT_EQ(problem_of(R"({"type":"window","t":null,"window":1,"node":"n"})"), "t: missing");
}

TEST(JobRecords, a_problem_names_the_path_of_its_member) {
  EXPECT_EQ(problem_of(with("612.5", "-1")), "gpu.power_w[0]: -1 is below 0");
  EXPECT_EQ(problem_of(with("0.42", "1.5")), "gpu.tensor[1]: 1.5 is above 1");
  EXPECT_EQ(problem_of(with("0.42", "\"0.42\"")), "gpu.tensor[1]: expected a number");
  EXPECT_EQ(problem_of(with("0.41,0.42", "0.41")), "gpu.tensor: expected 2 values, found 1");
  EXPECT_EQ(problem_of(with("\"rank\":[0,1]", "\"rank\":[0]")), "process.rank: expected 2 values, found 1");
  EXPECT_EQ(problem_of(with("\"index\":[0,1],", "")), "gpu.index: missing");
  EXPECT_EQ(problem_of(with("\"index\":[0,1]", "\"index\":[0,0]")),
            "gpu.index[1]: appears twice in the table");
  EXPECT_EQ(problem_of(with("\"rank\":[0,1]", "\"rank\":[1,1]")),
            "process.rank[1]: appears twice in the table");
  EXPECT_EQ(problem_of(with("tensor", "tensors")), "gpu.tensors: unknown member");
  EXPECT_EQ(problem_of(with("tensor", "power_w")), "gpu.power_w: appears twice");
  EXPECT_EQ(problem_of(with("\"cpu\":0.31", "\"cpu\":[0.31]")), "host.cpu: expected a number");
  EXPECT_EQ(problem_of(with("255,null", "255")), "fast[0].power_w: expected 10 values, found 9");
  EXPECT_EQ(problem_of(with("\"window\":10", "\"window\":61")), "window: 61 is above 60");
  EXPECT_EQ(problem_of(with("gpu-001", "")), "node: expected 1 to 253 characters without control characters");
  EXPECT_EQ(problem_of(with("\"node\"", "\"name\"")), "name: unknown member");
  EXPECT_EQ(problem_of(with("\"node\"", "\"t\"")), "t: appears twice");
  EXPECT_EQ(
      problem_of(R"({"type":"job","t":1,"job":"j","ranks":[{"rank":0,"node":"n"},{"rank":1.5,"node":"n"}]})",
                 JobFile::jobs),
      "ranks[1].rank: expected an integer");
  EXPECT_EQ(
      problem_of(R"({"type":"job","t":1,"job":"j","ranks":[{"rank":3,"node":"n"},{"rank":3,"node":"n"}]})",
                 JobFile::jobs),
      "ranks[1].rank: rank 3 appears twice");
  EXPECT_EQ(problem_of(R"({"type":"node","t":1,"node":"n","gpu":{"count":65}})", JobFile::jobs),
            "gpu.count: 65 is above 64");
  EXPECT_EQ(
      problem_of(
          R"({"type":"collectives","t":2,"job":"j","source":"ras","communicators":[{"id":"a","size":2,"ranks":[0,1],"started":[1]}]})",
          JobFile::progress),
      "communicators[0].started: expected 2 values, found 1");
  EXPECT_EQ(
      problem_of(R"({"type":"fault","t":9,"end":1,"id":"a","class":"b","effect":"slow"})", JobFile::labels),
      "end: earlier than t");
  EXPECT_EQ(problem_of(R"({"type":"phase","t":1,"job":"j","phase":"lunch","edge":"end"})", JobFile::progress),
            "phase: 'lunch' is not a valid value");
}

TEST(JobRecords, a_line_of_another_file_is_refused) {
  EXPECT_EQ(problem_of(kWindow, JobFile::jobs),
            "type: a line of type window belongs in telemetry.jsonl, not in jobs.jsonl");
  EXPECT_EQ(problem_of(R"({"type":"windows"})"), "type: 'windows' is not a type of line");
  EXPECT_EQ(problem_of(R"({"t":1})"), "type: missing");
  EXPECT_EQ(problem_of(R"({"type":7})"), "type: expected a text");
}

TEST(JobRecords, truncated_and_binary_lines_are_refused) {
  for (std::size_t length = 0; length < kWindow.size(); ++length)
    EXPECT_NE(problem_of(kWindow.substr(0, length)), "accepted") << length;
  EXPECT_EQ(problem_of(""), "not JSON: the line ends within a value");
  EXPECT_EQ(problem_of("[]"), "expected an object");
  EXPECT_NE(problem_of(std::string(kWindow) + "x"), "accepted");
  EXPECT_NE(problem_of(std::string("\xff\xfe\0\x01", 4)), "accepted");
  EXPECT_EQ(problem_of(with("gpu-001", "gpu\xff")), "node: not UTF-8 at byte 56");
  EXPECT_NE(problem_of(with("gpu-001", "gpu\\u0007")), "accepted");
  EXPECT_NE(problem_of(with("gpu-001", "gpu\\ud800")), "accepted");
}

TEST(JobRecords, what_is_larger_than_a_limit_is_refused) {
  EXPECT_EQ(problem_of(std::string((std::size_t{1} << 20) + 1, ' ')), "longer than 1048576 bytes");
  std::string deep(R"({"type":"window","t":1,"window":1,"node":"n","x_deep":)");
  EXPECT_EQ(problem_of(deep + std::string(100000, '[')), "x_deep: nested too deep");
  std::string indexes = "0";
  for (int i = 1; i <= 64; ++i)
    indexes += "," + std::to_string(i % 64);
  EXPECT_EQ(problem_of(with("\"index\":[0,1]", "\"index\":[" + indexes + "]")),
            "gpu.index: more than 64 items");
  EXPECT_EQ(problem_of(with("\"t\":1767225640", "\"t\":1e300")), "t: 1e+300 is above 9e+09");
  EXPECT_EQ(problem_of(with("\"t\":1767225640", "\"t\":1e999")), "t: the number is too large");
  EXPECT_EQ(problem_of(with("\"t\":1767225640", "\"t\":NaN")), "t: expected a number");
  EXPECT_EQ(problem_of(R"({"type":"log","t":2,"job":"j","rank":0,"text":")" + std::string(4097, 'a') + "\"}",
                       JobFile::events),
            "text: longer than 4096 bytes");
}

TEST(JobRecords, a_line_holds_65536_ranks) {
  jobs::JobRecord job;
  job.job = "large";
  for (int rank = 0; rank < 65536; ++rank)
    job.ranks.push_back({rank, "gpu-" + std::to_string(rank / 8), rank % 8, "stage 0", "", "", 0});
  const auto parsed = parse_job_line(to_line(jobs::Record(job)), JobFile::jobs);
  ASSERT_TRUE(parsed) << parsed.error().what;
  EXPECT_EQ(std::get<jobs::JobRecord>(std::get<jobs::Record>(*parsed)).ranks.size(), 65536U);
}

TEST(JobRecords, numbers_are_exact) {
  const auto time_of_step = [](std::string_view text) {
    const auto line = R"({"type":"heartbeat","job":"j","rank":0,"t":)" + std::string(text) + "}";
    const auto parsed = parse_job_line(line, JobFile::progress);
    return parsed ? jobs::time_of(std::get<jobs::Record>(*parsed)).time_since_epoch().count() : -1;
  };
  EXPECT_EQ(time_of_step("1767225655.123"), 1767225655123000000);
  EXPECT_EQ(time_of_step("1767225655.123456789"), 1767225655123456789);
  EXPECT_EQ(time_of_step("1.767225655123e9"), 1767225655123000000);
  EXPECT_EQ(time_of_step("0.00000000000000000000000000001"), 0);
  EXPECT_EQ(time_of_step("1767225655.12345678901234567890"), 1767225655123456768) << "nearest double";
}

TEST(JobRecords, a_later_version_is_recognised_whatever_else_its_line_has) {
  const auto parsed = parse_job_line(R"({"type":"format","version":2,"encoding":"columns"})", JobFile::jobs);
  ASSERT_TRUE(parsed) << parsed.error().what;
  EXPECT_EQ(std::get<JobFormat>(*parsed).version, 2);
  EXPECT_EQ(problem_of(R"({"type":"format","t":1,"format":"other","version":1})", JobFile::jobs),
            "format: expected autopilot-job-telemetry");
  EXPECT_EQ(problem_of(R"({"type":"format","t":1,"format":"autopilot-job-telemetry","version":1,"mode":2})",
                       JobFile::jobs),
            "mode: unknown member");
}

}  // namespace
}  // namespace autopilot::api
