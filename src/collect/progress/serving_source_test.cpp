// SPDX-License-Identifier: Apache-2.0
#include "collect/progress/serving_source.hpp"

#include <gtest/gtest.h>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "collect/progress/prometheus.hpp"
#include "collect/progress/serving_figures.hpp"
#include "host/files/fd.hpp"
#include "tests/support/host/python_server.hpp"

namespace autopilot::collect::serving_source_test {
namespace {

using std::chrono::seconds;

constexpr WallTime kNow{seconds{1'800'000'000}};

TEST(Prometheus, samples_with_labels_escapes_and_times_are_read) {
  const auto sample =
      parse_prometheus_line(R"(vllm:x_total{model_name="a \"}\" b",le="+Inf",} 8.128902e+06 1767225600000)");
  ASSERT_TRUE(sample);
  EXPECT_EQ(sample->name, "vllm:x_total");
  EXPECT_EQ(sample->label("le"), "+Inf");
  EXPECT_EQ(sample->label("model_name"), R"(a \"}\" b)");
  EXPECT_EQ(sample->value, 8128902);
  EXPECT_EQ(parse_prometheus_line("plain 0").value_or(PrometheusSample{.value = 1}).value, 0);
  EXPECT_TRUE(parse_prometheus_line("empty{} 1.0"));
}

TEST(Prometheus, other_lines_are_left_out) {
  std::string many = "x{";
  for (int i = 0; i < 40; ++i)
    many += "a" + std::to_string(i) + "=\"\",";
  for (const std::string& line :
       {std::string(), std::string("# TYPE x gauge"), std::string("x"), std::string("x NaN"),
        std::string("x +Inf"), std::string("x{"), std::string("x{a=\"b} 1"), std::string("x{a} 1"),
        std::string("9x 1"), std::string("x{a=b} 1"), std::string("{} 1"), std::string("\xff\xfe 1"),
        many + "} 1", "x" + std::string(70000, 'x') + " 1"})
    EXPECT_FALSE(parse_prometheus_line(line)) << line.substr(0, 60);
}

constexpr std::string_view kVllm =
    R"(# HELP vllm:num_requests_running Number of requests in model execution batches.
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="m"} 3.0
vllm:num_requests_running{engine="1",model_name="m"} 2.0
vllm:num_requests_waiting{engine="0",model_name="m"} 7.0
vllm:generation_tokens_total{engine="0",model_name="m"} 1000.0
vllm:request_success_total{engine="0",finished_reason="stop",model_name="m"} 10.0
vllm:request_success_total{engine="0",finished_reason="length",model_name="m"} 5.0
vllm:time_to_first_token_seconds_bucket{engine="0",le="0.001",model_name="m"} 0.0
vllm:time_to_first_token_seconds_sum{engine="0",model_name="m"} 30.0
vllm:time_to_first_token_seconds_count{engine="0",model_name="m"} 15.0
vllm:time_per_output_token_seconds_sum{engine="0",model_name="m"} 1.8
vllm:time_per_output_token_seconds_count{engine="0",model_name="m"} 100.0
)";

TEST(ServingFigures, vllm_is_summed_over_engines) {
  const auto figures = read_serving_figures(kVllm);
  ASSERT_TRUE(figures);
  EXPECT_EQ(figures->server, "vLLM");
  EXPECT_EQ(figures->running, 5);
  EXPECT_EQ(figures->waiting, 7);
  EXPECT_EQ(figures->tokens, 1000);
  EXPECT_EQ(figures->requests, 15);
  EXPECT_EQ(figures->first_token_s->sum, 30);
  EXPECT_EQ(figures->per_token_s->count, 100);
}

TEST(ServingFigures, workers_of_an_engine_of_sglang_count_once) {
  const auto figures = read_serving_figures(R"(
sglang:num_running_reqs{engine_type="unified",model_name="m",tp_rank="0"} 4.0
sglang:num_running_reqs{engine_type="unified",model_name="m",tp_rank="1"} 4.0
sglang:num_running_reqs{engine_type="unified",model_name="m",tp_rank="0",priority="1"} 2.0
sglang:num_queue_reqs{model_name="m"} 3.0
sglang:generation_tokens_total{model_name="m"} 7.557572e+06
sglang:time_to_first_token_seconds_sum{model_name="m"} 2.5
sglang:time_to_first_token_seconds_count{model_name="m"} 2
)");
  ASSERT_TRUE(figures);
  EXPECT_EQ(figures->server, "SGLang");
  EXPECT_EQ(figures->running, 4);
  EXPECT_EQ(figures->waiting, 3);
  EXPECT_EQ(figures->tokens, 7557572);
}

TEST(ServingFigures, tgi_and_triton_are_read) {
  const auto tgi = read_serving_figures(R"(
tgi_batch_current_size 3
tgi_queue_size 2
tgi_request_success{method="batch"} 44
tgi_request_generated_tokens_sum 8123
tgi_request_generated_tokens_count 44
tgi_request_mean_time_per_token_duration_sum 0.9
tgi_request_mean_time_per_token_duration_count 44
)");
  ASSERT_TRUE(tgi);
  EXPECT_EQ(tgi->server, "TGI");
  EXPECT_EQ(tgi->running, 3);
  EXPECT_EQ(tgi->waiting, 2);
  EXPECT_EQ(tgi->tokens, 8123);
  EXPECT_FALSE(tgi->first_token_s);
  const auto triton = read_serving_figures(R"(
nv_inference_request_success{model="llama",version="1"} 21
nv_inference_pending_request_count{model="llama",version="1"} 9
nv_trt_llm_request_metrics{model="tensorrt_llm",request_type="waiting",version="1"} 3
nv_trt_llm_request_metrics{model="tensorrt_llm",request_type="scheduled",version="1"} 2
nv_trt_llm_request_metrics{model="tensorrt_llm",request_type="max",version="1"} 512
nv_inference_first_response_histogram_ms_sum{model="llama",version="1"} 500
nv_inference_first_response_histogram_ms_count{model="llama",version="1"} 5
)");
  ASSERT_TRUE(triton);
  EXPECT_EQ(triton->server, "Triton");
  EXPECT_EQ(triton->running, 2);
  EXPECT_EQ(triton->waiting, 3);
  EXPECT_EQ(triton->requests, 21);
  EXPECT_EQ(triton->first_token_s->sum, 0.5);
  EXPECT_FALSE(read_serving_figures("process_cpu_seconds_total 3\npython_info{} 1\n"));
  EXPECT_FALSE(read_serving_figures(""));
}

TEST(ServingFigures, rates_and_latencies_are_of_the_time_between) {
  ServingFigures before{.server = "vLLM",
                        .running = 1,
                        .waiting = 0,
                        .tokens = 100,
                        .requests = 10,
                        .first_token_s = Total{10, 10},
                        .per_token_s = Total{1, 100}};
  ServingFigures now{.server = "vLLM",
                     .running = 2,
                     .waiting = 5,
                     .tokens = 600,
                     .requests = 20,
                     .first_token_s = Total{15, 20},
                     .per_token_s = Total{1, 100}};
  const auto record = serving_between(before, now, 5);
  EXPECT_EQ(record.running, 2);
  EXPECT_EQ(record.waiting, 5);
  EXPECT_EQ(record.tokens_s, 100);
  EXPECT_EQ(record.requests_s, 2);
  EXPECT_EQ(record.first_token_s, 0.5);
  EXPECT_FALSE(record.per_token_s);  // no token between
  const auto reset = serving_between(now, before, 5);
  EXPECT_FALSE(reset.tokens_s);
  EXPECT_FALSE(reset.requests_s);
  EXPECT_FALSE(reset.first_token_s);
}

// Each request finds 50 more tokens.
constexpr std::string_view kServer = R"(
import http.server, sys, threading
class Handler(http.server.BaseHTTPRequestHandler):
    tokens = 0
    def log_message(self, *words): pass
    def do_GET(self):
        Handler.tokens += 50
        body = b'vllm:num_requests_running{model_name="m"} 4\nvllm:num_requests_waiting{model_name="m"} 1\n'
        body += b'vllm:generation_tokens_total{model_name="m"} %d\n' % Handler.tokens
        self.send_response(200 if self.path == '/metrics' else 404); self.send_header('Content-Length', str(len(body)))
        self.end_headers(); self.wfile.write(body)
server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
print(server.server_address[1], flush=True)
threading.Thread(target=server.serve_forever, daemon=True).start()
sys.stdin.read()
)";

