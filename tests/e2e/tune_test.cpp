// Programs of users: what they are given, what they may do, and what is left of them.

#include <csignal>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include <gtest/gtest.h>

#include "tests/e2e/environment.h"
#include "tests/e2e/searched_study.h"
#include "tests/support/idx_writer.h"

namespace detol::testing_support {
namespace {

using Json = nlohmann::json;
using Words = std::vector<std::string>;

class Tune : public testing::Test {
 protected:
  Ran detol(const Words& words) const { return run(folder_.path(), words); }

  // Makes a shell script; $x is its first argument.
  void write_script(const std::string& text) const {
    write_bytes(
        folder_.path() / "train.sh",
        "x=$1\nreport() { echo \"{\\\"step\\\": $1, \\\"loss\\\": $2}\" >> \"$DETOL_REPORT\"; }\n" +
            text);
  }

  Words tune_words(const Words& more, const Words& command = {"sh", "train.sh", "{x}"}) const {
    Words words = {"tune", "--metric", "loss:minimize", "--param", "x=int(1,1000)", "-j", "1"};
    words.insert(words.end(), more.begin(), more.end());
    words.push_back("--");
    words.insert(words.end(), command.begin(), command.end());
    return words;
  }
  Ran tune(const Words& more) const { return detol(tune_words(more)); }

  Json query(const std::string& sql) const { return json_of(detol({"query", sql, "-f", "json"})); }

  // Returns the only trial, as v_trials has it.
  Json trial() const { return query("SELECT * FROM v_trials WHERE trial = 0")[0]; }

  std::string file_of(int trial, const std::string& name) const {
    return text_of(folder_.path() / "detol.db.d/train" / std::to_string(trial) / name);
  }

