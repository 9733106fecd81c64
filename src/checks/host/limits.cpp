// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <chrono>
#include <iterator>
#include <optional>
#include <string>

#include "checks/builtin.hpp"
#include "checks/judgement.hpp"
#include "checks/kernel_log/record_effects.hpp"
#include "checks/kernel_log/rule_events.hpp"
#include "core/parse.hpp"
#include "host/host.hpp"

namespace autopilot::checks {
namespace host_limits {
namespace {

constexpr std::string_view kId = "host.limits";
constexpr std::string_view kFiles = "/proc/sys/fs/file-nr";
constexpr std::string_view kConntrack = "/proc/sys/net/netfilter";
constexpr std::string_view kTasks = "/proc/loadavg";
constexpr std::string_view kSysctl = "/proc/sys/kernel";

// A resource that the kernel limits for the whole machine.
struct Resource {
  std::string_view name;
  std::string_view source;
  std::string_view reason;
  std::string_view words;  // for messages
};
constexpr std::array kResources = {
    Resource{"files", kFiles, "files_near_limit", "open files"},
    Resource{"tasks", kTasks, "tasks_near_limit", "processes and threads"},
    Resource{"conntrack", kConntrack, "conntrack_near_limit", "tracked connections"}};

struct Use {
  std::int64_t used = 0;
  std::int64_t most = 0;
};

Result<Use> use_of_files(const host::Files& files) {
  const std::string text = TRY(files.read(kFiles));
  const auto words = split_words(text);
  const auto used = words.size() == 3 ? parse_number<std::int64_t>(words[0]) : std::nullopt;
  const auto most = words.size() == 3 ? parse_number<std::int64_t>(words[2]) : std::nullopt;
  if (!used || !most) return fail(Errc::malformed, std::string(kFiles) + ": not three numbers");
  return Use{*used, *most};
}

// Each thread needs a pid. Threads and pids have separate limits.
Result<Use> use_of_tasks(const host::Files& files) {
  const std::string text = TRY(files.read(kTasks));
  const auto words = split_words(text);
  const auto used = words.size() == 5 && words[3].find('/') != std::string_view::npos
                        ? parse_number<std::int64_t>(words[3].substr(words[3].find('/') + 1))
                        : std::nullopt;
  if (!used) return fail(Errc::malformed, std::string(kTasks) + ": no number of tasks");
  const auto threads = TRY(files.read_integer(std::string(kSysctl) + "/threads-max"));
  const auto numbers = TRY(files.read_integer(std::string(kSysctl) + "/pid_max"));
  return Use{*used, std::min(threads, numbers)};
}

Result<Use> use_of_conntrack(const host::Files& files) {
  const auto used = TRY(files.read_integer(std::string(kConntrack) + "/nf_conntrack_count"));
  const auto most = TRY(files.read_integer(std::string(kConntrack) + "/nf_conntrack_max"));
  return Use{used, most};
}

Result<Use> use_of(const host::Files& files, const Resource& resource) {
  if (resource.source == kFiles) return use_of_files(files);
  return resource.source == kTasks ? use_of_tasks(files) : use_of_conntrack(files);
}

Result<Observed> observe(const host::Host& host, const Request& request) {
  Observed observed;
  // The log shows that a limit was reached; the usage is known without it.
  const Status log = add_rule_events(host, request, kId, observed);
  ObservationBuilder seen(request.now);
  std::optional<Error> problem;
  bool any_answered = false;
  for (const Resource& resource : kResources) {
    const std::string name(resource.name);
    const auto use = use_of(host.files, resource);
    if (!use) {
      // Without the module connections are neither counted nor limited.
      const bool is_absent = use.error().code == Errc::not_found && resource.source == kConntrack;
      seen.add_missing(host_subject(), name + ".used", resource.source,
                       is_absent ? "not_supported" : to_string(use.error().code), use.error().what);
      if (!problem && !is_absent) problem = use.error();
      continue;
    }
    any_answered = true;
    seen.add(host_subject(), name + ".used", resource.source, use->used, "count");
    seen.add(host_subject(), name + ".most", resource.source, use->most, "count");
    observed.witnesses.emplace_back(resource.source);
  }
  if (!any_answered && !log)
    return fail(problem.value_or(Error{Errc::unavailable, "/proc: no limit could be read"}));
  std::ranges::move(seen.take(), std::back_inserter(observed.observations));
  return observed;
}

Findings judge(const JudgeInput& input) {
  Findings findings = rule_findings(input);
  for (const Resource& resource : kResources) {
    const std::string name(resource.name);
    const auto used = input.history.number(host_subject(), name + ".used");
    const auto most = input.history.number(host_subject(), name + ".most");
    // A limit of zero means unlimited.
    if (!used || !most || *most <= 0) continue;
    const Limit highest = limit(input, std::string(kId) + "." + name + "_share");
    const double share = *used / *most;
    if (share <= highest.value) continue;
    findings.push_back(make_finding(input, host_subject(), resource.reason, Health::degraded,
                                    rounded(*used) + " " + std::string(resource.words) + " are in use, " +
                                        percent(share) + " of the kernel's limit of " + rounded(*most),
                                    share, highest));
  }
  add_unread(input, findings);
  return findings;
}

}  // namespace
}  // namespace host_limits

const Check kHostLimits = {
    .info = {.id = std::string(host_limits::kId),
             .title = "Kernel limits",
             .tags = {"host", "kernel_log", "passive"},
             .period = std::chrono::seconds{60},
             .deadline = std::chrono::seconds{5},
             .window = std::chrono::hours{2},
             .cost = Cost::cheap,
             .witnesses = {std::string(host_limits::kFiles), std::string(host_limits::kTasks),
                           std::string(host_limits::kConntrack), "/dev/kmsg"},
             .rights = {"CAP_SYSLOG"},
             .needs_window = false},
    .observe = host_limits::observe,
    .judge = host_limits::judge,
    .interpret = interpret_records,
};

}  // namespace autopilot::checks
