#include "web/http_server.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <exception>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>

#include "core/clock.h"
#include "core/json_text.h"

namespace detol::inline web {

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;
using beast::error_code;
using Parser = http::request_parser<http::string_body>;

constexpr std::uint32_t kLongestHead = 16 << 10;
constexpr std::size_t kReadAtOnce = 64 << 10;
constexpr std::size_t kMostConnections = 256, kMostOfAPeer = 192;
constexpr std::size_t kBodiesTogether = std::size_t{64} << 20;
constexpr std::size_t kPiece = 64 << 10;                // of an answer
constexpr auto kPieceTime = std::chrono::seconds(30);   // for the client to take it
constexpr auto kLingerTime = std::chrono::seconds(2);   // for a client to see the answer's end
constexpr std::size_t kMostOfAFollower = 64 << 10;      // bytes that it sends in vain
constexpr auto kLook = std::chrono::milliseconds(500);  // between two looks at the news
constexpr auto kAcceptAgain = std::chrono::milliseconds(50);

std::string reason_of(int status) {
  const beast::string_view reason = http::obsolete_reason(static_cast<http::status>(status));
  return {reason.data(), reason.size()};
}

HttpRequest head_of(const http::request<http::string_body>& from) {
  const auto text = [](beast::string_view view) { return std::string(view.data(), view.size()); };
  const auto header = [&](beast::string_view name) { return text(from[name]); };
  HttpRequest head{.method = text(from.method_string()), .path = {}};
  read_target(text(from.target()), head);
  head.host = header("Host");
  if (from.find(http::field::origin) != from.end()) head.origin = header("Origin");
  head.token = token_in(header("X-Detol-Token"), header("Authorization"));
  return head;
}

}  // namespace

HttpResponse refused(int status, std::string_view why) {
  return {.status = status, .body = compact(nlohmann::json{{"error", why}}) + "\n"};
}

// Parts: all of it is used on the thread of run() alone, but for stop() and the threads' answers.
class HttpServer::Parts {
 public:
  Parts(HttpHandler& handler, HttpOptions options)
      : handler_(handler),
        options_(std::move(options)),
        threads_(static_cast<std::size_t>(options_.threads)) {}

  Result<void> bind();
  const ServedAt& served_at() const { return options_.at; }
  void run();
  void stop();

 private:
  class Connection;

  void accept();
  void take(tcp::socket socket);
  bool make_room(const asio::ip::address& peer);

  HttpHandler& handler_;
  HttpOptions options_;
  std::map<std::uint64_t, Connection*> connections_;  // the oldest first
  std::uint64_t next_ = 0;
  std::size_t body_bytes_ = 0;  // that connections hold, or may yet
  asio::io_context context_;
  tcp::acceptor acceptor_{context_};
  asio::steady_timer again_{context_};
  asio::thread_pool threads_;
};

