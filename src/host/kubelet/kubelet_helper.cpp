// SPDX-License-Identifier: Apache-2.0
#include "host/kubelet/kubelet_helper.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <iostream>
#include <map>
#include <memory>
#include <nghttp2/nghttp2.h>
#include <optional>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <utility>

#include "core/parse.hpp"
#include "host/files/fd.hpp"
#include "host/helpers/helper_client.hpp"
#include "host/helpers/helper_server.hpp"
#include "host/helpers/message.hpp"
#include "host/kubelet/pod_logs.hpp"

namespace autopilot::host {
namespace {

// Header of every gRPC message: one byte for compression, and the length.
constexpr std::size_t kPrefix = 5;
constexpr std::size_t kMaxReason = 200;  // bytes of the server's error message
constexpr std::size_t kMaxMessage = std::size_t{16} << 20;
constexpr std::uint32_t kWindow = 1U << 20U;

// ---- the socket

// Connects through the file handle: a symbolic link in a hostile tree cannot redirect it, and the path may be
// longer than a socket address.
Result<Fd> connect_to(const Files& files, const std::string& path) {
  const Fd node = TRY(files.find(path));
  struct stat status {};
  if (::fstat(node.get(), &status) != 0) return fail_errno(errno, path);
  if (!S_ISSOCK(status.st_mode)) return fail(Errc::malformed, path + ": not a socket");
  const std::string handle = "/proc/self/fd/" + std::to_string(node.get());
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, handle.data(), handle.size());
  Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return fail_errno(errno, "open a Unix socket");
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    // EAGAIN: the backlog of a server that accepts no connections is full.
    if (errno == EAGAIN || errno == ECONNREFUSED)
      return fail(Errc::unavailable, path + ": no program accepts connections there");
    return fail_errno(errno, path);
  }
  ucred peer{};
  socklen_t size = sizeof(peer);
  const bool is_known = ::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0;
  if (!is_known || (peer.uid != 0 && peer.uid != ::geteuid()))
    return fail(Errc::denied, path + ": the listening process runs as neither root nor this user");
  return socket;
}

// ---- gRPC status

struct GrpcStatus {
  std::string_view name;
  Errc code;
};

// By number, from 1 (https://grpc.io/docs/guides/status-codes/).
constexpr std::array kStatuses = {
    GrpcStatus{"CANCELLED", Errc::unavailable},        GrpcStatus{"UNKNOWN", Errc::unavailable},
    GrpcStatus{"INVALID_ARGUMENT", Errc::malformed},   GrpcStatus{"DEADLINE_EXCEEDED", Errc::timed_out},
    GrpcStatus{"NOT_FOUND", Errc::not_found},          GrpcStatus{"ALREADY_EXISTS", Errc::conflict},
    GrpcStatus{"PERMISSION_DENIED", Errc::denied},     GrpcStatus{"RESOURCE_EXHAUSTED", Errc::exhausted},
    GrpcStatus{"FAILED_PRECONDITION", Errc::conflict}, GrpcStatus{"ABORTED", Errc::unavailable},
    GrpcStatus{"OUT_OF_RANGE", Errc::malformed},       GrpcStatus{"UNIMPLEMENTED", Errc::unsupported},
    GrpcStatus{"INTERNAL", Errc::unavailable},         GrpcStatus{"UNAVAILABLE", Errc::unavailable},
    GrpcStatus{"DATA_LOSS", Errc::unavailable},        GrpcStatus{"UNAUTHENTICATED", Errc::denied},
};

Error error_of_status(unsigned status, std::string_view reason) {
  const bool is_known = status >= 1 && status <= kStatuses.size();
  Error error{is_known ? kStatuses[status - 1].code : Errc::malformed, "gRPC status "};
  error.what += is_known ? std::string(kStatuses[status - 1].name) : std::to_string(status);
  if (!reason.empty()) error.what += ": " + to_printable(reason, kMaxReason);
  return error;
}

// ---- the call

struct Free {
  void operator()(nghttp2_session* session) const { nghttp2_session_del(session); }
  void operator()(nghttp2_session_callbacks* callbacks) const { nghttp2_session_callbacks_del(callbacks); }
};

nghttp2_nv header(std::string_view name, std::string_view value) {
  // The library takes pointers that it promises not to write through.
  const auto bytes = [](std::string_view text) {
    return const_cast<std::uint8_t*>(reinterpret_cast<const std::uint8_t*>(text.data()));
  };
  return {bytes(name), bytes(value), name.size(), value.size(), NGHTTP2_NV_FLAG_NONE};
}

