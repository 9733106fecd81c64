// SPDX-License-Identifier: Apache-2.0
#include "probes/gpu/nccl/communicator.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

#include "core/text.hpp"
#include "probes/gpu/driver/driver.hpp"

namespace autopilot::probes::gpu {
namespace {

constexpr const char* kSimulatedSymbol = "ncclAutopilotSimulated";
constexpr int kFirstOfNewVersions = 10000;

// "2.21.5" for 22105. Before 2.9, NCCL encoded 2.8.4 as 2804.
std::string nccl_version_text(int version) {
  const int major = version < kFirstOfNewVersions ? 1000 : 10000;
  return std::to_string(version / major) + "." + std::to_string(version % major / 100) + "." +
         std::to_string(version % 100);
}

}  // namespace

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

std::string to_text(const nccl::UniqueId& id) {
  return to_hex({id.bytes, sizeof id.bytes});
}

std::optional<nccl::UniqueId> parse_unique_id(std::string_view text) {
  nccl::UniqueId id{};
  if (text.size() != 2 * sizeof id.bytes) return std::nullopt;
  const auto bytes = from_hex(text);
  if (!bytes) return std::nullopt;
  std::copy(bytes->begin(), bytes->end(), id.bytes);
  return id;
}

namespace {

// Short compared with a batch, which is measured.
constexpr std::chrono::microseconds kStreamPollInterval{50};

const void* address_of(cuda::DevicePointer pointer) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): an address of the GPU
  return reinterpret_cast<const void*>(pointer);
}

void* writable_address_of(cuda::DevicePointer pointer) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): an address of the GPU
  return reinterpret_cast<void*>(pointer);
}

// The first failure of two.
Status both(Status first, Status second) {
  return first ? std::move(second) : std::move(first);
}

}  // namespace

Result<std::unique_ptr<Communicator>> Communicator::join(NcclLibrary& library, std::span<Session* const> gpus,
                                                         const nccl::UniqueId& id, int ranks, int first) {
  std::unique_ptr<Communicator> joined(new Communicator(library, gpus, ranks));
  if (Status outcome = joined->begin(id, first); !outcome) {
    // Which communicators NCCL has freed itself depends on its version; the others end with the process.
    joined->communicators_.clear();
    return fail(std::move(outcome).error());
  }
  joined->is_sound_ = true;
  return joined;
}

// A started group must be ended, also after an error.
Status Communicator::begin(const nccl::UniqueId& id, int first) {
  const nccl::Calls& calls = library_->calls();
  communicators_.assign(gpus_.size(), nullptr);
  TRY_STATUS(library_->run(calls.group_start));
  Status outcome;
  for (std::size_t i = 0; i < gpus_.size() && outcome; ++i) {
    outcome = gpus_[i]->make_current();
    if (outcome)
      outcome = library_->run(calls.join, &communicators_[i], ranks_, id, first + static_cast<int>(i));
  }
  return both(std::move(outcome), library_->run(calls.group_end));
}

Communicator::~Communicator() {
  const nccl::Calls& calls = library_->calls();
  const bool is_stopped = !gpus_.empty() && !gpus_.front()->driver().go_on();
  for (std::size_t i = 0; i < communicators_.size(); ++i) {
    if (communicators_[i] == nullptr) continue;
    static_cast<void>(gpus_[i]->make_current());
    library_->give_back(is_sound_ && !is_stopped ? calls.destroy : calls.abort, communicators_[i]);
  }
}

Status Communicator::all_reduce(std::span<const Transfer> transfers, std::size_t count, nccl::DataType type,
                                nccl::Operation operation) {
  const nccl::Calls& calls = library_->calls();
  is_sound_ = false;
  TRY_STATUS(library_->run(calls.group_start));
  Status outcome;
  for (std::size_t i = 0; i < gpus_.size() && outcome; ++i) {
    outcome = gpus_[i]->make_current();
    if (outcome)
      outcome = library_->run(calls.all_reduce, address_of(transfers[i].send),
                              writable_address_of(transfers[i].receive), count, type, operation,
                              communicators_[i], gpus_[i]->stream());
  }
  return both(std::move(outcome), library_->run(calls.group_end));
}

Status Communicator::check_streams(bool& idle) {
  idle = true;
  for (Session* gpu : gpus_) {
    TRY_STATUS(gpu->make_current());
    const bool is_idle = TRY(gpu->is_idle());
    idle = idle && is_idle;
  }
  return {};
}

Status Communicator::check_peers() {
  for (nccl::Communicator communicator : communicators_) {
    nccl::Return code = nccl::kSuccess;
    TRY_STATUS(library_->run(library_->calls().async_error, communicator, &code));
    if (code != nccl::kInProgress) TRY_STATUS(library_->status_of("ncclAllReduce", code));
  }
  return {};
}

Status Communicator::wait() {
  for (;;) {
    bool idle = false;
    TRY_STATUS(check_streams(idle));
    TRY_STATUS(check_peers());
    if (idle) break;
    TRY_STATUS(gpus_.front()->driver().go_on());
    std::this_thread::sleep_for(kStreamPollInterval);
  }
  is_sound_ = true;
  return {};
}

}  // namespace autopilot::probes::gpu
