// SPDX-License-Identifier: Apache-2.0
// The exported functions of the library. Each first applies the faults of the table. Work is done before the
// call returns, as if a stream never lagged.
#include "nccl/exchange.hpp"
#include "nccl/library.hpp"

// NOLINTNEXTLINE(google-build-using-namespace): the declarations below are written with these names
using namespace autopilot::probes::gpu;
using namespace autopilot::probes::gpu::nccl;
namespace sim = autopilot::simulator::nccl;

#define AUTOPILOT_NCCL_EXPORT extern "C" __attribute__((visibility("default")))

// The declarations that the probe uses: a definition that differs does not compile.
#define AUTOPILOT_NCCL_DECLARE(result, member, name, arguments) AUTOPILOT_NCCL_EXPORT result name arguments;
AUTOPILOT_NCCL_FUNCTIONS(AUTOPILOT_NCCL_DECLARE)
AUTOPILOT_NCCL_OPTIONAL_FUNCTIONS(AUTOPILOT_NCCL_DECLARE)
#undef AUTOPILOT_NCCL_DECLARE

#define AUTOPILOT_NCCL_ENTER()                                           \
  if (const Return fault = library().enter(__func__); fault != kSuccess) \
  return sim::Group::here().spoil(fault)

namespace {

sim::Library& library() {
  return sim::Library::instance();
}

Return refuse(const char* why) {
  return sim::Group::here().spoil(library().fail_with({kInvalidArgument, why}));
}

}  // namespace

// Real libraries lack this function: it shows a client that the library is simulated.
// NOLINTNEXTLINE(readability-identifier-naming): as all of the library are named
AUTOPILOT_NCCL_EXPORT int ncclAutopilotSimulated() {
  return 1;
}

Return ncclGetVersion(int* version) {
  AUTOPILOT_NCCL_ENTER();
  *version = library().table().version;
  return kSuccess;
}

const char* ncclGetErrorString(Return code) {
  switch (code) {
    case kSuccess:
      return "no error";
    case kUnhandledCudaError:
      return "an error of CUDA";
    case kSystemError:
      return "an error of the system";
    case kInternalError:
      return "an error of the library";
    case kInvalidArgument:
      return "an argument is wrong";
    case kInvalidUsage:
      return "the library is used wrongly";
    case kRemoteError:
      return "an error of another process or of the network";
    case kInProgress:
      return "in progress";
    default:
      return "an unknown code";
  }
}

const char* ncclGetLastError(Communicator) {
  return library().last_error();
}

Return ncclGetUniqueId(UniqueId* id) {
  AUTOPILOT_NCCL_ENTER();
  auto listening = sim::listen_at_own_address();
  if (!listening) return library().fail_with({kSystemError, listening.error().what});
  *id = sim::to_id(listening->second);
  sim::start_root(std::move(listening->first), listening->second);
  return kSuccess;
}

Return ncclCommInitRank(Communicator* communicator, int ranks, UniqueId id, int rank) {
  AUTOPILOT_NCCL_ENTER();
  if (communicator == nullptr || ranks < 1 || rank < 0 || rank >= ranks) return refuse("no such rank");
  *communicator = nullptr;
  return sim::Group::here().add(sim::Join{.to = communicator, .made = library().make(ranks, rank), .id = id});
}

Return ncclCommDestroy(Communicator communicator) {
  AUTOPILOT_NCCL_ENTER();
  return library().free(communicator);
}

Return ncclCommAbort(Communicator communicator) {
  AUTOPILOT_NCCL_ENTER();
  return library().free(communicator);
}

Return ncclCommGetAsyncError(Communicator communicator, Return* code) {
  AUTOPILOT_NCCL_ENTER();
  if (!library().is_known(communicator)) return refuse("no such communicator");
  *code = communicator->async_error;
  return kSuccess;
}

Return ncclAllReduce(const void* send, void* receive, std::size_t count, DataType type, Operation operation,
                     Communicator communicator, cuda::Stream) {
  AUTOPILOT_NCCL_ENTER();
  if (!library().is_known(communicator)) return refuse("no such communicator");
  if (sim::size_of(type) == 0) return refuse("the simulated library knows floats and words of 64 bits alone");
  return sim::Group::here().add(sim::Reduction{
      .member = communicator,
      .call = {.send = send, .receive = receive, .count = count, .type = type, .operation = operation}});
}

Return ncclGroupStart() {
  AUTOPILOT_NCCL_ENTER();
  sim::Group::here().begin();
  return kSuccess;
}

Return ncclGroupEnd() {
  // The group ends regardless of the faults of the table.
  const Return fault = library().enter(__func__);
  const Return code = sim::Group::here().end();
  return fault != kSuccess ? fault : code;
}
