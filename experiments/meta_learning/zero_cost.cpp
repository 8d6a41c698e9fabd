// What scores without training say about networks, beside the number of parameters.
//
//   zero_cost SPACE.yaml SCORES.csv [COLUMN TABLE.yaml]
//
// Makes the first candidates of the space's `sobol` searcher and joins them with SCORES.csv: with
// its column `value` by `trial`, or with COLUMN by the key of TABLE.yaml, a space of the same cells
// (images are then noise of 3 x 32 x 32). Prints the Spearman correlation of each number with the
// score over the candidates that have one, the part of it that params do not explain (partial
// correlation), and the time that the number takes.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <map>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

#include "core/rng.h"
#include "encodings/study/study_config.h"
#include "experiments/meta_learning/zero_cost_scores.h"
#include "search/searcher.h"
#include "trainer/data/formats/formats.h"
#include "trainer/predict.h"

namespace {

using namespace detol;

constexpr std::int64_t kImages = 32;
constexpr int kCandidates = 400;

std::vector<double> ranks(const std::vector<double>& values) {
  std::vector<double> all;
  for (const double value : values) {
    double rank = 0;
    for (const double other : values) rank += other < value ? 1 : other == value ? 0.5 : 0;
    all.push_back(rank - static_cast<double>(values.size()) / 2);
  }
  return all;
}

double spearman(const std::vector<double>& a, const std::vector<double>& b) {
  const std::vector<double> x = ranks(a), y = ranks(b);
  const auto dot = [](const auto& u, const auto& v) {
    return std::inner_product(u.begin(), u.end(), v.begin(), 0.0);
  };
  return dot(x, y) / std::sqrt(dot(x, x) * dot(y, y));
}

std::vector<std::string> cells(const std::string& line) {
  std::vector<std::string> all;
  std::istringstream stream(line);
  for (std::string cell; std::getline(stream, cell, ',');) {
    std::erase(cell, '\r');
    all.push_back(cell);
  }
  return all;
}

std::map<std::string, double> scores_of(const char* path, const std::string& key,
                                        const std::string& score) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  const std::vector<std::string> header = cells(line);
  const auto at = [&](const std::string& name) {
    return static_cast<std::size_t>(std::ranges::find(header, name) - header.begin());
  };
  std::map<std::string, double> scores;
  while (std::getline(file, line)) {
    const std::vector<std::string> row = cells(line);
    if (row.size() > std::max(at(key), at(score)) && !row[at(score)].empty())
      scores[row[at(key)]] = std::stod(row[at(score)]);
  }
  return scores;
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 3)
    return std::fprintf(stderr, "zero_cost SPACE.yaml SCORES.csv [COLUMN TABLE.yaml]\n"), 2;
  const auto config = read_study_config(arguments[1]);
  if (!config) return std::fprintf(stderr, "%s\n", config.error().message.c_str()), 2;
  const bool is_table = count > 4;
  const auto scores =
      scores_of(arguments[2], is_table ? "arch" : "trial", is_table ? arguments[3] : "value");
  const auto keys = read_study_config(arguments[is_table ? 4 : 1]);
  if (!keys) return std::fprintf(stderr, "%s\n", keys.error().message.c_str()), 2;
  Task task{.input = {3, 32, 32}, .classes = 10};
  std::vector<float> images;
  if (is_table) {
    Rng rng(1);
    for (std::int64_t i = 0; i < kImages * task.input.elements(); ++i)
      images.push_back(static_cast<float>(rng.normal()));
  } else {
    const auto data = load_dataset(config->data).value();
    task = data.info.task;
    images = normalised_images(data, {0, kImages});
  }
  const auto searcher =
      make_searcher("sobol", config->space,
                    {.seed = config->seed, .objectives = config->objectives, .options = {}})
          .value();
  std::map<std::string, std::vector<double>> columns;
  std::map<std::string, double> seconds;
  for (const Trial& trial : searcher->ask(0, kCandidates)) {
    const auto candidate = config->candidate(trial.genome, task);
    if (!candidate) continue;
    const std::string key =
        is_table ? keys->table_key(keys->space.genome(trial.genome.assignments()).value()).at(0)
                 : std::to_string(trial.id);
    const auto score = scores.find(key);
    if (score == scores.end()) continue;
    const auto put = [&](const char* name, const auto& compute) {
      const auto began = std::chrono::steady_clock::now();
      columns[name].push_back(compute());
      seconds[name] +=
          std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    };
    columns["score"].push_back(score->second);
    put("params", [&] { return static_cast<double>(candidate->cost.params); });
    put("flops", [&] { return static_cast<double>(candidate->cost.flops); });
    put("nwot", [&] { return nwot(candidate->network, images, trial.id, "cpu").value(); });
    put("synflow", [&] { return synflow(candidate->network, trial.id).value(); });
  }
  const std::vector<double>& score = columns.at("score");
  std::printf("%zu candidates\n", score.size());
  const double explained = spearman(columns.at("params"), score);
  for (const auto& [name, values] : columns) {
    if (name == "score") continue;
    const double own = spearman(values, score), shared = spearman(values, columns.at("params"));
    const double rest = (1 - shared * shared) * (1 - explained * explained);
    const double partial = rest > 1e-9 ? (own - shared * explained) / std::sqrt(rest) : 0;
    std::printf("%-8s %.3f   beyond params %.3f   %.1f ms each\n", name.c_str(), own, partial,
                1e3 * seconds[name] / static_cast<double>(score.size()));
  }
}
