// SPDX-License-Identifier: Apache-2.0
#include "probes/net/run/rdma.hpp"

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autopilot::probes::net {
namespace {

namespace fs = std::filesystem;

constexpr const char* kBandwidth =
    "echo ' #bytes #iterations BW average[Gb/sec]'\necho ' 65536 5000 98.02'\n";
constexpr const char* kLatency =
    "echo ' #bytes t_typical[usec] 99% percentile[usec] t_max[usec]'\necho ' 2 1.27 1.37 5.19'\n";

// A folder of fake programs, alone in PATH with the programs of the shell.
class RdmaMeasure : public testing::Test {
 protected:
  RdmaMeasure() {
    std::string pattern = (fs::temp_directory_path() / "autopilot-test-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
    const char* path = std::getenv("PATH");
    path_ = path == nullptr ? "" : path;
    ::setenv("PATH", (folder_.string() + ":" + path_).c_str(), 1);
    play(Tool::write_bandwidth, kBandwidth);
    play(Tool::read_bandwidth, kBandwidth);
    play(Tool::send_latency, kLatency);
  }
  RdmaMeasure(const RdmaMeasure&) = delete;
  RdmaMeasure& operator=(const RdmaMeasure&) = delete;
  ~RdmaMeasure() override {
    ::setenv("PATH", path_.c_str(), 1);
    fs::remove_all(folder_);
  }

  // Behaviour of a program that is started for a test.
  void play(Tool tool, const std::string& script) const {
    const fs::path file = folder_ / program_of(tool);
    std::ofstream(file) << "#!/bin/sh\nif [ \"$1\" = --help ]; then echo ' --source_ip x'; exit 1; fi\n"
                        << script;
    fs::permissions(file, fs::perms::owner_all);
  }

  [[nodiscard]] RdmaMeasureReport run(const RdmaPatience& patience = {}) {
    RdmaMeasureOptions options{.to = *parse_address("127.0.0.1"),
                               .bind = *parse_address("127.0.0.1"),
                               .device = {"mlx5_0", 1},
                               .ports = {4001, 4002, 4003},
                               .seconds = 1};
    return run_rdma(options, patience, signal_);
  }

  fs::path folder_;
  std::string path_;
  int signal_ = 0;
};

std::string_view reason(const RdmaMeasureReport& report) {
  return report.failure ? to_string(report.failure->reason) : "none";
}

TEST_F(RdmaMeasure, tests_run_one_after_the_other) {
  const RdmaMeasureReport report = run();
  EXPECT_EQ(reason(report), "none");
  EXPECT_EQ(report.to_peer, 98.02e9);
  EXPECT_EQ(report.from_peer, 98.02e9);
  ASSERT_TRUE(report.latency);
  EXPECT_EQ(report.latency->p99_microseconds, 1.37);
}

TEST_F(RdmaMeasure, no_test_runs_after_a_failure) {
  play(Tool::read_bandwidth, "exit 0\n");
  const RdmaMeasureReport report = run();
  EXPECT_EQ(reason(report), "garbage");
  EXPECT_TRUE(report.to_peer);
  EXPECT_FALSE(report.from_peer);
  EXPECT_FALSE(report.latency);
}

TEST_F(RdmaMeasure, a_hanging_test_ends_at_its_deadline) {
  play(Tool::write_bandwidth, "exec sleep 60\n");
  EXPECT_EQ(reason(run({.rest = std::chrono::milliseconds(-2500)})), "no_end");
}

TEST_F(RdmaMeasure, a_peer_that_does_not_listen_yet_is_retried) {
  const std::string seen = (folder_ / "seen").string();
  play(Tool::write_bandwidth, "if [ ! -e " + seen + " ]; then touch " + seen +
                                  "; echo \"Couldn't connect to 127.0.0.1:4001\"; exit 1; fi\n" + kBandwidth);
  EXPECT_EQ(reason(run()), "none");
}

TEST_F(RdmaMeasure, a_peer_that_never_listens_is_a_refused_connection) {
  play(Tool::write_bandwidth, "echo \"Couldn't connect to 127.0.0.1:4001\" >&2\nexit 1\n");
  EXPECT_EQ(reason(run({.connecting = std::chrono::milliseconds(300)})), "refused");
}

TEST_F(RdmaMeasure, a_program_that_hangs_with_help_is_abandoned) {
  const fs::path file = folder_ / program_of(Tool::write_bandwidth);
  std::ofstream(file) << "#!/bin/sh\nexec yes\n";
  EXPECT_EQ(reason(run()), "garbage");
}

TEST_F(RdmaMeasure, a_signal_ends_it) {
  play(Tool::read_bandwidth, "kill -TERM $PPID\nexec sleep 60\n");
  const RdmaMeasureReport report = run();
  EXPECT_EQ(signal_, SIGTERM);
  EXPECT_TRUE(report.stopped);
  EXPECT_EQ(reason(report), "killed");
  EXPECT_TRUE(report.to_peer);
}

TEST_F(RdmaMeasure, an_address_of_another_machine_is_not_used) {
  RdmaMeasureOptions options{.to = *parse_address("127.0.0.1"), .bind = *parse_address("192.0.2.1")};
  EXPECT_EQ(reason(run_rdma(options, {}, signal_)), "no_address");
}

}  // namespace

}  // namespace autopilot::probes::net
