// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace autopilot::learning {

// Regularised upper incomplete gamma function Q(shape, x): the probability that a gamma variable of this
// shape and rate 1 is greater than x. Absolute error below 1e-12 for shapes of 1e-3 to 1e4.
// NaN unless shape > 0 and x >= 0.
[[nodiscard]] double upper_gamma(double shape, double x);

}  // namespace autopilot::learning
