// SPDX-License-Identifier: Apache-2.0
#include "cli/migrate_objects.hpp"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <system_error>
#include <utility>

#include "api/json.hpp"
#include "cli/cli.hpp"
#include "cli/output/migrate_report.hpp"
#include "cli/output/print.hpp"
#include "cli/settings.hpp"
#include "host/files/replace_file.hpp"
#include "workloads/migrate/objects/object_lint.hpp"

namespace autopilot::cli {
namespace {

namespace objects = workloads::migrate;

bool is_of_yaml(const objects::InputFile& file) {
  return file.name.ends_with(".yaml") || file.name.ends_with(".yml");
}

Status write_replacements(const objects::ObjectLint& lint, const std::string& out) {
  for (const objects::InputFile& file : lint.replacements) {
    const auto path = std::filesystem::path(out) / std::filesystem::path(file.name).filename();
    std::error_code error;
    std::filesystem::create_directories(out, error);
    if (error)
      return fail(Errc::denied,
                  out + ": cannot be created: " + error.message() + "; name another directory with --out");
    TRY_STATUS(host::replace_file(path.string(), file.text));
    std::cerr << "wrote " << path.string() << '\n';
  }
  return {};
}

std::string replacements_text(const objects::ObjectLint& lint) {
  std::string text;
  for (const objects::InputFile& file : lint.replacements)
    if (is_of_yaml(file)) text += (text.empty() ? "" : "---\n") + file.text;
  return text;
}

std::string objects_json(const objects::ObjectLint& lint) {
  api::JsonWriter json;
  json.begin_object();
  write_findings(json, lint.findings);
  json.flag("needsDecision", lint.needs_decision);
  json.begin_list("replacements");
  for (const objects::InputFile& file : lint.replacements) {
    json.begin_object();
    json.word("file", file.name);
    json.word("text", file.text);
    json.end_object();
  }
  json.end_list();
  json.end_object();
  return json.take();
}

}  // namespace

int migrate_objects(const std::vector<std::string>& files, const std::string& out, bool is_json) {
  std::vector<objects::InputFile> inputs;
  for (const std::string& file : files) {
    auto text = read_settings_text(file, "the object");
    if (!text) {
      tell(text.error().what);
      return kExitFailed;
    }
    inputs.push_back({file, std::move(*text)});
  }
  const auto lint = objects::lint_objects(inputs);
  if (!lint) {
    tell(lint.error().what);
    return kExitFailed;
  }
  if (!out.empty()) {
    const auto written = write_replacements(*lint, out);
    if (!written) return report(written.error());
  }
  if (is_json) {
    print_document(objects_json(*lint));
  } else {
    std::cerr << findings_text(lint->findings, TableStyle{});
    if (out.empty()) print_document(replacements_text(*lint));
  }
  return lint->needs_decision ? kExitDegraded : kExitHealthy;
}

}  // namespace autopilot::cli
