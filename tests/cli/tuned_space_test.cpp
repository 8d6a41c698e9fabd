#include "encodings/foreign/tuned_space.h"

#include <gtest/gtest.h>

#include "cli/commands.h"
#include "cli/settings.h"
#include "encodings/study/written_parameters.h"

namespace detol {
namespace {

StudyConfig config_of(const std::vector<std::string>& parameters,
                      const std::vector<std::string>& command = {"true"}) {
  const auto text = space_of({.study = "s",
                              .command = command,
                              .parameters = parameters,
                              .metrics = {"val loss:minimize", "acc:maximize"},
                              .steps = "9"});
  EXPECT_TRUE(text) << text.error().message;
  const auto config = load_study_config(*text, "s.yaml");
  EXPECT_TRUE(config) << config.error().message << "\n" << *text;
  return *config;
}

TEST(TunedSpace, HasAChoiceForEachParameter) {
  const StudyConfig config = config_of(
      {"lr=log(1e-5, 1e-1)", "x=float(0,1)", "grid=float(0,1,0.25)", "n=int(1,8)",
       "m=logint(1,1024)", "opt=choice(sgd,adam)", "size=ordered(16,32)", "flag=bool", "fixed=3"});
  const auto& domains = config.space.domains();
  ASSERT_EQ(domains.size(), 8u);
  const auto domain = [&](const char* name) { return domains[*config.space.index_of(name)]; };
  EXPECT_TRUE(domain("lr").log);
  EXPECT_EQ(domain("lr").low, 1e-5);
  EXPECT_EQ(domain("grid").step, 0.25);
  EXPECT_EQ(domain("n").kind, DomainKind::kInt);
  EXPECT_TRUE(domain("m").log);
  EXPECT_EQ(domain("opt").choices[1], Value("adam"));
  EXPECT_TRUE(domain("size").ordered);
  EXPECT_EQ(domain("size").choices[0], Value(std::int64_t{16}));
  EXPECT_EQ(domain("flag").kind, DomainKind::kBool);
  EXPECT_EQ(config.objectives[0].metric, "val loss");
  EXPECT_EQ(config.objectives[1].direction, Direction::kMaximize);
  EXPECT_EQ(config.max_epochs, 9);
}

TEST(TunedSpace, GivesAProgramTheWordsOfChoicesAsTheyWereWritten) {
  const std::vector<std::string> words = {"3.10",
                                          "3.9",
                                          "00",
                                          "007",
                                          "1e3",
                                          "0x10",
                                          "True",
                                          "null",
                                          "~",
                                          "+1",
                                          "1_000",
                                          ".5",
                                          "1.0",
                                          "true",
                                          "no",
                                          "1e400",
                                          "1E-5",
                                          "-0",
                                          "2.50",
                                          "a: b",
                                          "nan",
                                          "12345678901234567890",
                                          "0.12345678901234567890"};
  std::string list;
  for (const std::string& word : words) list += (list.empty() ? "" : ",") + word;
  const StudyConfig config = config_of({"v=choice(" + list + ")", "c=007", "d=1e3"});
  const Domain& domain = config.space.domains()[0];
  ASSERT_EQ(domain.choices.size(), words.size());
  Rng rng(1);
  for (std::size_t i = 0; i < words.size(); ++i) {
    const Genome genome = config.space.repair({static_cast<double>(i)}, rng);
    const auto written = written_parameters(config, genome);
    EXPECT_EQ(written.at("v"), words[i]);
    EXPECT_EQ(written.at("c"), "007");
    EXPECT_EQ(written.at("d"), "1e3");
    EXPECT_EQ(domain.code_of(domain.choices[i]), static_cast<double>(i)) << words[i];
  }
}

TEST(TunedSpace, KeepsTheCommandAsItWasWritten) {
  const std::vector<std::string> command = {"p", "--lr={lr}", "a b", "'\"\\ {{x}} #: \n\t",
                                            "",  "é"};
  EXPECT_EQ(config_of({"lr=float(0,1)"}, command).command->run, command);
}

TEST(TunedSpace, SaysWhatItDoesNotUnderstand) {
  for (const char* bad : {"lr", "=int(1,2)", "lr=log(1)", "lr=log(1,b)", "lr=uniform(0,1)",
                          "n=int(1,2,3,4)", "o=choice()", "o=choice(a,)", "lr=log(1,2"}) {
    const auto space =
        space_of({.study = "s", .command = {"p"}, .parameters = {bad}, .metrics = {}});
    ASSERT_FALSE(space) << bad;
    EXPECT_EQ(space.error().code, ErrorCode::kUsage);
    EXPECT_NE(space.error().message.find("log(1e-5,1e-1)"), std::string::npos);
  }
  for (const char* bad : {"loss", ":minimize", "loss:down"})
    EXPECT_FALSE(space_of({.study = "s", .command = {"p"}, .parameters = {}, .metrics = {bad}}))
        << bad;
}

TEST(TunedSpace, WordsThatAreNotUtf8AreRefusedByTheirFlag) {
  const auto message = [](const std::string& param, const std::string& metric) {
    const auto call = parse({"ask", "s", "--param", param, "--metric", metric}).value();
    return config_from_flags(call.arguments, {}, "s").error().message;
  };
  EXPECT_EQ(message("x=choice(K\xe4se,b)", "loss:minimize"),
            "--param: 'x=choice(K\\xe4se,b)' is not UTF-8; choose another");
  EXPECT_EQ(message("x=int(1,2)", "K\xe4se:minimize"),
            "--metric: 'K\\xe4se:minimize' is not UTF-8; choose another");
}

}  // namespace
}  // namespace detol
