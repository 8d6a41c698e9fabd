#include "cli/settings.h"

#include <cstdlib>

#include <gtest/gtest.h>

#include "encodings/study/ready_spaces.h"

namespace detol {
namespace {

Arguments with(std::map<std::string, std::vector<std::string>, std::less<>> given) {
  Arguments arguments;
  arguments.given = std::move(given);
  arguments.given.emplace("space", std::vector<std::string>{"cnn"});
  return arguments;
}

class Settings : public testing::Test {
 protected:
  void TearDown() override {
    for (const char* variable : {"DETOL_STUDY", "DETOL_SEED", "DETOL_BUDGET", "DETOL_ALGORITHM",
                                 "DETOL_PRUNER", "DETOL_DATA", "DETOL_WORKERS", "DETOL_GROUP_SIZE"})
      ::unsetenv(variable);
  }
};

TEST_F(Settings, AFlagBeatsSetBeatsTheVariableBeatsTheFile) {
  EXPECT_EQ(read_space(with({}))->seed, 42U);
  ::setenv("DETOL_SEED", "1", 1);
  EXPECT_EQ(read_space(with({}))->seed, 1U);
  EXPECT_EQ(read_space(with({{"set", {"seed=2"}}}))->seed, 2U);
  EXPECT_EQ(read_space(with({{"set", {"seed=2"}}, {"seed", {"3"}}}))->seed, 3U);
}

TEST_F(Settings, AFlagKeepsTheOptionsThatSetGives) {
  const auto startup_of = [](const std::vector<std::string>& sets) {
    const auto config = read_space(with({{"set", sets}, {"pruner", {"curve"}}}));
    EXPECT_EQ(config->pruner.name, "curve");
    const auto startup = config->pruner.options.find("startup");
    return startup == config->pruner.options.end() ? "" : startup->second;
  };
  EXPECT_EQ(startup_of({"search.pruner.startup=4"}), "4");
  EXPECT_EQ(startup_of({"search.pruner=asha", "search.pruner.startup=4"}), "4");
  EXPECT_EQ(startup_of({"search.pruner.startup=4", "search.pruner=asha"}), "");
}

TEST_F(Settings, EveryFlagReachesItsKeyOfTheSpaceFile) {
  const auto config = read_space(with({{"study", {"mine"}},
                                       {"seed", {"7"}},
                                       {"budget", {"3trials"}},
                                       {"algorithm", {"random"}},
                                       {"pruner", {"none"}},
                                       {"workers", {"3"}},
                                       {"group-size", {"2"}},
                                       {"data", {"/elsewhere"}}}));
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->study, "mine");
  EXPECT_EQ(config->seed, 7U);
  EXPECT_EQ(config->budget, "3trials");
  EXPECT_EQ(config->algorithm.name, "random");
  EXPECT_EQ(config->pruner.name, "none");
  EXPECT_EQ(config->resources.workers, 3);
  EXPECT_EQ(config->resources.group_size, 2);
  EXPECT_EQ(config->data.path, "/elsewhere");
}

TEST_F(Settings, NamesAndPathsAreTextWhateverTheyLookLike) {
  const auto config = read_space(with({{"study", {"7"}}, {"data", {"/it's a: folder #1"}}}));
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->study, "7");
  EXPECT_EQ(config->data.path, "/it's a: folder #1");
}

TEST_F(Settings, AReadySpaceIsFoundByAnyOfItsNames) {
  for (const char* name : {"cnn", "cnn.yaml", "configs/cnn.yaml"})
    EXPECT_TRUE(find_space(name).ends_with("configs/cnn.yaml")) << name;
  EXPECT_EQ(find_space("no_such_space.yaml"), "no_such_space.yaml");
}

TEST_F(Settings, AMistakeNamesTheFlagOrVariableThatMadeIt) {
  const auto flagged = with({{"seed", {"many"}}});
  const Error by_flag = as_written(read_space(flagged).error(), flagged);
  EXPECT_EQ(by_flag.code, ErrorCode::kUsage);
  EXPECT_TRUE(by_flag.message.starts_with("--seed: ")) << by_flag.message;

  ::setenv("DETOL_SEED", "many", 1);
  const Error by_variable = as_written(read_space(with({})).error(), with({}));
  EXPECT_TRUE(by_variable.message.starts_with("DETOL_SEED: ")) << by_variable.message;
  ::unsetenv("DETOL_SEED");

  const auto set = with({{"set", {"training.epochs=none"}}});
  const Error by_set = as_written(read_space(set).error(), set);
  EXPECT_TRUE(by_set.message.starts_with("--set training.epochs: ")) << by_set.message;
}

TEST_F(Settings, ASetWithoutAValueIsRefused) {
  EXPECT_EQ(read_space(with({{"set", {"training.epochs"}}})).error().code, ErrorCode::kUsage);
}

}  // namespace
}  // namespace detol
