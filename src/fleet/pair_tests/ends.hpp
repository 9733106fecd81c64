// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "fleet/pair_tests/readings.hpp"

namespace autopilot::fleet {

// A NIC as a sender or as a receiver: 2 * NIC, and 1 more as a receiver.
using EndNumber = std::uint32_t;

enum class EndState : std::uint8_t {
  unmeasured,
  fine,  // nothing speaks against it that its partner, or what is between them, does not explain
  open,  // low, and it is not known yet whose fault that is
  bad,   // low with two partners at least that are fine with others
};

struct EndView {
  EndState state = EndState::unmeasured;
  bool has_passed = false;          // a test that was not low, of which it would else be
  bool has_passed_in_leaf = false;  // likewise, with a NIC under the same leaf
  bool is_silent = false;           // nothing came through in any test that counts against it
  double share = 1;                 // of what is usual, in the tests that count; the lowest while it is open
  std::size_t partners = 0;         // that are fine, and with which it was low
  double confidence = 0;            // that it is this end, and not the way to one partner
  double link_confidence = 0;       // that it is the way to one partner, where that fits better
};

// Two NICs between which a test was low although both are fine, in that direction.
struct LowPair {
  NicNumber from = 0;
  NicNumber to = 0;
  std::vector<std::uint32_t> readings;  // of this direction
  std::size_t low = 0;                  // of them
  double share = 1;
  bool is_significant = false;
  bool is_cross = false;
  bool is_silent = false;
  double confidence = 0;       // that it is what is between them
  bool are_ends_fine = false;  // else it is one of them or what is between them
};

// What the readings say about each NIC and each pair.
class Ends {
 public:
  Ends(std::size_t nics, const Readings& readings, const PairSettings& settings);

  [[nodiscard]] const EndView& end(EndNumber end) const { return views_[end]; }
  [[nodiscard]] const EndView& sends(NicNumber nic) const { return views_[2 * nic]; }
  [[nodiscard]] const EndView& receives(NicNumber nic) const { return views_[2 * nic + 1]; }
  [[nodiscard]] bool is_fine(NicNumber nic) const;
  [[nodiscard]] bool is_bad(NicNumber nic) const;
  // Readings in which it takes part.
  [[nodiscard]] std::span<const std::uint32_t> readings_of(EndNumber end) const;
  // Bits/s above which a test clears it of every one in which it was low; 0 where it was in none.
  [[nodiscard]] double least_to_pass(EndNumber end) const;
  // Pairs with a low reading whose two ends are not bad.
  [[nodiscard]] std::vector<LowPair> low_pairs() const;

 private:
  // What an end has to reach in other tests to be cleared of a low one. The usual across leaves may be lower
  // than what is low within a leaf: who is as usual there may still be slow.
  struct Bar {
    double share = 0;  // of what is usual in these tests
    double bits = 0;   // a second, which are usual there
  };
  // Readings of one partner together.
  struct Partner {
    EndNumber end = 0;
    double weight = 0;
    double sum = 0;  // of weighted shares
  };

  void index_readings();
  [[nodiscard]] bool is_between_fine(const Reading& reading) const;
  [[nodiscard]] bool may_flows_meet() const;
  [[nodiscard]] EndNumber other_end(const Reading& reading, EndNumber end) const;
  [[nodiscard]] double deviation_of(const Reading& reading) const;
  [[nodiscard]] double passed_share(EndNumber end, EndNumber other, const Bar& bar, double otherwise) const;
  [[nodiscard]] bool is_cleared(EndNumber end, EndNumber other, const Bar& bar) const;
  [[nodiscard]] bool has_passed(EndNumber end) const;
  [[nodiscard]] bool has_given_more(EndNumber end, const Reading& low) const;
  [[nodiscard]] bool may_be_of_end(EndNumber end, const Reading& low) const;
  [[nodiscard]] std::vector<std::uint32_t> what_counts(EndNumber end) const;
  [[nodiscard]] EndView weigh(EndNumber end) const;
  void weigh_against_link(EndNumber end, std::span<const std::uint32_t> counting, EndView& view) const;
  // The mean of the shares and its standard deviation.
  [[nodiscard]] std::pair<double, double> mean_of(std::span<const std::uint32_t> readings) const;
  [[nodiscard]] bool is_significant(double share, double deviation) const;

  const Readings& readings_;
  const PairSettings& settings_;
  std::vector<EndView> views_;
  std::vector<std::uint32_t> begins_;  // of the readings of each end in by_end_
  std::vector<std::uint32_t> by_end_;
  double least_deviations_ = 0;  // of what may be held against anybody
  bool may_flows_meet_ = false;  // between leaves, and nobody knows which
};

}  // namespace autopilot::fleet
