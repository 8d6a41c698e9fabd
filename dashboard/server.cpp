#include "dashboard/server.h"

#include <httplib.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "report/assets.h"

namespace detol::inline dashboard {
namespace {

using httplib::Request;
using httplib::Response;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kThreads = 24;  // each holds a connection
constexpr int kMostFollowers = 16;
constexpr std::size_t kLargestBody = 64 << 10;
constexpr auto kLook = std::chrono::milliseconds(500);  // between two looks at the studies
constexpr int kLooksOfSilence = 30;                     // until a comment says that all is well

// plotly.js compiles code for parallel coordinates, and writes styles into its elements.
constexpr const char* kPolicy =
    "default-src 'none'; script-src 'self' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
    "img-src data: blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'";

const httplib::Headers kEveryAnswer = {{"Content-Security-Policy", kPolicy},
                                       {"X-Content-Type-Options", "nosniff"},
                                       {"X-Frame-Options", "DENY"},
                                       {"Referrer-Policy", "no-referrer"},
                                       {"Cross-Origin-Resource-Policy", "same-origin"},
                                       {"Cross-Origin-Opener-Policy", "same-origin"},
                                       {"Cache-Control", "no-store"}};

int status_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInput:
    case ErrorCode::kUsage:
      return 400;
    case ErrorCode::kStudy:
    case ErrorCode::kEmpty:
      return 404;
    default:
      return 500;
  }
}

// Sets a body that httplib does not compress: its best compression takes longer than a model.
void answer_with(Response& response, std::string body, const char* type) {
  auto kept = std::make_shared<std::string>(std::move(body));
  response.status = 200;
  if (kept->empty()) return response.set_content("", type);
  response.set_content_provider(
      kept->size(), type, [kept](std::size_t offset, std::size_t length, httplib::DataSink& sink) {
        return sink.write(kept->data() + offset, length);
      });
}

void refuse(Response& response, int status, const std::string& why) {
  const nlohmann::json body{{"error", why}};
  answer_with(response, body.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n",
              "application/json");
  response.status = status;
}

void answer_json(Response& response, Result<std::string> json) {
  if (json) return answer_with(response, *std::move(json), "application/json");
  refuse(response, status_of(json.error().code), json.error().message);
}

// News: the studies, looked at at most every kLook, however many follow them.
class News {
 public:
  explicit News(Panels& panels) : panels_(panels) {}

  std::string latest() {
    const std::lock_guard lock(mutex_);
    if (text_.empty() || Clock::now() - looked_ >= kLook) {
      if (auto fresh = panels_.studies()) text_ = *std::move(fresh);
      looked_ = Clock::now();
    }
    return text_;
  }

 private:
  Panels& panels_;
  std::mutex mutex_;
  std::string text_;
  Clock::time_point looked_;
};

class HttpServer final : public Server {
 public:
  HttpServer(Panels& panels, ServedAt at, std::string token)
      : panels_(panels), at_(std::move(at)), token_(std::move(token)), news_(panels) {}

  Result<void> bind() {
    server_.new_task_queue = [] { return new httplib::ThreadPool(kThreads); };
    server_.set_tcp_nodelay(true);
    server_.set_socket_options([](socket_t socket) {  // a port that is taken is no error otherwise
      const int yes = 1;
      ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    });
    server_.set_keep_alive_max_count(1000);
    server_.set_keep_alive_timeout(1);  // seconds, for which the end waits, too
    server_.set_payload_max_length(kLargestBody);
    server_.set_default_headers(kEveryAnswer);
    server_.set_pre_routing_handler([this](const Request& request, Response& response) {
      return route(request, response) ? httplib::Server::HandlerResponse::Handled
                                      : httplib::Server::HandlerResponse::Unhandled;
    });
    server_.Post("/api/action",
                 [this](const Request& request, Response& response) { act(request, response); });
    const int port = at_.port == 0 ? server_.bind_to_any_port(at_.host)
                                   : (server_.bind_to_port(at_.host, at_.port) ? at_.port : -1);
    if (port <= 0)
      return fail(
          ErrorCode::kInput,
          authority_of(at_) + ": cannot listen there; another --port or --host may be free");
    at_.port = static_cast<std::uint16_t>(port);
    return {};
  }

  ServedAt served_at() const override { return at_; }
  void run() override { server_.listen_after_bind(); }
  void stop() override {
    is_ending_ = true;
    server_.stop();
  }

 private:
  bool has_token(const Request& request) const {
    return is_same_token(token_in(request.get_header_value("X-Detol-Token"),
                                  request.get_header_value("Authorization")),
                         token_);
  }

