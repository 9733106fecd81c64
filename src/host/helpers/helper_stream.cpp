// SPDX-License-Identifier: Apache-2.0
#include "host/helpers/helper_stream.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <poll.h>
#include <sys/socket.h>
#include <utility>

#include "host/files/fd.hpp"
#include "host/helpers/message.hpp"

namespace autopilot::host {

std::string_view to_string(HelperFailure failure) {
  switch (failure) {
    case HelperFailure::refused:
      return "refused";
    case HelperFailure::timed_out:
      return "timed_out";
    case HelperFailure::crashed:
      return "crashed";
    case HelperFailure::malformed:
      return "malformed";
    case HelperFailure::exhausted:
      return "exhausted";
    case HelperFailure::not_started:
      return "not_started";
  }
  return "refused";
}

Error error_of_subject(HelperError error) {
  switch (error.failure) {
    case HelperFailure::crashed:
    case HelperFailure::malformed:
    case HelperFailure::not_started:
      error.error.code = Errc::internal;
      break;
    case HelperFailure::refused:
    case HelperFailure::timed_out:
    case HelperFailure::exhausted:
      break;
  }
  return std::move(error.error);
}

HelperResult HelperStream::exchange(std::string_view method, std::string_view params, MonoTime deadline) {
  const std::uint64_t id = next_id_++;
  const HelperRequest request{.id = id,
                              .method = std::string(method),
                              .params = std::string(params),
                              .timeout = std::max<Duration>(deadline - mono_now(), Duration{0})};
  const auto frame = encode_frame(encode_request(request));
  if (!frame) return tl::unexpected(HelperError{HelperFailure::refused, frame.error()});
  // One that closed before it read the question may have said why.
  if (const auto sent = send(*frame, deadline); !sent && sent.error().failure != HelperFailure::crashed)
    return tl::unexpected(sent.error());
  return receive(id, deadline);
}

HelperStream::Wait HelperStream::wait(short events, MonoTime deadline) const {
  std::array<pollfd, 2> waits{{{socket_.get(), events, 0}, {wake_, POLLIN, 0}}};
  if (!poll_until(waits, deadline)) return Wait::late;
  return waits[1].revents != 0 ? Wait::woken : Wait::ready;
}

tl::expected<void, HelperError> HelperStream::send(std::string_view frame, MonoTime deadline) {
  while (!frame.empty()) {
    const ssize_t sent = ::send(socket_.get(), frame.data(), frame.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) {
      frame.remove_prefix(static_cast<std::size_t>(sent));
      continue;
    }
    if (errno == EINTR) continue;
    if (errno != EAGAIN)
      return tl::unexpected(failure(HelperFailure::crashed, Errc::unavailable, "closed its socket"));
    if (const Wait waited = wait(POLLOUT, deadline); waited != Wait::ready)
      return tl::unexpected(late(waited, "does not take the question"));
  }
  return {};
}

HelperResult HelperStream::receive(std::uint64_t id, MonoTime deadline) {
  std::array<char, 16 * 1024> buffer{};
  while (true) {
    const auto frame = reader_.next();
    if (!frame) return tl::unexpected(failure(HelperFailure::malformed, Errc::malformed, frame.error().what));
    if (const std::optional<std::string>& body = *frame; body) {
      auto answer = decode_answer(*body);
      if (!answer)
        return tl::unexpected(failure(HelperFailure::malformed, Errc::malformed, answer.error().what));
      const bool turns_us_away = answer->id == kHelperTurnsAway && !answer->result;
      if ((answer->id != id && !turns_us_away) || reader_.pending() != 0)
        return tl::unexpected(
            failure(HelperFailure::malformed, Errc::malformed, "answers what nobody asked"));
      if (answer->result) return std::move(*answer->result);
      return tl::unexpected(HelperError{HelperFailure::refused, std::move(answer->result).error()});
    }
    if (const Wait waited = wait(POLLIN, deadline); waited != Wait::ready)
      return tl::unexpected(late(waited, "no answer within the deadline"));
    const ssize_t got = ::recv(socket_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN))
      return tl::unexpected(failure(HelperFailure::crashed, Errc::unavailable, "closed its socket"));
    if (got > 0) reader_.add({buffer.data(), static_cast<std::size_t>(got)});
  }
}

HelperError HelperStream::failure(HelperFailure kind, Errc code, const std::string& what) const {
  return {.failure = kind, .error = {.code = code, .what = name_ + ": " + what}};
}

HelperError HelperStream::late(Wait wait, const std::string& what) const {
  return failure(HelperFailure::timed_out, Errc::timed_out, wait == Wait::woken ? "nobody waits" : what);
}

}  // namespace autopilot::host
