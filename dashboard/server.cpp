#include "dashboard/server.h"

#include <atomic>
#include <chrono>
#include <mutex>
#include <utility>

#include "report/assets.h"
#include "web/http_server.h"

namespace detol::inline dashboard {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kThreads = 8;
constexpr int kMostFollowers = 16;
constexpr std::size_t kLargestBody = 64 << 10;
constexpr auto kLook = std::chrono::milliseconds(500);  // between two looks at the studies
constexpr int kLooksOfSilence = 30;                     // until a comment says that all is well

// plotly.js compiles code for parallel coordinates, and writes styles into its elements.
constexpr const char* kEveryAnswer =
    "Content-Security-Policy: default-src 'none'; script-src 'self' 'unsafe-eval'; "
    "style-src 'self' 'unsafe-inline'; img-src data: blob:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n"
    "X-Content-Type-Options: nosniff\r\n"
    "X-Frame-Options: DENY\r\n"
    "Referrer-Policy: no-referrer\r\n"
    "Cross-Origin-Resource-Policy: same-origin\r\n"
    "Cross-Origin-Opener-Policy: same-origin\r\n"
    "Cache-Control: no-store\r\n";

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

HttpResponse json_response(Result<std::string> json) {
  if (!json) return refused(status_of(json.error().code), json.error().message);
  return {.body = *std::move(json)};
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

class PanelServer final : public Server, private HttpHandler {
 public:
  PanelServer(Panels& panels, std::string token)
      : panels_(panels), token_(std::move(token)), news_(panels) {}

  Result<void> bind(ServedAt at) {
    DETOL_ASSIGN(server_, HttpServer::listen(*this, {.at = std::move(at),
                                                     .threads = kThreads,
                                                     .largest_body = kLargestBody,
                                                     .headers = kEveryAnswer}));
    return {};
  }

  ServedAt served_at() const override { return server_->served_at(); }
  void run() override { server_->run(); }
  void stop() override { server_->stop(); }

 private:
  // Answers all but the calls that are allowed.
  std::optional<HttpResponse> answer_head(const HttpRequest& head) override {
    const bool posts = head.method == "POST";
    if (const auto why = foreign(head, served_at()); !why.empty()) return refused(403, why);
    if (!posts && head.method != "GET") return refused(405, "only GET and POST are answered");
    if (!head.path.starts_with("/api/"))
      return posts ? refused(405, "only /api/action takes POST") : page(head.path);
    if (token_.empty() && posts)
      return refused(401, "this dashboard was started without a token: read only");
    if (!token_.empty() && !is_same_token(head.token, token_))
      return refused(401,
                     "the token is missing or wrong; open the address that `detol dashboard` "
                     "printed");
    if (posts && head.path != "/api/action") return refused(405, "only /api/action takes POST");
    if (head.path == "/api/events") return follow();
    return std::nullopt;
  }

  HttpResponse answer(const HttpRequest& request) override {
    if (request.method == "POST") return act(request.body);
    const auto study = request.parameters.find("study");
    const std::string name = study != request.parameters.end() ? study->second : std::string();
    if (request.path == "/api/model") return json_response(panels_.model(name));
    if (request.path == "/api/trials")
      return json_response(panels_.trials(name, trial_query_of(request.parameters)));
    return refused(404, "there is no such page");
  }

  HttpResponse page(const std::string& path) const {
    if (path == "/") return {.type = "text/html", .body = std::string(live_html())};
    if (path == "/page.css")
      return {.type = "text/css", .body = std::string(page_css()).append(live_css())};
    if (path == "/page.js")
      return {.type = "text/javascript",
              .body = std::string("\"use strict\";\n(() => {\n")
                          .append(page_js())
                          .append(live_js())
                          .append("})();\n")};
    if (path != "/plotly.js") return refused(404, "there is no such page");
    return {.type = "text/javascript",
            .constant = plotly_gz(),
            .headers = "Content-Encoding: gzip\r\n"};
  }

  // Sends the news until the client leaves.
  HttpResponse follow() {
    struct Follower {
      explicit Follower(std::atomic<int>& all) : count(all) { ++count; }
      ~Follower() { --count; }
      std::atomic<int>& count;
      std::string last;
      int silence = 0;
    };
    if (followers_.load() >= kMostFollowers)
      return refused(503, "too many pages follow this dashboard; close one");
    const auto follower = std::make_shared<Follower>(followers_);
    return {.type = "text/event-stream", .news = [this, follower]() -> std::optional<std::string> {
              std::string news = news_.latest();
              if (news != follower->last) {
                follower->last = std::move(news);
                follower->silence = 0;
                return "data: " + follower->last + "\n\n";
              }
              if (++follower->silence < kLooksOfSilence) return std::string();
              follower->silence = 0;
              return ":\n\n";
            }};
  }

  HttpResponse act(const std::string& body) {
    const auto action = action_of(body);
    if (!action) return refused(400, action.error().message);
    const auto done = panels_.act(*action);
    return json_response(done ? Result<std::string>("{}\n")
                              : Result<std::string>(tl::unexpected<Error>(done.error())));
  }

  Panels& panels_;
  const std::string token_;
  News news_;
  std::atomic<int> followers_ = 0;
  std::unique_ptr<HttpServer> server_;  // ends before what it uses
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
  auto server = std::make_unique<PanelServer>(panels, std::move(token));
  DETOL_TRY(server->bind(std::move(at)));
  return server;
}

}  // namespace detol::inline dashboard
