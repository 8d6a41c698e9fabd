// A server that strangers, and the slow, cannot wear out.

#include "web/http_server.h"

#include <poll.h>

#include <atomic>
#include <thread>
#include <vector>

#include "core/clock.h"
#include "tests/support/http.h"

namespace detol::web {
namespace {

using testing_support::ask;
using testing_support::here;

// Answers with the body that it was sent; /held waits until it is let go.
class Echo final : public HttpHandler {
 public:
  std::optional<HttpResponse> answer_head(const HttpRequest& head) override {
    if (head.path == "/refused") return refused(403, "not you");
    if (head.path != "/news") return std::nullopt;
    return HttpResponse{.type = "text/event-stream",
                        .news = [count = 0]() mutable -> std::optional<std::string> {
                          return ++count < 3 ? std::optional(std::to_string(count)) : std::nullopt;
                        }};
  }
  HttpResponse answer(const HttpRequest& request) override {
    ++answers;
    if (request.path == "/throws") throw std::runtime_error("no memory");
    if (request.path == "/large") return {.constant = large};
    return {.type = "text/plain", .body = request.method + " " + request.body};
  }

  std::atomic<int> answers = 0;
  const std::string large = std::string(8 << 20, 'x');
};

class WebServer : public testing::Test {
 protected:
  WebServer() : WebServer(std::chrono::seconds(10)) {}
  explicit WebServer(std::chrono::milliseconds patience)
      : server_(HttpServer::listen(echo_, {.at = {"127.0.0.1", 0},
                                           .threads = 2,
                                           .largest_body = 1 << 20,
                                           .headers = "X-Every: one\r\n",
                                           .patience = patience})
                    .value()),
        answering_([this] { server_->run(); }) {}
  ~WebServer() override {
    for (const int one : slow_) ::close(one);
    server_->stop();
    answering_.join();
  }

