// SPDX-License-Identifier: Apache-2.0
// autopilot_fuzz TARGET [what libFuzzer takes]. AUTOPILOT_FUZZ_TARGET names the target instead, without an
// argument: so the processes that libFuzzer starts (-jobs, -fork, -merge, -minimize_crash) know it.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "tests/fuzz/targets.hpp"

namespace autopilot {
namespace {

constexpr const char* kVariable = "AUTOPILOT_FUZZ_TARGET";
constexpr int kUsage = 64;

const FuzzTarget* chosen = nullptr;  // before the first input

const FuzzTarget* find_target(std::string_view name) {
  const auto found = std::ranges::find(kFuzzTargets, name, &FuzzTarget::name);
  return found == kFuzzTargets.end() ? nullptr : &*found;
}

[[noreturn]] void refuse() {
  std::fputs("usage: autopilot_fuzz TARGET [OPTION of libFuzzer|FOLDER|FILE]...\nTARGET is one of:\n",
             stderr);
  for (const FuzzTarget& target : kFuzzTargets)
    std::fprintf(stderr, "  %s\n", std::string(target.name).c_str());
  std::exit(kUsage);
}

}  // namespace
}  // namespace autopilot

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  using namespace autopilot;
  if (const char* name = std::getenv(kVariable)) {
    chosen = find_target(name);
  } else if (*argc > 1) {
    chosen = find_target((*argv)[1]);
    ::setenv(kVariable, (*argv)[1], 1);
    std::copy(*argv + 2, *argv + *argc + 1, *argv + 1);  // with the null behind them
    --*argc;
  }
  if (chosen == nullptr) refuse();
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return autopilot::chosen->run(data, size);
}
