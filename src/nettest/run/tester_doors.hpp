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

// Dependencies of a test of many nodes. Used on the loop's thread.
struct TesterDoors {
  // All agents there are, this one among them.
  std::function<void(std::function<void(const Result<std::vector<fleet::Peer>>& peers)> done)> peers;
  std::function<std::shared_ptr<const net::TlsContext>()> tls;
  std::function<PairChoice()> choice;
  // The board has something new.
  std::function<void()> look;
};

// Dependencies of the classes that let this node take part in bandwidth tests. Everything is used on the
// loop's thread and outlives these classes.
struct BandwidthDoors {
  BandwidthEnds& ends;
  BandwidthEnds& standing;  // servers that wait for the test of another caller: they make room
  OwnNetwork& own;
  AddressBook& book;
  // All agents there are, this one among them.
  std::function<void(std::function<void(const Result<std::vector<fleet::Peer>>& peers)> done)> peers;
  // Sentence that names the job on this node; empty: no job is known.
  std::function<std::string()> job;
  // Checks now whether the GPU with that PCI address is in use. busy: a sentence that names the processes
  // that use it or may use it; empty: it is idle.
  std::function<void(const std::string& gpu, std::function<void(const std::string& busy)> done)> look_at_gpu;
  std::string node;  // this one
  std::string pod;   // of this agent; empty: it is in none
  // Settings of the tests that this agent runs.
  std::function<PairChoice()> choice;
};

}  // namespace autopilot::nettest