// Connection: one request and its answer. It lives as long as one of its operations.
class HttpServer::Parts::Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(Parts& server, tcp::socket socket, asio::ip::address peer, std::uint64_t number)
      : peer_(std::move(peer)),
        server_(server),
        number_(number),
        stream_(std::move(socket)),
        timer_(server.context_) {
    parser_.header_limit(kLongestHead);
    parser_.body_limit(server_.options_.largest_body);
    server_.connections_.emplace(number_, this);
  }
  ~Connection() { leave(); }
  Connection(const Connection&) = delete;

  const asio::ip::address& peer() const { return peer_; }
  bool follows() const { return response_.news != nullptr; }

  // Ends the connection, whatever is waited for.
  void end() {
    is_ended_ = true;
    error_code ignored;
    stream_.socket().close(ignored);
    timer_.cancel();
    leave();
  }

  void start() {
    stream_.expires_after(server_.options_.patience);
    http::async_read_header(stream_, buffer_, parser_,
                            [self = shared_from_this()](error_code error, std::size_t) {
                              error ? self->give_up(error) : self->take_head();
                            });
  }

 private:
  void leave() {
    server_.connections_.erase(number_);
    server_.body_bytes_ -= std::exchange(body_bytes_, 0);
  }

  // Says what is wrong with the request if it is one that can be answered.
  void give_up(error_code error) {
    if (error == http::error::body_limit) return reply(refused(413, "the body is too long"));
    if (error == http::error::header_limit || error == http::error::buffer_overflow)
      return reply(refused(431, "the head of the request is too long"));
    const bool is_http = error.category() == make_error_code(http::error::bad_version).category();
    if (is_http && error != http::error::end_of_stream)
      reply(refused(400, "this is no HTTP request"));
  }

  void take_head() {
    request_ = head_of(parser_.get());
    if (auto answer = server_.handler_.answer_head(request_)) return reply(*std::move(answer));
    if (parser_.is_done()) return ask_handler();
    const std::size_t largest = server_.options_.largest_body;
    const auto length = parser_.content_length();
    body_bytes_ = length ? std::min<std::size_t>(*length, largest) : largest;
    server_.body_bytes_ += body_bytes_;
    if (server_.body_bytes_ > kBodiesTogether)
      return reply(refused(503, "too many long requests at once; try again"));
    if (parser_.get()[http::field::expect] != "100-continue") return read_body();
    static constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
    asio::async_write(stream_, asio::buffer(kContinue),
                      [self = shared_from_this()](error_code error, std::size_t) {
                        if (!error) self->read_body();
                      });
  }

  void read_body() {
    http::async_read(stream_, buffer_, parser_,
                     [self = shared_from_this()](error_code error, std::size_t) {
                       if (error) return self->give_up(error);
                       self->request_.body = std::move(self->parser_.get().body());
                       self->ask_handler();
                     });
  }

  void ask_handler() {
    stream_.expires_never();
    asio::post(server_.threads_, [self = shared_from_this()]() mutable {
      HttpResponse response;
      try {
        response = self->server_.handler_.answer(self->request_);
      } catch (const std::exception& error) {
        response = refused(500, error.what());
      }
      asio::io_context& context = self->server_.context_;
      asio::post(context, [self = std::move(self), response = std::move(response)]() mutable {
        self->reply(std::move(response));
      });
    });
  }

  void reply(HttpResponse response) {
    if (is_ended_) return;
    response_ = std::move(response);
    const std::string_view body = response_.constant.empty() ? response_.body : response_.constant;
    head_ = fmt::format(
        "HTTP/1.1 {} {}\r\nContent-Type: {}\r\nConnection: close\r\n{}{}{}\r\n", response_.status,
        reason_of(response_.status), response_.type, server_.options_.headers, response_.headers,
        response_.news ? std::string() : fmt::format("Content-Length: {}\r\n", body.size()));
    write(head_, body);
  }

  // Writes piece by piece, each of which has a time of its own.
  void write(std::string_view now, std::string_view then) {
    const std::string_view piece = now.substr(0, kPiece);
    now.remove_prefix(piece.size());
    stream_.expires_after(kPieceTime);
    asio::async_write(stream_, asio::buffer(piece),
                      [self = shared_from_this(), now, then](error_code error, std::size_t) {
                        if (error) return self->end();
                        if (!now.empty()) return self->write(now, then);
                        if (!then.empty()) return self->write(then, {});
                        if (!self->follows()) return self->linger();
                        self->stream_.expires_never();
                        self->discard();  // so that the end of the client is seen
                        self->follow();
                      });
  }

  // Reads on until the client has seen the end: closing with bytes unread would destroy the answer.
  void linger() {
    error_code ignored;
    stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
    stream_.expires_after(kLingerTime);
    lingers_until_s_ = system_clock().now_s() + std::chrono::duration<double>(kLingerTime).count();
    discard();
  }

  // The stream's own time does not end a client that always has more to send.
  void discard() {
    stream_.async_read_some(
        asio::buffer(discarded_), [self = shared_from_this()](error_code error, std::size_t size) {
          self->discarded_bytes_ += size;
          const bool is_over = self->follows() ? self->discarded_bytes_ > kMostOfAFollower
                                               : system_clock().now_s() > self->lingers_until_s_;
          error || is_over ? self->end() : self->discard();
        });
  }

  // Sends the news now, and again after a while.
  void follow() {
    asio::post(server_.threads_, [self = shared_from_this()]() mutable {
      std::optional<std::string> news = self->response_.news();
      asio::io_context& context = self->server_.context_;
      asio::post(context, [self = std::move(self), news = std::move(news)]() mutable {
        if (self->is_ended_) return;
        if (!news) return self->end();
        self->head_ = *std::move(news);
        if (!self->head_.empty()) return self->write_news();
        self->wait();
      });
    });
  }

  void write_news() {
    stream_.expires_after(kPieceTime);
    asio::async_write(stream_, asio::buffer(head_),
                      [self = shared_from_this()](error_code error, std::size_t) {
                        error ? self->end() : self->wait();
                      });
  }

  void wait() {
    timer_.expires_after(kLook);
    timer_.async_wait([self = shared_from_this()](error_code error) {
      if (!error && !self->is_ended_) self->follow();
    });
  }

  const asio::ip::address peer_;
  Parts& server_;
  const std::uint64_t number_;
  beast::tcp_stream stream_;
  asio::steady_timer timer_;
  beast::flat_buffer buffer_{kReadAtOnce};
  Parser parser_;
  HttpRequest request_ = {};
  HttpResponse response_ = {};
  std::string head_;
  std::array<char, 4096> discarded_{};
  std::size_t body_bytes_ = 0;
  std::size_t discarded_bytes_ = 0;
  double lingers_until_s_ = 0;
  bool is_ended_ = false;
};

