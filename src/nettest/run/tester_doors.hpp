// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "core/result.hpp"
#include "fleet/peers.hpp"
#include "net/tls.hpp"
#include "nettest/run/pair_choice.hpp"

namespace autopilot::nettest {

// What a test of many nodes stands on. Used on the loop's thread.
struct TesterDoors {
  // All agents there are, this one among them.
  std::function<void(std::function<void(const Result<std::vector<fleet::Peer>>& peers)> done)> peers;
  std::function<std::shared_ptr<const net::TlsContext>()> tls;
  std::function<PairChoice()> choice;
  // The board has something new.
  std::function<void()> look;
};

}  // namespace autopilot::nettest
