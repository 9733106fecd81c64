// SPDX-License-Identifier: Apache-2.0
#include "agent/gang_client.hpp"

#include <utility>

#include "api/v1.hpp"

namespace autopilot::agent {
namespace {

Result<api::GangAnswer> answer_in(const api::GangQuestion& question,
                                  const Result<net::HttpResponse>& answer) {
  if (!answer) return tl::unexpected(answer.error());
  if (answer->status == 200) return api::parse_gang_answer(answer->body);
  if (answer->status == 404 || answer->status == 405)
    return fail(Errc::unsupported, "the controller ties no pods together");
  if (answer->status == 400 && !question.is_proven)
    return fail(Errc::unsupported, "the controller, which may be an older one, does not know the question");
  const Error said = api::parse_error(answer->body);
  return fail(Errc::unavailable, "the controller answered " + std::to_string(answer->status) +
                                     (said.what.empty() ? "" : ": " + said.what));
}

}  // namespace

GangClient::GangClient(net::EventLoop& loop, const Clock& clock, ControllerDoor door,
                       kube::ReadFile read_file)
    : loop_(loop), call_(loop, clock, std::move(door), std::move(read_file), kPace) {}

void GangClient::ask(api::GangQuestion question, OnAnswer on_answer) {
  if (queue_.size() >= kMostQueued)
    return loop_.post([on_answer = std::move(on_answer)] {
      on_answer(fail(Errc::exhausted, "too many pods ask at once"));
    });
  queue_.push_back({std::move(question), std::move(on_answer)});
  if (queue_.size() == 1) begin();
}

void GangClient::begin() {
  call_.post(api::kGangsPath, api::to_json(queue_.front().question),
             [this](const Result<net::HttpResponse>& answer) { end(answer); });
}

// The callback may ask again.
void GangClient::end(const Result<net::HttpResponse>& answer) {
  const Queued ended = std::move(queue_.front());
  queue_.pop_front();
  if (!queue_.empty()) begin();
  ended.on_answer(answer_in(ended.question, answer));
}

}  // namespace autopilot::agent
