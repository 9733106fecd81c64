// SPDX-License-Identifier: Apache-2.0
#include "probes/gpu/nccl/communicator.hpp"

#include <chrono>
#include <thread>

namespace autopilot::probes::gpu {
namespace {

// Short compared with a batch, which is measured.
constexpr std::chrono::microseconds kLook{50};

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
    std::this_thread::sleep_for(kLook);
  }
  is_sound_ = true;
  return {};
}

}  // namespace autopilot::probes::gpu
