// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace autopilot::nettest {

// What GPUs of several nodes summed up together was not right.
struct WrongSum {
  std::string problem;  // a sentence
  std::string node;     // whose GPU got it; empty: not known
};

}  // namespace autopilot::nettest
