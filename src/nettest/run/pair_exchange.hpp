// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "api/bandwidth.hpp"
#include "core/result.hpp"
#include "fleet/peers.hpp"
#include "net/event_loop.hpp"
#include "net/http.hpp"
#include "net/http_session.hpp"
#include "net/tls.hpp"
#include "net/url.hpp"
#include "nettest/echo/probes.hpp"

namespace autopilot::nettest {

// One endpoint of a pair. address: the address that is tested, or at which the node is asked for a test of
// that RDMA port or of GPUs.
struct PairEnd {
  fleet::Peer peer;
  std::string address;
  std::string rdma_port = {};  // else empty
};

// A test of two nodes by their agents: one agent is asked to listen, the other to measure, and the first to
// end. If this is destroyed before that, the agents end later, by themselves. On the loop's thread.
class PairExchange {
 public:
  struct Wish {
    PairEnd source;
    PairEnd destination;
    std::size_t processes = 1;  // by TCP, of each end
    std::size_t streams = 1;    // of each process
    std::size_t gpus = 0;       // of each node, by NCCL; else 0
    api::Memory memory = api::Memory::host;
    std::size_t seconds = 1;
    std::uint64_t most = 0;  // see BandwidthRequest
  };
  // Errors: an agent refused (conflict: it is in another test, or a job is on its node: refused_by names the
  // node), or could not be asked.
  using OnEnd = std::function<void(Result<api::BandwidthAnswer> answer, const std::string& refused_by)>;

  // tls: for requests to agents that use TLS; null: in the clear. Calls back once, not from within.
  PairExchange(net::EventLoop& loop, const std::shared_ptr<const net::TlsContext>& tls, Wish wish,
               OnEnd on_end);
  PairExchange(const PairExchange&) = delete;
  PairExchange& operator=(const PairExchange&) = delete;
  ~PairExchange() = default;

  // It has called back.
  [[nodiscard]] bool has_ended() const { return stage_ == Stage::ended; }
  // Only before it has ended: drops the measurement. Its servers are asked to end, which ends the measurement
  // as well; then this calls `done`, not from within, instead of on_end.
  void abandon(std::function<void()> done);

 private:
  enum class Stage : std::uint8_t { listening, measuring, ending, ended };

  void listen();
  void measure(const api::ServersAnswer& servers);
  void end_servers();
  void take_servers_end(const Result<net::HttpResponse>& answer);
  void end();

  const Wish wish_;
  OnEnd on_end_;
  std::string servers_;  // their id
  Stage stage_ = Stage::listening;
  bool is_abandoned_ = false;
  Result<api::BandwidthAnswer> answer_;
  std::string refused_by_;
  net::HttpSession source_;
  net::HttpSession destination_;
  net::Exchange exchange_;  // last: it calls
};

// How an agent asks others to take part in a test of bandwidth.

inline constexpr Duration kToListen = std::chrono::seconds{30};
// GPU drivers start first. The agent reports why a driver does not start before this is over.
inline constexpr Duration kToListenNccl = std::chrono::seconds{45};
static_assert(kToListenNccl > std::chrono::seconds{2 * kNcclPatience});
// Until servers have ended.
inline constexpr Duration kToEnd = std::chrono::seconds{5};
// Seconds beyond those of both directions that an agent takes at most before it reports that nothing was
// measured; over RDMA with three programs, each of which may hang, by NCCL with drivers and libraries that
// start (BandwidthEnds).
inline constexpr std::size_t kToGiveUp = 30;
inline constexpr std::size_t kToGiveUpRdma = 60;
inline constexpr std::size_t kToGiveUpNccl = 80;
static_assert(2 * api::kMostTestSeconds + kToGiveUpNccl <= api::kMostServerSeconds);

[[nodiscard]] net::ServerUrl url_of(const fleet::Peer& peer);
// The agent is asked by its address, and its certificate must name its node. null: in the clear.
[[nodiscard]] std::shared_ptr<const net::TlsContext> tls_for(
    const std::shared_ptr<const net::TlsContext>& tls, const fleet::Peer& peer);
[[nodiscard]] net::HttpRequest request_of(std::string method, std::string path, std::string body);
// To have servers end before their time.
[[nodiscard]] net::HttpRequest end_request_of(const std::string& servers);
// The body of a successful answer, or the error that the agent of that node reports: conflict, denied; else
// as HttpSession.
[[nodiscard]] Result<std::string> body_of(const std::string& node, const Result<net::HttpResponse>& answer);

}  // namespace autopilot::nettest
