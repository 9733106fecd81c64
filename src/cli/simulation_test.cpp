// SPDX-License-Identifier: Apache-2.0
#include "cli/simulation.hpp"

#include <gtest/gtest.h>

namespace autopilot::cli {
namespace {

// A caller of /v1/inject names the fault; the program that applies it has options of its own.
TEST(SimulationOfACommand, a_fault_is_never_an_option) {
  const auto simulation = Simulation::create("no-gpu", Timeline::at_end);
  ASSERT_TRUE(simulation) << simulation.error().what;
  for (const char* word : {"--help", "-h", "--subject=host", "--"}) {
    api::InjectRequest request;
    request.fault = word;
    request.subject = host_subject();
    const auto injected = (*simulation)->inject(request);
    ASSERT_FALSE(injected) << word;
    EXPECT_NE(injected.error().what.find("unknown fault `" + request.fault + "`"), std::string::npos)
        << injected.error().what;
  }
}

TEST(SimulationOfACommand, a_machine_is_never_an_option) {
  const auto simulation = Simulation::create("--help", Timeline::at_end);
  ASSERT_FALSE(simulation);
  EXPECT_NE(simulation.error().what.find("--help"), std::string::npos) << simulation.error().what;
}

}  // namespace
}  // namespace autopilot::cli
