// kill -9 at random instants of whoever asks and tells, and of the process that runs the study:
// what was answered holds, what was not is asked or told again, and the study ends with the
// results of an undisturbed one.
//
// DETOL_CHAOS_KILLS says how many kills (10), DETOL_CHAOS_SEED which (1).

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include <gtest/gtest.h>

#include "core/clock.h"
#include "core/rng.h"
#include "knowledge/query.h"
#include "tests/chaos/chaos.h"
#include "tests/e2e/ask_server.h"

namespace detol::testing_support {
namespace {

using Json = nlohmann::json;
using Words = std::vector<std::string>;

constexpr int kTrialsPerKill = 2;
constexpr int kSteps = 2;                           // that a trial reports before its value
constexpr int kMostServedUs = 4'000;                // from a call to a kill: of a server
constexpr int kMostAloneUs = 80'000;                // and of a `detol ask` or `tell`
constexpr double kLimitS = 60, kLimitSPerKill = 3;  // of a whole test

constexpr double kEndsS = 20;  // a search, once all values are told

// Who can make a call: one of two servers, or a program of its own.
constexpr std::size_t kAlone = 2;

struct Held {
  TrialId trial = 0;
  int attempt = 1;
  std::size_t owner = kAlone;
  double x = 0;
  int steps = 0;          // that were acknowledged
  bool was_sent = false;  // its value, whether or not there was an answer
  double value() const { return x + kSteps - steps; }
};

class AskKills {
 public:
  // `is_searched`: `detol tune` without workers runs the study.
  AskKills(int kills, std::uint64_t seed, bool is_searched)
      : kills_(kills), rng_(seed), is_searched_(is_searched) {
    std::filesystem::create_directory(alone_);
  }

  void run() {
    const Baseline baseline{undisturbed(), "", 0, 0};
    const double limit_s = system_clock().now_s() + kLimitS + kLimitSPerKill * kills_;
    while (!is_over_ && !testing::Test::HasFailure()) {
      if (is_searched_) keep_search();
      start_servers();
      const auto who = static_cast<std::size_t>(rng_.below(kAlone + 1));
      if (held_.empty() || (held_.size() < 3 && rng_.chance(0.4)))
        ask(who);
      else
        go_on(who, rng_.below(held_.size()));
      ASSERT_LT(system_clock().now_s(), limit_s) << "it hangs";
    }
    for (auto& server : servers_) {
      EXPECT_EQ(server ? server->end() : 0, 0);
    }
    std::cout << fmt::format(
        "{} callers, {} other servers, {} pairs of servers, everything {}, {} masters, {} "
        "supervisors killed; {} answers to an ask lost\n",
        killed_[0], killed_[1], killed_[2], killed_[3], killed_[4], killed_[5], unheard_);
    for (int resumes = 0; is_searched_ && resumes < 3; ++resumes) {
      EXPECT_TRUE(search_->ends_within(kEndsS)) << "the search does not end";
      keep_search();
    }
    search_.reset();
    EXPECT_EQ(broken_promises(study_, baseline, "", 0), Words{});
    EXPECT_GE(2 * done_, kills_) << "the study was over too soon";
  }

 private:
  Words space() const {
    return {"--param",     "x=float(0,1)",
            "--metric",    "loss:minimize",
            "--algorithm", "random",
            "--budget",    std::to_string(kTrialsPerKill * kills_) + "trials"};
  }
  // The study's name, and what begins it.
  Words asked() const {
    Words words = is_searched_ ? Words{} : space();
    words.insert(words.begin(), "tiny");
    return words;
  }

  // Begins the search, whose trials wait for callers.
  void begin_search(const ChaosStudy& study, std::optional<Program>& search) const {
    Words words = space();
    words.insert(words.begin(), {"tune", "--study", "tiny", "-j", "0"});
    words.insert(words.end(), {"--", "sh", "program.sh", "{x}"});
    search.emplace(study.path(), words, study.variables());
    EXPECT_TRUE(search->says("waits for workers"));
  }

  // Resumes the search, unless it is over or somebody else runs the study.
  void keep_search() {
    if (!search_) return begin_search(study_, search_);
    if (!search_->ends_within(0) || search_->wait().code == 0) return;
    search_.reset();
    search_.emplace(study_.path(), Words{"resume", "tiny", "-j", "0"}, study_.variables());
  }

