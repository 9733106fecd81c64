// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kube/client.hpp"
#include "net/event_loop.hpp"
#include "net/http_server.hpp"

namespace autopilot::fakes {

// An API server that keeps objects, and changes an object only if the request has its current version. On the
// loop of the test.
class FakeCluster {
 public:
  explicit FakeCluster(net::EventLoop& loop);

  // Objects of that kind are got, created and patched.
  void serve(const std::string& list);
  [[nodiscard]] std::unique_ptr<kube::Client> client() const;
  // As another client would: JSON with a new version.
  void put(const std::string& path, const std::string& json);
  // What a JSON pointer names, where that is a text; empty: nothing.
  [[nodiscard]] std::string text_at(const std::string& path, const std::string& pointer) const;

  std::map<std::string, std::string> objects;  // JSON by path
  std::map<std::string, int> refusals;         // status by method, of every request with it
  bool is_silent = false;
  std::vector<std::string> writes;  // "PATCH /api/v1/..."

 private:
  using Act = void (FakeCluster::*)(const net::HttpRequest& request, net::Responder responder);

  [[nodiscard]] net::Handler act(Act how);
  void get(const net::HttpRequest& request, net::Responder responder);
  void create(const net::HttpRequest& request, net::Responder responder);
  void patch(const net::HttpRequest& request, net::Responder responder);
  void keep(const std::string& method, const std::string& path, const std::string& json,
            net::Responder responder);

  net::EventLoop& loop_;
  std::vector<net::Responder> kept_;
  int version_ = 0;
  std::uint16_t port_ = 0;
  net::HttpServer server_;
};

}  // namespace autopilot::fakes
