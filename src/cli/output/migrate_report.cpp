// SPDX-License-Identifier: Apache-2.0
#include "cli/output/migrate_report.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

#include "api/json.hpp"

namespace autopilot::cli {
namespace {

namespace migrate = workloads::migrate;

std::string counted(long long count, std::string_view noun) {
  return std::to_string(count) + " " + std::string(noun) + (count == 1 ? "" : "s");
}

std::string layout_text(const migrate::Layout& layout) {
  std::string text = counted(layout.hosts, "host") + ", " + counted(layout.tasks, "task") + ", " +
                     counted(layout.cpus, "processor") + " and " + counted(layout.gpus, "GPU") + " on each";
  if (layout.memory_bytes > 0)
    text += ", " + std::to_string(layout.memory_bytes >> 20U) + " MiB of memory on each";
  if (layout.memory_limit_bytes > layout.memory_bytes)
    text += " (limit " + std::to_string(layout.memory_limit_bytes >> 20U) + " MiB)";
  return text;
}

void add_wrapped(std::string& out, std::string_view first, std::string_view text, std::size_t width) {
  std::string lead(first);
  for (const std::string& line : wrapped(printable(text), width - std::min(width - 20, first.size()))) {
    out += lead + line + '\n';
    lead.assign(first.size(), ' ');
  }
}

std::string line_list(const std::vector<int>& lines) {
  std::string text;
  for (const int line : lines)
    text += (text.empty() ? "" : ", ") + std::to_string(line);
  return text;
}

void add_job(std::string& out, const migrate::Migration& migration, const TableStyle& style) {
  add_wrapped(out, "job        ",
              migration.job.original_name + ", from " +
                  std::string(migrate::title_of(migration.job.scheduler)) + ", becomes " +
                  migration.job.name + " (" + std::string(word_of(migrate::kTargets, migration.target)) + ")",
              style.width);
  for (std::size_t part = 0; part < migration.layouts.size(); ++part) {
    add_wrapped(out, "requested  ", layout_text(migration.allocated[part]), style.width);
    add_wrapped(out, "migrated   ", layout_text(migration.layouts[part]), style.width);
  }
  if (migration.job.array)
    add_wrapped(out, "array      ",
                counted(static_cast<long long>(migration.job.array->indices.size()), "element"), style.width);
}

void add_rows(std::string& out, const migrate::Migration& migration, const TableStyle& style) {
  if (migration.rows.empty()) return;
  out += "\nDirectives and launchers\n";
  for (const migrate::DirectiveRow& row : migration.rows) {
    std::string fate(word_of(migrate::kFates, row.fate));
    fate.resize(13, ' ');
    std::string line = row.line > 0 ? std::to_string(row.line) : "-";
    line.insert(0, line.size() < 5 ? 5 - line.size() : 0, ' ');
    add_wrapped(out, line + "  " + fate, row.directive + " -> " + row.becomes, style.width);
  }
}

void write_layout(api::JsonWriter& json, const migrate::Layout& layout) {
  json.begin_object();
  json.integer("hosts", layout.hosts);
  json.integer("tasks", layout.tasks);
  json.integer("tasksPerHost", layout.tasks_per_host);
  json.integer("cpusPerHost", layout.cpus);
  json.integer("gpusPerHost", layout.gpus);
  if (layout.memory_bytes > 0)
    json.integer("memoryBytesPerHost", layout.memory_bytes);
  else
    json.null("memoryBytesPerHost");
  if (layout.memory_limit_bytes > layout.memory_bytes)
    json.integer("memoryLimitBytesPerHost", layout.memory_limit_bytes);
  json.flag("exclusive", layout.is_exclusive);
  json.end_object();
}

void write_job(api::JsonWriter& json, const migrate::Migration& migration) {
  json.begin_object("job");
  json.word("name", migration.job.name);
  json.word("originalName", migration.job.original_name);
  json.word("scheduler", word_of(migrate::kSchedulers, migration.job.scheduler));
  json.word("target", word_of(migrate::kTargets, migration.target));
  if (migration.job.run_limit.limit)
    json.integer("runLimitSeconds", migration.job.run_limit.limit->count());
  else
    json.null("runLimitSeconds");
  if (migration.job.array)
    json.integers("arrayIndices", migration.job.array->indices);
  else
    json.null("arrayIndices");
  if (migration.job.array && migration.job.array->throttle)
    json.integer("arrayThrottle", *migration.job.array->throttle);
  json.word_if_any("output", migration.job.output);
  json.word_if_any("error", migration.job.error);
  json.begin_list("requested");
  for (const migrate::Layout& layout : migration.allocated)
    write_layout(json, layout);
  json.end_list();
  json.begin_list("migrated");
  for (const migrate::Layout& layout : migration.layouts)
    write_layout(json, layout);
  json.end_list();
  json.end_object();
}

}  // namespace

std::string findings_text(const std::vector<migrate::ScriptFinding>& findings, const TableStyle& style) {
  std::string out;
  for (const migrate::ScriptFinding& finding : findings) {
    out += "  " + std::string(word_of(migrate::kSeverities, finding.severity)) + " " + finding.id;
    if (!finding.lines.empty())
      out += (finding.lines.size() == 1 ? ", line " : ", lines ") + line_list(finding.lines);
    out += '\n';
    add_wrapped(out, "    ", finding.what + ".", style.width);
    add_wrapped(out, "    -> ", finding.cure + ".", style.width);
  }
  return out;
}

void write_findings(api::JsonWriter& json, const std::vector<migrate::ScriptFinding>& findings) {
  json.begin_list("findings");
  for (const migrate::ScriptFinding& finding : findings) {
    json.begin_object();
    json.word("id", finding.id);
    json.word("severity", word_of(migrate::kSeverities, finding.severity));
    json.integers("lines", finding.lines);
    json.word("what", finding.what);
    json.word("cure", finding.cure);
    json.end_object();
  }
  json.end_list();
}

std::string migrate_report_text(const migrate::Migration& migration, const TableStyle& style) {
  std::string out;
  add_job(out, migration, style);
  add_rows(out, migration, style);
  if (!migration.findings.empty()) out += "\nFindings\n" + findings_text(migration.findings, style);
  const auto decisions = std::count_if(
      migration.findings.begin(), migration.findings.end(),
      [](const migrate::ScriptFinding& finding) { return finding.severity == migrate::Severity::decision; });
  out += "\n" +
         (decisions == 0 ? std::string("Nothing needs a decision.")
                         : counted(decisions, "finding") + (decisions == 1 ? " needs" : " need") +
                               " a decision before you apply the manifests.") +
         "\n";
  return out;
}

std::string migrate_report_json(const migrate::Migration& migration) {
  api::JsonWriter json;
  json.begin_object();
  write_job(json, migration);
  json.begin_list("directives");
  for (const migrate::DirectiveRow& row : migration.rows) {
    json.begin_object();
    json.integer("line", row.line);
    json.word("directive", row.directive);
    json.word("fate", word_of(migrate::kFates, row.fate));
    json.word("becomes", row.becomes);
    json.end_object();
  }
  json.end_list();
  write_findings(json, migration.findings);
  json.flag("needsDecision", migration.needs_decision);
  json.word("script", migration.script);
  json.begin_list("manifests");
  for (const migrate::ManifestFile& file : migration.files) {
    json.begin_object();
    json.word("file", file.name);
    json.word("text", file.text);
    json.end_object();
  }
  json.end_list();
  json.end_object();
  return json.take();
}

}  // namespace autopilot::cli
