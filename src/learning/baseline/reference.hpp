// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "core/result.hpp"
#include "learning/baseline/distribution.hpp"
#include "learning/baseline/medoid.hpp"

// From the results of many nodes of one kind to the reference that healthy nodes reach, and to the threshold.
// It starts at a medoid instead of a mean, because faulty nodes pull a mean: 10.36 % of the nodes were
// defective at the build-out that SuperBench describes.
namespace autopilot::learning {

struct ReferenceRule {
  std::size_t least_nodes = 20;
  std::size_t learned_nodes = 200;  // from as many on, the threshold is learned
  double default_limit = 0.05;      // the threshold before, as a shortfall
  double least_limit = 0.02;        // a learned threshold is not below
  double most_limit = 0.15;         // and not above
  double least_share = 0.6;         // of the nodes that must be within the limit
  double least_better = 0.5;        // twice the share of the nodes that must be better than the reference
  std::uint64_t seed = 1;           // chooses the nodes that are compared with each other
};

// What healthy nodes of the kind reach.
struct Reference {
  Distribution centre;     // pooled from the densest 60 % of the nodes
  double limit = 0;        // largest shortfall that passes; alpha = 1 - limit
  double repeat_cv = 0;    // median over nodes: variation of the values of one node
  std::size_t nodes = 0;   // whose results were used
  std::size_t within = 0;  // of these, with a shortfall up to the limit
};

// The nodes are two groups, or too many are worse. No reference follows.
struct Bimodal {
  double first_median = 0, second_median = 0;  // of the two medoids
  std::string first_medoid, second_medoid;     // places
  std::size_t first_nodes = 0, second_nodes = 0;
  // "The results are two groups: 52 nodes near 0.96 (medoid n7) ..."
  [[nodiscard]] std::string sentence() const;
};

using ReferenceAnswer = std::variant<Reference, Bimodal>;

// 1. r = medoid; repeat at most 20 times: keep the 60 % of the nodes nearest to r (two-sided), r = these
//    pooled, each node with equal weight; end when the nodes remain.
// 2. limit = the default; with learned_nodes: max(least_limit, 3 * repeat_cv / sqrt(values of a node),
//    1.2 * q) where q is the 99.5 % quantile of the shortfall of a healthy node against the others. q follows
//    from the nodes on the better side of r, where no degraded node is, as the mirror image; 1.2 goes from 5
//    to 1 in 1000 of a normal spread.
// 3. K = nodes with a shortfall up to the limit. Bimodal if K is smaller than least_share; if the nodes on
// the
//    better side are fewer than half of least_better: then r is the better of two groups; or if two groups,
//    each larger than 1 - least_share, are apart by more than 5 times their spread.
// `malformed`: fewer than least_nodes nodes, or two of the same place. The order of the nodes has no
// influence.
[[nodiscard]] Result<ReferenceAnswer> fit_reference(std::span<const NodeResults> nodes, Worse worse,
                                                    const ReferenceRule& rule = {});

}  // namespace autopilot::learning