  std::string undisturbed() const {
    const ChaosStudy study;
    std::optional<Program> search;
    if (is_searched_) begin_search(study, search);
    AskServer server(study.path(), asked(), study.variables());
    for (;;) {
      const auto answer = server.call({{"ask", 1}});
      if (!answer || answer->at("trials").empty()) break;
      Held held = held_from(answer->at("trials").at(0), 0);
      for (; held.steps < kSteps; ++held.steps) server.call(next_call(held));
      server.call(next_call(held));
    }
    EXPECT_EQ(server.end(), 0);
    return study.results();
  }

  static Held held_from(const Json& trial, std::size_t owner) {
    return {.trial = trial.at("trial"),
            .attempt = trial.at("attempt"),
            .owner = owner,
            .x = trial.at("params").at("x"),
            .steps = trial.at("steps")};
  }

  static Json next_call(const Held& held) {
    Json call = {{held.steps < kSteps ? "report" : "tell", held.trial},
                 {"attempt", held.attempt},
                 {"values", {{"loss", held.value()}}}};
    if (held.steps < kSteps) call["step"] = held.steps + 1;
    return call;
  }

  // The trials of a server that was killed are no longer its own.
  void start_servers() {
    for (std::size_t i = 0; i < kAlone; ++i) {
      if (servers_[i] && !was_killed_[i]) continue;
      servers_[i].reset();
      servers_[i].emplace(study_.path(), asked(), study_.variables());
      if (!std::exchange(was_killed_[i], false)) continue;
      const std::vector<Held> before = std::exchange(held_, {});
      for (const Held& held : before) {
        if (held.owner != i)
          held_.push_back(held);
        else if (held.was_sent)
          tell_again(held);
      }
    }
  }

  // A value whose answer did not come was taken, or its trial waits to be asked for again.
  void tell_again(const Held& held) {
    const Json answer = *call_alone(next_call(held), false);
    if (answer.value("state", "") == "COMPLETE") {
      EXPECT_FALSE(answer.contains("ignored")) << answer;
      told_.push_back(held.trial);
    } else {
      EXPECT_NE(answer.dump().find("waits to be asked for again"), std::string::npos) << answer;
    }
  }

  void ask(std::size_t who) {
    const auto answer = call(who, {{"ask", 1}});
    if (!answer || is_excused(*answer)) return;
    const Json& trials = answer->at("trials");
    if (trials.empty() && held_.empty()) release_unheard();
    for (const Json& trial : trials) {
      const Held held = held_from(trial, who);
      EXPECT_EQ(std::ranges::count(told_, held.trial), 0) << trial << " was told";
      EXPECT_EQ(std::ranges::count(held_, held.trial, &Held::trial), 0) << trial << " is held";
      EXPECT_GE(held.steps, reported_[held.trial]) << trial << " has lost a report";
      held_.push_back(held);
    }
  }

  // Reports the next step of a trial, or tells its value.
  void go_on(std::size_t who, std::size_t which) {
    Held& held = held_[which];
    held.was_sent = held.steps == kSteps;
    const auto answer = call(who, next_call(held));
    if (!answer || is_excused(*answer)) return;
    if (!held.was_sent) {
      EXPECT_EQ(*answer, Json({{"stop", false}}));
      reported_[held.trial] = ++held.steps;
    } else {
      EXPECT_EQ(*answer, Json({{"state", "COMPLETE"}})) << held.trial;
      told_.push_back(held.trial);
      held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(which));
    }
  }

  // Nobody runs the study any more who could answer, or the trial's owner was killed.
  bool is_excused(const Json& answer) const {
    if (!answer.contains("error")) return false;
    EXPECT_TRUE(was_killed_[0] || was_killed_[1]) << answer;
    return true;
  }

  // A trial whose number `detol ask` could not say any more waits until somebody releases it.
  void release_unheard() {
    const auto reader = Reader::open(study_.database());
    ASSERT_TRUE(reader) << reader.error().message;
    const auto rows = (*reader)->select("SELECT trial FROM v_trials WHERE state = 'RUNNING'");
    ASSERT_TRUE(rows);
    is_over_ = rows->rows.empty();
    for (const auto& row : rows->rows) {
      const auto trial = std::to_string(std::get<std::int64_t>(row.at(0)));
      Program program(alone_, {"tell", "tiny", trial, "--release"}, study_.variables());
      const Ran ran = program.wait();
      EXPECT_EQ(ran.code, 0) << ran.err;
      ++unheard_;
    }
    EXPECT_LE(unheard_, asks_alone_);
  }

