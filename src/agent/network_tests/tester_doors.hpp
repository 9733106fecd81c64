// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "agent/peers.hpp"
#include "core/result.hpp"
#include "net/tls.hpp"

namespace autopilot::agent {

// How nodes are measured in pairs.
struct PairChoice {
  int most_percent =
      100;  // of the rate of a line; below 100 one of which nobody knows the rate is not tested
  bool all_pairs = false;  // else as many as show who is slow
  std::uint64_t turn = 0;  // each tests other pairs, so that the tests of a day come by more of the ways
};

// What a test of many nodes stands on. Used on the loop's thread.
struct TesterDoors {
  // All agents there are, this one among them.
  std::function<void(std::function<void(const Result<std::vector<Peer>>& peers)> done)> peers;
  std::function<std::shared_ptr<const net::TlsContext>()> tls;
  std::function<PairChoice()> choice;
  // The board has something new.
  std::function<void()> look;
};

}  // namespace autopilot::agent
