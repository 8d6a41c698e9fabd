// Embeddings of graphs without edges, whose features are counts of labels, so that one can say what
// matters.

#include "surrogate/embedding.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "core/rng.h"

namespace detol {
namespace {

constexpr std::uint64_t kGood = 1;  // the label whose count is the score

// Bags: graphs of ten vertices with six labels, and how many of them are good.
struct Bags {
  std::vector<GraphFeatures> graphs;
  TaskScores scores;  // of all graphs
};

Bags random_bags(std::size_t count) {
  Rng rng(7);
  Bags bags;
  for (std::size_t i = 0; i < count; ++i) {
    LabelledGraph graph;
    for (int vertex = 0; vertex < 10; ++vertex) graph.labels.push_back(kGood + rng.below(6));
    bags.scores.graphs.push_back(i);
    bags.scores.scores.push_back(static_cast<double>(std::ranges::count(graph.labels, kGood)));
    bags.graphs.push_back(graph_features(graph));
  }
  return bags;
}

TaskScores part_of(const TaskScores& scores, std::size_t first, std::size_t last, double sign = 1) {
  TaskScores part;
  for (std::size_t i = first; i < last; ++i) {
    part.graphs.push_back(scores.graphs[i]);
    part.scores.push_back(sign * scores.scores[i]);
  }
  return part;
}

// Returns the squared error of the predictions for all bags from `first` on by those before, as a
// share of the variance.
double error_of(const Bags& bags, const Embedding& embedding, std::size_t first) {
  std::vector<std::vector<double>> vectors;
  const TaskScores known = part_of(bags.scores, 0, first);
  for (const std::size_t graph : known.graphs) vectors.push_back(embedding.of(bags.graphs[graph]));
  double mean = 0, errors = 0, squares = 0;
  for (const double score : known.scores) mean += score / static_cast<double>(first);
  for (std::size_t i = first; i < bags.graphs.size(); ++i) {
    const double score = bags.scores.scores[i];
    const double predicted =
        predict_by_neighbours(vectors, known.scores, embedding.of(bags.graphs[i]));
    errors += (predicted - score) * (predicted - score);
    squares += (score - mean) * (score - mean);
  }
  return errors / squares;
}

TEST(Embedding, LearnsWhichLabelsDecideTheScore) {
  const Bags bags = random_bags(160);
  const TaskScores known = part_of(bags.scores, 0, 80);
  const Embedding learned = Embedding::fitted(bags.graphs, {{known}});
  const Embedding plain = Embedding::fitted(bags.graphs, {});
  ASSERT_TRUE(learned.is_learned());
  EXPECT_LT(error_of(bags, learned, 80), 0.15);
  EXPECT_LT(error_of(bags, learned, 80), 0.5 * error_of(bags, plain, 80));
}

TEST(Embedding, LearnsOneMapFromTasksOfAnyUnitAndDirection) {
  const Bags bags = random_bags(160);
  const std::vector<TaskScores> tasks = {part_of(bags.scores, 0, 40),
                                         part_of(bags.scores, 40, 80, -1e6)};
  EXPECT_LT(error_of(bags, Embedding::fitted(bags.graphs, tasks), 80), 0.2);
}

TEST(Embedding, HasTheDistancesOfTheKernelWhereScoresAreFew) {
  const Bags bags = random_bags(25);
  const TaskScores few = part_of(bags.scores, 0, Embedding::kFewestScores - 1);
  const Embedding embedding = Embedding::fitted(bags.graphs, {{few}});
  EXPECT_FALSE(embedding.is_learned());
  const auto squared = [&](std::size_t a, std::size_t b) {
    return std::pow(distance(embedding.of(bags.graphs[a]), embedding.of(bags.graphs[b])), 2);
  };
  const double unit = squared(0, 1) / (2 - 2 * graph_kernel(bags.graphs[0], bags.graphs[1], 3));
  for (std::size_t i = 1; i < bags.graphs.size(); ++i)
    EXPECT_NEAR(squared(0, i), unit * (2 - 2 * graph_kernel(bags.graphs[0], bags.graphs[i], 3)),
                1e-6);
}

TEST(Embedding, IsTheSameForTheSameGraphsAndScores) {
  const Bags bags = random_bags(60);
  const Embedding once = Embedding::fitted(bags.graphs, {{bags.scores}});
  const Embedding again = Embedding::fitted(bags.graphs, {{bags.scores}});
  for (const GraphFeatures& graph : bags.graphs) EXPECT_EQ(once.of(graph), again.of(graph));
}

// Graphs of equal scores have no order among them.
TEST(Embedding, DoesNotDependOnTheOrderOfEqualScores) {
  const Bags bags = random_bags(60);
  TaskScores reversed = bags.scores;
  std::ranges::reverse(reversed.graphs);
  std::ranges::reverse(reversed.scores);
  const Embedding one = Embedding::fitted(bags.graphs, {{bags.scores}});
  const Embedding other = Embedding::fitted(bags.graphs, {{reversed}});
  ASSERT_TRUE(one.is_learned());
  const auto apart = [&](const Embedding& embedding, std::size_t i) {
    return distance(embedding.of(bags.graphs[0]), embedding.of(bags.graphs[i]));
  };
  for (std::size_t i = 1; i < bags.graphs.size(); ++i)
    EXPECT_NEAR(apart(one, i), apart(other, i), 1e-3 * apart(one, i));
}

TEST(Embedding, TakesOneGraph) {
  const Bags bags = random_bags(1);
  const Embedding embedding = Embedding::fitted(bags.graphs, {});
  EXPECT_EQ(distance(embedding.of(bags.graphs[0]), embedding.of(bags.graphs[0])), 0);
}

TEST(Embedding, TakesGraphsThatAreAllEqual) {
  const Bags one = random_bags(1);
  const std::vector<GraphFeatures> graphs(30, one.graphs[0]);
  TaskScores scores;
  for (std::size_t i = 0; i < graphs.size(); ++i) {
    scores.graphs.push_back(i);
    scores.scores.push_back(static_cast<double>(i));
  }
  const Embedding embedding = Embedding::fitted(graphs, {{scores}});
  for (const double x : embedding.of(graphs[0])) EXPECT_TRUE(std::isfinite(x));
}

// Weights e^0 and e^-4 at the squared distances 1 and 5.
TEST(PredictByNeighbours, IsTheWeightedMeanByHand) {
  const std::vector<std::vector<double>> vectors = {{1, 0}, {1, 2}};
  const double weight = std::exp(-4.0);
  EXPECT_NEAR(predict_by_neighbours(vectors, {{3.0, 7.0}}, std::vector<double>{0, 0}),
              (3 + 7 * weight) / (1 + weight), 1e-12);
}

// All weights would be 0 if the nearest were not counted as 1.
TEST(PredictByNeighbours, IsTheNearestScoreFarFromAll) {
  const std::vector<std::vector<double>> vectors = {{0}, {1}};
  EXPECT_NEAR(predict_by_neighbours(vectors, {{3.0, 7.0}}, std::vector<double>{1000}), 7, 1e-12);
}

}  // namespace
}  // namespace detol