std::string_view header_text(const std::uint8_t* bytes, std::size_t size) {
  return {reinterpret_cast<const char*>(bytes), size};
}

// One connection with one stream.
class UnaryCall {
 public:
  UnaryCall(Fd socket, MonoTime deadline) : socket_(std::move(socket)), deadline_(deadline) {}
  UnaryCall(const UnaryCall&) = delete;
  UnaryCall& operator=(const UnaryCall&) = delete;
  ~UnaryCall() = default;

  Result<std::string> run(std::string_view method) {
    TRY_STATUS(begin(method));
    while (!is_closed_) {
      TRY_STATUS(send_all());
      if (nghttp2_session_want_read(session_.get()) == 0)
        return fail(Errc::malformed, "the answer is not HTTP/2");
      TRY_STATUS(receive());
    }
    return answer();
  }

 private:
  Status begin(std::string_view method) {
    nghttp2_session_callbacks* made = nullptr;
    if (nghttp2_session_callbacks_new(&made) != 0) return fail(Errc::internal, "nghttp2: no callbacks");
    const std::unique_ptr<nghttp2_session_callbacks, Free> callbacks(made);
    nghttp2_session_callbacks_set_on_header_callback(made, on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(made, on_data);
    nghttp2_session_callbacks_set_on_stream_close_callback(made, on_close);
    nghttp2_session* session = nullptr;
    if (nghttp2_session_client_new(&session, made, this) != 0)
      return fail(Errc::internal, "nghttp2: no session");
    session_.reset(session);
    const std::array settings = {nghttp2_settings_entry{NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
                                 nghttp2_settings_entry{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, kWindow}};
    bool is_ok = nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, settings.data(), settings.size()) == 0;
    is_ok = is_ok && nghttp2_session_set_local_window_size(session, NGHTTP2_FLAG_NONE, 0, kWindow) == 0;
    is_ok = is_ok && submit(method) > 0;
    return is_ok ? Status{} : fail(Errc::internal, "nghttp2: cannot submit the request");
  }

  std::int32_t submit(std::string_view method) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline_ - mono_now());
    const std::string timeout = std::to_string(std::max<std::int64_t>(left.count(), 1)) + "m";
    const std::array headers = {header(":method", "POST"),
                                header(":scheme", "http"),
                                header(":path", method),
                                header(":authority", "localhost"),
                                header("content-type", "application/grpc"),
                                header("te", "trailers"),
                                header("grpc-timeout", timeout),
                                header("user-agent", "autopilot")};
    nghttp2_data_provider empty_message{};
    empty_message.read_callback = read_request;
    return nghttp2_submit_request(session_.get(), nullptr, headers.data(), headers.size(), &empty_message,
                                  nullptr);
  }

  Status send_all() {
    while (true) {
      const std::uint8_t* bytes = nullptr;
      const auto size = nghttp2_session_mem_send(session_.get(), &bytes);
      if (size < 0)
        return fail(Errc::internal, std::string("nghttp2: ") + nghttp2_strerror(static_cast<int>(size)));
      if (size == 0) return {};
      TRY_STATUS(send(header_text(bytes, static_cast<std::size_t>(size))));
    }
  }

  Status send(std::string_view bytes) {
    while (!bytes.empty()) {
      TRY_STATUS(wait(POLLOUT));
      const ssize_t sent = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent < 0 && (errno == EAGAIN || errno == EINTR)) continue;
      if (sent < 0) return connection_closed();
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return {};
  }

  Status receive() {
    TRY_STATUS(wait(POLLIN));
    std::array<std::uint8_t, std::size_t{16} * 1024> buffer{};
    const ssize_t got = ::recv(socket_.get(), buffer.data(), buffer.size(), 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return {};
    if (got <= 0) return connection_closed();
    const auto used = nghttp2_session_mem_recv(session_.get(), buffer.data(), static_cast<std::size_t>(got));
    if (problem_) return fail(*problem_);
    if (used < 0)
      return fail(Errc::malformed, std::string("HTTP/2: ") + nghttp2_strerror(static_cast<int>(used)));
    return {};
  }

  // Checks the deadline first, because a server may send data without end.
  [[nodiscard]] Status wait(short events) const {
    if (mono_now() < deadline_ && poll_until(socket_.get(), events, deadline_)) return {};
    return fail(Errc::timed_out, "no answer in time");
  }

  static tl::unexpected<Error> connection_closed() {
    return fail(Errc::unavailable, "closed the connection before the answer");
  }

  [[nodiscard]] tl::unexpected<Error> call_cancelled() const {
    return fail(Errc::unavailable,
                std::string("cancelled the call: ") + nghttp2_http2_strerror(stream_error_));
  }

  [[nodiscard]] std::string_view word(std::string_view name) const {
    const auto found = headers_.find(name);
    return found == headers_.end() ? std::string_view{} : std::string_view(found->second);
  }

  Result<std::string> answer() {
    if (problem_) return fail(*problem_);
    if (word(":status").empty() && stream_error_ != NGHTTP2_NO_ERROR) return call_cancelled();
    if (word(":status") != "200")
      return fail(Errc::malformed, "HTTP status '" + to_printable(word(":status"), kMaxReason) + "'");
    const auto status = parse_number<unsigned>(word("grpc-status"));
    if (!status)
      return stream_error_ == NGHTTP2_NO_ERROR ? fail(Errc::malformed, "the answer has no gRPC status")
                                               : call_cancelled();
    if (*status != 0) return fail(error_of_status(*status, word("grpc-message")));
    if (body_.size() < kPrefix || body_.size() != kPrefix + length())
      return fail(Errc::malformed, "truncated gRPC message");
    body_.erase(0, kPrefix);
    return std::move(body_);
  }

  [[nodiscard]] std::size_t length() const {
    std::size_t length = 0;
    for (std::size_t i = 1; i < kPrefix; ++i)
      length = length << 8U | static_cast<std::uint8_t>(body_[i]);
    return length;
  }

  // Returns false for a compressed, oversized or second message.
  bool take(std::string_view bytes) {
    body_ += bytes;
    if (body_.size() < kPrefix) return true;
    if (body_.front() != 0) problem_ = Error{Errc::malformed, "the answer is compressed"};
    if (length() > kMaxMessage)
      problem_ = Error{Errc::exhausted, "the answer has " + std::to_string(length()) + " bytes"};
    if (!problem_ && body_.size() > kPrefix + length())
      problem_ = Error{Errc::malformed, "more than one message"};
    return !problem_;
  }

  static UnaryCall& of(void* call) { return *static_cast<UnaryCall*>(call); }

  static int on_header(nghttp2_session*, const nghttp2_frame*, const std::uint8_t* name,
                       std::size_t name_size, const std::uint8_t* value, std::size_t value_size, std::uint8_t,
                       void* call) {
    const std::string_view word = header_text(name, name_size);
    for (const std::string_view wanted : {":status", "grpc-status", "grpc-message"})
      if (word == wanted)
        of(call).headers_[std::string(word)] = header_text(value, std::min(value_size, kMaxReason));
    return 0;
  }

  static int on_data(nghttp2_session*, std::uint8_t, std::int32_t, const std::uint8_t* bytes,
                     std::size_t size, void* call) {
    return of(call).take(header_text(bytes, size)) ? 0 : NGHTTP2_ERR_CALLBACK_FAILURE;
  }

  static int on_close(nghttp2_session*, std::int32_t, std::uint32_t error, void* call) {
    of(call).is_closed_ = true;
    of(call).stream_error_ = error;
    return 0;
  }

  // Sends an empty message, which is only its header.
  static ssize_t read_request(nghttp2_session*, std::int32_t, std::uint8_t* buffer, std::size_t size,
                              std::uint32_t* flags, nghttp2_data_source*, void*) {
    if (size < kPrefix) return NGHTTP2_ERR_CALLBACK_FAILURE;
    std::fill_n(buffer, kPrefix, std::uint8_t{0});
    *flags = NGHTTP2_DATA_FLAG_EOF;
    return static_cast<ssize_t>(kPrefix);
  }

  Fd socket_;
  MonoTime deadline_;
  std::unique_ptr<nghttp2_session, Free> session_;
  std::map<std::string, std::string, std::less<>> headers_;
  std::string body_;
  std::optional<Error> problem_;  // an error that a callback found
  bool is_closed_ = false;
  std::uint32_t stream_error_ = NGHTTP2_NO_ERROR;
};

