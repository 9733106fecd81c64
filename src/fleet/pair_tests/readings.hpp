// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "fleet/pair_tests/fabric.hpp"
#include "fleet/pair_tests/pair_result.hpp"
#include "fleet/pair_tests/reference.hpp"

namespace autopilot::fleet {

struct PairSettings {
  std::size_t samples = 3;        // each way of a pair, in the first round; later the measured noise decides
  std::size_t most_samples = 16;  // likewise, whatever the noise
  std::size_t cross_flows = 48;   // of a pair under two leaves: each may take another uplink
  std::size_t most_rounds = 3;
  double least_loss = 0.02;             // of what is usual: less is nobody's fault
  double aimed_error = 0.01;            // standard deviation of what a pair says, as a share of what is usual
  double false_accusations = 0.01;      // expected of a run in which all are healthy
  double share_of_line_rate = 1;        // that a test may use: less beside jobs
  std::uint64_t seed = 1;               // who is tested with whom
  bool all_pairs = false;               // every pair of a rail is tested, and a round of them confirms
  bool is_back_by_other_means = false;  // a read in place of a write: all ways back are faster or slower

  // A pair under two leaves has one way through the fabric, and another one in its next test.
  [[nodiscard]] bool is_one_flow() const { return cross_flows == 1; }
};

// A test of a run, and what came of it.
struct Record {
  PairTest test;
  std::size_t round = 0;
  Locality locality = Locality::unknown;
  std::optional<double> expected;  // bits/s that rates, uplinks and limits let through; nothing: not known
  bool is_of_low_flows = false;    // only flows that were low before: says nothing about the pair as a whole
  std::optional<PairResult> result;
};

// What healthy pairs of one rail and locality give.
struct Reference {
  RailNumber rail = 0;
  Locality locality = Locality::unknown;
  bool has_expected = false;  // the centre is a share of what is expected; else bits/s
  bool is_pooled = false;     // of all rails, because this one has too few
  bool is_doubtful = false;   // of few that gave more than most: it may as well be these that are unusual
  Usual usual;
  std::optional<double> usual_back;  // of ways back, as a share of ways there; nothing: they are not compared
};

// Standard deviations, as shares of what is usual.
struct Noise {
  double within = 0;   // of one sample, about what its pair gives
  double between = 0;  // of what healthy pairs give, without the former
};

// What one direction of a test says.
struct Reading {
  std::uint32_t record = 0;
  NicNumber from = 0;  // which sends
  NicNumber to = 0;
  double share = 0;  // of what is usual; 0: nothing came through
  double usual = 0;  // bits/s; of a way back by other means what is usual of the way there
  double error = 0;  // by noise within the pair: standard deviation
  bool is_low = false;
  bool is_cross = false;
  bool is_silent = false;  // nothing came through
};

struct Readings {
  std::vector<Reference> references;
  Noise noise;
  std::vector<Reading> list;  // without pairs that nothing can be compared with
};

// gone: nodes whose tests count no more.
[[nodiscard]] Readings read_records(const Fabric& fabric, std::span<const Record> records,
                                    const std::vector<bool>& gone, const PairSettings& settings);

// What pairs as that of the record give; nothing: too few of them were measured.
[[nodiscard]] const Reference* find_reference(std::span<const Reference> references, const Record& record);

// So far below 1 a share is low that has this standard deviation.
[[nodiscard]] double low_cut(double deviation, const PairSettings& settings);

// How many samples a pair needs so that it says as much as is aimed at.
[[nodiscard]] std::size_t samples_for(const Noise& noise, const PairSettings& settings);

}  // namespace autopilot::fleet
