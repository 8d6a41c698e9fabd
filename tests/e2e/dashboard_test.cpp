// `detol dashboard` of studies that are really searched.

#include <csignal>
#include <nlohmann/json.hpp>

#include "core/file.h"
#include "tests/e2e/tiny_study.h"
#include "tests/support/http.h"

namespace detol::testing_support {
namespace {

using Json = nlohmann::json;

constexpr const char* kKey = "0123456789abcdefghij";

class Dashboard : public testing::Test {
 protected:
  Dashboard() : port_(free_port()) {
    write_bytes(folder_.path() / "naps.yaml",
                "version: 1\nstudy: naps\nfunction: {name: sleep, seconds: 0.01}\n"
                "search: {algorithm: random}\nbudget: 100000trials\n");
  }

  std::vector<std::string> words() const {
    return {"dashboard", "--port", std::to_string(port_), "--token", kKey};
  }

  std::string send(const std::string& line, const std::string& body = {},
                   const std::string& until = {}) const {
    return ask(port_,
               line + " HTTP/1.1\r\nHost: localhost:" + std::to_string(port_) +
                   "\r\nConnection: close\r\nX-Detol-Token: " + kKey +
                   "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body,
               until);
  }

  Json get(const std::string& path) const {
    const std::string answer = send("GET " + path);
    return Json::parse(answer.substr(answer.find("\r\n\r\n") + 4), nullptr, false);
  }

  TempFolder folder_;
  const std::uint16_t port_;
};

TEST_F(Dashboard, FollowsASearchStopsItAndEndsBySigterm) {
  Program search(folder_.path(), {"search", "--space", "naps.yaml", "-j", "1"});
  ASSERT_TRUE(search.says("trial 0 starts")) << search.wait().err;
  Program dashboard(folder_.path(), words());
  ASSERT_TRUE(dashboard.says("the dashboard answers")) << dashboard.wait().err;
  const std::string events = send("GET /api/events", "", "\n\n");
  EXPECT_NE(events.find(R"("name":"naps")"), std::string::npos) << events;
  const auto count = [&] { return get("/api/trials?study=naps")["of"].get<int>(); };
  for (const int before = count(); count() <= before;) continue;  // new trials appear
  EXPECT_GT(get("/api/model?study=naps")["model"]["count"].get<int>(), 0);

  send("POST /api/action", R"({"action":"note","study":"naps","trial":0,"note":"<b>first</b>"})");
  EXPECT_EQ(get("/api/trials?study=naps&down=0")["trials"]["note"][0], "<b>first</b>");
  const std::string stopped = send("POST /api/action", R"({"action":"stop","study":"naps"})");
  EXPECT_TRUE(stopped.starts_with("HTTP/1.1 200")) << stopped;
  EXPECT_EQ(search.wait().code, 75);
  EXPECT_NE(send("POST /api/action", R"({"action":"stop","study":"naps"})").find("nobody runs"),
            std::string::npos);

  dashboard.signal(SIGTERM);
  const Ran ran = dashboard.wait();
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(ran.out.starts_with("http://127.0.0.1:" + std::to_string(port_) + "/#token=" + kKey))
      << ran.out;
  EXPECT_NE(ran.out.find("ssh -L "), std::string::npos);
  EXPECT_EQ(ran.err.find(kKey), std::string::npos) << "the token is in no log";
}

// Trial 0 crashes until there is a file `go`, trial 1 reports for ever.
constexpr const char* kProgram =
    "[ $DETOL_TRIAL = 0 ] && [ ! -e go ] && exit 3\n"
    "step=0; report() { echo \"{\\\"step\\\": $1, \\\"loss\\\": 1}\" >> \"$DETOL_REPORT\"; }\n"
    "report 1; while [ $DETOL_TRIAL = 1 ]; do step=$((step + 1)); report $step; sleep 0.1; done\n"
    "exit 0\n";

TEST_F(Dashboard, ActsThroughTheMasterAlsoIfThatIsKilledMeanwhile) {
  write_bytes(folder_.path() / "train.sh", kProgram);
  Program search(folder_.path(), {"tune", "--study", "steps", "--metric", "loss:minimize",
                                  "--param", "x=int(1,1000)", "--budget", "2trials", "-j", "1",
                                  "--", "sh", "train.sh", "{x}"});
  ASSERT_TRUE(search.says("trial 1 starts")) << search.wait().err;
  Program dashboard(folder_.path(), words());
  ASSERT_TRUE(dashboard.says("the dashboard answers")) << dashboard.wait().err;
  const auto trials = [&] { return get("/api/trials?study=steps&down=0")["trials"]; };
  while (!trials()["epochs"][1].is_number() || trials()["epochs"][1] < 1) continue;
  const auto act = [&](const std::string& rest) {
    return send("POST /api/action", R"({"study":"steps","action":)" + rest + "}");
  };
  EXPECT_NE(act(R"("prune","trial":0)").find("trial 0 is FAIL"), std::string::npos);
  EXPECT_NE(act(R"("retry","trial":1)").find("trial 1 is RUNNING"), std::string::npos);
  EXPECT_NE(act(R"("retry","trial":9)").find("no trial 9"), std::string::npos);
  EXPECT_NE(act(R"("budget","more":"1h")").find("no such limit"), std::string::npos);

  write_bytes(folder_.path() / "go", "");
  EXPECT_TRUE(act(R"("retry","trial":0)").starts_with("HTTP/1.1 200"));
  const Ran raised = run(folder_.path(), {"study", "budget", "steps", "+1trials"});
  EXPECT_EQ(raised.code, 0) << raised.err;
  ASSERT_EQ(trials()["state"][0], "WAITING");
  const pid_t master = search.children("__master").at(0);
  ::kill(master, SIGSTOP);
  EXPECT_TRUE(act(R"("prune","trial":1)").starts_with("HTTP/1.1 200"));
  EXPECT_EQ(trials()["state"][1], "RUNNING") << "the one who writes is stopped";
  ::kill(master, SIGKILL);

  EXPECT_EQ(search.wait().code, 0);
  const Json ended = trials();
  EXPECT_EQ(ended["state"], Json({"COMPLETE", "PRUNED", "COMPLETE"}));
  EXPECT_EQ(ended["reason"][1], "on request");
  EXPECT_NE(act(R"("prune","trial":1)").find("nobody runs"), std::string::npos);
  for (const std::string& file : listing(folder_.path() / "detol.db.d/steps"))
    EXPECT_EQ(file.find("requested"), std::string::npos) << file;
  dashboard.signal(SIGTERM);
  EXPECT_EQ(dashboard.wait().code, 0);
}

TEST_F(Dashboard, RefusesWhatItCannotServe) {
  const auto code = [&](const std::vector<std::string>& words) {
    return run(folder_.path(), words).code;
  };
  EXPECT_NE(code({"dashboard"}), 0) << "there is no database";
  ASSERT_EQ(code({"search", "--space", "naps.yaml", "-j", "1", "--budget", "3trials"}), 0);
  EXPECT_EQ(code({"dashboard", "--host", "0.0.0.0", "--token", "none"}), 2);
  EXPECT_EQ(code({"dashboard", "--token", "short"}), 2);
  EXPECT_EQ(code({"dashboard", "--port", "70000"}), 2);
  EXPECT_EQ(code({"dashboard", "--host", "no.such.host.invalid"}), 3);
}

}  // namespace
}  // namespace detol::testing_support
