// Every question of docs/knowledge-base.md is answered by the SQL that it gives.

#include <sstream>

#include "core/file.h"
#include "tests/knowledge/support.h"

namespace detol {
namespace {

using testing_support::failed;
using testing_support::must;
using testing_support::OneStudy;
using testing_support::reported;
using testing_support::started;

// Returns the statements of the first SQL block that begins with "-- 1.", each with its question.
std::vector<std::string> questions() {
  const std::string text =
      must(read_file(std::filesystem::path(DETOL_SOURCE_DIR) / "docs/knowledge-base.md"));
  const std::size_t begin = text.find("```sql\n-- 1.") + 7;
  std::istringstream block(text.substr(begin, text.find("```", begin) - begin));
  std::vector<std::string> statements;
  for (std::string line; std::getline(block, line);) {
    if (line.starts_with("-- ")) statements.emplace_back();
    if (!statements.empty()) statements.back() += line + "\n";
  }
  return statements;
}

// A study about which each question has an answer.
std::vector<Event> history() {
  std::vector<Event> events;
  for (TrialId trial = 0; trial < 20; ++trial) {
    const double accuracy = 0.5 + 0.02 * static_cast<double>(trial);
    event::Asked asked = testing_support::asked(trial);
    asked.params = {{"lr", 0.01 * static_cast<double>(trial + 1)},
                    {"optimizer", std::string(trial % 2 == 0 ? "sgd" : "adamw")},
                    {"batch_size", std::int64_t{64}}};
    events.insert(events.end(), {asked, started(trial, 1), reported(trial, 1, 1, accuracy),
                                 reported(trial, 1, 2, accuracy + 0.01)});
    event::Told told = testing_support::complete(trial, accuracy + 0.01, 2);
    if (trial == 3) told = failed(trial, Cause::kDiverged);
    if (trial == 4) {
      told.state = TrialState::kPruned;
      told.reason = {EndCause::kPruner, "asha"};
    }
    if (trial == 5) told.reason = {EndCause::kSameTrial, "other", 2};
    events.emplace_back(told);
  }
  return events;
}

TEST(Questions, AreAnsweredAsTheDocumentSays) {
  OneStudy one;
  StudyRecord record = testing_support::study_named("fashion-cnn");
  const std::vector<Fact> facts = {
      {kNetworkFact, "00112233445566aa", R"({"graph":"1 3x8x8 p","params":0,"flops":0})"},
      {kDatasetFact, "fedcba9876543210", R"({"name":"fashion","samples":70000,"ridge":0.8})"},
      {kHostFact, "01", R"({"name":"n","cpu":"c","cores":2,"gpus":[],"memory":3})"},
      {kRunFact, "02", R"({"study":"fashion-cnn","at":1700000000,"host":"01"})"}};
  must(one.ledger->append(must(one.ledger->create_study(record)), history(), facts));
  const auto reader = must(Reader::open(one.path));
  const auto asked = questions();
  ASSERT_EQ(asked.size(), 24U);
  for (const std::string& question : asked) {
    const auto answer = reader->select(question);
    ASSERT_TRUE(answer) << question << answer.error().message;
    EXPECT_FALSE(answer->rows.empty()) << question;
  }
}

TEST(Questions, ThatTakeAParameterForAColumnAreToldWhereItIs) {
  const OneStudy one;
  const auto reader = must(Reader::open(one.path));
  const auto answer = reader->select("SELECT lr FROM v_trials");
  ASSERT_FALSE(answer);
  EXPECT_NE(answer.error().message.find(
                "no such column: lr (of v_trials a parameter is params_json->>'lr'"),
            std::string::npos)
      << answer.error().message;
}

}  // namespace
}  // namespace detol
