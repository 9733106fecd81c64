// SPDX-License-Identifier: Apache-2.0
#include "agent/gate_chooser.hpp"

#include <algorithm>
#include <optional>
#include <thread>
#include <utility>
#include <variant>

#include "store/history/history.hpp"

namespace autopilot::agent {
namespace {

using learning::GateDiagnostic;
using learning::GateInput;
using learning::NodePast;
using preflight::ChoiceQuestion;
using preflight::OfferedTest;
using preflight::TestChoice;

constexpr Duration kPast = std::chrono::hours{24 * 365};

template <typename Record>
Status read_type(const store::History& history, const char* type, const std::string& node, WallTime now,
                 std::vector<Record>& into) {
  auto found = TRY(history.records(
      {.types = {type}, .node = node, .since = now - kPast, .limit = GateChooser::kMostRecords}));
  for (learning::HistoryRecord& one : found)
    if (auto* record = std::get_if<Record>(&one)) into.push_back(std::move(*record));
  return {};
}

// The last pass of the test by the GPU; null: it has not passed.
const PassRecord* pass_of(const diagnostics::PassBook& passes, const Subject& gpu, const std::string& test) {
  const auto& records = passes.records();
  const auto found = std::ranges::find_if(records, [&](const PassRecord& one) {
    return !gpu.uuid.empty() && gpu.uuid == one.gpu_uuid && one.test == test;
  });
  return found == records.end() ? nullptr : &*found;
}

TestChoice choice_from(const learning::GateSelection& selection, const ChoiceQuestion& question) {
  TestChoice choice;
  choice.reason = selection.reason;
  choice.are_all = selection.full != learning::FullReason::none;
  choice.proofs_since = selection.proofs_since.value_or(WallTime{});
  for (const std::string& test : question.wanted) {
    const auto left = std::ranges::find(selection.left_out, test, &learning::LeftOut::check);
    if (left == selection.left_out.end())
      choice.tests.push_back(test);
    else
      choice.left_out.push_back({test, left->why});
  }
  return choice;
}

}  // namespace

Result<NodePast> read_node_past(const std::string& path, const std::string& node, WallTime now) {
  const auto history = TRY(store::History::open_read_only(path));
  NodePast past;
  TRY_STATUS(read_type(*history, "fault", node, now, past.faults));
  TRY_STATUS(read_type(*history, "label", node, now, past.labels));
  TRY_STATUS(read_type(*history, "validation", node, now, past.validations));
  TRY_STATUS(read_type(*history, "repair", node, now, past.repairs));
  TRY_STATUS(read_type(*history, "versions", node, now, past.versions));
  return past;
}

GateChooser::GateChooser(GateChooserParts parts, Read read)
    : parts_(std::move(parts)),
      read_(read ? std::move(read) : Read(read_node_past)),
      way_back_(parts_.loop) {}

void GateChooser::choose(const ChoiceQuestion& question, Done done) {
  const bool is_hung = is_reading_ && waiting_.empty();
  if (parts_.history.empty() || is_hung) {
    Error why = is_hung ? Error{Errc::timed_out, "an earlier read of history has not ended"}
                        : Error{Errc::unsupported, "`history.enabled` is false"};
    way_back_.post()([done = std::move(done), why = std::move(why)] { done(fail(why)); });
    return;
  }
  waiting_.push_back({question, std::move(done)});
  if (!is_reading_) begin_reading();
}

void GateChooser::begin_reading() {
  is_reading_ = true;
  patience_ = parts_.loop.after(kPatience, [this] {
    answer_all(fail(Errc::timed_out, "history was not read within " + format_duration(kPatience)));
  });
  std::thread([read = read_, path = parts_.history, node = parts_.node, now = parts_.clock.now().wall,
               post = way_back_.post(), this] {
    Result<NodePast> past = read(path, node, now);
    post([this, past = std::move(past)] {
      is_reading_ = false;
      answer_all(past);
    });
  }).detach();
}

void GateChooser::answer_all(const Result<NodePast>& past) {
  patience_.cancel();
  const std::vector<Waiting> waiting = std::exchange(waiting_, {});
  for (const Waiting& one : waiting)
    one.done(past ? choice_of(one.question, *past) : fail(past.error()));
}

Result<TestChoice> GateChooser::choice_of(const ChoiceQuestion& question, NodePast past) const {
  GateInput input{.past = std::move(past),
                  .diagnostics = {},
                  .job = {.gpus = question.gpus_of_job,
                          .gpus_of_node = static_cast<double>(question.gpus.size()),
                          .run_time = question.run_time},
                  .limit = question.limit,
                  .now = parts_.clock.now().wall};
  for (const std::string& test : question.wanted) {
    const auto offered = std::ranges::find(question.offered, test, &OfferedTest::id);
    if (offered != question.offered.end()) input.diagnostics.push_back(diagnostic_of(*offered, question));
  }
  if (input.diagnostics.empty()) return fail(Errc::unsupported, "the node offers none of the diagnostics");
  return choice_from(TRY(learning::choose_for_gate(input)), question);
}

GateDiagnostic GateChooser::diagnostic_of(const OfferedTest& test, const ChoiceQuestion& question) const {
  const auto quick = parts_.quick();
  GateDiagnostic diagnostic{.check = test.id,
                            .time = time_of(test.id),
                            .is_quick = std::ranges::find(quick, test.id) != quick.end(),
                            .is_of_host = test.is_of_host,
                            .passed = {}};
  if (test.is_of_host) return diagnostic;
  const WallTime now = parts_.clock.now().wall;
  const SnapshotPtr snapshot = parts_.snapshot();
  bool is_proven = !question.gpus.empty();
  std::optional<WallTime> oldest;
  for (const Subject& gpu : question.gpus) {
    const PassRecord* pass = pass_of(parts_.passes, gpu, test.id);
    if (pass == nullptr) return diagnostic;
    oldest = std::min(oldest.value_or(pass->time), pass->time);
    is_proven &= pass->boot_id == snapshot->boot_id && now - pass->time < question.max_age;
  }
  diagnostic.passed = oldest;
  diagnostic.is_proven = is_proven;
  return diagnostic;
}

// As long as the last run, else its deadline.
Duration GateChooser::time_of(const std::string& test) const {
  constexpr Duration kShortest = std::chrono::seconds{1};
  for (const Operation& operation : parts_.operations.list())
    if (operation.kind == test && operation.state == OperationState::succeeded && operation.started &&
        operation.finished)
      return std::max(kShortest, *operation.finished - *operation.started);
  const auto& kinds = parts_.operations.kinds();
  const auto kind = std::ranges::find(kinds, test, &diagnostics::OperationKind::id);
  return kind == kinds.end() ? kShortest : std::max(kShortest, kind->deadline);
}

}  // namespace autopilot::agent
