// SPDX-License-Identifier: Apache-2.0
#include "probes/gpu/sensors/sampler.hpp"

namespace autopilot::probes::gpu {
namespace {

constexpr std::chrono::milliseconds kLongestCall{150};

}  // namespace

Sampler::Sampler(const Sensors& sensors, const std::vector<std::string>& pci_addresses, Take take)
    : thread_([shared = shared_, &sensors, pci_addresses, take = std::move(take)] {
        run(shared, sensors, pci_addresses, take);
      }) {}

Sampler::~Sampler() {
  static_cast<void>(stop());
}

bool Sampler::stop() {
  {
    std::unique_lock lock(shared_->mutex);
    if (!thread_.joinable()) return shared_->ended;
    shared_->stop = true;
    shared_->changed.notify_all();
    shared_->changed.wait_for(lock, kLongestCall, [&] { return shared_->ended; });
    if (!shared_->ended) {
      thread_.detach();
      return false;
    }
  }
  thread_.join();
  return true;
}

void Sampler::run(const std::shared_ptr<Shared>& shared, const Sensors& sensors,
                  const std::vector<std::string>& pci_addresses, const Take& take) {
  std::unique_lock lock(shared->mutex);
  while (!shared->stop) {
    lock.unlock();
    for (std::size_t i = 0; i < pci_addresses.size(); ++i)
      if (const auto device = sensors.find(pci_addresses[i])) take(i, sensors.read(*device));
    lock.lock();
    shared->changed.wait_for(lock, kPeriod, [&] { return shared->stop; });
  }
  shared->ended = true;
  shared->changed.notify_all();
}

}  // namespace autopilot::probes::gpu
