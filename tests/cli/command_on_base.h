#pragma once

// CommandsOn is a fixture for commands over the studies of another fixture, as CommandOnBase over
// studies that a test writes into a base of its own.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "tests/studies/study_base.h"

namespace detol::testing_support {

template <typename Studies>
class CommandsOn : public Studies {
 protected:
  using Json = nlohmann::json;

  // Answer is what a command printed, or its error.
  struct Answer {
    Result<int> code = 0;
    std::string out;
  };

  Answer run(std::vector<std::string> words) const {
    words.insert(words.end(), {"--storage", this->storage(), "-q"});
    const auto call = parse(words);
    if (!call) return {.code = tl::unexpected<Error>(call.error()), .out = {}};
    testing::internal::CaptureStdout();
    Result<int> code = run_call(*call);
    return {.code = std::move(code), .out = testing::internal::GetCapturedStdout()};
  }

  Json json(std::vector<std::string> words) const {
    words.insert(words.end(), {"-f", "json"});
    const Answer answer = run(std::move(words));
    EXPECT_TRUE(answer.code) << answer.code.error().message;
    return Json::parse(answer.out, nullptr, false);
  }
};

using CommandOnBase = CommandsOn<StudyBase>;

}  // namespace detol::testing_support