  std::uint16_t port() const { return server_->served_at().port; }
  std::string post(const std::string& body, const std::string& path = "/") const {
    return ask(port(), "POST " + path + " HTTP/1.1\r\nContent-Length: " +
                           std::to_string(body.size()) + "\r\n\r\n" + body);
  }
  // Returns a connection that has sent only this.
  int slow(const std::string& bytes) {
    slow_.push_back(::socket(AF_INET, SOCK_STREAM, 0));
    const sockaddr_in address = here(port());
    EXPECT_EQ(::connect(slow_.back(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)),
              0);
    ::send(slow_.back(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    return slow_.back();
  }
  // Returns what comes until the server ends the connection.
  static std::string rest_of(int connection) {
    std::string all;
    char part[4096];
    for (ssize_t got = 1; got > 0;) {
      got = ::recv(connection, part, sizeof part, 0);
      if (got > 0) all.append(part, static_cast<std::size_t>(got));
    }
    return all;
  }
  static bool starts(const std::string& answer, const std::string& status) {
    return answer.starts_with("HTTP/1.1 " + status);
  }

  Echo echo_;
  std::unique_ptr<HttpServer> server_;
  std::thread answering_;
  std::vector<int> slow_;
};

TEST_F(WebServer, AnswersWithTheBodyAndItsHeaders) {
  const std::string answer = post("hello");
  EXPECT_TRUE(starts(answer, "200 OK\r\n")) << answer;
  EXPECT_NE(answer.find("\r\nX-Every: one\r\n"), std::string::npos);
  EXPECT_NE(answer.find("\r\nContent-Length: 10\r\n"), std::string::npos);
  EXPECT_TRUE(answer.ends_with("\r\n\r\nPOST hello"));
  EXPECT_TRUE(post(std::string(1 << 20, 'x')).ends_with(std::string(1 << 20, 'x')));
  EXPECT_TRUE(ask(port(),
                  "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
                  "3\r\nabc\r\n0\r\n\r\n")
                  .ends_with("POST abc"));
  EXPECT_TRUE(post("", "/large").ends_with(echo_.large));
}

TEST_F(WebServer, RefusesByTheHeadWithoutReadingTheBody) {
  const int stranger = slow("POST /refused HTTP/1.1\r\nContent-Length: 1000000\r\n\r\nonly this");
  ::shutdown(stranger, SHUT_WR);
  EXPECT_TRUE(starts(rest_of(stranger), "403"));
  EXPECT_TRUE(starts(post(std::string(1 << 19, 'x'), "/refused"), "403"))
      << "the answer is seen though the body was not read";
  EXPECT_EQ(echo_.answers, 0);
}

TEST_F(WebServer, RefusesWhatIsTooLongOrNoRequest) {
  EXPECT_TRUE(starts(post(std::string((1 << 20) + 1, 'x')), "413"));
  const std::string chunk = "40000\r\n" + std::string(0x40000, 'x') + "\r\n";
  EXPECT_TRUE(starts(ask(port(), "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk +
                                     chunk + chunk + chunk + chunk),
                     "413"));
  EXPECT_TRUE(starts(ask(port(), "GET / HTTP/1.1\r\nX: " + std::string(60'000, 'x')), "431"));
  std::string many = "GET / HTTP/1.1\r\n";
  for (int i = 0; i < 5000; ++i) many += "X: y\r\n";
  EXPECT_TRUE(starts(ask(port(), many), "431"));
  EXPECT_TRUE(starts(ask(port(), "nonsense\r\n\r\n"), "400"));
  EXPECT_TRUE(starts(post("x", "/throws"), "500"));
  EXPECT_EQ(echo_.answers, 1);
}

TEST_F(WebServer, EndsAConnectionThatNeverEndsItsHeaders) {
  const int endless = slow("GET / HTTP/1.1\r\n");
  const std::string header = "X: " + std::string(8000, 'y') + "\r\n";
  const double limit_s = system_clock().now_s() + 20;
  while (::send(endless, header.data(), header.size(), MSG_NOSIGNAL) > 0)
    ASSERT_LT(system_clock().now_s(), limit_s);
}

TEST_F(WebServer, AnswersOthersHoweverManyAreSlow) {
  for (int i = 0; i < 400; ++i) slow(i % 2 == 0 ? "GET / HT" : "POST / HTTP/1.1\r\nX: y");
  EXPECT_TRUE(starts(post("hello"), "200"));
  pollfd first{.fd = slow_.front(), .events = POLLIN, .revents = 0};
  EXPECT_EQ(::poll(&first, 1, 0), 1) << "the oldest had to go";
  pollfd last{.fd = slow_.back(), .events = POLLIN, .revents = 0};
  EXPECT_EQ(::poll(&last, 1, 0), 0) << "the newest is waited for";
}

TEST_F(WebServer, AnswersOthersWhileManyReadNothingOfTheirAnswer) {
  for (int i = 0; i < 210; ++i) slow("GET /large HTTP/1.1\r\n\r\n");
  EXPECT_TRUE(starts(post("hello"), "200"));
}

TEST_F(WebServer, SendsNewsUntilThereIsNoMore) {
  const std::string answer = ask(port(), "GET /news HTTP/1.1\r\n\r\n");
  EXPECT_TRUE(starts(answer, "200"));
  EXPECT_TRUE(answer.ends_with("\r\n\r\n12")) << answer;
}

TEST_F(WebServer, SaysThatALongBodyMayComeToWhoAsks) {
  const int polite = slow("POST / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n");
  char part[64];
  const ssize_t got = ::recv(polite, part, sizeof part, 0);
  EXPECT_EQ(std::string(part, static_cast<std::size_t>(got)), "HTTP/1.1 100 Continue\r\n\r\n");
  ::send(polite, "hello", 5, 0);
  EXPECT_TRUE(rest_of(polite).ends_with("POST hello"));
}

class HastyWebServer : public WebServer {
 protected:
  HastyWebServer() : WebServer(std::chrono::milliseconds(100)) {}
};

TEST_F(HastyWebServer, EndsAConnectionWhoseRequestDoesNotCome) {
  EXPECT_EQ(rest_of(slow("")), "");
  EXPECT_EQ(rest_of(slow("GET / HTTP/1.1\r\nX: ")), "");
  EXPECT_EQ(rest_of(slow("POST / HTTP/1.1\r\nContent-Length: 100\r\n\r\nhalf")), "");
  EXPECT_EQ(echo_.answers, 0);
}

TEST(WebListen, RefusesAPortThatIsTakenAndAHostThatIsNone) {
  Echo echo;
  const auto first = HttpServer::listen(echo, {.at = {"127.0.0.1", 0}});
  ASSERT_TRUE(first);
  const auto second = HttpServer::listen(echo, {.at = (*first)->served_at()});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kInput);
  EXPECT_FALSE(HttpServer::listen(echo, {.at = {"no.such.host.invalid", 0}}));
}

}  // namespace
}  // namespace detol::web
