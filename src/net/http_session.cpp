// SPDX-License-Identifier: Apache-2.0
#include "net/http_session.hpp"

#include <algorithm>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <exception>
#include <optional>
#include <utility>
#include <vector>

#include "net/loop_state.hpp"
#include "net/message_reader.hpp"
#include "net/message_text.hpp"
#include "net/streams.hpp"

namespace autopilot::net {

namespace asio = boost::asio;
using boost::system::error_code;

// State of one exchange, shared by all functions that take part in it.
struct Exchange::State {
  HttpRequest request;
  Duration deadline{0};
  std::optional<Duration> silence;  // only for a stream
  std::function<void(Result<HttpResponse>)> on_answer;
  // Each caller of one of its functions holds a reference: the function can cancel the exchange.
  std::shared_ptr<const StreamHandler> handler;

  std::shared_ptr<ClientStream> connection;  // set while the exchange runs
  std::shared_ptr<asio::steady_timer> timer;
  bool is_timed_out = false;
  bool is_ended = false;

  void cancel() {
    is_ended = true;
    if (timer) timer->cancel();
    if (connection) connection->close();
    on_answer = nullptr;
    handler.reset();
  }
};

Exchange& Exchange::operator=(Exchange&& other) noexcept {
  if (this != &other) {
    cancel();
    state_ = std::move(other.state_);
  }
  return *this;
}

void Exchange::cancel() {
  if (state_ && !state_->is_ended) state_->cancel();
  state_.reset();
}

bool Exchange::is_active() const {
  return state_ && !state_->is_ended;
}

struct HttpSession::Core : std::enable_shared_from_this<HttpSession::Core> {
  using Task = std::shared_ptr<Exchange::State>;
  struct Kept {
    std::shared_ptr<ClientStream> connection;
    std::unique_ptr<asio::steady_timer> end;
  };

  Core(std::shared_ptr<LoopState> state, ServerUrl server, std::shared_ptr<const TlsContext> keys,
       SessionLimits allowed)
      : loop(std::move(state)), url(std::move(server)), tls(std::move(keys)), limits(allowed) {}

  static asio::awaitable<void> run(std::shared_ptr<Core> self, Task task);
  asio::awaitable<Result<HttpResponse>> exchange(Task task);
  asio::awaitable<Result<HttpResponse>> exchange_on(Task task, bool* is_unanswered);
  asio::awaitable<Status> read_stream(Task task, Duration silence, ResponseReader* reader);
  asio::awaitable<Status> read_more(Task task, ResponseReader* reader);
  std::shared_ptr<ClientStream> take_kept();
  void keep(std::shared_ptr<ClientStream> connection);
  void arm(const Task& task, Duration patience);
  void finish(const Task& task, Result<HttpResponse> outcome);
  Exchange start(Task task);
  void close();

