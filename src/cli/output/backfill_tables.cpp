// SPDX-License-Identifier: Apache-2.0
#include "cli/output/backfill_tables.hpp"

#include <cmath>
#include <cstdint>

#include "api/json.hpp"
#include "cli/output/layout.hpp"
#include "cli/output/report_numbers.hpp"
#include "core/word_table.hpp"
#include "core/yaml_text.hpp"

namespace autopilot::cli {
namespace {

namespace bf = workloads::backfill;

constexpr std::string_view kPriorityClass = "autopilot-backfill";

constexpr WordTable<bf::Decision, 7> kDecisionWords{{{bf::Decision::starts, "starts"},
                                                     {bf::Decision::backfills, "backfills"},
                                                     {bf::Decision::head, "head"},
                                                     {bf::Decision::too_long, "too_long"},
                                                     {bf::Decision::unknown_runtime, "unknown_runtime"},
                                                     {bf::Decision::interferes, "interferes"},
                                                     {bf::Decision::no_room, "no_room"}}};
constexpr WordTable<bf::Use, 3> kUseWords{
    {{bf::Use::used, "used"}, {bf::Use::idle, "idle"}, {bf::Use::unknown, "unknown"}}};

std::string seconds_words(double seconds) {
  return hours_words(seconds / 3600);
}

std::string decision_text(const bf::PlannedJob& job, const bf::Plan& plan) {
  switch (job.decision) {
    case bf::Decision::starts:
      return "can start now on " + joined(job.nodes);
    case bf::Decision::backfills:
      return "fits now on " + joined(job.nodes) + " without delaying the head of the queue; uses " +
             fixed_text(job.gpu_hours, 2) + " GPU-hours that would be idle";
    case bf::Decision::head:
      return plan.head_starts_in_s
                 ? "head of the queue, can start in " + seconds_words(*plan.head_starts_in_s)
                 : "head of the queue; its start is unknown because jobs without ends_in run";
    case bf::Decision::too_long:
      return plan.head_starts_in_s ? "fits now, and would delay the head of the queue"
                                   : "fits now; a delay of the head cannot be excluded";
    case bf::Decision::unknown_runtime:
      return "fits now; state its limit (runs) so that a delay of the head can be excluded";
    case bf::Decision::interferes:
      return "fits only beside other jobs, and its slowdown of these is too large or not measured";
    case bf::Decision::no_room:
      break;
  }
  return "no nodes with enough room now";
}

std::string advice_text(const bf::HeldGpus& held) {
  if (held.use == bf::Use::unknown) return "unknown: no samples";
  if (held.use == bf::Use::used) return "all sampled GPUs are used";
  return "request " + fixed_text(held.held - held.idle, 0) + " GPUs instead of " + fixed_text(held.held, 0) +
         ": " + fixed_text(held.idle_hours, 1) + " idle GPU-hours";
}

std::string nodes_table(const BackfillResult& result, const TableStyle& style) {
  std::vector<Row> rows;
  const auto free = bf::free_of(result.cluster);
  for (std::size_t i = 0; i < free.size(); ++i)
    if (free[i].gpus > 0)
      rows.push_back({{result.cluster.nodes[i].name},
                      {fixed_text(free[i].gpus, 0)},
                      {fixed_text(result.cluster.nodes[i].capacity.gpus, 0)}});
  return rows.empty() ? "No node has a free GPU.\n"
                      : render_columns({"NODE", "FREE GPUS", "GPUS"}, std::move(rows), style);
}

std::string held_table(const BackfillResult& result, const TableStyle& style) {
  std::vector<Row> rows;
  for (const bf::HeldGpus& held : result.held)
    rows.push_back({{held.job},
                    {fixed_text(held.held, 0)},
                    {held.use == bf::Use::unknown ? "unknown" : fixed_text(held.idle, 0)},
                    {joined(held.nodes)},
                    {advice_text(held)}});
  return rows.empty()
             ? ""
             : "\n" + render_columns({"RUNNING", "HELD", "IDLE", "NODES", "ADVICE"}, std::move(rows), style);
}

std::string queue_table(const BackfillResult& result, const TableStyle& style) {
  std::vector<Row> rows;
  for (const bf::PlannedJob& job : result.plan.jobs)
    rows.push_back({{job.name}, {decision_text(job, result.plan)}});
  return rows.empty() ? "" : "\n" + render_columns({"PENDING", "DECISION"}, std::move(rows), style);
}

YamlNode priority_class() {
  YamlNode node = yaml_map();
  yaml_member(node, "apiVersion") = yaml_word("scheduling.k8s.io/v1");
  yaml_member(node, "kind") = yaml_word("PriorityClass");
  yaml_member(yaml_member(node, "metadata"), "name") = yaml_word(kPriorityClass);
  yaml_member(node, "value") = yaml_integer(-1000);
  yaml_member(node, "preemptionPolicy") = yaml_word("Never");
  yaml_member(node, "description") = yaml_word("Jobs that use idle GPUs; every other job comes first.");
  return node;
}

const bf::PendingJob* pending_job(const BackfillResult& result, const std::string& name) {
  for (const bf::PendingJob& job : result.cluster.pending)
    if (job.name == name) return &job;
  return nullptr;
}

// For a Job before it is created, or while it is suspended: its pods then go to these nodes.
YamlNode job_patch(const bf::PlannedJob& planned, const bf::PendingJob& job) {
  YamlNode node = yaml_map();
  YamlNode& spec = yaml_member(node, "spec");
  yaml_member(spec, "activeDeadlineSeconds") =
      yaml_integer(static_cast<std::int64_t>(std::floor(*job.runs_s)));
  YamlNode& pod = yaml_member(yaml_member(spec, "template"), "spec");
  yaml_member(pod, "priorityClassName") = yaml_word(kPriorityClass);
  YamlNode& required = yaml_member(yaml_member(yaml_member(pod, "affinity"), "nodeAffinity"),
                                   "requiredDuringSchedulingIgnoredDuringExecution");
  YamlNode values = yaml_list();
  for (const std::string& name : planned.nodes)
    values.items.push_back(yaml_word(name));
  YamlNode expression = yaml_map();
  yaml_member(expression, "key") = yaml_word("kubernetes.io/hostname");
  yaml_member(expression, "operator") = yaml_word("In");
  yaml_member(expression, "values") = std::move(values);
  YamlNode expressions = yaml_list();
  expressions.items.push_back(std::move(expression));
  YamlNode term = yaml_map();
  yaml_member(term, "matchExpressions") = std::move(expressions);
  YamlNode terms = yaml_list();
  terms.items.push_back(std::move(term));
  yaml_member(required, "nodeSelectorTerms") = std::move(terms);
  return node;
}

// A name of the input never leaves the folder.
std::string file_name_of(const std::string& job) {
  std::string name;
  for (const char c : job)
    name += (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ? c : '_';
  return "job-" + name + ".patch.yaml";
}

void write_held(api::JsonWriter& json, const BackfillResult& result) {
  json.begin_list("running");
  for (const bf::HeldGpus& held : result.held) {
    json.begin_object();
    json.word("job", held.job);
    json.words("nodes", held.nodes);
    json.number("gpusHeld", held.held);
    json.number("gpusSampled", held.sampled);
    if (held.use != bf::Use::unknown) json.number("gpusIdle", held.idle);
    if (held.use != bf::Use::unknown) json.number("idleGpuHours", held.idle_hours);
    json.word("use", word_of(kUseWords, held.use));
    json.end_object();
  }
  json.end_list();
}

}  // namespace

std::optional<double> idle_percent(const BackfillResult& result) {
  double sampled = 0;
  double idle = 0;
  for (const bf::HeldGpus& one : result.held) {
    sampled += one.sampled;
    idle += one.idle;
  }
  return sampled > 0 ? std::optional(100 * idle / sampled) : std::nullopt;
}

std::string backfill_text(const BackfillResult& result, const TableStyle& style) {
  std::string out = nodes_table(result, style) + held_table(result, style) + queue_table(result, style);
  if (const auto idle = idle_percent(result))
    out += "\n" + fixed_text(*idle, 1) + " % of the held GPUs with samples are idle.\n";
  return out;
}

std::string backfill_json(const BackfillResult& result) {
  api::JsonWriter json;
  json.begin_object();
  json.begin_list("nodes");
  const auto free = bf::free_of(result.cluster);
  for (std::size_t i = 0; i < free.size(); ++i) {
    json.begin_object();
    json.word("name", result.cluster.nodes[i].name);
    json.number("gpus", result.cluster.nodes[i].capacity.gpus);
    json.number("freeGpus", free[i].gpus);
    json.end_object();
  }
  json.end_list();
  write_held(json, result);
  json.begin_list("pending");
  for (const bf::PlannedJob& job : result.plan.jobs) {
    json.begin_object();
    json.word("job", job.name);
    json.word("decision", word_of(kDecisionWords, job.decision));
    json.words("nodes", job.nodes);
    json.number("gpuHoursWon", job.gpu_hours);
    json.end_object();
  }
  json.end_list();
  if (result.plan.head_starts_in_s) json.number("headStartsInSeconds", *result.plan.head_starts_in_s);
  if (const auto idle = idle_percent(result)) json.number("idlePercent", *idle);
  json.end_object();
  return json.take();
}

std::vector<std::pair<std::string, std::string>> backfill_manifests(const BackfillResult& result) {
  std::vector<std::pair<std::string, std::string>> files{{"priority-class.yaml", to_yaml(priority_class())}};
  for (const bf::PlannedJob& planned : result.plan.jobs) {
    const bf::PendingJob* job = pending_job(result, planned.name);
    if (planned.decision == bf::Decision::backfills && job != nullptr && job->runs_s)
      files.emplace_back(file_name_of(planned.name), to_yaml(job_patch(planned, *job)));
  }
  return files;
}

}  // namespace autopilot::cli
