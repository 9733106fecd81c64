// SPDX-License-Identifier: Apache-2.0
// The verb status: once, live, for a shell prompt, or as a probe.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <unistd.h>
#include <utility>

#include "cli/agent_client.hpp"
#include "cli/cli.hpp"
#include "cli/interrupt.hpp"
#include "cli/live_screen.hpp"
#include "cli/output/node_page.hpp"
#include "cli/output/print.hpp"
#include "cli/output/scroll.hpp"
#include "cli/settings.hpp"
#include "cli/verbs.hpp"
#include "core/parse.hpp"
#include "host/clock/system_clock.hpp"

namespace autopilot::cli {
namespace {

constexpr Duration kWatchInterval = std::chrono::seconds{1};
constexpr Duration kWatchPatience = std::chrono::seconds{3};
// A shell waits for it before each prompt; the rest of 300 ms is for the start of the program.
constexpr Duration kShortPatience = std::chrono::milliseconds{200};

struct StatusOptions {
  std::string socket;
  std::string probe;
  bool watch = false;
  bool all = false;
  bool is_short = false;
  OutputFormat format = OutputFormat::table;
};

// Independent of the machine's health: an unhealthy machine must not get its agent restarted.
int probe(const AgentClient& agent, const std::string& what) {
  if (what == "live" ? agent.answers() : agent.is_ready()) return kExitHealthy;
  std::cerr << "autopilot: " << to_string(agent.target())
            << (agent.answers() ? " is not ready" : " does not answer") << "\n";
  return kExitUnknown;
}

// Ages grow while an agent of this machine publishes nothing. The time of a machine tree or a simulated
// machine differs from that of this machine.
WallTime age_base(const NodeSnapshot& node) {
  const WallTime here = host::SystemClock{}.now().wall;
  const bool is_same_clock = here > node.time && here - node.time < std::chrono::hours{24};
  return is_same_clock ? here : node.time;
}

NodeDetail detail_of(const StatusOptions& options) {
  return options.all ? NodeDetail::all : NodeDetail::page;
}

int show_once(const AgentClient& agent, const StatusOptions& options) {
  const auto node = agent.node();
  if (!node) return report(node.error());
  print_node(*node, options.format, detail_of(options), age_base(*node));
  return exit_code_of(*node, false);
}

// The page without what changes all the time: ages and temperatures.
std::string lasting_text(NodePage page) {
  for (PageGpu& gpu : page.gpus)
    gpu.celsius.reset();
  return render_page(page, {});
}

// Without a terminal: a page at the start and at each change, until interrupted.
int watch_pages(const AgentClient& agent, const StatusOptions& options) {
  const Interrupt interrupt;
  std::optional<std::string> before;
  int exit_code = kExitHealthy;
  while (!interrupt.requested() && std::cout.good()) {
    const auto node = agent.node(kWatchPatience);
    exit_code = node ? exit_code_of(*node, false) : kExitInternal;
    const std::string now = node ? lasting_text(page_of(*node)) : node.error().what;
    if (now != before) {
      if (before) std::cout << "\n";
      if (node)
        print_node(*node, options.format, detail_of(options), age_base(*node));
      else
        tell(node.error().what);
      std::cout << std::flush;
      before = now;
    }
    interrupt.wait(kWatchInterval);
  }
  return exit_code;
}

// The table of all checks without its first line, which repeats the header of the page.
std::vector<std::string> all_lines(const NodeSnapshot& node, const TableStyle& style) {
  std::vector<std::string> lines;
  const std::string table = render_node(node, style);
  for (const std::string_view line : split(table, '\n'))
    lines.emplace_back(line);
  lines.erase(lines.begin());
  if (!lines.empty() && lines.back().empty()) lines.pop_back();
  return lines;
}

// The live view of a terminal.
class Watch {
 public:
  Watch(const AgentClient& agent, bool all) : agent_(agent), is_all_(all) {}

  int run() {
    MonoTime next{};
    while (!interrupt_.requested() && !is_over_) {
      const MonoTime now = host::SystemClock{}.now().mono;
      if (now >= next) {
        read();
        next = host::SystemClock{}.now().mono + kWatchInterval;
      }
      const TerminalSize size = terminal_size().value_or(TerminalSize{24, 80});
      screen_.show(scroll_.frame(page(size), size.rows));
      interrupt_.wait_for_input(next - std::min(next, host::SystemClock{}.now().mono), screen_.keyboard());
      for (const Key key : keys_in(screen_.typed()))
        press(key, size);
    }
    return *node_ ? exit_code_of(**node_, false) : kExitInternal;
  }

