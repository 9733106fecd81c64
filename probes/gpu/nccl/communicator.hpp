// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "probes/gpu/driver/session.hpp"
#include "probes/gpu/nccl/nccl_library.hpp"

namespace autopilot::probes::gpu {

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