SeenJobs serving_job(const std::string& port) {
  SeenJob job;
  job.record.job = "ml/chat";
  job.record.kind = jobs::JobKind::inference;
  for (int rank = 0; rank < 2; ++rank) {  // tensor parallel: one server
    RankProcess process;
    process.rank = rank;
    process.pid = 100 + rank;
    process.pod_uid = "u1";
    job.processes.push_back(process);
  }
  job.pods.push_back(
      {.uid = "u1", .name_space = "ml", .name = "chat-0", .container = "vllm", .settings = {}});
  if (!port.empty()) job.pods[0].settings["autopilot.ibm.com/metrics-port"] = port;
  SeenJobs seen;
  seen.jobs.push_back(job);
  return seen;
}

// Polls as the agent does, with a clock that runs fast, until a record or a sentence.
std::vector<jobs::Record> poll_until_known(ServingSource& source, const SeenJobs& seen) {
  std::vector<jobs::Record> records;
  WallTime now = kNow;
  const MonoTime deadline = host::mono_now() + seconds{20};
  while (records.empty() && source.not_seen().empty() && host::mono_now() < deadline)
    source.poll(seen, now += seconds{1}, records);
  return records;
}

TEST(ServingSource, a_real_server_that_an_annotation_names_is_read_once_for_each_replica) {
  const host::PythonServer server(kServer);
  if (server.port() == 0) GTEST_SKIP() << "needs python3";
  ServingSource source({.port = 0,
                        .path = "/metrics",
                        .pod_address = [](const std::string&) { return "127.0.0.1"; },
                        .fetch = {}});
  const auto records = poll_until_known(source, serving_job(std::to_string(server.port())));
  ASSERT_EQ(records.size(), 1U);
  const auto& record = std::get<jobs::ServingRecord>(records[0]);
  EXPECT_EQ(record.job, "ml/chat");
  EXPECT_EQ(record.replica, "chat-0");
  EXPECT_EQ(record.running, 4);
  EXPECT_EQ(record.waiting, 1);
  EXPECT_GT(record.tokens_s.value_or(0), 0);
}