  const std::shared_ptr<LoopState> loop;
  const ServerUrl url;
  std::shared_ptr<const TlsContext> tls;
  const SessionLimits limits;
  std::vector<Task> tasks;  // running
  std::vector<Kept> kept;   // ordered by last use, the most recent at the back
  bool is_closed = false;
};

namespace {

bool may_be_sent_twice(const HttpRequest& request) {
  return request.method == "GET" || request.method == "HEAD" || request.method == "PUT" ||
         request.method == "DELETE";
}

}  // namespace

asio::awaitable<void> HttpSession::Core::run(std::shared_ptr<Core> self, Task task) {
  auto outcome = co_await self->exchange(task);
  self->finish(task, std::move(outcome));
}

// Returns the response; for a stream, its head after the stream has ended.
asio::awaitable<Result<HttpResponse>> HttpSession::Core::exchange(Task task) {
  arm(task, task->deadline);
  task->connection = take_kept();
  if (task->connection) {
    bool is_unanswered = false;
    auto outcome = co_await exchange_on(task, &is_unanswered);
    const bool again = !outcome && is_unanswered && !task->is_ended && !task->is_timed_out &&
                       may_be_sent_twice(task->request);
    if (!again) co_return outcome;
  }
  if (url.is_tls && !tls) co_return fail(Errc::internal, "no TLS context for an https server");
  task->connection = std::make_shared<ClientStream>(*loop->context, url.is_tls ? tls : nullptr);
  auto connected = co_await task->connection->connect(url.host, url.port);
  if (!connected) co_return fail(std::move(connected).error());
  bool is_unanswered = false;
  auto outcome = co_await exchange_on(task, &is_unanswered);
  co_return outcome;
}

// is_unanswered: set if the connection broke before the first byte of the response.
asio::awaitable<Result<HttpResponse>> HttpSession::Core::exchange_on(Task task, bool* is_unanswered) {
  const auto connection = task->connection;
  connection->buffer().clear();
  auto text = format_request(task->request, host_header(url), ConnectionUse::kept);
  // A server can refuse a request before it has read all of it: its response is more informative than a
  // broken pipe.
  auto written = co_await connection->write(std::move(text));
  const std::optional<Duration> silence = task->silence;
  const auto body_bytes = silence ? std::nullopt : std::optional(limits.body_bytes);
  ResponseReader reader(limits.header_bytes, body_bytes, task->request.method == "HEAD");
  Status read;
  while (read && !reader.has_head() && !reader.is_complete())
    read = co_await read_more(task, &reader);
  *is_unanswered = !read && !reader.has_head() && connection->buffer().empty();
  if (!read) co_return fail(written ? std::move(read).error() : std::move(written).error());
  HttpResponse head = reader.head();
  if (silence) {
    read = co_await read_stream(task, *silence, &reader);
  } else {
    while (read && !reader.is_complete())
      read = co_await read_more(task, &reader);
    head.body = reader.take_body();
  }
  if (!read) co_return fail(std::move(read).error());
  if (connection->buffer().empty() && reader.is_kept_alive() && !connection->is_closed()) keep(connection);
  co_return head;
}

asio::awaitable<Status> HttpSession::Core::read_stream(Task task, Duration silence, ResponseReader* reader) {
  const auto handler = task->handler;
  if (!handler) co_return Status();  // cancelled
  handler->on_head(reader->head());
  Status read;
  while (read && !task->is_ended) {
    const std::string bytes = reader->take_body();
    if (!bytes.empty()) handler->on_bytes(bytes);
    if (task->is_ended || reader->is_complete()) break;
    arm(task, silence);
    read = co_await read_more(task, reader);
  }
  co_return read;
}

asio::awaitable<Status> HttpSession::Core::read_more(Task task, ResponseReader* reader) {
  const auto connection = task->connection;
  auto more = co_await connection->read_some();
  if (!more) co_return fail(std::move(more).error());
  if (!*more) co_return reader->end();
  auto used = reader->feed(connection->buffer());
  if (!used) co_return fail(std::move(used).error());
  connection->buffer().erase(0, *used);
  co_return Status();
}

// Returns null if no kept connection is alive.
std::shared_ptr<ClientStream> HttpSession::Core::take_kept() {
  while (!kept.empty()) {
    auto connection = std::move(kept.back().connection);
    kept.pop_back();
    if (connection->is_quiet()) return connection;
  }
  return nullptr;
}

void HttpSession::Core::keep(std::shared_ptr<ClientStream> connection) {
  if (is_closed || kept.size() >= limits.kept) return;
  auto end = std::make_unique<asio::steady_timer>(*loop->context, limits.keep_for);
  end->async_wait([weak = weak_from_this(), which = connection.get()](error_code error) {
    const auto self = weak.lock();
    if (!error && self)
      std::erase_if(self->kept, [which](const Kept& one) { return one.connection.get() == which; });
  });
  kept.push_back({std::move(connection), std::move(end)});
}

void HttpSession::Core::arm(const Task& task, Duration patience) {
  task->timer = std::make_shared<asio::steady_timer>(*loop->context, patience);
  task->timer->async_wait([weak = std::weak_ptr(task), timer = task->timer.get()](error_code error) {
    const auto one = weak.lock();
    if (error || !one || one->is_ended || one->timer.get() != timer) return;
    one->is_timed_out = true;
    if (one->connection) one->connection->close();
  });
}

void HttpSession::Core::finish(const Task& task, Result<HttpResponse> outcome) {
  std::erase(tasks, task);
  if (task->is_ended) return;
  task->is_ended = true;
  if (task->timer) task->timer->cancel();
  task->connection.reset();
  if (!outcome && task->is_timed_out) outcome = fail(Errc::timed_out, "no answer before the deadline");
  if (!outcome) outcome = fail(outcome.error().code, to_string(url) + ": " + outcome.error().what);
  const auto on_answer = std::exchange(task->on_answer, nullptr);
  const auto handler = std::exchange(task->handler, nullptr);
  if (handler)
    handler->on_end(outcome ? Status() : fail(std::move(outcome).error()));
  else
    on_answer(std::move(outcome));
}

Exchange HttpSession::Core::start(Task task) {
  task->request.path = url.path + task->request.path;
  asio::post(*loop->context, [self = shared_from_this(), task] {
    if (task->is_ended) return;
    if (self->is_closed || self->tasks.size() >= self->limits.connections) {
      self->finish(task, fail(Errc::exhausted, "too many concurrent requests"));
      return;
    }
    self->tasks.push_back(task);
    asio::co_spawn(*self->loop->context, run(self, task), [](const std::exception_ptr& error) {
      if (error) std::rethrow_exception(error);
    });
  });
  return Exchange(std::move(task));
}

void HttpSession::Core::close() {
  is_closed = true;
  kept.clear();
  for (const Task& task : std::exchange(tasks, {}))
    if (!task->is_ended) task->cancel();
}

HttpSession::HttpSession(EventLoop& loop, ServerUrl url, std::shared_ptr<const TlsContext> tls,
                         SessionLimits limits)
    : core_(std::make_shared<Core>(loop.state(), std::move(url), std::move(tls), limits)) {}

HttpSession::~HttpSession() {
  core_->close();
}

void HttpSession::use(std::shared_ptr<const TlsContext> tls) {
  core_->tls = std::move(tls);
  core_->kept.clear();
}

Exchange HttpSession::send(HttpRequest request, Duration deadline,
                           std::function<void(Result<HttpResponse>)> on_answer) {
  auto task = std::make_shared<Exchange::State>();
  task->request = std::move(request);
  task->deadline = deadline;
  task->on_answer = std::move(on_answer);
  return core_->start(std::move(task));
}

Exchange HttpSession::stream(HttpRequest request, Duration deadline, Duration silence,
                             StreamHandler handler) {
  auto task = std::make_shared<Exchange::State>();
  task->request = std::move(request);
  task->deadline = deadline;
  task->silence = silence;
  task->handler = std::make_shared<const StreamHandler>(std::move(handler));
  return core_->start(std::move(task));
}

}  // namespace autopilot::net
