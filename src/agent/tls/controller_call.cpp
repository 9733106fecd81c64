// SPDX-License-Identifier: Apache-2.0
#include "agent/tls/controller_call.hpp"

#include <mutex>
#include <optional>
#include <utility>

#include "core/parse.hpp"
#include "net/tls.hpp"

namespace autopilot::agent {

// Named outside: Files has it, which other sources may name.
struct DoorTexts {
  std::string authorities;
  std::string token;
};

namespace {

Result<DoorTexts> read(const ControllerDoor& door, const kube::ReadFile& read_file) {
  DoorTexts texts;
  texts.authorities = TRY(read_file(door.authorities_file));
  texts.token = std::string(trim(TRY(read_file(door.token_file))));
  if (texts.authorities.empty()) return fail(Errc::malformed, door.authorities_file + " is empty");
  if (texts.token.empty()) return fail(Errc::malformed, door.token_file + " is empty");
  return texts;
}

}  // namespace

struct ControllerCall::Files {
  void give(Result<DoorTexts> texts) {
    const std::lock_guard lock(mutex);
    last = std::move(texts);
  }
  std::optional<Result<DoorTexts>> take() {
    const std::lock_guard lock(mutex);
    return std::exchange(last, std::nullopt);
  }

  std::mutex mutex;
  std::optional<Result<DoorTexts>> last;
};

ControllerCall::ControllerCall(net::EventLoop& loop, const Clock& clock, ControllerDoor door,
                               kube::ReadFile read_file, Pace pace)
    : loop_(loop),
      clock_(clock),
      door_(std::move(door)),
      read_file_(std::move(read_file)),
      pace_(pace),
      lanes_({.threads = 1, .max_stuck = 1, .max_queued = 1}) {}

ControllerCall::~ControllerCall() = default;

void ControllerCall::post(std::string path, std::string body, OnAnswer on_answer) {
  path_ = std::move(path);
  body_ = std::move(body);
  on_answer_ = std::move(on_answer);
  exchange_.cancel();
  // New for each question: an earlier question may still be reading into its own.
  files_ = std::make_shared<Files>();
  reading_ = lanes_.submit(
      [files = files_, door = door_, read_file = read_file_] { files->give(read(door, read_file)); });
  look(clock_.now().mono + pace_.patience);
}

void ControllerCall::look(MonoTime until) {
  next_ = loop_.after(pace_.look, [this, until] {
    if (const auto texts = files_->take()) {
      if (*texts) return send((*texts)->authorities, (*texts)->token);
      return end(tl::unexpected(texts->error()));
    }
    if (clock_.now().mono < until) return look(until);
    lanes_.abandon(reading_);
    end(fail(Errc::timed_out, door_.token_file + " or " + door_.authorities_file + " does not answer"));
  });
}

void ControllerCall::send(const std::string& authorities, const std::string& token) {
  auto tls = net::TlsContext::make(net::TlsIdentity{.authorities = authorities});
  if (!tls) return end(fail(tls.error().code, door_.authorities_file + ": " + tls.error().what));
  session_ = std::make_unique<net::HttpSession>(loop_, door_.url, *tls);
  net::HttpRequest request;
  request.method = "POST";
  request.path = path_;
  request.headers = {{"authorization", "Bearer " + token}, {"content-type", "application/json"}};
  request.body = std::move(body_);
  exchange_ = session_->send(std::move(request), pace_.deadline,
                             [this](const Result<net::HttpResponse>& answer) { end(answer); });
}

void ControllerCall::end(const Result<net::HttpResponse>& answer) {
  const OnAnswer on_answer = std::exchange(on_answer_, nullptr);
  on_answer(answer);
}

}  // namespace autopilot::agent
