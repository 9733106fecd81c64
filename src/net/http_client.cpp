// SPDX-License-Identifier: Apache-2.0
#include "net/http_client.hpp"

#include <algorithm>
#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <optional>
#include <sys/un.h>
#include <utility>

#include "net/http.hpp"
#include "net/message_reader.hpp"
#include "net/message_text.hpp"
#include "net/url.hpp"

namespace autopilot::net {

namespace asio = boost::asio;
using asio::generic::stream_protocol;
using boost::system::error_code;

namespace {

constexpr Duration kStopPoll = std::chrono::milliseconds{200};

// Deadline of operations: one moment that all of them share, or a duration for each, and an optional stop
// flag.
class Patience {
 public:
  static Patience until(MonoTime deadline) {
    Patience patience;
    patience.deadline_ = deadline;
    return patience;
  }
  static Patience each(Duration limit, const std::atomic<bool>& stop) {
    Patience patience;
    patience.limit_ = limit;
    patience.stop_ = &stop;
    return patience;
  }
  // Runs the loop until `done`; false if the deadline passed first.
  bool wait(asio::io_context& context, const bool& done) const {
    context.restart();
    if (stop_ == nullptr) {
      while (!done && context.run_one_until(deadline_) > 0) {
      }
      return done;
    }
    for (Duration waited{0}; !done && !is_stopped() && waited < limit_; waited += kStopPoll)
      context.run_one_for(kStopPoll);
    return done;
  }
  [[nodiscard]] bool is_stopped() const { return stop_ != nullptr && *stop_; }

 private:
  MonoTime deadline_{};
  Duration limit_{0};
  const std::atomic<bool>* stop_ = nullptr;
};

// A connection whose operations block until they complete or the deadline passes.
class BlockingConnection {
 public:
  BlockingConnection(HttpTarget target, Duration time) : target_(std::move(target)), socket_(context_) {
    asio::steady_timer clock(context_, time);
    patience_ = Patience::until(clock.expiry());
  }

  void be_patient(Patience patience) { patience_ = patience; }
  [[nodiscard]] bool is_stopped() const { return patience_.is_stopped(); }

  Status connect() {
    const auto endpoint = TRY(endpoint_of(target_));
    return run([&](auto done) { socket_.async_connect(endpoint, done); }).map([](std::size_t) {});
  }
  Status write(std::string_view text) {
    return run([&](auto done) { asio::async_write(socket_, asio::buffer(text), done); }).map([](std::size_t) {
    });
  }
  // Appends received bytes; 0: the server closed the connection.
  Result<std::size_t> read(std::string& buffer) {
    auto count = run([&](auto done) { socket_.async_read_some(asio::buffer(chunk_), done); });
    if (count) buffer.append(chunk_.data(), *count);
    return count;
  }
  [[nodiscard]] Error at_target(Error error) const {
    error.what = to_string(target_) + ": " + error.what;
    return error;
  }

 private:
  // Completion handler of an asynchronous operation, with or without a byte count.
  struct Completion {
    error_code* error;
    std::size_t* count;
    bool* is_done;
    void operator()(error_code result, std::size_t bytes = 0) const {
      *error = result;
      *count = bytes;
      *is_done = true;
    }
  };

  static Result<stream_protocol::endpoint> endpoint_of(const HttpTarget& target) {
    if (!target.socket_path.empty()) {
      if (target.socket_path.size() >= sizeof sockaddr_un{}.sun_path)
        return fail(Errc::malformed, "the socket path is too long");
      return stream_protocol::endpoint(asio::local::stream_protocol::endpoint(target.socket_path));
    }
    error_code error;
    const auto address = asio::ip::make_address(target.address, error);
    if (error) return fail(Errc::malformed, "'" + target.address + "' is not an IP address");
    return stream_protocol::endpoint(asio::ip::tcp::endpoint(address, target.port));
  }

  template <class Start>
  Result<std::size_t> run(const Start& start) {
    error_code error;
    std::size_t count = 0;
    bool is_done = false;
    start(Completion{&error, &count, &is_done});
    if (!patience_.wait(context_, is_done)) {
      error_code ignored;
      socket_.close(ignored);
      context_.restart();
      context_.run();
      return fail(Error{Errc::timed_out, "no answer before the deadline"});
    }
    if (error == asio::error::eof) return std::size_t{0};
    if (error == asio::error::access_denied)
      return fail(Errc::denied, "permission denied: this user cannot open the socket");
    if (error.value() == ENOENT) return fail(Errc::unavailable, "the socket does not exist");
    if (error == asio::error::connection_refused)
      return fail(Errc::unavailable, "connection refused: no program listens on this address");
    if (error) return fail(Errc::unavailable, error.message());
    return count;
  }

