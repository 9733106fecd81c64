// SPDX-License-Identifier: Apache-2.0
// POST /mutate-pod over TLS on connections that stay open, 500 times a second, as from an API server; and for
// comparison an empty handler, which shows the cost of TLS, sockets and the machine. Each review has a
// scheduled time, and its latency counts from there, so that waiting for an earlier review counts too. Server
// and clients are in this process. AUTOPILOT_BENCH_TLS: a folder with server.crt, server.key and
// authority.crt, for 127.0.0.1; AUTOPILOT_BENCH_REVIEW: a file with the review.
#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <benchmark/benchmark.h>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <openssl/ssl.h>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include "controller/webhook/preflight_review.hpp"
#include "controller/webhook/webhook_service.hpp"
#include "core/result.hpp"
#include "host/clock/system_clock.hpp"
#include "net/event_loop.hpp"
#include "net/http_server.hpp"
#include "net/tls.hpp"

namespace autopilot {
namespace {

using SteadyTime = std::chrono::steady_clock::time_point;

constexpr int kConnections = 4;
constexpr int kPerSecond = 500;
constexpr int kSeconds = 10;

std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

class Server {
 public:
  explicit Server(const std::string& folder) {
    controller::WebhookSettings settings;
    settings.image = "registry.example.com/autopilot@sha256:6e5f";
    settings.agent_url = "https://10.96.0.12:3334";
    settings.authority = text_of(folder + "/authority.crt");
    controller::add_webhook_routes(
        server_,
        {[known = std::make_shared<const controller::WebhookSettings>(std::move(settings))] { return known; },
         [] { return std::make_shared<const controller::ObservationSettings>(); }, clock_, counts_, counts_});
    server_.route("POST", "/empty", [](const net::HttpRequest&, net::Responder responder) {
      responder.respond({200, "application/json", "{}", {}});
    });
    const net::TlsServerIdentity identity{text_of(folder + "/server.crt"), text_of(folder + "/server.key"),
                                          ""};
    port_ = server_.listen_tls("127.0.0.1:0", net::TlsContext::make(identity).value()).value();
    thread_ = std::thread([this] { loop_.run(); });
  }
  ~Server() {
    loop_.post([this] { loop_.stop(); });
    thread_.join();
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  [[nodiscard]] std::uint16_t port() const { return port_; }

 private:
  host::SystemClock clock_;
  controller::ReviewCounts counts_;
  net::EventLoop loop_;
  net::HttpServer server_{loop_, {.requests_per_connection = 1'000'000}};
  std::uint16_t port_ = 0;
  std::thread thread_;
};

// One connection, as plain as it can be: what it costs is in every figure.
class Connection {
 public:
  Connection(std::uint16_t port, SSL_CTX* context)
      : socket_(socket(AF_INET, SOCK_STREAM, 0)), tls_(SSL_new(context)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    AUTOPILOT_ASSERT(connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
    SSL_set_fd(tls_, socket_);
    AUTOPILOT_ASSERT(SSL_connect(tls_) == 1);
  }
  ~Connection() {
    SSL_free(tls_);
    close(socket_);
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // The length of the answer.
  std::size_t ask(const std::string& request) {
    AUTOPILOT_ASSERT(SSL_write(tls_, request.data(), static_cast<int>(request.size())) ==
                     static_cast<int>(request.size()));
    std::string answer;
    std::size_t end = std::string::npos;
    while (end == std::string::npos || answer.size() < end) {
      std::array<char, 16384> chunk{};
      const int count = SSL_read(tls_, chunk.data(), static_cast<int>(chunk.size()));
      AUTOPILOT_ASSERT(count > 0);
      answer.append(chunk.data(), static_cast<std::size_t>(count));
      if (end == std::string::npos) end = end_of(answer);
    }
    AUTOPILOT_ASSERT(answer.starts_with("HTTP/1.1 200"));
    return answer.size();
  }

 private:
  static std::size_t end_of(const std::string& answer) {
    constexpr std::string_view kLength = "Content-Length: ";
    const std::size_t head = answer.find("\r\n\r\n");
    const std::size_t length = answer.find(kLength);
    if (head == std::string::npos || length > head) return std::string::npos;
    return head + 4 + std::strtoul(answer.c_str() + length + kLength.size(), nullptr, 10);
  }

  int socket_;
  SSL* tls_;
};

using Times = std::vector<double>;  // milliseconds

Times ask_all(std::uint16_t port, const std::string& request) {
  const std::unique_ptr<SSL_CTX, void (*)(SSL_CTX*)> context(SSL_CTX_new(TLS_client_method()), SSL_CTX_free);
  std::array<Times, kConnections> taken;
  std::vector<std::thread> threads;
  const SteadyTime begin = std::chrono::steady_clock::now() + std::chrono::milliseconds{200};
  for (int index = 0; index < kConnections; ++index)
    threads.emplace_back([&, index] {
      Connection connection(port, context.get());
      for (int i = index; i < kPerSecond * kSeconds; i += kConnections) {
        const SteadyTime moment = begin + std::chrono::microseconds{1'000'000LL * i / kPerSecond};
        std::this_thread::sleep_until(moment);
        connection.ask(request);
        taken.at(static_cast<std::size_t>(index))
            .push_back(
                std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - moment).count());
      }
    });
  for (std::thread& thread : threads)
    thread.join();
  Times all;
  for (const Times& each : taken)
    all.insert(all.end(), each.begin(), each.end());
  std::ranges::sort(all);
  return all;
}

double share(const Times& times, double part) {
  return times.at(static_cast<std::size_t>(part * static_cast<double>(times.size() - 1)));
}

void answers(benchmark::State& state, const std::string& path) {
  const std::string folder = variable("AUTOPILOT_BENCH_TLS");
  const std::string review = text_of(variable("AUTOPILOT_BENCH_REVIEW"));
  if (folder.empty() || review.empty()) {
    state.SkipWithError("AUTOPILOT_BENCH_TLS or AUTOPILOT_BENCH_REVIEW is missing");
    return;
  }
  const Server server(folder);
  const std::string request = "POST " + path +
                              " HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n" +
                              "Content-Length: " + std::to_string(review.size()) + "\r\n\r\n" + review;
  Times times;
  while (state.KeepRunning())
    times = ask_all(server.port(), request);
  state.counters["reviews"] = static_cast<double>(times.size());
  state.counters["bytes"] = static_cast<double>(review.size());
  state.counters["median_ms"] = share(times, 0.5);
  state.counters["p99_ms"] = share(times, 0.99);
}

void mutate_pod(benchmark::State& state) {
  answers(state, "/mutate-pod");
}
void empty_handler(benchmark::State& state) {
  answers(state, "/empty");
}
BENCHMARK(mutate_pod)->Iterations(1)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(empty_handler)->Iterations(1)->Unit(benchmark::kMillisecond)->UseRealTime();

// The handler alone: with that review, and with a review with this many more arguments, as long as the
// longest that the handler accepts; every other review waits for it.
void review_alone(benchmark::State& state) {
  std::string review = text_of(variable("AUTOPILOT_BENCH_REVIEW"));
  std::string more;
  for (std::int64_t i = 0; i < state.range(0); ++i)
    more += "\"a\",";
  review.insert(review.find("\"train.py\""), more);
  const controller::WebhookSettings settings;
  while (state.KeepRunning())
    benchmark::DoNotOptimize(controller::review(review, settings));
}
BENCHMARK(review_alone)->Arg(0)->Arg(780'000)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace autopilot