TEST(ServingSource, a_replica_that_does_not_answer_is_stated_with_the_cure) {
  ServingSource source({.port = 1, .path = "/metrics", .pod_address = {}, .fetch = {}});
  EXPECT_TRUE(poll_until_known(source, serving_job("")).empty());
  ASSERT_EQ(source.not_seen().size(), 1U);
  EXPECT_NE(source.not_seen()[0].find("chat-0"), std::string::npos);
  EXPECT_NE(source.not_seen()[0].find("check the port"), std::string::npos);
}

TEST(ServingSource, a_wrong_annotation_and_an_unknown_program_are_stated) {
  ServingSource wrong({.port = 0, .path = "/metrics", .pod_address = {}, .fetch = {}});
  EXPECT_TRUE(poll_until_known(wrong, serving_job("http")).empty());
  ASSERT_FALSE(wrong.not_seen().empty());
  EXPECT_NE(wrong.not_seen()[0].find("not a port"), std::string::npos);
  ServingSource unknown({.port = 9000,
                         .path = "/metrics",
                         .pod_address = {},
                         .fetch = [](const host::HttpPlace&, std::size_t, MonoTime) -> Result<std::string> {
                           return std::string("go_goroutines 12\n");
                         }});
  EXPECT_TRUE(poll_until_known(unknown, serving_job("")).empty());
  ASSERT_FALSE(unknown.not_seen().empty());
  EXPECT_NE(unknown.not_seen()[0].find("name the port"), std::string::npos);
}

TEST(ServingSource, a_training_job_without_the_annotation_is_not_asked) {
  std::size_t asked = 0;
  SeenJobs seen = serving_job("");
  seen.jobs[0].record.kind = jobs::JobKind::training;
  {
    ServingSource source({.port = 9000,
                          .path = "/metrics",
                          .pod_address = {},
                          .fetch = [&](const host::HttpPlace&, std::size_t, MonoTime) -> Result<std::string> {
                            ++asked;
                            return std::string();
                          }});
    std::vector<jobs::Record> records;
    source.poll(seen, kNow, records);
  }  // waits for the thread
  EXPECT_EQ(asked, 0U);
}

}  // namespace
}  // namespace autopilot::collect::serving_source_test
