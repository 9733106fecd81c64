// SPDX-License-Identifier: Apache-2.0
#include "report/report_writer.hpp"

#include <utility>

#include "report/node_report.hpp"

namespace autopilot::report {

ReportWriter::ReportWriter(kube::Client& client, kube::ClusterWriter& writer, const Clock& clock,
                           ReportWriterOptions options)
    : client_(client), writer_(writer), clock_(clock), options_(std::move(options)) {
  kube::ClusterWriter::Source source;
  source.what = "the report of the node";
  source.send = [this](kube::OnObject on_answer) {
    sent_ = text_;
    return std::optional(client_.patch({report_path(options_.name_space, options_.node), {}},
                                       kube::Patch::apply, text_, std::move(on_answer), true));
  };
  source.on_written = [this](const std::string&) { written_ = Written{std::move(sent_), clock_.now().mono}; };
  writer_.add(kube::WriteKind::report, std::move(source));
}

void ReportWriter::note(std::string text) {
  text_ = std::move(text);
  if (is_due()) writer_.want(kube::WriteKind::report);
}

bool ReportWriter::is_due() const {
  if (!written_) return !text_.empty();
  const Duration age = clock_.now().mono - written_->at;
  return age >= options_.heartbeat || (age >= options_.spacing && is_news(written_->text, text_));
}

}  // namespace autopilot::report
