// The server of the dashboard, asked byte by byte.

#include "dashboard/server.h"

#include <algorithm>
#include <atomic>
#include <thread>

#include "tests/support/http.h"

namespace detol::dashboard {
namespace {

using testing_support::ask;

constexpr const char* kToken = "0123456789abcdef";
constexpr const char* kMarkup = "<script>alert(1)</script>";

class FakePanels : public Panels {
 public:
  Result<std::string> studies() override {
    return R"({"studies":[)" + std::to_string(looks_++ < 1 ? 1 : 2) + "]}";
  }
  Result<std::string> model(const std::string& study) override {
    if (study != "s") return fail(ErrorCode::kStudy, "no study '" + study + "'");
    return R"({"model":1})";
  }
  Result<std::string> trials(const std::string&, const TrialQuery& query) override {
    return R"({"page":)" + std::to_string(query.page) + "}";
  }
  Result<void> act(const Action& action) override {
    ++acts_;
    if (action.kind != Action::kNote) return fail(ErrorCode::kUsage, "nobody runs it");
    return {};
  }
  int acts() const { return acts_; }

 private:
  std::atomic<int> looks_ = 0, acts_ = 0;
};

class DashboardServer : public testing::Test {
 protected:
  DashboardServer() : DashboardServer(kToken) {}
  explicit DashboardServer(const std::string& token)
      : server_(Server::listen(panels_, {"127.0.0.1", 0}, token).value()),
        answering_([this] { server_->run(); }) {
    EXPECT_TRUE(get("/page.css").starts_with("HTTP/1.1 200"));  // it runs, so that it can stop
  }
  ~DashboardServer() override {
    server_->stop();
    answering_.join();
  }

  std::string send(const std::string& line, const std::string& headers = {},
                   const std::string& body = {}) const {
    return ask(port(), line + " HTTP/1.1\r\nHost: " + authority_of(server_->served_at()) +
                           "\r\nConnection: close\r\n" + headers + "\r\n" + body);
  }
  std::string get(const std::string& path, const std::string& headers = {}) const {
    return send("GET " + path, headers);
  }
  std::string post(const std::string& body, const std::string& headers) const {
    return send("POST /api/action",
                headers + "Content-Length: " + std::to_string(body.size()) + "\r\n", body);
  }
  std::uint16_t port() const { return server_->served_at().port; }

  static std::string with_token(const std::string& token = kToken) {
    return "X-Detol-Token: " + token + "\r\n";
  }
  static std::string status(const std::string& answer) {
    return answer.substr(0, answer.find("\r\n")).substr(9, 3);
  }

