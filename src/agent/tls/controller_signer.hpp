// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "agent/tls/controller_call.hpp"
#include "agent/tls/signer.hpp"
#include "kube/access.hpp"
#include "net/event_loop.hpp"

namespace autopilot::agent {

// The controller of the cluster. It signs for the node that the token names, not for the node that the
// request names.
class ControllerSigner : public Signer {
 public:
  ControllerSigner(net::EventLoop& loop, const Clock& clock, ControllerDoor door, kube::ReadFile read_file,
                   ControllerCall::Pace pace);
  ControllerSigner(const ControllerSigner&) = delete;
  ControllerSigner& operator=(const ControllerSigner&) = delete;
  ~ControllerSigner() override;

  void sign(const std::string& request, OnAnswer on_answer) override;

 private:
  ControllerCall call_;
};

}  // namespace autopilot::agent
