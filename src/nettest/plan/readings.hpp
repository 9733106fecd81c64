// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "nettest/plan/fabric.hpp"
#include "nettest/plan/pair_result.hpp"

namespace autopilot::nettest {

// Usual value of a set that consists mostly of healthy values, where faults only lower values.
struct Usual {
  double centre = 0;
  double spread = 0;  // standard deviation of a healthy value, as a share of the centre
  std::size_t count = 0;
};

// Estimates from the upper part of positive values: two thirds can be low. An empty set gives zeros. The
// spread is at least `least_spread`.
[[nodiscard]] Usual usual_of(std::vector<double> values, double least_spread);

[[nodiscard]] double median_of(std::span<const double> values);

// Standard error of the median of that many samples, each with standard error 1.
[[nodiscard]] double error_of_median(std::size_t samples);

// Number of standard deviations below the mean that a healthy value exceeds, except with that probability.
[[nodiscard]] double quantile_of_normal(double probability);

// The probability of at least `least` events if `expected` are expected.
[[nodiscard]] double tail_of_poisson(double expected, std::size_t least);

struct PairSettings {
  std::size_t samples =
      3;  // in each direction of a pair in the first round; later the measured noise decides
  std::size_t most_samples = 16;  // upper limit, regardless of the noise
  std::size_t cross_flows = 48;   // of a pair under two leaves: each flow can take another uplink
  std::size_t most_rounds = 3;
  double least_loss = 0.02;   // of the usual rate: a smaller loss is not reported
  double aimed_error = 0.01;  // wanted standard deviation of a pair's result, as a share of the usual rate
  double false_accusations = 0.01;  // expected number in a run in which all are healthy
  double share_of_line_rate = 1;    // that a test can use; lower beside jobs
  std::uint64_t seed = 1;           // seed of the pairing
  bool all_pairs = false;           // test every pair of a rail, then confirm in one round
  bool is_back_by_other_means =
      false;  // the backward direction uses read instead of write, so that its rates differ for all pairs

  // A pair under two leaves uses one path through the fabric, and another path in its next test.
  [[nodiscard]] bool is_one_flow() const { return cross_flows == 1; }
};

// A test of a run and its result.
struct Record {
  PairTest test;
  std::size_t round = 0;
  Locality locality = Locality::unknown;
  std::optional<double> expected;  // bits/s that rates, uplinks and limits allow; not set: unknown
  bool is_of_low_flows = false;  // repeats only flows that were low: gives no result for the pair as a whole
  std::optional<PairResult> result;
};

// Usual result of healthy pairs of one rail and locality.
struct Reference {
  RailNumber rail = 0;
  Locality locality = Locality::unknown;
  bool has_expected = false;  // the centre is a share of the expected rate; else bits/s
  bool is_pooled = false;     // from all rails, because this rail has too few values
  bool is_doubtful = false;   // from a few pairs that gave more than most, which can be the unusual ones
  Usual usual;
  std::optional<double>
      usual_back;  // usual ratio of backward to forward rates; not set: directions are not compared
};

// Standard deviations, as shares of the usual rate.
struct Noise {
  double within = 0;   // of one sample, around the value of its pair
  double between = 0;  // of the values of healthy pairs, without the noise of samples
};

// The evaluated result of one direction of a test.
struct Reading {
  std::uint32_t record = 0;
  NicNumber from = 0;  // the sender
  NicNumber to = 0;
  double share = 0;  // of the usual rate; 0: no data arrived
  double usual = 0;  // bits/s; if the backward direction uses other means, the usual forward rate
  double error = 0;  // standard deviation from the noise within the pair
  bool is_low = false;
  bool is_cross = false;
  bool is_silent = false;  // no data arrived
};

struct Readings {
  std::vector<Reference> references;
  Noise noise;
  std::vector<Reading> list;  // without pairs that have no reference
};

// gone: nodes whose tests no longer count.
[[nodiscard]] Readings read_records(const Fabric& fabric, std::span<const Record> records,
                                    const std::vector<bool>& gone, const PairSettings& settings);

// The reference for the pair of the record; null: too few such pairs were measured.
[[nodiscard]] const Reference* find_reference(std::span<const Reference> references, const Record& record);

// A share with this standard deviation is low if it is below 1 by more than this.
[[nodiscard]] double low_cut(double deviation, const PairSettings& settings);

// Number of samples that a pair needs for the wanted precision.
[[nodiscard]] std::size_t samples_for(const Noise& noise, const PairSettings& settings);

}  // namespace autopilot::nettest