  TempFolder folder_;
};

TEST_F(Tune, FindsWhatAProgramLikesBest) {
  write_script("report 1 $(( (x - 700) * (x - 700) ))");
  const Ran ran = tune({"--budget", "40trials", "--algorithm", "gp", "--seed", "1"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const Json best = json_of(detol({"best", "train", "-f", "json"}));
  EXPECT_NEAR(best["params"]["x"].get<double>(), 700, 20);
  EXPECT_EQ(best["state"], "COMPLETE");
  EXPECT_EQ(query("SELECT count(*) AS n FROM v_trials WHERE state = 'COMPLETE'")[0]["n"], 40);
}

TEST_F(Tune, GivesTheProgramItsArgumentsAndItsEnvironment) {
  write_script(
      "for a in \"$@\"; do printf '%s\\n' \"$a\"; done > \"$DETOL_TRIAL_DIR/arguments\"\n"
      "env > \"$DETOL_TRIAL_DIR/environment\"\nreport 1 1");
  const std::string strange = "a b;$(x) 'q' \"d\" {{x}}";
  Words words = tune_words({"--budget", "1trials", "--steps", "7", "--seed", "3"},
                           {"sh", "train.sh", "{x}", strange, "{trial.dir}", "{trial.id}"});
  const Ran ran = detol(words);
  ASSERT_EQ(ran.code, 0) << ran.err;
  const std::string folder = (folder_.path() / "detol.db.d/train/0").string();
  const std::string x = trial()["value"].is_null() ? "" : file_of(0, "arguments");
  EXPECT_NE(x.find("\na b;$(x) 'q' \"d\" {x}\n" + folder + "\n0\n"), std::string::npos) << x;
  const std::string environment = "\n" + file_of(0, "environment");
  const std::string value = x.substr(0, x.find('\n'));
  for (const std::string& setting :
       {std::string("DETOL_STUDY=train"), std::string("DETOL_TRIAL=0"),
        "DETOL_PARAMS={\"x\":" + value + "}", std::string("DETOL_BUDGET_EPOCHS=7"),
        "DETOL_REPORT=" + folder + "/report.jsonl", "DETOL_CHECKPOINT=" + folder + "/checkpoint",
        std::string("DETOL_SEED=")})
    EXPECT_NE(environment.find("\n" + setting), std::string::npos) << setting << environment;
}

TEST_F(Tune, GivesTheProgramTheWordsOfItsParameters) {
  write_script("echo \"$* ${DETOL_PARAMS%,*}\" > \"$DETOL_TRIAL_DIR/words\"\nreport 1 1");
  const Ran ran = detol(tune_words({"--param", "v=choice(3.10)", "--param", "c=007", "--param",
                                    "e=ordered(1e3)", "--param", "f=+1", "--budget", "1trials"},
                                   {"sh", "train.sh", "{v}", "{c}", "{e}", "{f}"}));
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(file_of(0, "words"),
            "3.10 007 1e3 +1 "
            "{\"c\":\"007\",\"e\":1000.0,\"f\":\"+1\",\"v\":\"3.10\"\n");
  EXPECT_EQ(Json::parse(trial()["params_json"].get<std::string>())["v"], "3.10");
}

struct Ending {
  const char *name, *script, *state, *failure, *reason;
  friend void PrintTo(const Ending& ending, std::ostream* out) { *out << ending.name; }
};

constexpr Ending kEndings[] = {
    {"Success", "report 1 5", "COMPLETE", nullptr, nullptr},
    {"EarlierThanItsSteps", "report 1 5; report 2 4", "COMPLETE", nullptr, nullptr},
    {"Error", "report 1 5; echo 'out of luck' >&2; exit 3", "FAIL", "crashed",
     "the program ended with exit code 3: out of luck"},
    {"Exit137", "exit 137", "FAIL", "crashed", "the program ended with exit code 137"},
    {"Killed", "kill -SEGV $$", "FAIL", "crashed",
     "the program was killed by signal 11 (Segmentation fault)"},
    {"ErrorAtTheEnd", "report 1 5; report 9 4; exit 1", "FAIL", "crashed",
     "the program ended with exit code 1"},
    {"Nothing", "true", "FAIL", "invalid",
     "the program ended without a report: it must append a line {\"loss\": ...} to $DETOL_REPORT"
     ", or command.prints must find them in what it prints"},
    {"AnotherMetric", "echo '{\"lost\": 1}' >> $DETOL_REPORT", "FAIL", "invalid",
     "no report of the program can be used: it reported lost; the objective is loss"},
    {"NotANumber", "report 1 5; report 2 NaN; sleep 1000", "FAIL", "diverged",
     "loss is nan in step 2"},
    {"HalfALine", "report 1 5; printf '{\"step\": 2, ' >> $DETOL_REPORT", "COMPLETE", nullptr,
     nullptr},
    {"OutOfOrder", "report 3 5; report 2 1; report 4 6", "COMPLETE", nullptr, nullptr},
    {"LeavesAChild", "report 1 5; setsid sleep 1000 &", "COMPLETE", nullptr, nullptr},
    {"SaysMuch", "report 1 5; head -c 60000000 /dev/zero | tr '\\0' 'x'", "COMPLETE", nullptr,
     nullptr},
};

class TuneEnding : public Tune, public testing::WithParamInterface<Ending> {};

TEST_P(TuneEnding, IsRecordedAndLeavesNothingBehind) {
  const Ending& ending = GetParam();
  write_script(ending.script);
  const Ran ran = tune({"--budget", "1trials", "--steps", "9"});
  const bool has_failed = ending.failure != nullptr;
  EXPECT_EQ(ran.code, has_failed ? 8 : 0) << ran.err;
  EXPECT_EQ(ran.err.find("the only trial, 0, failed") != std::string::npos, has_failed) << ran.err;
  const Json row = trial();
  EXPECT_EQ(row["state"], ending.state) << row;
  if (ending.failure != nullptr) {
    EXPECT_EQ(row["failure"], ending.failure);
  }
  if (ending.reason != nullptr) {
    EXPECT_EQ(row["reason"].get<std::string>().find(ending.reason), 0u) << row["reason"];
    EXPECT_NE(detol({"trials", "train", "--state", "FAIL"}).out.find(ending.reason),
              std::string::npos);
  }
  const auto log = folder_.path() / "detol.db.d/train/0/output.log";
  if (std::filesystem::exists(log)) {
    EXPECT_LT(std::filesystem::file_size(log), 17'000'000u);
  }
  EXPECT_TRUE(processes_in(folder_.path()).empty());
}

INSTANTIATE_TEST_SUITE_P(All, TuneEnding, testing::ValuesIn(kEndings),
                         [](const auto& tested) { return tested.param.name; });

// Whether its report was read before it was gone depends on the machine.
TEST_F(Tune, OutlivesAProgramThatDeletesItsFolder) {
  write_script("report 1 5; rm -r \"$DETOL_TRIAL_DIR\"");
  const int code = tune({"--budget", "2trials"}).code;
  ASSERT_TRUE(code == 0 || code == 8) << code;
  for (const Json& row : query("SELECT state, failure FROM v_trials"))
    EXPECT_TRUE(row["state"] == "COMPLETE" || row["failure"] == "invalid") << row;
}

TEST_F(Tune, ValuesATrialByItsBestReport) {
  write_script("report 3 5; report 5 2; report 7 4");
  ASSERT_EQ(tune({"--budget", "1trials"}).code, 0);
  EXPECT_EQ(trial()["value"], 2);
  EXPECT_EQ(trial()["epochs"], 7);
  ASSERT_EQ(tune({"--budget", "1trials", "--study", "last", "--set", "command.keep=last"}).code, 0);
  EXPECT_EQ(query("SELECT value FROM v_trials WHERE study = 'last'")[0]["value"], 4);
}

// The program waits for its end; only a signal gives it one.
TEST_F(Tune, StopsAHopelessTrialWithASignalAndThenByForce) {
  write_script(
      "trap 'echo stopped > \"$DETOL_TRIAL_DIR/stopped\"; [ $x -gt 500 ] && exit 0' TERM\n"
      "[ $DETOL_TRIAL -lt 3 ] && { report 1 $x; report 9 $x; exit 0; }\n"
      "report 1 $((x + 9000)); while true; do sleep 0.02; done");
  const Ran ran = tune({"--budget", "6trials", "--steps", "9", "--pruner", "asha", "--set",
                        "command.stop.grace=2s"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const Json pruned =
      query("SELECT trial, epochs FROM v_trials WHERE state = 'PRUNED' AND trial >= 3");
  ASSERT_EQ(pruned.size(), 3u);
  for (const Json& row : pruned) {
    EXPECT_EQ(row["epochs"], 1);
    EXPECT_EQ(file_of(row["trial"], "stopped"), "stopped\n");
  }
}

TEST_F(Tune, ReadsMetricsFromWhatAProgramPrints) {
  write_script(
      "echo \"epoch 1: loss=$x.5 (fine)\"; echo loss=; head -c 60000 /dev/zero | tr '\\0' x; echo; "
      "echo \"epoch 2: loss=0.25\"");
  const Ran ran =
      tune({"--budget", "1trials", "--set", "command.prints={loss: '.*loss=([0-9.]+)'}"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(trial()["value"], 0.25);
  EXPECT_EQ(trial()["epochs"], 2);
  EXPECT_NE(file_of(0, "output.log").find("(fine)"), std::string::npos);
}

// Writes its step to its checkpoint, waits for `go` in step 3, and begins there when it is resumed.
constexpr const char* kResumable =
    "step=0; [ \"$2\" = --from ] && step=$(cat \"$3\")\n"
    "while [ $step -lt 5 ]; do\n"
    "  step=$((step + 1)); report $step $((x + 10 - step)); echo $step > \"$DETOL_CHECKPOINT\"\n"
    "  echo \"step $step\" >> steps; [ $step = 3 ] && while [ ! -e go ]; do sleep 0.02; done\n"
    "done; exit 0";

TEST_F(Tune, GoesOnFromTheProgramsCheckpointAfterASignalAndAfterAKill) {
  const Words words =
      tune_words({"--budget", "1trials", "--steps", "5", "--set",
                  "command.resume=[--from, '{trial.checkpoint}']", "--if-exists", "resume"});
  for (const bool kills : {false, true}) {
    SCOPED_TRACE(kills);
    for (const char* file : {"go", "steps", "detol.db", "detol.db-wal", "detol.db-shm"})
      std::filesystem::remove(folder_.path() / file);
    std::filesystem::remove_all(folder_.path() / "detol.db.d");
    write_script(kResumable);
    Program stopped(folder_.path(), words);
    ASSERT_TRUE(stopped.says("epoch 3")) << stopped.wait().err;
    while (text_of(folder_.path() / "steps").find("step 3") == std::string::npos)  // its checkpoint
      ASSERT_FALSE(stopped.ends_within(0.01));
    if (kills) {
      stopped.kill_everything();
    } else {
      stopped.signal(SIGTERM);
      EXPECT_EQ(stopped.wait().code, 75);
    }
    std::ofstream(folder_.path() / "go") << "";
    const Ran ran = detol(words);
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(text_of(folder_.path() / "steps"), "step 1\nstep 2\nstep 3\nstep 4\nstep 5\n");
    EXPECT_EQ(trial()["state"], "COMPLETE") << trial();
    EXPECT_EQ(query("SELECT count(*) AS n FROM v_metrics WHERE name = 'loss'")[0]["n"], 5);
  }
}

TEST_F(Tune, LosesAProgramWithItsWorkerAndRunsItAgain) {
  write_script("echo $$ > pid; report 1 1; [ -e go ] || sleep 1000; report 2 2");
  Program search(folder_.path(), tune_words({"--budget", "1trials", "--steps", "2"}));
  ASSERT_TRUE(search.says("epoch 1")) << search.wait().err;
  const pid_t program = std::stoi(text_of(folder_.path() / "pid"));
  std::ofstream(folder_.path() / "go") << "";
  ::kill(search.children("__worker").front(), SIGKILL);
  const Ran ran = search.wait();
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(::kill(program, 0), 0);
  EXPECT_NE(std::stoi(text_of(folder_.path() / "pid")), program);
  EXPECT_EQ(trial()["epochs"], 2);
}

// Nothing of its first start is left to go on from, so its lines are those of steps from 1 again.
TEST_F(Tune, CountsTheStepsOfAProgramThatBeginsAgainFromTheFirst) {
  write_script(
      "for loss in 5 4 3 2 1; do echo \"{\\\"loss\\\": $loss}\" >> \"$DETOL_REPORT\"\n"
      "[ $loss = 4 ] && { [ -e go ] || sleep 1000; }; done; exit 0");
  Program search(folder_.path(), tune_words({"--budget", "1trials", "--steps", "5"}));
  ASSERT_TRUE(search.says("epoch 2")) << search.wait().err;
  std::ofstream(folder_.path() / "go") << "";
  ::kill(search.children("__worker").front(), SIGKILL);
  const Ran ran = search.wait();
  EXPECT_EQ(ran.code, 0) << ran.err;
  const Json rows = query("SELECT epoch, value FROM v_metrics WHERE name = 'loss' ORDER BY epoch");
  ASSERT_EQ(rows.size(), 5u) << rows;
  for (const Json& row : rows) EXPECT_EQ(row["value"], 6 - row["epoch"].get<int>()) << rows;
}

// Python's package reports, and turns the signal to stop into a word.
TEST_F(Tune, GivesAPythonProgramItsTrial) {
  if (std::system("command -v python3 > /dev/null") != 0) GTEST_SKIP() << "there is no python3";
  write_bytes(folder_.path() / "train.py", R"(
import detol
import time

trial = detol.trial({"x": 0})
for step in range(1, 3 if trial.id < 3 else 1000):
    trial.report(step, loss=trial.params["x"] + (0 if trial.id < 3 else 9000))
    while trial.id >= 3 and not trial.should_stop():
        time.sleep(0.01)
    if trial.should_stop():
        (trial.folder / "stopped").write_text(str(step))
        break
)");
  const Environment path("PYTHONPATH", DETOL_SOURCE_DIR "/python");
  const Environment no_cache("PYTHONDONTWRITEBYTECODE", "1");
  const Ran ran = detol(tune_words({"--budget", "5trials", "--steps", "9", "--pruner", "asha"},
                                   {"python3", "train.py"}));
  ASSERT_EQ(ran.code, 0) << ran.err;
  for (const int trial : {3, 4}) EXPECT_EQ(file_of(trial, "stopped"), "1") << trial;
  const Json row = trial();
  EXPECT_EQ(row["value"], Json::parse(row["params_json"].get<std::string>())["x"]);
}

TEST_F(Tune, TakesASpaceFileWithConditionsAndConstraints) {
  write_script("report 1 $x; echo \"$@\" > \"$DETOL_TRIAL_DIR/arguments\"");
  write_bytes(folder_.path() / "s.yaml", R"(version: 1
study: train
command: {run: [sh, train.sh, '{x}', '{opt}', --momentum, '{momentum}']}
parameters:
  x: {type: int, low: 1, high: 9}
  opt: {type: categorical, choices: [sgd, adam]}
  momentum: {type: float, low: 0.1, high: 0.9, when: {opt: sgd}}
objectives: [{metric: loss, direction: minimize}]
constraints: [{metric: loss, min: 4}]
budget: 12trials
)");
  const Ran ran = detol({"tune", "--space", "s.yaml", "-j", "2"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_GE(json_of(detol({"best", "train", "-f", "json"}))["value"].get<double>(), 4);
  for (int trial = 0; trial < 12; ++trial) {
    const std::string arguments = file_of(trial, "arguments");
    EXPECT_EQ(arguments.find("sgd") != std::string::npos,
              arguments.find("--momentum") != std::string::npos)
        << arguments;
  }
}

TEST_F(Tune, SaysInALineWhatItCannotDo) {
  write_script("report 1 1");
  const auto expect_error = [&](const Words& words, int code, const std::string& text) {
    const Ran ran = detol(words);
    EXPECT_EQ(ran.code, code) << ran.err;
    EXPECT_NE(ran.err.find(text), std::string::npos) << ran.err;
    EXPECT_EQ(ran.err.find('\n'), ran.err.size() - 1) << ran.err;
  };
  expect_error({"tune"}, 2, "--param is missing");
  expect_error({"tune", "--param", "x=int(1,2)", "--", "sh"}, 2, "--metric is missing");
  expect_error({"tune", "--param", "x=int(1,2)", "--metric", "loss:minimize"}, 2, "behind --");
  expect_error(tune_words({"--param", "y=uniform(0,1)"}), 2, "lr=log(1e-5,1e-1)");
  expect_error(tune_words({}, {"sh", "train.sh", "{y}"}), 2,
               "detol: command.run: unknown placeholder 'y'");
  expect_error(tune_words({"--pruner", "curve"}), 3, "say the steps");
  expect_error(tune_words({}, {"no-such-program", "{x}"}), 3, "no folder of PATH has it");
  expect_error(tune_words({"--space", "s.yaml"}), 2, "said twice");
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "detol.db"));
}

TEST_F(Tune, StartsAProgramOfSeveralRanks) {
  write_script(
      "report 1 $((RANK + 1))\necho \"$RANK of $DETOL_RANKS $2\" >> $DETOL_TRIAL_DIR/ranks");
  write_bytes(folder_.path() / "launch.sh",
              "n=$1; shift\nfor r in $(seq 0 $((n - 1))); do RANK=$r \"$@\" & done; wait");
  const Ran ran = detol(tune_words({"--budget", "1trials", "--group-size", "3", "--set",
                                    "command.launch=[sh, launch.sh, '{ranks}']"},
                                   {"sh", "train.sh", "{x}", "{ranks}"}));
  ASSERT_EQ(ran.code, 0) << ran.err;
  const std::string ranks = file_of(0, "ranks");
  for (const char* line : {"0 of 3 3\n", "1 of 3 3\n", "2 of 3 3\n"})
    EXPECT_NE(ranks.find(line), std::string::npos) << ranks;
}

TEST_F(Tune, StartsRanksByMpiexecWhereNobodySaysHow) {
  write_script("report 1 1\necho $DETOL_RANKS >> $DETOL_TRIAL_DIR/ranks");
  const Ran ran = tune({"--budget", "1trials", "--group-size", "2"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(file_of(0, "ranks"), "2\n2\n");
}

TEST_F(Tune, GivesEachWorkersProgramsCoresOfTheirOwn) {
  const unsigned cores = std::thread::hardware_concurrency();
  if (cores < 2) GTEST_SKIP() << "there is one core";
  write_script(
      "grep Cpus_allowed_list /proc/self/status > $DETOL_TRIAL_DIR/cores\n"
      "echo $OMP_NUM_THREADS > $DETOL_TRIAL_DIR/threads\n"
      "touch here$DETOL_TRIAL; while [ ! -e here0 ] || [ ! -e here1 ]; do sleep 0.01; done\n"
      "report 1 1");
  ASSERT_EQ(tune({"--budget", "2trials", "-j", "2"}).code, 0);
  EXPECT_NE(file_of(0, "cores"), file_of(1, "cores"));
  EXPECT_EQ(file_of(0, "threads"), std::to_string(cores / 2) + "\n");
  ASSERT_EQ(
      tune({"--budget", "2trials", "-j", "2", "--study", "free", "--set", "command.bind=none"})
          .code,
      0);
  const auto cores_of = [&](int trial) {
    return text_of(folder_.path() / "detol.db.d/free" / std::to_string(trial) / "cores");
  };
  EXPECT_EQ(cores_of(0), cores_of(1));
}

TEST_F(Tune, ResumesWithAWiderRange) {
  write_script("report 1 $x");
  ASSERT_EQ(tune({"--budget", "3trials", "--algorithm", "random"}).code, 0);
  const Ran narrower = detol({"resume", "train", "--set", "parameters.x.low=10"});
  EXPECT_EQ(narrower.code, 3);
  EXPECT_NE(narrower.err.find("x had the range"), std::string::npos) << narrower.err;
  EXPECT_EQ(detol({"resume", "train", "--set", "seed=4"}).code, 3);
  const Ran wider = detol({"resume", "train", "-j", "1", "--budget", "+20trials", "--set",
                           "parameters.x.high=1000000"});
  ASSERT_EQ(wider.code, 0) << wider.err;
  EXPECT_NE(wider.err.find("parameters.x.high: 1000 -> 1000000"), std::string::npos) << wider.err;
  EXPECT_GT(query("SELECT max(value) AS most FROM v_params")[0]["most"], 1000);
  ASSERT_EQ(detol({"resume", "train", "-j", "1", "--budget", "+1trials"}).code, 0);
}

}  // namespace
}  // namespace detol::testing_support
