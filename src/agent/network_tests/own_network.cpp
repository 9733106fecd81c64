// SPDX-License-Identifier: Apache-2.0
#include "agent/network_tests/own_network.hpp"

#include <memory>
#include <utility>

#include "agent/responses.hpp"
#include "host/peers/interfaces.hpp"

namespace autopilot::agent {

Result<std::vector<api::NetworkAddress>> read_networks(const host::Files& files,
                                                       const std::vector<std::string>& wanted) {
  auto all = TRY(host::read_own_addresses());
  std::vector<api::NetworkAddress> addresses;
  for (const host::OwnAddress& own : host::addresses_for_peers(files, std::move(all), wanted))
    if (addresses.size() < api::NodeNetwork::kMostAddresses)
      addresses.push_back({own.interface, own.address, own.mtu, host::line_rate(files, own.interface)});
  return addresses;
}

OwnNetwork::OwnNetwork(net::EventLoop& loop, const Clock& clock, std::function<api::NodeNetwork()> self,
                       Read read, std::function<bool(std::function<void()>)> submit)
    : clock_(clock),
      self_(std::move(self)),
      read_(std::move(read)),
      submit_(std::move(submit)),
      way_back_(loop) {}

void OwnNetwork::find(std::function<void(const Addresses& addresses)> done) {
  if (clock_.now().mono < until_) return done(addresses_);
  waiting_.push_back(std::move(done));
  if (waiting_.size() > 1) return;
  const bool is_taken = submit_([this, read = read_, post = way_back_.post()] {
    post([this, addresses = read()] { take(addresses); });
  });
  if (!is_taken) take(fail(Errc::unavailable, "reading the addresses of this node does not come back"));
}

void OwnNetwork::answer(net::Responder responder) {
  find([this, shared = std::make_shared<net::Responder>(std::move(responder))](const Addresses& addresses) {
    if (!addresses) return shared->respond(addresses.error());
    api::NodeNetwork network = self_();
    network.addresses = *addresses;
    shared->respond(json(api::to_json(network)));
  });
}

void OwnNetwork::take(Addresses addresses) {
  addresses_ = std::move(addresses);
  // What could not be read is tried again at the next question.
  until_ = addresses_ ? clock_.now().mono + kRemembered : MonoTime{};
  for (const auto& done : std::exchange(waiting_, {}))
    done(addresses_);
}

}  // namespace autopilot::agent
