// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "core/snapshot.hpp"
#include "kube/attribution/gpu_pods.hpp"
#include "kube/client.hpp"
#include "kube/watch.hpp"
#include "net/event_loop.hpp"

namespace autopilot::kube {

// Gets the pods of the node as they are seen, from Attribution. All functions are set, or none is.
struct PodListener {
  std::function<void()> begin_list;  // what follows, up to end_list, is all there is
  std::function<void(const kube::Pod& pod)> put;
  std::function<void()> end_list;
  std::function<void(const kube::Pod& pod)> remove;
};

// Which pods an incident of a GPU may concern, where the kubelet does not answer: asks the API server for the
// pods of the own node. Lists the pods once, again at most once a minute, and watches their changes. On the
// loop's thread.
class Attribution {
 public:
  // Interval at which unchanged holders are reported again: the interval of the GPU checks.
  static constexpr Duration kEvery = std::chrono::seconds{61};

  // random: in [0, 1), for the jitter of pauses. report: gets GpuPods::holders.
  Attribution(net::EventLoop& loop, kube::Client& client, const Clock& clock, const std::string& node,
              std::function<double()> random, std::function<void(const Observations& holders)> report,
              PodListener pods = {});
  Attribution(const Attribution&) = delete;
  Attribution& operator=(const Attribution&) = delete;
  ~Attribution() = default;

  void start();
  // Reports nothing before gpu.processes has run, nor while the kubelet is one of its data sources: the
  // kubelet knows the pod of each GPU.
  void note(const NodeSnapshot& snapshot);
  // A pod of the node that has GPUs; empty: none does. unavailable: the pods cannot be seen, or were not yet.
  [[nodiscard]] Result<std::string> holder() const;
  // Why the pods cannot be seen; empty: they can, as far as is known.
  [[nodiscard]] const std::string& problem() const { return problem_; }

 private:
  void list(const kube::Pod& pod);
  void put(const kube::Pod& pod);
  void remove(const kube::Pod& pod);
  void tell();
  void say(const std::string& problem);

  net::EventLoop& loop_;
  const Clock& clock_;
  const std::function<void(const Observations& holders)> report_;
  const PodListener listener_;
  GpuPods pods_;
  bool is_listing_ = true;  // what is known is not all there is
  bool is_wanted_ = false;
  std::string problem_;  // what is known may be old
  net::Subscription again_;
  kube::Watch watch_;  // last: it calls
};

}  // namespace autopilot::kube
