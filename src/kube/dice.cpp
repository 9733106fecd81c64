// SPDX-License-Identifier: Apache-2.0
#include "kube/dice.hpp"

#include <random>

namespace autopilot::kube {

std::function<double()> dice() {
  return [random = std::mt19937_64(std::random_device{}())]() mutable {
    return std::uniform_real_distribution<double>(0, 1)(random);
  };
}

}  // namespace autopilot::kube
