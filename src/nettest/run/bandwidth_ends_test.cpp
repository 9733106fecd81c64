// SPDX-License-Identifier: Apache-2.0
#include "nettest/run/bandwidth_ends.hpp"

#include <array>
#include <condition_variable>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "host/clock/system_clock.hpp"
#include "tests/support/net/test_server.hpp"

namespace autopilot::nettest {
namespace {

using ::testing::HasSubstr;

const std::string kNcclId(api::kNcclIdLength, 'a');
constexpr const char* kGpu = "0000:1b:00.0";
constexpr const char* kListening = R"({"role":"serve","address":"10.1.0.7","ports":[41000],"failed":[]})";

// Children that listen at once, and run until they are stopped.
class BandwidthEndsTest : public ::testing::Test {
 protected:
  void TearDown() override {
    ends_.stop();
    for (std::thread& thread : threads_)
      thread.join();
  }
  BandwidthEnds::Doors doors() {
    return {.program = std::string("/opt/probe"),
            .gpu_program = gpu_program_,
            .run = [this](const host::Command& command, MonoTime, const std::stop_token& stop,
                          const host::LineHandler& on_line) -> Result<host::ChildReport> {
              if (command.arguments.front() == "rdma-measure") return measured_by_rdma(command);
              if (command.arguments.front() == "nccl-measure") return measured_by_nccl(command);
              if (command.arguments.front() == "measure" && !tcp_reports_.empty())
                return measured_by_tcp(command);
              if (on_line) on_line(command.arguments.front() == "nccl-serve" ? joinable_ : kListening);
              if (server_ends_) return *server_ends_;
              std::mutex mutex;
              std::unique_lock lock(mutex);
              std::condition_variable_any told;
              told.wait(lock, stop, [] { return false; });
              host::ChildReport report;
              report.end = host::ChildEnd::cancelled;
              report.output = stopped_output_;
              return report;
            },
            .submit =
                [this](std::function<void()> task) {
                  threads_.emplace_back(std::move(task));
                  return true;
                },
            .on_gpus_free =
                [this] {
                  ++gpus_freed_;
                  told_when_free_ = ends_.processes_on(kGpu, now());
                }};
  }
  [[nodiscard]] host::ChildReport measured_by_rdma(const host::Command& command) {
    asked_by_rdma_ = command.arguments;
    host::ChildReport report;
    report.output = rdma_report_;
    return report;
  }
  [[nodiscard]] host::ChildReport measured_by_tcp(const host::Command& command) {
    host::ChildReport report;
    report.output = tcp_reports_.at(std::ranges::count(command.arguments, "--reverse") > 0 ? 1 : 0);
    return report;
  }
  [[nodiscard]] host::ChildReport measured_by_nccl(const host::Command& command) {
    joined_by_ = command.program;
    asked_by_nccl_ = command.arguments;
    for (const std::string& variable : command.environment)
      if (variable.ends_with(kNcclId)) joined_by_ += " " + variable;
    host::ChildReport report;
    report.output = nccl_report_;
    return report;
  }
  Result<api::ServersAnswer> serve_by_nccl() {
    std::optional<Result<api::ServersAnswer>> answer;
    ends_.serve(AllReduceServer{{.address = "10.1.0.7", .gpus = 8, .ranks = 16, .seconds = 3}}, 60,
                [&answer](auto told) { answer = std::move(told); });
    EXPECT_TRUE(run_until([&answer] { return answer.has_value(); }));
    return answer.value_or(fail(Errc::internal, "no answer came"));
  }
  void measure_by_nccl(std::size_t ranks = 0, std::size_t first_rank = 0,
                       host::GpuVendor vendor = host::GpuVendor::nvidia) {
    measured_.reset();
    ends_.measure(
        kAllLines,
        {.address = "10.1.0.7",
         .node = "gpu-9",
         .to = "10.1.0.9",
         .ports = {},
         .seconds = 3,
         .gpus = 8,
         .ranks = ranks,
         .first_rank = first_rank,
         .nccl_id = kNcclId},
        [this](auto told) { measured_ = std::move(told); }, {}, vendor);
    ASSERT_TRUE(run_until([this] { return measured_.has_value(); }));
  }
  std::string serve() {
    std::optional<Result<api::ServersAnswer>> answer;
    ends_.serve("ib0", {.address = "10.1.0.7", .seconds = 30, .allowed = {"10.1.0.9"}},
                [&answer](auto told) { answer = std::move(told); });
    EXPECT_TRUE(run_until([&answer] { return answer.has_value(); }));
    return answer && *answer ? (*answer)->id : "";
  }
  Result<api::ServersAnswer> serve_by_rdma(const std::string& interface, const std::string& gpu) {
    std::optional<Result<api::ServersAnswer>> answer;
    ends_.serve(
        interface,
        RdmaServer{.address = "10.1.0.7", .port = "mlx5_0/1", .seconds = 30, .test_seconds = 4, .gpu = gpu},
        [&answer](auto told) { answer = std::move(told); });
    EXPECT_TRUE(run_until([&answer] { return answer.has_value(); }));
    return answer.value_or(fail(Errc::internal, "no answer came"));
  }
  void measure(const std::string& interface, const std::string& rdma_port = "", const std::string& gpu = "") {
    measured_.reset();
    ends_.measure(
        interface,
        {.address = "10.1.0.7",
         .node = "gpu-9",
         .to = "10.1.0.9",
         .ports = {41000},
         .streams = 1,
         .seconds = 4,
         .most = 0,
         .rdma_port = rdma_port},
        [this](auto told) { measured_ = std::move(told); }, gpu);
  }
  [[nodiscard]] WallTime now() const { return clock_.now().wall; }
  [[nodiscard]] bool run_until(const std::function<bool()>& is_so) {
    return net::testing::run_until(loop_, is_so);
  }