  // Makes a call, during which somebody may be killed. Returns nothing if that was the caller.
  std::optional<Json> call(std::size_t who, const Json& line) {
    if (who == kAlone) return call_alone(line, true);
    servers_[who]->send(line);
    disturb(who, servers_[who]->pid(), kMostServedUs);
    return servers_[who]->answer();
  }

  std::optional<Json> call_alone(const Json& line, bool may_be_disturbed) {
    const bool asks = line.contains("ask");
    Words words = {"ask"};
    for (const std::string& word : asks ? asked() : Words{}) words.push_back(word);
    if (!asks) {
      const bool reports = line.contains("report");
      words = {"tell", "tiny", line.at(reports ? "report" : "tell").dump(), "--values",
               line.at("values").dump()};
      if (reports) words.insert(words.end(), {"--step", line.at("step").dump()});
    }
    Program program(alone_, words, study_.variables());
    const int before = done_;
    if (may_be_disturbed) disturb(kAlone, program.pid(), kMostAloneUs);
    const Ran ran = program.wait();
    if (asks && done_ > before) ++asks_alone_;
    if (asks && ran.code == 6) return Json{{"trials", Json::array()}};
    if (ran.code == 128 + SIGKILL && !ran.out.ends_with('\n')) return std::nullopt;
    if (!ran.out.ends_with('\n')) return Json{{"error", ran.err}};
    const Json answer = Json::parse(ran.out);
    return asks ? Json{{"trials", {answer}}} : answer;
  }

  void disturb(std::size_t who, pid_t caller, int most_us) {
    if (done_ >= kills_ || !rng_.chance(0.25)) return;
    ::usleep(static_cast<useconds_t>(rng_.below(static_cast<std::uint64_t>(most_us))));
    const auto draw = rng_.below(is_searched_ ? killed_.size() : killed_.size() - 2);
    if (draw == 4) {
      for (const pid_t pid : search_->children("__master")) ::kill(pid, SIGKILL);
    }
    if (draw == 5 && !search_->ends_within(0)) search_->signal(SIGKILL);
    const std::size_t other = who == kAlone ? rng_.below(kAlone) : 1 - who;
    if (draw == 0 || draw == 3) ::kill(caller, SIGKILL);
    for (std::size_t i = 0; i < kAlone; ++i) {
      if (draw > 3) break;
      const bool is_victim = draw >= 2 || i == (draw == 0 ? who : other);
      if (!is_victim) continue;
      ::kill(servers_[i]->pid(), SIGKILL);
      was_killed_[i] = true;
    }
    ++killed_[draw];
    ++done_;
  }

  const ChaosStudy study_;
  const std::filesystem::path alone_ = study_.path() / "alone";  // where calls of their own run
  const int kills_;
  Rng rng_;
  const bool is_searched_;
  std::optional<Program> search_;
  std::array<std::optional<AskServer>, kAlone> servers_;
  std::array<bool, kAlone> was_killed_{};
  std::vector<Held> held_;
  std::vector<TrialId> told_;        // whose end was acknowledged
  std::map<TrialId, int> reported_;  // steps that were acknowledged
  std::array<int, 6> killed_{};      // the caller, another server, both, everything, see run()
  int done_ = 0, asks_alone_ = 0, unheard_ = 0;
  bool is_over_ = false;
};

class RandomKillOfAsk : public testing::TestWithParam<bool> {};

TEST_P(RandomKillOfAsk, LosesNoAnswerAndDoublesNone) {
  std::signal(SIGPIPE, SIG_IGN);
  const int kills = number_from("DETOL_CHAOS_KILLS", 10);
  const int seed = number_from("DETOL_CHAOS_SEED", 1);
  std::cout << (GetParam() ? "ask of a search, seed " : "ask, seed ") << seed << ": " << std::flush;
  AskKills(kills, static_cast<std::uint64_t>(seed), GetParam()).run();
}

INSTANTIATE_TEST_SUITE_P(Runs, RandomKillOfAsk, testing::Bool(), [](const auto& is_searched) {
  return std::string(is_searched.param ? "search" : "callers");
});

}  // namespace
}  // namespace detol::testing_support