 private:
  void read() {
    node_.emplace(agent_.node(kWatchPatience));
    if (!*node_) return;
    last_ = **node_;
    answered_ = host::SystemClock{}.now();
  }

  void press(Key key, const TerminalSize& size) {
    is_over_ = is_over_ || key == Key::quit;
    if (key == Key::all) {
      is_all_ = !is_all_;
      scroll_.to_top();
    }
    scroll_.move(key, page(size), size.rows);
  }

  [[nodiscard]] ScreenPage page(const TerminalSize& size) const {
    const Result<NodeSnapshot>& node = *node_;
    ScreenPage shown;
    shown.hint = is_all_ ? "q quits, a shows problems" : "q quits, a shows all checks";
    if (!node && !last_) {
      shown.header = wrapped(printable("autopilot: " + node.error().what), size.columns);
      return shown;
    }
    PageView view = page_view(age_base(*last_));
    view.height.reset();
    view.more = "press a";
    const bool has_color = view.color;
    view.color = has_color && node.has_value();
    const NodePage content = page_of(*last_);
    shown.header = page_header(content, view);
    shown.body = is_all_ ? all_lines(*last_, {.color = view.color, .width = terminal_style().width})
                         : page_body(content, view);
    if (!node)
      mark_outdated(shown,
                    wrapped(printable(no_answer_text(answered_, host::SystemClock{}.now())), view.width),
                    has_color);
    return shown;
  }

  const AgentClient& agent_;
  Interrupt interrupt_;
  LiveScreen screen_;
  Scroll scroll_;
  std::optional<Result<NodeSnapshot>> node_;
  std::optional<NodeSnapshot> last_;  // the last answer, while the agent does not answer
  Instant answered_;                  // when it came
  bool is_all_;
  bool is_over_ = false;
};

// One line, soon, whatever the agent does.
int show_short(const std::string& socket) {
  const auto targets = agent_candidates(socket);
  if (!targets) return report(targets.error());
  const host::SystemClock clock;
  const MonoTime deadline = clock.now().mono + kShortPatience;
  std::string why = "no agent";
  for (const net::HttpTarget& target : *targets) {
    const MonoTime now = clock.now().mono;
    if (now >= deadline) break;
    const auto node = AgentClient(target).node(deadline - now);
    if (node) {
      std::cout << short_status(page_of(*node)) << "\n";
      return exit_code_of(*node, false);
    }
    if (node.error().code == Errc::timed_out) why = "no answer";
    if (node.error().code == Errc::denied) why = "no permission";
  }
  std::cout << "unknown: " << why << "\n";
  return kExitInternal;
}

int status(const StatusOptions& options) {
  if (options.is_short) return show_short(options.socket);
  const auto target = agent_target(options.socket);
  if (!target) return report(target.error());
  const AgentClient agent(*target);
  if (!options.probe.empty()) return probe(agent, options.probe);
  if (!options.watch) return show_once(agent, options);
  const bool is_live = stdout_is_terminal() && options.format == OutputFormat::table;
  return is_live ? Watch(agent, options.all).run() : watch_pages(agent, options);
}

}  // namespace

void add_status(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<StatusOptions>();
  auto* verb = app.add_subcommand("status", "Show the health of this machine, as reported by its agent");
  auto* watch = verb->add_flag("-w,--watch", options->watch,
                               "Stay, and show changes: in a terminal, a page that scrolls;\n"
                               "else, a new page at each change");
  verb->add_flag("-a,--all", options->all, "Print all checks as a table, also those without a problem");
  auto* is_short = verb->add_flag("-s,--short", options->is_short,
                                  "Print one short line, for a shell prompt, within 300 ms");
  verb->add_option("--probe", options->probe,
                   "Exit with 0 if the agent answers (live), or every check has run once (ready); else 3")
      ->type_name("WHAT")
      ->check(CLI::IsMember({"live", "ready"}))
      ->excludes(is_short);
  is_short->excludes(watch);
  add_format_option(*verb, options->format);
  add_socket_option(*verb, options->socket);
  verb->footer(
      "Examples:\n  autopilot status\n  autopilot status --all\n  autopilot status --watch\n"
      "  autopilot status -o json | jq .verdict\n"
      "  PS1='[$(autopilot status --short)] \\w \\$ '");
  verb->callback([options, &exit_code] { exit_code = status(*options); });
}

}  // namespace autopilot::cli
