// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/result.hpp"
#include "probes/gpu/driver/driver.hpp"
#include "probes/gpu/driver/session.hpp"
#include "probes/gpu/nccl/nccl_abi.h"

namespace autopilot::probes::gpu {

namespace nccl {

// One function of the library: its name there, and its address.
template <class Signature>
struct Call {
  const char* name;
  Signature* address = nullptr;
};

// All functions.
struct Calls {
#define AUTOPILOT_NCCL_MEMBER(result, member, name, arguments) \
  std::type_identity<Call<result arguments>>::type member{#name};
  AUTOPILOT_NCCL_FUNCTIONS(AUTOPILOT_NCCL_MEMBER)
  AUTOPILOT_NCCL_OPTIONAL_FUNCTIONS(AUTOPILOT_NCCL_MEMBER)  // null if the library lacks it
#undef AUTOPILOT_NCCL_MEMBER
};

}  // namespace nccl

// "NCCL", or "RCCL" for AMD GPUs.
[[nodiscard]] std::string nccl_name(Vendor vendor);
// The library's name for the loader.
[[nodiscard]] std::string nccl_library(Vendor vendor);

// The error of a failed NCCL call.
struct NcclError {
  nccl::Return code = nccl::kSuccess;
  std::string call;
  std::string text;  // text of the code, and NCCL's last message if available
};

// NCCL's library, or RCCL's, opened at run time and never closed, because it has threads of its own. Called
// by one thread.
class NcclLibrary {
 public:
  // `path`: a file, or a name that the loader searches. The watch must outlive it. Errc::not_found: the
  // library is missing. Errc::unsupported: it is unusable; the text names what is missing.
  [[nodiscard]] static Result<NcclLibrary> open(const std::string& path, Watch& watch,
                                                Vendor vendor = Vendor::nvidia);

  [[nodiscard]] const nccl::Calls& calls() const { return calls_; }
  [[nodiscard]] Vendor vendor() const { return vendor_; }
  // True for the simulated library, which has a symbol that real ones lack.
  [[nodiscard]] bool is_simulated() const { return is_simulated_; }
  [[nodiscard]] Result<std::string> version();

  // The error names the function and has NCCL's message; error() keeps it.
  template <class... Parameters>
  [[nodiscard]] Status run(const nccl::Call<nccl::Return(Parameters...)>& call,
                           std::type_identity_t<Parameters>... arguments) {
    const InCall in_call(*watch_, call.name);
    return status_of(call.name, call.address(arguments...));
  }
  // The same for releases.
  template <class... Parameters>
  void give_back(const nccl::Call<nccl::Return(Parameters...)>& call,
                 std::type_identity_t<Parameters>... arguments) const {
    const InCall in_call(*watch_, call.name);
    call.address(arguments...);
  }
  // For a code that is not the return value of the function.
  [[nodiscard]] Status status_of(const char* call, nccl::Return code);

  // The first error.
  [[nodiscard]] const std::optional<NcclError>& error() const { return error_; }

 private:
  NcclLibrary(Watch& watch, Vendor vendor) : vendor_(vendor), watch_(&watch) {}
  Vendor vendor_;
  nccl::Calls calls_;
  bool is_simulated_ = false;
  Watch* watch_;
  std::optional<NcclError> error_;
};

// 256 hexadecimal digits, in lower case. A process with the id can join the communicator.
[[nodiscard]] std::string to_text(const nccl::UniqueId& id);
// Accepts upper case as well; nullopt if the text is not 256 digits.
[[nodiscard]] std::optional<nccl::UniqueId> parse_unique_id(std::string_view text);

// Input and output of one rank in an all-reduce, in its GPU's memory.
struct Transfer {
  cuda::DevicePointer send = 0;
  cuda::DevicePointer receive = 0;
};

// The ranks of this process, one for each GPU, in a communicator that can have more ranks elsewhere. Used by
// one thread. Destruction without an error takes part to the end; after an error, or a stop request of the
// watch, it also ends the communicator for the others.
class Communicator {
 public:
  // Joins with the ranks from `first` on, one for each of `gpus`, which are sessions in primary contexts.
  // They and the library must outlive it. Blocks until all `ranks` have joined.
  [[nodiscard]] static Result<std::unique_ptr<Communicator>> join(NcclLibrary& library,
                                                                  std::span<Session* const> gpus,
                                                                  const nccl::UniqueId& id, int ranks,
                                                                  int first);
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  ~Communicator();

  [[nodiscard]] int ranks() const { return ranks_; }
  // Of the library: "NCCL".
  [[nodiscard]] std::string name() const { return nccl_name(library_->vendor()); }

  // Another step than an NCCL call failed: the other ranks must not wait for this process.
  void give_up() { is_sound_ = false; }

  // Queues into the streams of the GPUs, one transfer for each.
  Status all_reduce(std::span<const Transfer> transfers, std::size_t count, nccl::DataType type,
                    nccl::Operation operation);
  // Waits for all streams. If another rank has left, they never end: the error then comes from NCCL itself.
  Status wait();

 private:
  Communicator(NcclLibrary& library, std::span<Session* const> gpus, int ranks)
      : library_(&library), gpus_(gpus.begin(), gpus.end()), ranks_(ranks) {}
  Status begin(const nccl::UniqueId& id, int first);
  Status check_streams(bool& idle);
  Status check_peers();

  NcclLibrary* library_;
  std::vector<Session*> gpus_;
  std::vector<nccl::Communicator> communicators_;  // one for each GPU
  int ranks_;
  bool is_sound_ = false;
};

}  // namespace autopilot::probes::gpu
