// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "probes/gpu/driver/session.hpp"
#include "probes/gpu/nccl/nccl_library.hpp"

namespace autopilot::probes::gpu {

// What one rank puts into an all-reduce and gets out of it, in its GPU's memory.
struct Transfer {
  cuda::DevicePointer send = 0;
  cuda::DevicePointer receive = 0;
};

// The ranks of this process in a communicator that may have more of them elsewhere: one for each GPU. Used by
// one thread. Who leaves while all is well takes part to the end; who leaves after an error, or because the
// watch says stop, takes the communicator from the others as well.
class Communicator {
 public:
  // Joins with the ranks from `first` on, one for each of `gpus`, which are sessions in primary contexts and
  // must outlive it, as the library must. Blocks until all `ranks` are there.
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

  // Something failed that is none of NCCL's calls: the others shall not wait for us.
  void give_up() { is_sound_ = false; }

  // Into the streams of the GPUs, one transfer for each of them.
  Status all_reduce(std::span<const Transfer> transfers, std::size_t count, nccl::DataType type,
                    nccl::Operation operation);
  // For all streams. Where another rank is gone they never end: the error comes from NCCL beside them.
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