// Sends an empty message to a gRPC server over a new connection; returns the message of the answer. Returns
// by the deadline. not_found: no socket. unavailable: no program listens, or the call was cancelled. denied:
// no permission for the socket, the server runs as neither root nor this user, or it refuses. unsupported:
// the server does not know the method. timed_out. exhausted: the message is longer than kMaxMessage, or the
// server reports it. malformed: the answer is not gRPC, or is compressed without being requested.
Result<std::string> call_grpc(const Files& files, const std::string& path, std::string_view method,
                              MonoTime deadline) {
  Fd socket = TRY(connect_to(files, path));
  auto answer = UnaryCall(std::move(socket), deadline).run(method);
  if (!answer) return fail(answer.error().code, path + ": " + answer.error().what);
  return answer;
}

// ---- the helper

constexpr std::string_view kPodResources = "pod_resources";
constexpr std::string_view kList = "/v1.PodResourcesLister/List";
constexpr int kExitUsage = 64;  // EX_USAGE

Result<std::string> answer_pod_resources(const Files& files, MonoTime deadline) {
  const std::string socket(HelperKubelet::kSocket);
  // Leaves time to send the answer before the caller's deadline.
  const MonoTime earlier = deadline - (deadline - mono_now()) / 8;
  auto message = call_grpc(files, socket, kList, earlier);
  // A kubelet without the service counts as no kubelet.
  if (!message && message.error().code == Errc::unsupported)
    return fail(Errc::not_found, message.error().what);
  if (!message) return message;
  auto resources = parse_pod_resources(*message);
  if (!resources) return fail(resources.error().code, socket + ": " + resources.error().what);
  return format_pod_resources(*resources);
}

