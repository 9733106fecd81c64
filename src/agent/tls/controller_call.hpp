// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "kube/access.hpp"
#include "net/event_loop.hpp"
#include "net/http_session.hpp"
#include "net/url.hpp"
#include "runtime/workers.hpp"

namespace autopilot::agent {

// Where the controller is, and what its question needs; all files are read again for each.
struct ControllerDoor {
  net::ServerUrl url;
  std::string authorities_file;  // PEM: by whom the controller's certificate is signed
  std::string token_file;        // by which the controller knows the node
};

// One question to the controller of the cluster at a time. On the loop's thread.
class ControllerCall {
 public:
  // Any status is an answer. Errors name the file, or the controller.
  using OnAnswer = std::function<void(const Result<net::HttpResponse>& answer)>;
  struct Pace {
    Duration look = std::chrono::milliseconds{50};  // for files that are being read
    Duration patience = std::chrono::seconds{15};   // with them
    Duration deadline = std::chrono::seconds{15};   // of the controller's answer
  };

  ControllerCall(net::EventLoop& loop, const Clock& clock, ControllerDoor door, kube::ReadFile read_file,
                 Pace pace);
  ControllerCall(const ControllerCall&) = delete;
  ControllerCall& operator=(const ControllerCall&) = delete;
  ~ControllerCall();

  // Calls back once, not from within, and not any more when another one is posted before. The callback
  // may post the next one.
  void post(std::string path, std::string body, OnAnswer on_answer);

 private:
  struct Files;  // what comes back from the lane

  void look(MonoTime until);
  void send(const std::string& authorities, const std::string& token);
  void end(const Result<net::HttpResponse>& answer);

  net::EventLoop& loop_;
  const Clock& clock_;
  const ControllerDoor door_;
  const kube::ReadFile read_file_;
  const Pace pace_;
  std::string path_;
  std::string body_;
  OnAnswer on_answer_;
  std::shared_ptr<Files> files_;
  runtime::Workers lanes_;
  runtime::Workers::Ticket reading_ = 0;
  net::Subscription next_;
  std::unique_ptr<net::HttpSession> session_;
  net::Exchange exchange_;
};

}  // namespace autopilot::agent
