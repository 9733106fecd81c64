// SPDX-License-Identifier: Apache-2.0
// The webhooks of the controller without the rest of it: webhook_server CERTIFICATE KEY. Prints its port, and
// answers until its input ends.
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "controller/webhook/webhook_service.hpp"
#include "host/clock/system_clock.hpp"
#include "net/event_loop.hpp"
#include "net/http_server.hpp"
#include "net/tls.hpp"

namespace {

using namespace autopilot;

std::string text_of(const char* path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

controller::WebhookContext context_with(const Clock& clock, controller::ReviewCounts& counts) {
  controller::WebhookSettings settings;
  settings.image = "registry.example.com/autopilot@sha256:" + std::string(64, '6');
  settings.agent_url = "https://10.96.0.12:3334";
  settings.authority = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n";
  return {
      [known = std::make_shared<const controller::WebhookSettings>(std::move(settings))] { return known; },
      [] { return std::make_shared<const controller::ObservationSettings>(); }, clock, counts, counts};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 64;
  const host::SystemClock clock;
  controller::ReviewCounts counts;
  net::EventLoop loop;
  net::HttpServer server(loop, {});
  controller::add_webhook_routes(server, context_with(clock, counts));
  const auto tls = net::TlsContext::make(net::TlsServerIdentity{text_of(argv[1]), text_of(argv[2]), ""});
  const auto port = tls ? server.listen_tls("127.0.0.1:0", *tls) : fail(tls.error());
  if (!port) {
    std::cerr << port.error().what << "\n";
    return 1;
  }
  std::cout << *port << std::endl;
  std::thread input([&loop] {
    while (std::cin.get() != std::istream::traits_type::eof()) {
    }
    loop.post([&loop] { loop.stop(); });
  });
  loop.run();
  input.join();
  return 0;
}