  net::EventLoop loop_;
  const host::SystemClock clock_;
  std::vector<std::thread> threads_;
  std::optional<Result<api::BandwidthAnswer>> measured_;
  std::vector<std::string> tcp_reports_;  // to the peer, and from it; empty: it goes on until it is ended
  std::string rdma_report_;
  std::vector<std::string> asked_by_rdma_;
  Result<std::string> gpu_program_ = std::string("/opt/gpu-probe");
  std::string joinable_ = R"({"id":")" + kNcclId + R"("})";
  std::string nccl_report_ = R"({"bus_bits_per_second":3e12,"samples":[1e12,3e12,3e12,5e12,2e12,4e12]})";
  std::optional<host::ChildReport> server_ends_;  // by itself; nullopt: it is stopped
  std::string stopped_output_;                    // of a server that is stopped
  std::string joined_by_;
  std::vector<std::string> asked_by_nccl_;
  int gpus_freed_ = 0;
  std::optional<int> told_when_free_;  // processes on kGpu
  BandwidthEnds ends_{loop_, clock_, "gpu-7-", doors()};
};

TEST_F(BandwidthEndsTest, an_all_reduce_has_one_figure_for_both_directions) {
  measure_by_nccl();
  ASSERT_TRUE(measured_ && *measured_);
  const api::BandwidthAnswer& answer = **measured_;
  ASSERT_TRUE(answer.to_peer && answer.from_peer);
  EXPECT_EQ(answer.to_peer->received, 3e12);
  EXPECT_EQ(answer.to_peer, answer.from_peer);
  // Batches are of a quarter of a second, and answers second by second.
  EXPECT_THAT(answer.to_peer->samples, ::testing::ElementsAre(2e12, 4e12, 3e12));
  EXPECT_EQ(joined_by_, "/opt/gpu-probe AUTOPILOT_NCCL_ID=" + kNcclId);
}

TEST_F(BandwidthEndsTest, the_probe_gets_the_vendor_of_the_gpus) {
  measure_by_nccl();
  EXPECT_THAT(asked_by_nccl_, ::testing::Not(::testing::Contains("--vendor")));
  measure_by_nccl(0, 0, host::GpuVendor::amd);
  EXPECT_THAT(asked_by_nccl_, ::testing::IsSupersetOf({"--vendor", "amd", "--require-idle"}));
}

TEST_F(BandwidthEndsTest, or_why_it_was_not_made) {
  nccl_report_ = R"({"reason":"busy","error":"gpu 3: process 4711 is on it"})";
  measure_by_nccl();
  EXPECT_EQ((*measured_)->reason, "busy");
  EXPECT_EQ((*measured_)->error, "gpu 3: process 4711 is on it");
  nccl_report_.clear();
  measure_by_nccl();
  EXPECT_EQ((*measured_)->reason, "internal");
  EXPECT_THAT((*measured_)->error, HasSubstr("autopilot-gpu-probe: "));
}

TEST_F(BandwidthEndsTest, a_wrong_sum_is_of_the_node_with_its_rank) {
  nccl_report_ = R"({"reason":"wrong_result","error":"gpu 1: -10 in place of 10","wrong_rank":7})";
  measure_by_nccl();
  EXPECT_EQ((*measured_)->wrong_at, api::kWrongThere) << "the waiting endpoint has ranks 0 to 7 of a pair";
  nccl_report_ = R"({"reason":"wrong_result","error":"gpu 1: -10 in place of 10","wrong_rank":8})";
  measure_by_nccl();
  EXPECT_EQ((*measured_)->wrong_at, api::kWrongHere);
  measure_by_nccl(32, 16);
  EXPECT_EQ((*measured_)->wrong_at, api::kWrongThere) << "of four nodes it is the second one";
  nccl_report_ = R"({"reason":"wrong_result","error":"x","wrong_rank":0,"wrong_last_rank":15})";
  measure_by_nccl();
  EXPECT_EQ((*measured_)->wrong_at, "") << "all ranks have it, so its origin is not known";
  nccl_report_ = R"({"reason":"wrong_result","error":"a word that is not the same everywhere"})";
  measure_by_nccl();
  EXPECT_EQ((*measured_)->wrong_at, "");
}

TEST_F(BandwidthEndsTest, a_waiting_endpoint_of_an_all_reduce_returns_its_id_and_claims_all_lines) {
  const auto joinable = serve_by_nccl();
  ASSERT_TRUE(joinable) << joinable.error().what;
  EXPECT_EQ(joinable->nccl_id, kNcclId);
  measure("ib1");
  ASSERT_TRUE(run_until([this] { return measured_.has_value(); }));
  EXPECT_THAT(measured_->error().what, HasSubstr("ib1 is in use"));
  bool has_ended = false;
  ends_.end(joinable->id, [&has_ended](const auto&) { has_ended = true; });
  ASSERT_TRUE(run_until([&has_ended] { return has_ended; }));
  EXPECT_EQ(serve(), "gpu-7-2");
  measure_by_nccl();
  EXPECT_EQ(measured_->error().code, Errc::conflict);
}

TEST_F(BandwidthEndsTest, has_a_process_on_the_gpus_until_its_all_reduce_has_ended) {
  EXPECT_EQ(ends_.processes_on(kGpu, now()), 0);
  const auto joinable = serve_by_nccl();
  ASSERT_TRUE(joinable) << joinable.error().what;
  const WallTime meanwhile = now();
  EXPECT_EQ(ends_.processes_on(kGpu, meanwhile), 1);
  ends_.end(joinable->id, [](const auto&) {});
  ASSERT_TRUE(run_until([this] { return ends_.is_idle(); }));
  EXPECT_EQ(ends_.processes_on(kGpu, meanwhile), 1) << "that run saw it";
  EXPECT_EQ(ends_.processes_on(kGpu, now() + std::chrono::seconds{2}), 1) << "its memory is being given back";
  EXPECT_EQ(ends_.processes_on(kGpu, now() + std::chrono::seconds{4}), 0);
}

// One request for several tests that end, and a process that the check sees after it is not theirs.
TEST_F(BandwidthEndsTest, requests_a_check_of_the_gpus_after_the_last_process_of_its_tests) {
  const auto joinable = serve_by_nccl();
  ASSERT_TRUE(joinable) << joinable.error().what;
  ends_.end(joinable->id, [](const auto&) {});
  ASSERT_TRUE(run_until([this] { return ends_.is_idle(); }));
  measure_by_nccl();
  EXPECT_EQ(gpus_freed_, 0);
  EXPECT_EQ(ends_.processes_on(kGpu, now()), 1);
  ASSERT_TRUE(run_until([this] { return gpus_freed_ > 0; }));
  EXPECT_EQ(told_when_free_, 0);
  EXPECT_EQ(gpus_freed_, 1);
  measure("ib0", "mlx5_0/1");
  ASSERT_TRUE(run_until([this] { return measured_.has_value(); }));
  EXPECT_EQ(ends_.processes_on(kGpu, now()), 0) << "no test used a GPU";
}

// perftest ends one process and begins another one, or is client and server of a port.
TEST_F(BandwidthEndsTest, out_of_the_memory_of_a_gpu_has_two_processes_on_that_one_alone) {
  const auto listening = serve_by_rdma("ib0", kGpu);
  ASSERT_TRUE(listening) << listening.error().what;
  const WallTime meanwhile = now();
  EXPECT_EQ(ends_.processes_on(kGpu, meanwhile), 2);
  EXPECT_EQ(ends_.processes_on("0000:2b:00.0", meanwhile), 0);
  ends_.end(listening->id, [](const auto&) {});
  ASSERT_TRUE(run_until([this] { return ends_.is_idle(); }));
  EXPECT_EQ(ends_.processes_on(kGpu, meanwhile), 2);
  EXPECT_EQ(ends_.processes_on(kGpu, now()), 2) << "the driver's last answer is shared";
  EXPECT_EQ(ends_.processes_on(kGpu, now() + std::chrono::seconds{4}), 0);
  EXPECT_EQ(ends_.processes_on("0000:2b:00.0", meanwhile), 0);
}

TEST_F(BandwidthEndsTest, knows_the_servers_that_hold_gpus) {
  const std::string lines = serve();
  EXPECT_FALSE(ends_.holds_gpus(lines));
  const auto memory = serve_by_rdma("ib1", kGpu);
  ASSERT_TRUE(memory) << memory.error().what;
  EXPECT_TRUE(ends_.holds_gpus(memory->id));
  ends_.stop();
  ASSERT_TRUE(run_until([this] { return ends_.is_idle(); }));
  EXPECT_FALSE(ends_.holds_gpus(memory->id));
  const auto joinable = serve_by_nccl();
  ASSERT_TRUE(joinable) << joinable.error().what;
  EXPECT_TRUE(ends_.holds_gpus(joinable->id));
}

TEST_F(BandwidthEndsTest, a_gpu_takes_part_in_one_test_at_a_time) {
  ASSERT_TRUE(serve_by_rdma("ib0", kGpu));
  measure("ib1", "mlx5_1/1", kGpu);
  ASSERT_TRUE(run_until([this] { return measured_.has_value(); }));
  EXPECT_EQ(measured_->error().code, Errc::conflict);
  EXPECT_EQ(measured_->error().what, "GPU 0000:1b:00.0 is in use by another test of bandwidth");
  measure("ib1", "mlx5_1/1", "0000:2b:00.0");
  ASSERT_TRUE(run_until([this] { return measured_.has_value(); }));
  EXPECT_TRUE(*measured_) << measured_->error().what;
  EXPECT_THAT(asked_by_rdma_, ::testing::IsSupersetOf({"--gpu", "0000:2b:00.0"}));
}

TEST_F(BandwidthEndsTest, or_returns_the_reason_of_the_server) {
  joinable_ = R"({"reason":"no_library","error":"libnccl.so.2 is not there"})";
  const auto refused = serve_by_nccl();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().what, "libnccl.so.2 is not there");
  EXPECT_TRUE(ends_.is_idle()) << "the caller may try again";
}

TEST_F(BandwidthEndsTest, a_server_of_an_all_reduce_states_why_it_ended_by_itself) {
  const auto end_of = [this](host::ChildReport report) {
    server_ends_ = std::move(report);
    server_ends_->output = joinable_ + "\n" + server_ends_->output;
    const auto joinable = serve_by_nccl();
    EXPECT_TRUE(joinable && run_until([this] { return ends_.is_idle(); }));
    std::optional<api::ServersEnd> end;
    ends_.end(joinable->id, [&end](const auto& told) { end = told; });
    return end.value_or(api::ServersEnd{"no answer", "", ""});
  };
  EXPECT_EQ(end_of({.output = R"({"reason":"no_memory","error":"gpu 3: out of memory"})"}),
            (api::ServersEnd{"no_memory", "gpu 3: out of memory", ""}));
  EXPECT_EQ(end_of({.output = nccl_report_}), api::ServersEnd{}) << "it has measured";
  const api::ServersEnd late = end_of({.end = host::ChildEnd::timed_out});
  EXPECT_EQ(late.reason, "internal");
  EXPECT_EQ(late.error, "autopilot-gpu-probe did not end in its time");
  EXPECT_EQ(end_of({.output = "{}"}).reason, "internal");
}

TEST_F(BandwidthEndsTest, of_a_server_that_was_stopped_only_a_wrong_sum_counts) {
  const auto end_of = [this](const std::string& line) {
    stopped_output_ = joinable_ + "\n" + line;
    const auto joinable = serve_by_nccl();
    std::optional<api::ServersEnd> end;
    if (joinable) ends_.end(joinable->id, [&end](const auto& told) { end = told; });
    EXPECT_TRUE(run_until([&end] { return end.has_value(); }));
    return end.value_or(api::ServersEnd{}).reason;
  };
  EXPECT_EQ(end_of(R"({"reason":"peer_vanished","error":"another rank has ended"})"), "");
  EXPECT_EQ(end_of(""), "");
  EXPECT_EQ(end_of(R"({"reason":"wrong_result","error":"gpu 1: 9 in place of 10","wrong_rank":1})"),
            "wrong_result");
}

// A job has begun, or the agent ends.
TEST_F(BandwidthEndsTest, running_tests_end_on_stop) {
  EXPECT_EQ(serve(), "gpu-7-1");
  measure("ib1");
  EXPECT_FALSE(ends_.is_idle());
  ends_.stop();
  ASSERT_TRUE(run_until([this] { return ends_.is_idle(); }));
  ASSERT_TRUE(measured_ && *measured_);
  EXPECT_EQ((*measured_)->reason, "internal");
  EXPECT_THAT((*measured_)->error, HasSubstr("the test was ended"));
}

TEST_F(BandwidthEndsTest, an_interface_takes_part_in_one_test_at_a_time) {
  const std::string id = serve();
  measure("ib0");
  ASSERT_TRUE(run_until([this] { return measured_.has_value(); }));
  ASSERT_FALSE(*measured_);
  EXPECT_EQ(measured_->error().code, Errc::conflict);
  EXPECT_THAT(measured_->error().what, HasSubstr("ib0 is in use"));
  bool has_ended = false;
  ends_.end(id, [&has_ended](const auto&) { has_ended = true; });
  ASSERT_TRUE(run_until([&has_ended] { return has_ended; }));
  EXPECT_EQ(serve(), "gpu-7-2");
}

// A node or a path is silent only if no data arrived; here some did.
TEST_F(BandwidthEndsTest, a_line_of_which_something_came_through_is_not_silent) {
  const std::string there =
      R"({"role":"measure","directions":[{"direction":"to_peer","sent_bits_per_second":2e10,"received_bits_per_second":2e10}]})";
  const std::string silent = R"({"role":"measure","directions":[],"reason":"timed_out","error":"no answer"})";
  const std::string one_of_two =
      R"({"role":"measure","directions":[],"reason":"unreachable","error":"no answer","processes":[{"port":1,)"
      R"("directions":[{"direction":"to_peer","sent_bits_per_second":1e10,"received_bits_per_second":1e10}]},)"
      R"({"port":2,"reason":"unreachable","error":"no answer","directions":[]}]})";
  const std::string refused =
      R"({"role":"measure","directions":[],"reason":"refused","error":"nobody listens"})";
  for (const auto& [reports, reason] :
       std::vector<std::pair<std::vector<std::string>, std::string>>{{{silent, silent}, "timed_out"},
                                                                     {{there, silent}, "partly"},
                                                                     {{one_of_two, silent}, "partly"},
                                                                     {{there, refused}, "refused"}}) {
    tcp_reports_ = reports;
    measure("ib0");
    ASSERT_TRUE(run_until([this] { return measured_.has_value(); }));
    ASSERT_TRUE(*measured_);
    EXPECT_EQ((*measured_)->reason, reason);
    EXPECT_NE((*measured_)->error, "");
  }
}

TEST_F(BandwidthEndsTest, by_rdma_likewise_and_both_directions_count_without_a_latency) {
  const std::string way = R"("sent_bits_per_second":2e11,"received_bits_per_second":2e11,"samples":[2e11]})";
  const std::string there = R"({"direction":"to_peer",)" + way;
  const std::string end = R"(],"reason":"timed_out","error":"the peer's adapter does not answer"})";
  rdma_report_ = R"({"role":"measure","directions":[)" + there + end;
  measure("ib0", "mlx5_0/1");
  ASSERT_TRUE(run_until([this] { return measured_.has_value(); }));
  ASSERT_TRUE(*measured_);
  EXPECT_EQ((*measured_)->reason, "partly");
  rdma_report_ = R"({"role":"measure","directions":[)" + there + R"(,{"direction":"from_peer",)" + way + end;
  measure("ib0", "mlx5_0/1");
  ASSERT_TRUE(run_until([this] { return measured_.has_value(); }));
  ASSERT_TRUE(*measured_);
  EXPECT_TRUE((*measured_)->to_peer && (*measured_)->from_peer);
  EXPECT_FALSE((*measured_)->latency);
  EXPECT_EQ((*measured_)->reason, "");
}

TEST_F(BandwidthEndsTest, by_rdma_one_child_measures_both_directions) {
  rdma_report_ = R"({"role":"measure","directions":[
    {"direction":"to_peer","sent_bits_per_second":2e11,"received_bits_per_second":2e11,"samples":[2e11]},
    {"direction":"from_peer","sent_bits_per_second":1e11,"received_bits_per_second":1e11,"samples":[1e11]}],
    "latency":{"typical_microseconds":1.5,"p99_microseconds":2,"max_microseconds":9}})";
  measure("ib0", "mlx5_0/1");
  ASSERT_TRUE(run_until([this] { return measured_.has_value(); }));
  ASSERT_TRUE(*measured_) << measured_->error().what;
  ASSERT_TRUE((*measured_)->to_peer && (*measured_)->from_peer && (*measured_)->latency);
  EXPECT_EQ((*measured_)->to_peer->received, 2e11);
  EXPECT_EQ((*measured_)->from_peer->received, 1e11);
  EXPECT_EQ((*measured_)->latency->p99, 2);
}

TEST_F(BandwidthEndsTest, or_returns_the_reason_of_the_failure) {
  for (const auto& [report, reason, error] : std::vector<std::array<std::string, 3>>{
           {R"({"role":"measure","reason":"timed_out","error":"no answer"})", "timed_out", "no answer"},
           {R"({"role":"measure","directions":[]})", "internal", "lacks a direction"},
           {"", "internal", "autopilot-net-probe"}}) {
    rdma_report_ = report;
    measure("ib0", "mlx5_0/1");
    ASSERT_TRUE(run_until([this] { return measured_.has_value(); }));
    ASSERT_TRUE(*measured_);
    EXPECT_EQ((*measured_)->reason, reason);
    EXPECT_THAT((*measured_)->error, HasSubstr(error));
  }
}

}  // namespace
}  // namespace autopilot::nettest