Result<void> HttpServer::Parts::bind() {
  ServedAt& at = options_.at;
  error_code error;
  const auto found = tcp::resolver(context_).resolve(at.host, std::to_string(at.port), error);
  if (!error && found.empty()) error = asio::error::host_not_found;
  if (!error) {
    const tcp::endpoint here = found.begin()->endpoint();
    acceptor_.open(here.protocol(), error);
    if (!error) acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
    if (!error) acceptor_.bind(here, error);
  }
  if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
  if (error)
    return fail(ErrorCode::kInput,
                fmt::format("{}: cannot listen there ({}); another --port may be free",
                            authority_of(at), error.message()));
  at.port = acceptor_.local_endpoint().port();
  return {};
}

void HttpServer::Parts::run() {
  accept();
  context_.run();
  threads_.stop();
  threads_.join();
}

void HttpServer::Parts::stop() {
  asio::post(context_, [this] { context_.stop(); });
}

void HttpServer::Parts::accept() {
  acceptor_.async_accept([this](error_code error, tcp::socket socket) {
    if (!error) take(std::move(socket));
    if (!error || error == asio::error::connection_aborted) return accept();
    make_room({});  // it has no more descriptors
    again_.expires_after(kAcceptAgain);
    again_.async_wait([this](error_code) { accept(); });
  });
}

void HttpServer::Parts::take(tcp::socket socket) {
  error_code error;
  const auto peer = socket.remote_endpoint(error).address();
  if (error || !make_room(peer)) return;
  socket.set_option(tcp::no_delay(true), error);
  std::make_shared<Connection>(*this, std::move(socket), peer, next_++)->start();
}

// Ends the oldest connection, where there are too many, or too many of the peer: who asks is
// answered at once, so that the oldest is slow. Followers stay; there are few.
// Returns whether there is room.
bool HttpServer::Parts::make_room(const asio::ip::address& peer) {
  const auto is_peers = [&](const auto& one) { return one.second->peer() == peer; };
  const bool is_crowd =
      std::ranges::count_if(connections_, is_peers) >= std::ptrdiff_t{kMostOfAPeer};
  if (!is_crowd && connections_.size() < kMostConnections && !peer.is_unspecified()) return true;
  const auto oldest = std::ranges::find_if(connections_, [&](const auto& one) {
    return !one.second->follows() && (!is_crowd || is_peers(one));
  });
  if (oldest == connections_.end()) return false;
  oldest->second->end();
  return true;
}

HttpServer::HttpServer(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
HttpServer::~HttpServer() = default;

Result<std::unique_ptr<HttpServer>> HttpServer::listen(HttpHandler& handler, HttpOptions options) {
  auto parts = std::make_unique<Parts>(handler, std::move(options));
  DETOL_TRY(parts->bind());
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(parts)));
}

ServedAt HttpServer::served_at() const {
  return parts_->served_at();
}

void HttpServer::run() {
  parts_->run();
}

void HttpServer::stop() {
  parts_->stop();
}

}  // namespace detol::inline web
