// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "fleet/peers.hpp"
#include "net/tls.hpp"
#include "nettest/run/address_book.hpp"
#include "nettest/run/bandwidth_ends.hpp"
#include "nettest/run/own_network.hpp"
#include "nettest/run/pair_medium.hpp"

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

// What those stand on that have this node take part in tests of bandwidth. Everything is used on the loop's
// thread and outlives them.
struct BandwidthDoors {
  BandwidthEnds& ends;
  BandwidthEnds& standing;  // servers that wait for a test of somebody else: they make room
  OwnNetwork& own;
  AddressBook& book;
  // All agents there are, this one among them.
  std::function<void(std::function<void(const Result<std::vector<fleet::Peer>>& peers)> done)> peers;
  // Whose job is on this node, in a sentence; empty: nobody's that is known.
  std::function<std::string()> job;
  // Who uses the GPU with that PCI address, or may use it, in a sentence; empty: nobody does. By a look that
  // begins now.
  std::function<void(const std::string& gpu, std::function<void(const std::string& busy)> done)> look_at_gpu;
  std::string node;  // this one
  std::string pod;   // of this agent; empty: it is in none
  // How tests are made that this agent makes.
  std::function<PairChoice()> choice;
};

}  // namespace autopilot::nettest
