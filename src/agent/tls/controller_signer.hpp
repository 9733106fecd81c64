// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "agent/tls/signer.hpp"
#include "kube/access.hpp"
#include "net/event_loop.hpp"
#include "net/http_session.hpp"
#include "net/server_url.hpp"
#include "runtime/lanes.hpp"

namespace autopilot::agent {

// Where the controller is, and what its question needs; all files are read again for each.
struct ControllerDoor {
  net::ServerUrl url;
  std::string authorities_file;  // PEM: by whom the controller's certificate is signed
  std::string token_file;        // by which the controller knows the node
};

// The controller of the cluster. It signs for the node that stands in the token, whatever the request says.
class ControllerSigner : public Signer {
 public:
  struct Pace {
    Duration look = std::chrono::milliseconds{50};  // for files that are being read
    Duration patience = std::chrono::seconds{15};   // with them
    Duration deadline = std::chrono::seconds{15};   // of the controller's answer
  };

  ControllerSigner(net::EventLoop& loop, const Clock& clock, ControllerDoor door, kube::ReadFile read_file,
                   Pace pace);
  ControllerSigner(const ControllerSigner&) = delete;
  ControllerSigner& operator=(const ControllerSigner&) = delete;
  ~ControllerSigner() override;

  void sign(const std::string& request, OnAnswer on_answer) override;

 private:
  struct Files;  // what comes back from the lane

  void look(MonoTime until);
  void send(const std::string& authorities, const std::string& token);
  void take(const Result<net::HttpResponse>& answer);
  void end(const Result<SignedKey>& key, std::optional<Duration> retry_after = {});

  net::EventLoop& loop_;
  const Clock& clock_;
  const ControllerDoor door_;
  const kube::ReadFile read_file_;
  const Pace pace_;
  std::string request_;
  OnAnswer on_answer_;
  std::shared_ptr<Files> files_;
  runtime::Lanes lanes_;
  runtime::Lanes::Ticket reading_ = 0;
  net::Subscription next_;
  std::unique_ptr<net::HttpSession> session_;
  net::Exchange exchange_;
};

}  // namespace autopilot::agent
