// What the words of `search`, `tune`, `slurm` and `simulate` mean.

#include "cli/search_setup.h"

#include "cli/run_options.h"
#include "encodings/study/study_config.h"
#include "tests/cli/command_on_base.h"
#include "tests/support/idx_writer.h"

namespace detol {
namespace {

using Words = std::vector<std::string>;

class SearchWords : public testing_support::CommandOnBase {
 protected:
  void SetUp() override {
    testing_support::write_bytes(space(), "version: 1\nstudy: s\nfunction: {name: sphere}\n");
  }

  std::string space() const { return storage() + ".yaml"; }

  // Four trials were trained in 100 s, of 50 s of device time.
  void write_study() const {
    auto ledger = Ledger::open(storage()).value();
    const StudyConfig config = read_study_config(space()).value();
    StudyRecord record;
    record.name = "s";
    record.config = config.text;
    record.objectives = config.objectives;
    record.budget = "10trials";
    const StudyId study = ledger->create_study(record).value();
    for (TrialId id = 0; id < 4; ++id) {
      append_trial(*ledger, study, id, config.space.at(std::vector<double>{0.1 * double(id), 0.5}),
                   {{"value", 1.0}});
    }
    ASSERT_TRUE(
        ledger->append(study, std::vector<Event>{event::Accounted{.wall_s = 100, .device_s = 50}}));
  }

  Arguments arguments_of(Words words) const {
    words.insert(words.end(), {"--storage", storage(), "-q"});
    const auto call = parse(words);
    EXPECT_TRUE(call) << call.error().message;
    return call ? call->arguments : Arguments();
  }
  Result<RunOptions> options(Words more) const {
    more.insert(more.begin(), {"search", "--space", space()});
    return run_options_from(arguments_of(std::move(more)));
  }
  Result<SearchSetup> set_up(const std::string& budget, const std::string& if_exists) const {
    return set_up_search(
        arguments_of({"search", "--space", space(), "--budget", budget, "--if-exists", if_exists}));
  }
};

TEST_F(SearchWords, ATotalIsNotBelowWhatIsUsed) {
  write_study();
  for (const char* budget : {"3trials", "99s", "49cpu-s", "20trials,49cpu-s"}) {
    const auto setup = set_up(budget, "resume");
    ASSERT_FALSE(setup) << budget;
    EXPECT_EQ(setup.error().code, ErrorCode::kUsage);
    const std::string more = "--budget +" + to_text(*parse_budget(budget));
    EXPECT_NE(setup.error().message.find(more), std::string::npos);
  }
  for (const char* budget : {"4trials", "100s", "50cpu-s", "+3trials"}) {
    const auto setup = set_up(budget, "resume");
    ASSERT_TRUE(setup) << budget << setup.error().message;
    EXPECT_EQ(to_text(setup->options.budget.value()), budget);
  }
}

TEST_F(SearchWords, APlusAddsToAStudyThatIsThereAlone) {
  EXPECT_FALSE(set_up("+3trials", "fail"));
  EXPECT_FALSE(set_up("+3trials", "new"));
  const auto setup = set_up("+3trials", "resume");
  ASSERT_TRUE(setup) << setup.error().message;
  EXPECT_EQ(to_text(setup->preflight.budget), "3trials");
  const auto both = set_up("+3trials,+1cpu-h", "resume");
  ASSERT_TRUE(both) << both.error().message;
  EXPECT_EQ(to_text(both->preflight.budget), "1cpu-h,3trials");
}

TEST_F(SearchWords, WorkersAreANumberOrNone) {
  EXPECT_EQ(options({})->workers, 0);
  EXPECT_EQ(options({"-j", "auto"})->workers, kAutoWorkers);
  EXPECT_EQ(options({"-j", "0"})->workers, kNoWorkers);
  EXPECT_EQ(options({"-j", "4096"})->workers, 4096);
  EXPECT_FALSE(options({"-j", "4097"}));
  EXPECT_TRUE(options({"-j", "64", "--group-size", "64"}));
  EXPECT_FALSE(options({"-j", "65", "--group-size", "64"}));
  EXPECT_EQ(options({"--launcher", "ssh", "--hosts", "a,b:2"})->hosts, (Words{"a", "b:2"}));
  EXPECT_FALSE(options({"--hosts", "a"}));
}

TEST_F(SearchWords, AJobOfSlurmHasThemAll) {
  const Answer script = run({"slurm", "--space", space(), "--print", "--set", "search.repeats=1",
                             "--set", "resources.attempts=2", "--seed", "7"});
  ASSERT_TRUE(script.code) << script.code.error().message;
  for (const char* words :
       {"'--set' 'search.repeats=1'", "'--set' 'resources.attempts=2'", "'--seed' '7'"})
    EXPECT_NE(script.out.find(words), std::string::npos) << words << script.out;
}

TEST_F(SearchWords, ATunedStudyHasTheNameOfItsScript) {
  const auto name_of = [&](const Words& command) {
    Words words = {"tune",        "--param", "x=float(0,1)", "--metric", "loss:minimize",
                   "--if-exists", "new",     "--dry-run",    "-f",       "json",
                   "--storage",   storage(), "-q",           "--"};
    words.insert(words.end(), command.begin(), command.end());
    const auto call = parse(words);
    EXPECT_TRUE(call);
    testing::internal::CaptureStdout();
    const auto code = run_call(*call);
    const std::string out = testing::internal::GetCapturedStdout();
    EXPECT_TRUE(code) << code.error().message;
    return code ? Json::parse(out)["study"].get<std::string>() : std::string();
  };
  EXPECT_EQ(name_of({"sh", "-e", "steps/bake.sh", "--lr={x}"}), "bake");
  EXPECT_EQ(name_of({"sh", "{x}.txt"}), "sh");
}

// Four trials of ten seconds each; a commit takes half a second.
TEST_F(SearchWords, ASimulationTakesTheTimeThatTheySay) {
  const auto simulated = [&](Words more) {
    more.insert(more.begin(), {"simulate", "--space", space(), "--algorithm", "random", "--budget",
                               "4trials", "--trial-seconds", "10..10"});
    return json(std::move(more));
  };
  const Json one = simulated({"--commit-ms", "0"});
  EXPECT_NEAR(one["wall_h"].get<double>() * 3600, 40, 0.1);
  EXPECT_NEAR(one["device_h"].get<double>() * 3600, 40, 0.1);
  EXPECT_EQ(one["finished"], 4);
  const Json groups = simulated({"--commit-ms", "0", "-j", "2", "--group-size", "3"});
  EXPECT_LT(groups["wall_h"], one["wall_h"]);
  EXPECT_NEAR(groups["device_h"].get<double>(), 6 * groups["wall_h"].get<double>(), 1e-4);
  const Json slow = simulated({"--commit-ms", "500"});
  EXPECT_GT(slow["wall_h"].get<double>() * 3600, 41);
  EXPECT_LT(slow["wall_h"].get<double>() * 3600, 50);
}

}  // namespace
}  // namespace detol
