// SPDX-License-Identifier: Apache-2.0
#include "probes/gpu/nccl/nccl_library.hpp"

#include "probes/gpu/driver/shared_library.hpp"

namespace autopilot::probes::gpu {
namespace {

constexpr const char* kSimulatedSymbol = "ncclAutopilotSimulated";
constexpr int kFirstOfNewVersions = 10000;

}  // namespace

std::string nccl_version_text(int version) {
  const int major = version < kFirstOfNewVersions ? 1000 : 10000;
  return std::to_string(version / major) + "." + std::to_string(version % major / 100) + "." +
         std::to_string(version % 100);
}

std::string nccl_name(Vendor vendor) {
  return vendor == Vendor::amd ? "RCCL" : "NCCL";
}

std::string nccl_library(Vendor vendor) {
  return vendor == Vendor::amd ? "librccl.so.1" : "libnccl.so.2";
}

Result<NcclLibrary> NcclLibrary::open(const std::string& path, Watch& watch, Vendor vendor) {
  NcclLibrary library(watch, vendor);
  const InCall in_call(watch, "dlopen");
  auto file = TRY(SharedLibrary::open(path, nccl_name(vendor)));
#define AUTOPILOT_NCCL_LOAD(result, member, name, arguments) file.load(#name, library.calls_.member.address);
  AUTOPILOT_NCCL_FUNCTIONS(AUTOPILOT_NCCL_LOAD)
#undef AUTOPILOT_NCCL_LOAD
  TRY_STATUS(file.complete("is not " + nccl_name(vendor) + ", or is older than 2.4"));
#define AUTOPILOT_NCCL_LOAD(result, member, name, arguments) file.load(#name, library.calls_.member.address);
  AUTOPILOT_NCCL_OPTIONAL_FUNCTIONS(AUTOPILOT_NCCL_LOAD)
#undef AUTOPILOT_NCCL_LOAD
  library.is_simulated_ = file.find(kSimulatedSymbol) != nullptr;
  return library;
}

Result<std::string> NcclLibrary::version() {
  int version = 0;
  TRY_STATUS(run(calls_.version, &version));
  return nccl_version_text(version);
}

Status NcclLibrary::status_of(const char* call, nccl::Return code) {
  if (code == nccl::kSuccess) return {};
  const char* words = calls_.error_text.address(code);
  std::string text = std::string(words == nullptr ? "error" : words) + " (" + std::to_string(code) + ")";
  const char* last = calls_.last_error.address == nullptr ? nullptr : calls_.last_error.address(nullptr);
  if (last != nullptr && *last != '\0') text += std::string(": ") + last;
  if (!error_) error_ = NcclError{.code = code, .call = call, .text = text};
  return fail(Errc::unavailable, std::string(call) + ": " + text);
}

}  // namespace autopilot::probes::gpu
