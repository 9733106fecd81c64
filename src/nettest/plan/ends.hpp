// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "nettest/plan/readings.hpp"

namespace autopilot::nettest {

// A NIC as a sender (2 * NIC) or as a receiver (2 * NIC + 1).
using EndNumber = std::uint32_t;

enum class EndState : std::uint8_t {
  unmeasured,
  fine,  // every low reading is explained by the partner or by the path
  open,  // low, and the cause is not known yet
  bad,   // low with at least two partners that are healthy with others
};

struct EndView {
  EndState state = EndState::unmeasured;
  bool has_passed = false;          // a test was not low that a bad end would have made low
  bool has_passed_in_leaf = false;  // the same, with a NIC under the same leaf
  bool is_silent = false;           // no data arrived in any test that counts against it
  double share = 1;          // of the usual rate, in the tests that count; the lowest while the state is open
  std::size_t partners = 0;  // healthy partners with which it was low
  double confidence = 0;     // that the cause is this end, not the path to one partner
  double link_confidence = 0;  // that the cause is the path to one partner, if that fits better
};

// Two NICs with a low test in that direction although neither end is bad.
struct LowPair {
  NicNumber from = 0;
  NicNumber to = 0;
  std::vector<std::uint32_t> readings;  // tests of this direction
  std::size_t low = 0;                  // number of low readings
  double share = 1;
  bool is_significant = false;
  bool is_cross = false;
  bool is_silent = false;
  double confidence = 0;       // that the cause is the path between them
  bool are_ends_fine = false;  // false: one of the ends can be the cause as well
};

// State of each NIC and each pair, derived from the readings.
class Ends {
 public:
  Ends(std::size_t nics, const Readings& readings, const PairSettings& settings);

  [[nodiscard]] const EndView& end(EndNumber end) const { return views_[end]; }
  [[nodiscard]] const EndView& sends(NicNumber nic) const { return views_[2 * nic]; }
  [[nodiscard]] const EndView& receives(NicNumber nic) const { return views_[2 * nic + 1]; }
  [[nodiscard]] bool is_fine(NicNumber nic) const;
  [[nodiscard]] bool is_bad(NicNumber nic) const;
  // Readings in which the end takes part.
  [[nodiscard]] std::span<const std::uint32_t> readings_of(EndNumber end) const;
  // A test above this many bits/s clears the end of each of its low tests; 0 if it has none.
  [[nodiscard]] double least_to_pass(EndNumber end) const;
  // Pairs with a low reading and without a bad end.
  [[nodiscard]] std::vector<LowPair> low_pairs() const;

 private:
  // Value that an end must reach in other tests to be cleared of a low one. The usual rate across leaves can
  // be below a low rate within a leaf, so an end with a usual rate there can still be slow.
  struct Bar {
    double share = 0;  // of the usual rate in these tests
    double bits = 0;   // usual bits/s of these tests
  };
  // All readings with one partner.
  struct Partner {
    EndNumber end = 0;
    double weight = 0;
    double sum = 0;  // sum of weighted shares
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
  std::vector<std::uint32_t> begins_;  // start of each end's readings in by_end_
  std::vector<std::uint32_t> by_end_;
  double least_deviations_ = 0;  // least deviation that counts against an end
  bool may_flows_meet_ = false;  // between leaves, where the affected flows are unknown
};

}  // namespace autopilot::nettest