Result<std::string> answer_in(HelperResult result) {
  if (!result) return fail(error_of_subject(std::move(result).error()));
  return *std::move(result);
}

Result<std::string> answer_pod_log(std::string_view params, const std::string& pods, Fd& descriptor) {
  const auto path = text_in(params);
  if (!path) return fail(Errc::malformed, "kubelet helper: the path of a log is missing");
  descriptor = TRY(open_pod_log(*path, pods));
  return "null";
}

int serve_kubelet(int fd, const Files& files) {
  Fd descriptor;
  const std::string pods = files.root() + std::string(kPodLogFolder);
  return serve(
      fd,
      {{std::string(kPodResources),
        [&](std::string_view, MonoTime deadline) { return answer_pod_resources(files, deadline); }},
       {std::string(kOpenPodLog),
        [&](std::string_view params, MonoTime) { return answer_pod_log(params, pods, descriptor); }}},
      &descriptor);
}

}  // namespace

int run_kubelet_helper(int fd, const std::vector<std::string>& arguments) {
  std::vector<std::string> rest = arguments;
  std::string root;
  if (rest.size() >= 2 && rest[0] == "--root") {
    root = rest[1];
    rest.erase(rest.begin(), rest.begin() + 2);
  }
  const Files files(root);
  if (rest.empty()) return serve_kubelet(fd, files);
  const auto listening = parse_listening("autopilot helper kubelet", rest);
  if (!listening) {
    std::cerr << "autopilot helper kubelet: expected [--root DIR] [--listen /PATH [--allow-uid UID]...], "
                 "at most 16 users\n";
    return kExitUsage;
  }
  return listen_for_agents(*listening, [&files](int agent) { return serve_kubelet(agent, files); });
}

HelperKubelet::HelperKubelet(Command helper, const Clock& clock, const Files& files, std::string socket)
    : socket_(std::move(socket)), clock_(clock), files_(files), helper_("kubelet", std::move(helper)) {}

Result<PodResources> HelperKubelet::pod_resources(MonoTime deadline) const {
  auto resources = ask(deadline);
  const std::lock_guard lock(mutex_);
  problem_ = resources || resources.error().code == Errc::not_found ? "" : resources.error().what;
  return resources;
}

std::string HelperKubelet::problem() const {
  const std::lock_guard lock(mutex_);
  return problem_;
}

Result<PodResources> HelperKubelet::ask(MonoTime deadline) const {
  const MonoTime until = mono_now() + std::min(deadline - clock_.now().mono, Duration{kPatience});
  return parse_pod_resources_answer(TRY(socket_.empty() ? ask_child(until) : ask_at_socket(until)));
}

Result<std::string> HelperKubelet::ask_child(MonoTime deadline) const {
  // Lists the folder: without permission for it, the state of the socket is unknown.
  const auto names = TRY(files_.list(kFolder));
  if (std::ranges::find(names, kSocket.substr(kFolder.size() + 1)) == names.end())
    return fail(Errc::not_found, std::string(kSocket));
  return answer_in(helper_.call(kPodResources, "null", deadline));
}

// One connection per request: a restarted helper is found again, and an idle helper keeps no process.
Result<std::string> HelperKubelet::ask_at_socket(MonoTime deadline) const {
  HelperStream stream("kubelet helper at " + socket_, TRY(connect_to_helper(socket_)));
  return answer_in(stream.exchange(kPodResources, "null", deadline));
}

}  // namespace autopilot::host
