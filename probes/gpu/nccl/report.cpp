// SPDX-License-Identifier: Apache-2.0
#include "probes/gpu/nccl/report.hpp"

#include <algorithm>
#include <boost/json.hpp>
#include <cmath>

#include "core/parse.hpp"
#include "core/word_table.hpp"
#include "probes/gpu/run/report.hpp"

namespace autopilot::probes::gpu {
namespace {

constexpr std::size_t kLongestText = 300;

constexpr WordTable<Reason, 12> kWords{{
    {Reason::no_driver, "no_driver"},
    {Reason::no_library, "no_library"},
    {Reason::busy, "busy"},
    {Reason::no_memory, "no_memory"},
    {Reason::no_address, "no_address"},
    {Reason::not_joined, "not_joined"},
    {Reason::refused, "refused"},
    {Reason::peer_vanished, "peer_vanished"},
    {Reason::wrong_version, "wrong_version"},
    {Reason::wrong_result, "wrong_result"},
    {Reason::killed, "killed"},
    {Reason::internal, "internal"},
}};

bool contains(const std::string& text, std::string_view words) {
  return to_lower(text).find(words) != std::string::npos;
}

Reason reason_of(Stage stage, Errc code) {
  switch (stage) {
    case Stage::driver:
      return Reason::no_driver;
    case Stage::guard:
      return code == Errc::conflict ? Reason::busy : Reason::internal;
    case Stage::library:
      return Reason::no_library;
    case Stage::memory:
    case Stage::joining:
    case Stage::measuring:
      return code == Errc::exhausted ? Reason::no_memory : Reason::internal;
  }
  return Reason::internal;
}

// NCCL has few codes and many messages; only messages that are more specific than the code are used.
Reason reason_of(Stage stage, const NcclError& error) {
  if (contains(error.text, "mismatch") && contains(error.text, "version")) return Reason::wrong_version;
  if (contains(error.text, "out of memory")) return Reason::no_memory;
  if (error.code == nccl::kRemoteError) return Reason::peer_vanished;
  const bool is_of_peer = error.code == nccl::kSystemError || error.code == nccl::kInternalError;
  if (stage == Stage::measuring && is_of_peer) return Reason::peer_vanished;
  if (stage == Stage::joining && error.code == nccl::kSystemError) {
    if (contains(error.text, "refused")) return Reason::refused;
    if (contains(error.text, "timed out")) return Reason::not_joined;
  }
  return Reason::internal;
}

std::string before(Reason reason, Vendor vendor) {
  switch (reason) {
    case Reason::refused:
      return "the process that created the id no longer listens: ";
    case Reason::wrong_version:
      return "all machines need the same version of " + nccl_name(vendor) + ": ";
    case Reason::peer_vanished:
      return "another rank has ended: ";
    default:
      return "";
  }
}

std::string after(Reason reason, Vendor vendor) {
  if (reason != Reason::no_library) return "";
  const std::string package = vendor == Vendor::amd ? "rccl" : "libnccl2";
  return "; install " + nccl_name(vendor) + " (" + package + "), or name its file with --nccl-library";
}

Failure make_failure(Reason reason, const std::string& what, Vendor vendor = Vendor::nvidia) {
  const std::string text = before(reason, vendor) + what;
  const std::string remedy = after(reason, vendor);
  return {reason, to_printable(text, kLongestText - remedy.size()) + remedy};
}

}  // namespace

std::string_view to_string(Reason reason) {
  return word_of(kWords, reason);
}

Failure failure_of(Stage stage, const Error& error, Vendor vendor) {
  return make_failure(reason_of(stage, error.code), error.what, vendor);
}

Failure failure_of(Stage stage, const NcclError& error, Vendor vendor) {
  return make_failure(reason_of(stage, error), error.call + ": " + error.text, vendor);
}

Failure failure_of_wrong_sum(const std::string& text) {
  return make_failure(Reason::wrong_result, text);
}

Failure failure_of_hanging(Stage stage, const std::string& text) {
  // With several GPUs, NCCL does the work of a group at the end of the group.
  const bool waits_for_others = text.starts_with("ncclCommInitRank") || text.starts_with("ncclGroupEnd") ||
                                text.starts_with("ncclAllReduce");
  if (!waits_for_others) return make_failure(Reason::internal, text);
  if (stage == Stage::joining) return make_failure(Reason::not_joined, "not all ranks joined: " + text);
  if (stage == Stage::measuring) return make_failure(Reason::peer_vanished, text);
  return make_failure(Reason::internal, text);
}

namespace {

namespace json = boost::json;

std::uint64_t whole(double bits) {
  return static_cast<std::uint64_t>(std::llround(bits));
}

json::object beginning_of(const AllReduceReport& report) {
  return {{"program", "autopilot-gpu-probe"}, {"format", 1}, {"simulated", report.simulated}};
}

const char* version_key(Vendor vendor) {
  return vendor == Vendor::amd ? "rccl_version" : "nccl_version";
}

void add_figures(json::object& object, const AllReduceFigures& figures) {
  object["bytes"] = figures.bytes;
  object["iterations"] = figures.iterations;
  object["seconds"] = figures.seconds;
  object["bus_bits_per_second"] = whole(figures.bus_bits_per_second);
  object["algorithm_bits_per_second"] = whole(figures.algorithm_bits_per_second);
  json::array samples;
  for (const double sample : figures.samples)
    samples.push_back(whole(sample));
  object["samples"] = std::move(samples);
}

}  // namespace

std::string to_json(const AllReduceReport& report) {
  json::object object = beginning_of(report);
  if (report.address) object["address"] = *report.address;
  if (report.nccl_version) object[version_key(report.vendor)] = *report.nccl_version;
  object["ranks"] = report.ranks;
  if (report.gpus) object["gpus"] = *report.gpus;
  if (report.failure) {
    object["reason"] = to_string(report.failure->reason);
    object["error"] = to_utf8(report.failure->text);
    if (report.wrong_rank) object["wrong_rank"] = *report.wrong_rank;
    if (report.wrong_last_rank) object["wrong_last_rank"] = *report.wrong_last_rank;
  } else if (report.figures) {
    add_figures(object, *report.figures);
  }
  return json::serialize(object);
}

std::string to_invitation(const AllReduceReport& report, const std::string& id) {
  json::object object = beginning_of(report);
  object["id"] = id;
  object["gpus"] = report.gpus.value_or(0);
  object[version_key(report.vendor)] = report.nccl_version.value_or("");
  return json::serialize(object);
}

int exit_code_of(const AllReduceReport& report) {
  if (report.failure) return report.failure->reason == Reason::wrong_result ? exit_wrong : exit_not_measured;
  return report.figures ? exit_measured : exit_not_measured;
}

}  // namespace autopilot::probes::gpu
