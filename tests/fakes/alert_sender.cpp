// SPDX-License-Identifier: Apache-2.0
// The alerts of a controller without the rest of it: alert_sender CONFIGURATION. Reads lines "raised|changed|
// resolved FINDING info|ticket|page NODE GPU" and sends each as an alert about a hanging job, until its input
// ends. The line "figures", and the end, print what each receiver got, up to an empty line.
#include <chrono>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "alerts/sender.hpp"
#include "config/controller_config.hpp"
#include "host/clock/system_clock.hpp"
#include "net/event_loop.hpp"

namespace {

using namespace autopilot;

Result<std::string> text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return fail(Errc::not_found, path + ": cannot be read");
  return std::string{std::istreambuf_iterator<char>(file), {}};
}

jobs::Severity severity_of(const std::string& word) {
  if (word == "page") return jobs::Severity::page;
  return word == "ticket" ? jobs::Severity::ticket : jobs::Severity::info;
}

jobs::AlertKind kind_of(const std::string& word) {
  if (word == "resolved") return jobs::AlertKind::resolved;
  return word == "changed" ? jobs::AlertKind::changed : jobs::AlertKind::raised;
}

void send_line(alerts::Sender& sender, const Clock& clock, const std::string& line) {
  std::istringstream words(line);
  std::string kind, id, severity, node;
  int gpu = -1;
  words >> kind >> id >> severity >> node >> gpu;
  const WallTime now = clock.now().wall;
  jobs::JobFinding finding;
  finding.id = id;
  finding.job = "ml/llama";
  finding.effect = jobs::Effect::hang;
  finding.culprit = {.kind = jobs::EntityKind::gpu, .node = node, .gpu = gpu};
  finding.severity = severity_of(severity);
  finding.onset = now - std::chrono::minutes{1};
  jobs::JobReport report;
  report.state.job = finding.job;
  report.owner = "Job ml/llama";
  report.findings.push_back(finding);
  const jobs::Alert alert = jobs::make_alert(finding, report.state, kind_of(kind), now);
  sender.send(std::vector{alert}, std::vector{report});
}

void print_figures(const alerts::Sender& sender) {
  for (const alerts::ReceiverFigures& figures : sender.figures())
    std::cout << figures.name << " delivered " << figures.delivered << " failed " << figures.failed
              << " dropped " << figures.dropped << " waiting " << figures.waiting << "\n";
  std::cout << std::endl;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 64;
  const auto text = text_of(argv[1]);
  const auto config = text ? config::parse_controller(*text, argv[1], {}) : fail(text.error());
  if (!config) {
    std::cerr << config.error().what << "\n";
    return 1;
  }
  const host::SystemClock clock;
  net::EventLoop loop;
  alerts::Sender sender(
      {loop, clock, &text_of, [](const std::function<void()>& task) { task(); }, [] { return 0.0; }},
      config->alerts);
  std::thread input([&] {
    for (std::string line; std::getline(std::cin, line);)
      loop.post([&, line] { line == "figures" ? print_figures(sender) : send_line(sender, clock, line); });
    loop.post([&loop] { loop.stop(); });
  });
  loop.run();
  input.join();
  print_figures(sender);
  return 0;
}
