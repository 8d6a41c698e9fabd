// The networks of trials: a layer a row, and those that are alike.

#include <gtest/gtest.h>

#include "core/rng.h"
#include "knowledge/ledger.h"
#include "studies/similar_networks.h"
#include "studies/trial_views.h"
#include "tests/support/temp_folder.h"

namespace detol {
namespace {

constexpr const char* kNetworks = R"(version: 1
study: nets
command: {run: [train, '{network.onnx}'], input: [3, 8, 8], outputs: 4}
architecture:
  type: chain
  stages:
    - depth: {type: int, low: 1, high: 3}
      block: {op: {type: categorical, choices: [conv, residual, mbconv]}, kernel: 3}
objectives: [{metric: accuracy, direction: maximize}]
)";

// Trial 1 began with the weights of trial 0, and has its network.
class TrialNetworks : public testing::Test {
 protected:
  void SetUp() override {
    auto ledger = Ledger::open(storage()).value();
    StudyRecord record;
    record.name = "nets";
    record.config = config_.text;
    record.objectives = config_.objectives;
    event::Asked first, heir;
    first.params = genome_.assignments();
    heir = first;
    heir.trial = 1;
    heir.inherits = ParentWeights{.trial = 0, .epochs = 1};
    const std::vector<Event> events = {first, heir};
    ASSERT_TRUE(ledger->append(ledger->create_study(record).value(), events));
  }
  std::string storage() const { return (folder_.path() / "detol.db").string(); }
  Rows rows_of_trial(TrialId id) const {
    const OpenStudy study = open_study(storage(), "nets").value();
    const auto rows = network_rows(study, trial_numbered(study, id).value());
    EXPECT_TRUE(rows) << rows.error().message;
    return rows.value_or(Rows{});
  }

  testing_support::TempFolder folder_;
  const StudyConfig config_ = load_study_config(kNetworks, "s.yaml").value();
  Rng rng_ = Rng(1);
  const Genome genome_ = config_.space.sample(rng_);
};

TEST_F(TrialNetworks, HaveARowForEachLayerThatAddUp) {
  const Network network = config_.candidate(genome_, {}).value().network;
  const Rows rows = rows_of_trial(0);
  ASSERT_EQ(rows.rows.size(), network.nodes().size());
  double params = 0;
  for (std::size_t i = 0; i < rows.rows.size(); ++i) {
    EXPECT_EQ(cell(rows, i, "layer"), Cell(network.nodes()[i].name));
    params += cell_number(cell(rows, i, "params"));
  }
  EXPECT_EQ(params, static_cast<double>(config_.candidate(genome_, {}).value().cost.params));
}

TEST_F(TrialNetworks, SayWhatIsInherited) {
  const Rows rows = rows_of_trial(1);
  EXPECT_EQ(rows.columns.back(), "from trial 0");
  std::size_t inherited = 0;
  for (std::size_t i = 0; i < rows.rows.size(); ++i) {
    const bool has_own = cell_number(cell(rows, i, "params")) > 0;
    if (has_own) {
      EXPECT_EQ(rows.rows[i].back(), Cell("inherited")) << i;
    }
    inherited += has_own ? 1 : 0;
  }
  EXPECT_GT(inherited, 0u);
  EXPECT_NE(rows_of_trial(0).columns.back(), "from trial 0");
}

TEST(Neighbours, AreTheNearestFirstWithoutTheNetworkItself) {
  const LabelledGraph path{{10, 20, 10}, {{0, 1}, {1, 2}}}, other{{7}, {}};
  KnownNetworks known{.studies = {{"s", "", "", "value"}}, .networks = {}};
  std::int64_t trial = 0;
  for (const LabelledGraph& graph : {path, other, path, LabelledGraph{{10, 20}, {{0, 1}}}})
    known.networks.push_back({.study = 0,
                              .trial = trial++,
                              .value = 0.5,
                              .arch_hash = {},
                              .graph = graph_features(graph)});
  const auto neighbours = neighbours_of(known);
  ASSERT_EQ(neighbours.size(), 3u);
  EXPECT_EQ(neighbours[0].network->trial, 2);
  EXPECT_NEAR(neighbours[0].similarity, 1, 1e-9);
  EXPECT_NEAR(neighbours[0].distance, 0, 1e-6);
  EXPECT_EQ(neighbours[1].network->trial, 3);
  EXPECT_EQ(neighbours[2].network->trial, 1);
  EXPECT_EQ(neighbours[2].similarity, 0);
}

}  // namespace
}  // namespace detol