  // Answers, but for an action that is allowed: its body is yet to be read. Returns whether it did.
  bool route(const Request& request, Response& response) {
    const bool posts = request.method == "POST";
    if (!is_our_host(request.get_header_value("Host"), at_))
      refuse(response, 403, "the header Host does not name this dashboard");
    else if (request.has_header("Origin") &&
             !is_our_origin(request.get_header_value("Origin"), at_))
      refuse(response, 403, "a page of another origin may not ask this dashboard");
    else if (!posts && request.method != "GET")
      refuse(response, 405, "only GET and POST are answered");
    else if (request.path.starts_with("/api/"))
      return route_data(request, response, posts);
    else
      posts ? refuse(response, 405, "only /api/action takes POST") : send_page(request, response);
    return true;
  }

  bool route_data(const Request& request, Response& response, bool posts) {
    if (token_.empty() ? posts : !has_token(request)) {
      refuse(response, 401,
             token_.empty() ? "this dashboard was started without a token: read only"
                            : "the token is missing or wrong; open the address that "
                              "`detol dashboard` printed");
      return true;
    }
    if (posts && request.path == "/api/action") return false;
    const std::string study = request.get_param_value("study");
    if (posts)
      refuse(response, 405, "only /api/action takes POST");
    else if (request.path == "/api/events")
      follow(response);
    else if (request.path == "/api/model")
      answer_json(response, panels_.model(study));
    else if (request.path == "/api/trials")
      answer_json(response, panels_.trials(study, trial_query_of(request.params)));
    else
      refuse(response, 404, "there is no such page");
    return true;
  }

  static void send_page(const Request& request, Response& response) {
    if (request.path == "/") return answer_with(response, std::string(live_html()), "text/html");
    if (request.path == "/page.css")
      return answer_with(response, std::string(page_css()).append(live_css()), "text/css");
    if (request.path == "/page.js")
      return answer_with(response,
                         std::string("\"use strict\";\n(() => {\n")
                             .append(page_js())
                             .append(live_js())
                             .append("})();\n"),
                         "text/javascript");
    if (request.path != "/plotly.js") return refuse(response, 404, "there is no such page");
    answer_with(response, std::string(plotly_gz()), "text/javascript");
    response.set_header("Content-Encoding", "gzip");
  }

  // Sends the news until the client leaves.
  void follow(Response& response) {
    if (followers_.load() >= kMostFollowers)
      return refuse(response, 503, "too many pages follow this dashboard; close one");
    ++followers_;
    auto last = std::make_shared<std::string>();
    const auto send = [this, last](std::size_t, httplib::DataSink& sink) {
      for (int looks = 0; looks < kLooksOfSilence; ++looks) {
        if (is_ending_ || !sink.is_writable()) return false;
        std::string news = news_.latest();
        if (news != *last) {
          *last = std::move(news);
          const std::string event = "data: " + *last + "\n\n";
          return sink.write(event.data(), event.size());
        }
        std::this_thread::sleep_for(kLook);
      }
      return sink.write(":\n\n", 3);
    };
    response.status = 200;
    response.set_chunked_content_provider("text/event-stream", send,
                                          [this](bool) { --followers_; });
  }

  void act(const Request& request, Response& response) {
    const auto action = action_of(request.body);
    if (!action) return refuse(response, 400, action.error().message);
    const auto done = panels_.act(*action);
    answer_json(response, done ? Result<std::string>("{}\n")
                               : Result<std::string>(tl::unexpected<Error>(done.error())));
  }

  Panels& panels_;
  ServedAt at_;
  const std::string token_;
  News news_;
  std::atomic<int> followers_ = 0;
  std::atomic<bool> is_ending_ = false;
  httplib::Server server_;
};

}  // namespace

Result<std::unique_ptr<Server>> Server::listen(Panels& panels, ServedAt at, std::string token) {
  if (token.empty() && !is_loopback(at.host))
    return fail(ErrorCode::kUsage,
                at.host +
                    " can be reached from other machines, so the dashboard needs a token "
                    "there; leave out --token none");
  if (plotly_gz().empty())
    return fail(ErrorCode::kExport,
                "this detol was built without plotly.js, which draws the charts; install it "
                "(Debian: python3-plotly) and build again");
  auto server = std::make_unique<HttpServer>(panels, std::move(at), std::move(token));
  DETOL_TRY(server->bind());
  return server;
}

}  // namespace detol::inline dashboard
