// SPDX-License-Identifier: Apache-2.0
#include "probes/gpu/driver/library.hpp"

#include "probes/gpu/driver/shared_library.hpp"

namespace autopilot::probes::gpu {
namespace {

constexpr const char* kSimulatedSymbol = "cuAutopilotSimulated";

}  // namespace

Result<Library> Library::open(const std::string& path) {
  auto file = TRY(SharedLibrary::open(path, "CUDA driver"));
  Library library;
#define AUTOPILOT_CUDA_LOAD(member, name, arguments) file.load(#name, library.calls_.member.address);
  AUTOPILOT_CUDA_FUNCTIONS(AUTOPILOT_CUDA_LOAD)
#undef AUTOPILOT_CUDA_LOAD
  TRY_STATUS(file.complete("is no CUDA driver, or older than 450"));
  library.is_simulated_ = file.find(kSimulatedSymbol) != nullptr;
  return library;
}

std::string Library::text_of(cuda::Return code) const {
  const char* name = nullptr;
  const bool known = calls_.error_name.address(code, &name) == cuda::kSuccess && name != nullptr;
  return (known ? std::string(name) : "CUresult") + " (" + std::to_string(code) + ")";
}

}  // namespace autopilot::probes::gpu
