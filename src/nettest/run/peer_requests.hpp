// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

#include "api/bandwidth.hpp"
#include "core/result.hpp"
#include "fleet/peers.hpp"
#include "net/http.hpp"
#include "net/tls.hpp"
#include "net/url.hpp"
#include "nettest/echo/nccl_probe.hpp"

// How an agent asks others to take part in a test of bandwidth.
namespace autopilot::nettest {

inline constexpr Duration kToListen = std::chrono::seconds{30};
// Drivers of GPUs begin first. Why one does not is told before this is over.
inline constexpr Duration kToListenNccl = std::chrono::seconds{45};
static_assert(kToListenNccl > std::chrono::seconds{2 * kNcclPatience});
// Until servers have ended.
inline constexpr Duration kToEnd = std::chrono::seconds{5};
// Seconds beyond those of both ways: what an agent takes at most before it says that nothing was measured; by
// RDMA with three programs, each of which may hang, by NCCL with drivers and libraries that begin
// (BandwidthEnds).
inline constexpr std::size_t kToGiveUp = 30;
inline constexpr std::size_t kToGiveUpRdma = 60;
inline constexpr std::size_t kToGiveUpNccl = 80;
static_assert(2 * api::kMostTestSeconds + kToGiveUpNccl <= api::kMostServerSeconds);

[[nodiscard]] net::ServerUrl url_of(const fleet::Peer& peer);
// Asked by its address, it must all the same be the agent of that node. null: in the clear.
[[nodiscard]] std::shared_ptr<const net::TlsContext> tls_for(
    const std::shared_ptr<const net::TlsContext>& tls, const fleet::Peer& peer);
[[nodiscard]] net::HttpRequest request_of(std::string method, std::string path, std::string body);
// To have servers end before their time.
[[nodiscard]] net::HttpRequest end_request_of(const std::string& servers);
// The body of a good answer, or what the agent of that node said in its place: conflict, denied; else as
// HttpSession.
[[nodiscard]] Result<std::string> body_of(const std::string& node, const Result<net::HttpResponse>& answer);

}  // namespace autopilot::nettest
