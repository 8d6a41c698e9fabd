// Not part of the product. How well an embedding that is trained on the scores of a few cells of
// NAS-Bench-201 orders all others:
//
//   embedding --table nb201.csv [--score c10_val_e200] [--labelled 200] [--draws 20] [--learn no]
//             [--source c100_val_e200 --source_labelled 400]
//
// Prints Spearman's rank correlation of the neighbours' prediction with the score of each cell that
// has none, for every draw of labelled cells, and at last their median. `--learn no` leaves the map
// that of the kernel PCA. Scores of another column (`--source`), for cells of their own, train the
// map as a second task.

#include "surrogate/embedding.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <map>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

#include "core/rng.h"
#include "encodings/study/study_config.h"

namespace {

using namespace detol;

using Options = std::map<std::string, std::string>;

struct Cells {
  std::vector<GraphFeatures> graphs;
  std::map<std::string, std::vector<double>> scores;  // by column
};

[[noreturn]] void quit(const std::string& message) {
  std::fprintf(stderr, "embedding: %s\n", message.c_str());
  std::exit(2);
}

std::vector<std::string> split(const std::string& text, char by) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, by);) parts.push_back(part);
  return parts;
}

// Returns the graph of "|a~0|+|b~0|c~1|+|d~0|e~1|f~2|".
GraphFeatures graph_of(const Space& space, const std::string& arch) {
  std::vector<std::pair<std::string, Value>> values;
  for (const std::string& part : split(arch, '|')) {
    if (const auto tilde = part.find('~'); tilde != std::string::npos)
      values.emplace_back(space.domains()[values.size()].name, part.substr(0, tilde));
  }
  const auto genome = space.genome(values);
  if (!genome) quit(genome.error().message);
  return graph_features(*space.graph(*genome));
}

Cells read_cells(const std::string& path, const std::vector<std::string>& columns) {
  const auto config = read_study_config(DETOL_SOURCE_DIR "/configs/nasbench201.yaml");
  if (!config) quit(config.error().message);
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) quit("cannot read --table");
  const std::vector<std::string> header = split(line, ',');
  Cells cells;
  while (std::getline(file, line)) {
    const std::vector<std::string> row = split(line, ',');
    for (std::size_t i = 0; i < header.size(); ++i) {
      if (header[i] == "arch") cells.graphs.push_back(graph_of(config->space, row.at(i)));
      if (std::ranges::find(columns, header[i]) != columns.end())
        cells.scores[header[i]].push_back(std::stod(row.at(i)));
    }
  }
  for (const std::string& column : columns)
    if (cells.scores[column].size() != cells.graphs.size()) quit("no column " + column);
  return cells;
}

std::vector<double> ranks_of(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, {}, [&](std::size_t i) { return values[i]; });
  std::vector<double> ranks(values.size());
  for (std::size_t first = 0, last = 0; first < order.size(); first = last) {
    while (last < order.size() && values[order[last]] == values[order[first]]) ++last;
    for (std::size_t i = first; i < last; ++i)
      ranks[order[i]] = static_cast<double>(first + last - 1) / 2;
  }
  return ranks;
}

double spearman(const std::vector<double>& a, const std::vector<double>& b) {
  const std::vector<double> x = ranks_of(a), y = ranks_of(b);
  const double mean = (static_cast<double>(a.size()) - 1) / 2;
  double xy = 0, xx = 0, yy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xy += (x[i] - mean) * (y[i] - mean);
    xx += (x[i] - mean) * (x[i] - mean);
    yy += (y[i] - mean) * (y[i] - mean);
  }
  return xy / std::sqrt(xx * yy);
}

// Returns `count` of the cells, by chance, with their scores.
TaskScores drawn(const std::vector<double>& scores, std::size_t count, Rng rng) {
  std::vector<std::size_t> cells(scores.size());
  std::iota(cells.begin(), cells.end(), 0);
  for (std::size_t i = 0; i < count; ++i)
    std::swap(cells[i], cells[i + rng.below(cells.size() - i)]);
  cells.resize(count);
  TaskScores task{.graphs = cells, .scores = {}};
  for (const std::size_t cell : cells) task.scores.push_back(scores[cell]);
  return task;
}

double correlation_of(const Cells& cells, const std::vector<double>& scores, const TaskScores& task,
                      const Embedding& embedding) {
  std::vector<bool> is_labelled(scores.size());
  std::vector<std::vector<double>> vectors;
  for (const std::size_t cell : task.graphs) {
    is_labelled[cell] = true;
    vectors.push_back(embedding.of(cells.graphs[cell]));
  }
  const std::vector<double> ranks = ranks_of(task.scores);
  std::vector<double> predicted, true_scores;
  for (std::size_t cell = 0; cell < scores.size(); ++cell) {
    if (is_labelled[cell]) continue;
    predicted.push_back(predict_by_neighbours(vectors, ranks, embedding.of(cells.graphs[cell])));
    true_scores.push_back(scores[cell]);
  }
  return spearman(predicted, true_scores);
}

}  // namespace

int main(int count, char** words) {
  Options options = {{"--table", ""},
                     {"--score", "c10_val_e200"},
                     {"--labelled", "200"},
                     {"--draws", "20"},
                     {"--learn", "yes"},
                     {"--source", ""},
                     {"--source_labelled", "400"}};
  for (int i = 1; i + 1 < count; i += 2) {
    if (!options.contains(words[i])) quit(std::string("unknown option ") + words[i]);
    options[words[i]] = words[i + 1];
  }
  std::vector<std::string> columns = {options["--score"]};
  if (!options["--source"].empty()) columns.push_back(options["--source"]);
  const Cells cells = read_cells(options["--table"], columns);
  const std::vector<double>& scores = cells.scores.at(options["--score"]);
  std::vector<double> results, seconds;
  for (std::size_t draw = 0; draw < std::stoul(options["--draws"]); ++draw) {
    const TaskScores task = drawn(scores, std::stoul(options["--labelled"]), Rng(draw).split(0));
    std::vector<TaskScores> tasks = {task};
    if (columns.size() > 1)
      tasks.push_back(drawn(cells.scores.at(columns[1]), std::stoul(options["--source_labelled"]),
                            Rng(draw).split(1)));
    std::vector<GraphFeatures> graphs = cells.graphs;
    if (options["--learn"] == "no") {  // the labelled cells alone are landmarks, without scores
      graphs.clear();
      for (const std::size_t cell : task.graphs) graphs.push_back(cells.graphs[cell]);
      tasks.clear();
    }
    const std::clock_t begun = std::clock();
    const Embedding embedding = Embedding::fitted(graphs, tasks);
    seconds.push_back(static_cast<double>(std::clock() - begun) / CLOCKS_PER_SEC);
    results.push_back(correlation_of(cells, scores, task, embedding));
    std::printf("%2zu  %.4f  fitted in %.0f ms of processor time\n", draw, results.back(),
                1000 * seconds.back());
  }
  std::ranges::sort(results);
  const std::size_t n = results.size();
  std::printf("median %.4f, quartiles %.4f %.4f, least %.4f, n = %zu\n",
              (results[(n - 1) / 2] + results[n / 2]) / 2, results[n / 4], results[n - 1 - n / 4],
              results[0], n);
}