  FakePanels panels_;
  std::unique_ptr<Server> server_;
  std::thread answering_;
};

constexpr const char* kNote = R"({"action":"note","study":"s","note":"x"})";
constexpr const char* kActions[] = {kNote, R"({"action":"stop","study":"s"})",
                                    R"({"action":"prune","study":"s","trial":1})",
                                    R"({"action":"retry","study":"s","trial":1})",
                                    R"({"action":"budget","study":"s","more":"1h"})"};

TEST_F(DashboardServer, SendsThePageAndItsParts) {
  for (const char* path : {"/", "/page.css", "/page.js", "/plotly.js"})
    EXPECT_EQ(status(get(path)), "200") << path;
  EXPECT_NE(get("/").find("<title>detol dashboard</title>"), std::string::npos);
}

TEST_F(DashboardServer, SendsThePlainNumbersToThoseWhoHaveTheToken) {
  EXPECT_TRUE(get("/api/model?study=s", with_token()).ends_with("\r\n\r\n{\"model\":1}"));
  EXPECT_TRUE(get("/api/model?study=s", "Authorization: Bearer " + std::string(kToken) + "\r\n")
                  .ends_with("{\"model\":1}"));
  EXPECT_TRUE(get("/api/trials?study=s&page=4", with_token()).ends_with("{\"page\":4}"));
  EXPECT_EQ(status(get("/api/model?study=other", with_token())), "404");
}

TEST_F(DashboardServer, RefusesAWrongTokenEverywhereBelowApi) {
  for (const char* path : {"/api/model?study=s", "/api/trials?study=s", "/api/events", "/api/x",
                           "/api/model?study=s&token=0123456789abcdef"}) {
    EXPECT_EQ(status(get(path)), "401") << path;
    EXPECT_EQ(status(get(path, with_token("0123456789abcdeF"))), "401") << path;
  }
  for (const char* action : kActions) {
    EXPECT_EQ(status(post(action, "")), "401") << action;
    EXPECT_EQ(status(post(action, with_token("0123456789abcdeF"))), "401") << action;
  }
  EXPECT_EQ(panels_.acts(), 0);
}

TEST_F(DashboardServer, RefusesAForeignHostAndAForeignOrigin) {
  for (const char* host : {"evil.example", "evil.example:80", "127.0.0.1", ""})
    EXPECT_EQ(status(ask(port(), "GET / HTTP/1.1\r\nConnection: close\r\nHost: " +
                                     std::string(host) + "\r\n\r\n")),
              "403")
        << host;
  EXPECT_EQ(status(ask(port(), "GET / HTTP/1.0\r\n\r\n")), "403");
  for (const char* origin : {"http://evil.example", "null", "https://127.0.0.1"}) {
    const std::string header = "Origin: " + std::string(origin) + "\r\n";
    EXPECT_EQ(status(get("/api/model?study=s", with_token() + header)), "403") << origin;
    for (const char* action : kActions)
      EXPECT_EQ(status(post(action, with_token() + header)), "403") << origin << action;
  }
  EXPECT_EQ(panels_.acts(), 0);
  const std::string own = "Origin: http://" + authority_of(server_->served_at()) + "\r\n";
  EXPECT_EQ(status(post(kNote, with_token() + own)), "200");
}

TEST_F(DashboardServer, HasNoPathToAFile) {
  for (const char* path : {"/../etc/passwd", "/%2e%2e/etc/passwd", "/..%2fetc/passwd",
                           "//etc/passwd", "/page.css/../../etc/passwd", "/page.css%00",
                           "/detol.db", "/api/../page.css", "/%2fapi/model"}) {
    const std::string answer = get(path);
    EXPECT_EQ(status(answer)[0], '4') << path << answer;
    EXPECT_EQ(answer.find("root:"), std::string::npos) << path;
  }
  EXPECT_EQ(status(get("/" + std::string(7000, 'a'))), "404");
  EXPECT_EQ(status(get("/" + std::string(20000, 'a'))), "431");
  EXPECT_EQ(status(get("/api/" + std::string(7000, '('), with_token())), "404");
  EXPECT_EQ(status(get("/page.css")), "200") << "it still answers";
}

TEST_F(DashboardServer, TakesNoOtherMethods) {
  for (const char* method : {"HEAD", "PUT", "DELETE", "OPTIONS", "PATCH"})
    EXPECT_EQ(status(send(std::string(method) + " /", with_token())), "405") << method;
  EXPECT_EQ(status(send("POST /", with_token() + "Content-Length: 0\r\n")), "405");
  EXPECT_EQ(status(send("POST /api/model", with_token() + "Content-Length: 0\r\n")), "405");
}

TEST_F(DashboardServer, ActsAndSaysWhyNot) {
  EXPECT_EQ(status(post(kNote, with_token())), "200");
  EXPECT_EQ(panels_.acts(), 1);
  EXPECT_EQ(status(post("{}", with_token())), "400");
  const std::string refused = post(R"({"action":"stop","study":"s"})", with_token());
  EXPECT_EQ(status(refused), "400");
  EXPECT_NE(refused.find(R"({"error":"nobody runs it"})"), std::string::npos);
  EXPECT_EQ(status(post(std::string(100000, ' '), with_token())), "413");
  EXPECT_EQ(panels_.acts(), 2);
}

TEST_F(DashboardServer, ForbidsTheBrowserWhatThePageDoesNotNeed) {
  for (const std::string& answer : {get("/"), get("/nothing"), get("/api/model?study=s")}) {
    for (const char* header : {"X-Content-Type-Options: nosniff\r\n",
                               "default-src 'none'; script-src 'self' ", "frame-ancestors 'none'",
                               "Referrer-Policy: no-referrer\r\n", "Cache-Control: no-store\r\n"})
      EXPECT_NE(answer.find(header), std::string::npos) << header << answer.substr(0, 800);
    EXPECT_EQ(answer.find("Access-Control-Allow"), std::string::npos);
  }
  const std::string page = get("/");
  EXPECT_EQ(page.find("<script>"), std::string::npos) << "no script in the page";
  EXPECT_EQ(page.find("<style"), std::string::npos);
}

TEST_F(DashboardServer, NeverSendsMarkupOfOthersAsAPage) {
  const std::string answer =
      get("/api/model?study=%3Cscript%3Ealert(1)%3C/script%3E", with_token());
  EXPECT_NE(answer.find("Content-Type: application/json\r\n"), std::string::npos);
  EXPECT_NE(answer.find(kMarkup), std::string::npos);
  EXPECT_EQ(get("/%3Cscript%3Ealert(1)%3C/script%3E").find(kMarkup), std::string::npos);
}

TEST_F(DashboardServer, SendsTheStudiesAtOnceAndWhenTheyChange) {
  const std::string head =
      "GET /api/events HTTP/1.1\r\nHost: " + authority_of(server_->served_at()) + "\r\n" +
      with_token() + "\r\n";
  const std::string events = ask(port(), head, R"(data: {"studies":[2]})");
  EXPECT_NE(events.find("Content-Type: text/event-stream\r\n"), std::string::npos);
  EXPECT_LT(events.find("data: {\"studies\":[1]}\n\n"), events.find("data: {\"studies\":[2]}"));
}

class DashboardWithoutToken : public DashboardServer {
 protected:
  DashboardWithoutToken() : DashboardServer("") {}
};

TEST_F(DashboardWithoutToken, IsReadByAllAndActsForNobody) {
  EXPECT_EQ(status(get("/api/model?study=s")), "200");
  for (const char* action : kActions) {
    EXPECT_EQ(status(post(action, "")), "401") << action;
    EXPECT_EQ(status(post(action, with_token(""))), "401") << action;
  }
  EXPECT_EQ(panels_.acts(), 0);
}

TEST(DashboardListen, RefusesOtherMachinesWithoutATokenAndAPortThatIsTaken) {
  FakePanels panels;
  const auto open = Server::listen(panels, {"0.0.0.0", 0}, "");
  ASSERT_FALSE(open);
  EXPECT_EQ(open.error().code, ErrorCode::kUsage);
  const auto first = Server::listen(panels, {"127.0.0.1", 0}, kToken);
  ASSERT_TRUE(first);
  const auto second = Server::listen(panels, (*first)->served_at(), kToken);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kInput);
}

}  // namespace
}  // namespace detol::dashboard
