// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "api/network.hpp"
#include "core/clock.hpp"
#include "core/result.hpp"
#include "host/files/files.hpp"
#include "host/gpu/gpus.hpp"
#include "net/event_loop.hpp"
#include "net/http_server.hpp"
#include "nettest/run/way_back.hpp"

namespace autopilot::nettest {

// Addresses, RDMA ports and GPUs of this node.
struct OwnLines {
  std::vector<api::NetworkAddress> addresses;
  std::vector<api::RdmaPort> rdma = {};
  std::size_t gpus = 0;
  host::GpuVendor gpu_vendor = host::GpuVendor::nvidia;  // with GPUs of both vendors, only NVIDIA's count
};

// Name of the line that other tests must not use while this port is tested.
[[nodiscard]] inline const std::string& line_of(const api::RdmaPort& port) {
  return port.interface.empty() ? port.port : port.interface;
}

// Reads the addresses of this machine, or of the network namespace of this process; wanted: see
// addresses_for_peers. May block, because it reads files of the kernel.
[[nodiscard]] Result<OwnLines> read_addresses(const host::Files& files,
                                              const std::vector<std::string>& wanted);
// Likewise, with RDMA and GPUs. An adapter that does not answer is left out.
[[nodiscard]] Result<OwnLines> read_networks(const host::Files& files,
                                             const std::vector<std::string>& wanted);

// Answers where this node can be reached: reads it on request, and remembers it for kRemembered. On the
// loop's thread.
class OwnNetwork {
 public:
  static constexpr Duration kRemembered = std::chrono::seconds{10};
  using Lines = Result<OwnLines>;
  using Read = std::function<Lines()>;

  // self: without its lines, asked each time. read: runs on another thread and may outlive this, as `submit`
  // makes it; false: there is no room.
  OwnNetwork(net::EventLoop& loop, const Clock& clock, std::function<api::NodeNetwork()> self, Read read,
             std::function<bool(std::function<void()> task)> submit);
  OwnNetwork(const OwnNetwork&) = delete;
  OwnNetwork& operator=(const OwnNetwork&) = delete;
  ~OwnNetwork() = default;

  // Calls back, at once or later.
  void find(std::function<void(const Lines& lines)> done);
  // With the page of this node.
  void answer(net::Responder responder);

 private:
  void take(Lines lines);

  const Clock& clock_;
  const std::function<api::NodeNetwork()> self_;
  const Read read_;
  const std::function<bool(std::function<void()>)> submit_;
  Lines lines_;
  MonoTime until_{};  // they count
  std::vector<std::function<void(const Lines&)>> waiting_;
  WayBack way_back_;
};

}  // namespace autopilot::nettest
