// SPDX-License-Identifier: Apache-2.0
#include "nettest/run/own_network.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "host/gpu/gpus.hpp"
#include "host/infiniband/infiniband.hpp"
#include "host/netlink/interfaces.hpp"
#include "host/pci/pci.hpp"
#include "net/responses.hpp"

namespace autopilot::nettest {

namespace {

Result<std::vector<std::string>> read_gpus(const host::Files& files, host::GpuVendor vendor) {
  std::vector<std::string> addresses;
  for (const host::PciDevice& gpu : TRY(host::GpuScan(files).gpus(vendor)))
    addresses.push_back(gpu.address);
  return addresses;
}

// Below one switch there may be two adapters and two GPUs: each port has a GPU of its own where it can.
class NearestGpus {
 public:
  NearestGpus(const host::Files& files, const std::vector<std::string>& gpus) : files_(files), gpus_(gpus) {}

  // Of several equally near GPUs, the GPU that the fewest earlier ports have; empty: no GPU is near.
  std::string take(std::string_view adapter) {
    const std::vector<std::string> near = host::nearest_of(files_, adapter, gpus_);
    const auto found = std::ranges::min_element(near, {}, [this](const auto& gpu) { return ports_[gpu]; });
    if (found == near.end()) return {};
    ++ports_[*found];
    return *found;
  }

 private:
  const host::Files& files_;
  const std::vector<std::string>& gpus_;
  std::map<std::string, std::size_t> ports_;  // of each
};

std::vector<api::RdmaPort> read_rdma_ports(const host::Files& files, const std::vector<std::string>& gpus) {
  constexpr double kGigabit = 1e9;
  std::vector<api::RdmaPort> ports;
  NearestGpus nearest(files, gpus);
  for (const host::IbPort& port : host::scan_ib_ports(files).value_or(std::vector<host::IbPort>{}))
    if (port.state == "active" && ports.size() < api::NodeNetwork::kMostRdmaPorts)
      ports.push_back({port.key(), static_cast<std::size_t>(port.rate_gbps.value_or(0) * kGigabit),
                       host::interface_of(files, port), nearest.take(port.pci_address)});
  return ports;
}

}  // namespace

Result<OwnLines> read_addresses(const host::Files& files, const std::vector<std::string>& wanted) {
  auto all = TRY(host::read_own_addresses());
  OwnLines lines;
  for (const host::OwnAddress& own : host::addresses_for_peers(files, std::move(all), wanted))
    if (lines.addresses.size() < api::NodeNetwork::kMostAddresses)
      lines.addresses.push_back({own.interface, own.address, own.mtu, host::line_rate(files, own.interface)});
  return lines;
}

Result<OwnLines> read_networks(const host::Files& files, const std::vector<std::string>& wanted) {
  OwnLines lines = TRY(read_addresses(files, wanted));
  const auto nvidia = read_gpus(files, host::GpuVendor::nvidia);
  auto gpus = nvidia.value_or(std::vector<std::string>{});
  lines.rdma = read_rdma_ports(files, gpus);
  if (nvidia && nvidia->empty()) {
    gpus = read_gpus(files, host::GpuVendor::amd).value_or(std::vector<std::string>{});
    if (!gpus.empty()) lines.gpu_vendor = host::GpuVendor::amd;
  }
  lines.gpus = std::min(gpus.size(), api::NodeNetwork::kMostGpus);
  return lines;
}

OwnNetwork::OwnNetwork(net::EventLoop& loop, const Clock& clock, std::function<api::NodeNetwork()> self,
                       Read read, std::function<bool(std::function<void()>)> submit)
    : clock_(clock),
      self_(std::move(self)),
      read_(std::move(read)),
      submit_(std::move(submit)),
      way_back_(loop) {}

void OwnNetwork::find(std::function<void(const Lines& lines)> done) {
  if (clock_.now().mono < until_) return done(lines_);
  waiting_.push_back(std::move(done));
  if (waiting_.size() > 1) return;
  const bool is_taken = submit_(
      [this, read = read_, post = way_back_.post()] { post([this, lines = read()] { take(lines); }); });
  if (!is_taken) take(fail(Errc::unavailable, "reading the addresses of this node does not come back"));
}

void OwnNetwork::answer(net::Responder responder) {
  find([this, shared = std::make_shared<net::Responder>(std::move(responder))](const Lines& lines) {
    if (!lines) return shared->respond(lines.error());
    api::NodeNetwork network = self_();
    network.addresses = lines->addresses;
    network.rdma = lines->rdma;
    network.gpus = lines->gpus;
    network.gpu_vendor =
        lines->gpu_vendor == host::GpuVendor::amd ? api::GpuVendor::amd : api::GpuVendor::nvidia;
    shared->respond(net::json_response(api::to_json(network)));
  });
}

void OwnNetwork::take(Lines lines) {
  lines_ = std::move(lines);
  // What could not be read is tried again at the next question.
  until_ = lines_ ? clock_.now().mono + kRemembered : MonoTime{};
  for (const auto& done : std::exchange(waiting_, {}))
    done(lines_);
}

}  // namespace autopilot::nettest