  const HttpTarget target_;
  asio::io_context context_{1};
  stream_protocol::socket socket_;
  Patience patience_;
  std::array<char, 16384> chunk_{};
};

// Reads until the head of the response is complete.
Status read_head(BlockingConnection& connection, ResponseReader& reader, std::string& buffer) {
  while (!reader.has_head()) {
    const auto count = TRY(connection.read(buffer));
    if (count == 0) return reader.end();
    buffer.erase(0, TRY(reader.feed(buffer)));
  }
  return {};
}

Status read_rest(BlockingConnection& connection, ResponseReader& reader, std::string& buffer) {
  while (!reader.is_complete()) {
    const auto count = TRY(connection.read(buffer));
    if (count == 0) return reader.end();
    buffer.erase(0, TRY(reader.feed(buffer)));
  }
  return {};
}

std::string host_header(const HttpTarget& target) {
  return target.socket_path.empty() ? to_string(IpPort{target.address, target.port}) : "localhost";
}

Result<HttpResponse> exchange(BlockingConnection& connection, const std::string& request, bool is_head,
                              const ClientLimits& limits) {
  TRY_STATUS(connection.connect());
  // A server can refuse a request before it has read all of it: its response is more informative than a
  // broken pipe.
  const auto written = connection.write(request);
  if (!written && written.error().code == Errc::timed_out) return fail(written.error());
  ResponseReader reader(limits.header_bytes, limits.body_bytes, is_head);
  std::string buffer;
  auto read = read_head(connection, reader, buffer);
  if (read) read = read_rest(connection, reader, buffer);
  if (!read) return fail(written ? read.error() : written.error());
  HttpResponse response = reader.head();
  response.body = reader.take_body();
  return response;
}

Status follow_stream(BlockingConnection& connection, const std::string& request, const FollowOptions& options,
                     const std::function<bool(const ServerEvent&)>& on_event) {
  TRY_STATUS(connection.connect());
  TRY_STATUS(connection.write(request));
  ResponseReader reader(ClientLimits{}.header_bytes, std::nullopt, false);
  std::string buffer;
  TRY_STATUS(read_head(connection, reader, buffer));
  const HttpResponse head = reader.head();
  if (head.status != 200 || !head.content_type.starts_with("text/event-stream"))
    return fail(Errc::unavailable,
                "the server answered " + std::to_string(head.status) + " instead of an event stream");
  EventParser parser(options.event_bytes);
  while (true) {
    if (!TRY(parser.feed(reader.take_body(), on_event))) return {};
    if (reader.is_complete()) return fail(Errc::unavailable, "the event stream ended");
    if (TRY(connection.read(buffer)) == 0) return fail(Errc::unavailable, "the event stream ended");
    buffer.erase(0, TRY(reader.feed(buffer)));
  }
}

}  // namespace

Result<HttpTarget> parse_target(std::string_view text) {
  HttpTarget target;
  if (text.starts_with("unix:")) text.remove_prefix(5);
  if (text.starts_with('/')) {
    target.socket_path = text;
    return target;
  }
  if (text.starts_with("http://")) text.remove_prefix(7);
  if (text.ends_with('/')) text.remove_suffix(1);
  auto address = TRY(parse_ip_port(text));
  target.address = address.address.empty() ? "127.0.0.1" : std::move(address.address);
  target.port = address.port;
  return target;
}

std::string to_string(const HttpTarget& target) {
  return target.socket_path.empty() ? to_string(IpPort{target.address, target.port})
                                    : "unix:" + target.socket_path;
}

Result<HttpResponse> send_request(const HttpTarget& target, const HttpRequest& request,
                                  const ClientLimits& limits) {
  BlockingConnection connection(target, limits.deadline);
  const std::string text = format_request(request, host_header(target));
  auto response = exchange(connection, text, request.method == "HEAD", limits);
  if (!response) return fail(connection.at_target(response.error()));
  return response;
}

Status follow(const HttpTarget& target, const HttpRequest& request, const FollowOptions& options,
              const std::function<bool(const ServerEvent&)>& on_event, const std::atomic<bool>& stop) {
  HttpRequest following = request;
  following.headers.insert_or_assign("accept", "text/event-stream");
  if (!options.last_event_id.empty())
    following.headers.insert_or_assign("last-event-id", options.last_event_id);
  BlockingConnection connection(target, options.silence_deadline);
  connection.be_patient(Patience::each(options.silence_deadline, stop));
  const auto text = format_request(following, host_header(target));
  auto followed = follow_stream(connection, text, options, on_event);
  if (followed || stop) return {};
  if (followed.error().code == Errc::timed_out)
    followed = fail(Errc::unavailable, "the event stream sent nothing before the silence deadline");
  return fail(connection.at_target(followed.error()));
}

}  // namespace autopilot::net
