// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string_view>

#include "learning/records.hpp"

// What is assumed about faults and diagnostics until labels and faults of the own node replace it.
namespace autopilot::learning {

// Faults of the first half of the StepFun trace whose class is known: 144 of 313.
struct ClassPrior {
  FaultClass kind = FaultClass::unknown;
  std::string_view word;
  double faults = 0;
};
inline constexpr std::array<ClassPrior, 3> kClassPriors{{{FaultClass::hardware, "hardware", 91},
                                                         {FaultClass::network, "network", 48},
                                                         {FaultClass::software, "software", 5}}};
// Weight of these shares, in faults of the node.
inline constexpr double kPriorFaultsOfClasses = 20;

// Assumptions: no recall of a single diagnostic is published.
struct DiagnosticPrior {
  std::string_view check;
  FaultClass kind = FaultClass::unknown;
  double recall = 0;
};
inline constexpr std::array<DiagnosticPrior, 11> kDiagnosticPriors{{
    {"gpu.compute", FaultClass::hardware, 0.2},
    {"gpu.dcgm", FaultClass::hardware, 0.5},
    {"gpu.diagnosis", FaultClass::hardware, 0.6},
    {"gpu.memory_bandwidth", FaultClass::hardware, 0.15},
    {"gpu.memory_test", FaultClass::hardware, 0.3},
    {"gpu.nccl_allreduce", FaultClass::hardware, 0.2},
    {"gpu.p2p", FaultClass::hardware, 0.15},
    {"gpu.pcie_bandwidth", FaultClass::hardware, 0.15},
    {"gpu.sdc", FaultClass::hardware, 0.2},
    {"network.ping", FaultClass::network, 0.2},
    {"self_test", FaultClass::hardware, 0.01},
}};

// Also assumptions. Of a fatal fault: half of an hour between checkpoints, detection and restart, for each
// GPU of the job. Of a degradation: this share of speed, for half of the run time.
inline constexpr double kHoursOfFatalFault = 1;
inline constexpr double kShareOfDegradation = 0.1;
inline constexpr double kPriorShareOfDegradations = 0.2;
inline constexpr double kFalsePositives = 0.0005;  // of each diagnostic

}  // namespace autopilot::learning
