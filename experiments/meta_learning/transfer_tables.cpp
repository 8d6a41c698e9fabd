#include "experiments/meta_learning/transfer_tables.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <numeric>
#include <sstream>
#include <utility>

namespace detol {
namespace {

// Returns the operations of "|a~0|+|b~0|c~1|+|d~0|e~1|f~2|".
std::vector<std::string> edges_of(const std::string& arch) {
  std::vector<std::string> edges;
  for (const std::string& part : split(arch, '|')) {
    if (const auto tilde = part.find('~'); tilde != std::string::npos)
      edges.push_back(part.substr(0, tilde));
  }
  return edges;
}

// Returns the graph of a cell: a vertex for each operation that computes; every node sums its
// edges.
LabelledGraph graph_of_cell(const Space& space, std::span<const double> codes) {
  LabelledGraph graph{.labels = {1}, .edges = {}};
  std::vector<std::vector<std::size_t>> nodes = {{0}};
  std::size_t edge = 0;
  for (std::size_t node = 1; node < 4; ++node) {
    std::vector<std::size_t> sum;
    for (std::size_t from = 0; from < node; ++from, ++edge) {
      const auto operation = static_cast<std::size_t>(codes[edge]);
      const auto& word = std::get<std::string>(space.domains()[edge].choices[operation]);
      if (word == "none" || nodes[from].empty()) continue;
      if (word == "skip_connect") {
        sum.insert(sum.end(), nodes[from].begin(), nodes[from].end());
        continue;
      }
      for (std::size_t input : nodes[from]) graph.edges.emplace_back(input, graph.labels.size());
      sum.push_back(graph.labels.size());
      graph.labels.push_back(10 + operation);
    }
    nodes.push_back(std::move(sum));
  }
  for (std::size_t input : nodes.back()) graph.edges.emplace_back(input, graph.labels.size());
  graph.labels.push_back(2);
  return graph;
}

}  // namespace

[[noreturn]] void quit(const std::string& message) {
  std::fprintf(stderr, "transfer: %s\n", message.c_str());
  std::exit(2);
}

std::vector<std::string> split(const std::string& text, char by) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, by);) parts.push_back(part);
  return parts;
}

Table read_table(const TableFile& source) {
  std::ifstream file(source.path);
  std::string line;
  if (!std::getline(file, line)) quit("cannot read --table");
  const std::vector<std::string> header = split(line, ',');
  std::map<std::string, std::vector<std::string>> columns;
  while (std::getline(file, line)) {
    const std::vector<std::string> cells = split(line, ',');
    for (std::size_t i = 0; i < header.size(); ++i) columns[header[i]].push_back(cells.at(i));
  }
  std::vector<std::string> inputs = source.inputs;
  if (inputs == std::vector<std::string>{"arch"}) {
    inputs.clear();
    for (int i = 0; i < 6; ++i) inputs.push_back("edge" + std::to_string(i));
    for (const std::string& arch : columns.at("arch")) {
      const std::vector<std::string> edges = edges_of(arch);
      for (std::size_t i = 0; i < 6; ++i) columns[inputs[i]].push_back(edges.at(i));
    }
  }
  SpaceBuilder builder;
  std::vector<bool> is_number;
  for (const std::string& input : inputs) {
    std::vector<double> numbers;
    std::vector<std::string> words = columns.at(input);
    for (const std::string& word : words) {
      char* end = nullptr;
      numbers.push_back(std::strtod(word.c_str(), &end));
      if (end == word.c_str()) numbers.clear();
      if (numbers.empty()) break;
    }
    is_number.push_back(!numbers.empty());
    std::ranges::sort(words);
    words.erase(std::unique(words.begin(), words.end()), words.end());
    const auto [low, high] = std::ranges::minmax(numbers.empty() ? std::vector{0.0} : numbers);
    if (numbers.empty()) {
      builder.add_categorical(input, words);
    } else if (source.grid) {
      std::ranges::sort(numbers);
      numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
      builder.add_numbers(input, numbers, {.ordered = true});
    } else
      builder.add_float(input, low, high, {.log = low > 0 && high / low >= 100});
  }
  Table table{.space = builder.build().value(), .tasks = source.tasks};
  if (source.graph)
    table.space = table.space.with_graph([space = table.space](std::span<const double> codes) {
      return graph_of_cell(space, codes);
    });
  const double sign = source.maximise ? -1 : 1;
  for (std::size_t row = 0; row < columns.at(inputs.front()).size(); ++row) {
    std::vector<std::pair<std::string, Value>> values;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const std::string& cell = columns.at(inputs[i])[row];
      values.emplace_back(inputs[i], is_number[i] ? Value(std::stod(cell)) : Value(cell));
    }
    table.candidates.push_back(table.space.genome(values).value());
  }
  for (const std::string& task : table.tasks) {
    table.losses.emplace_back();
    for (const std::string& cell : columns.at(task))
      table.losses.back().push_back(sign * std::stod(cell));
  }
  return table;
}

Waves::Waves(std::size_t dimensions, Rng rng) {
  for (int i = 0; i < 24; ++i) {
    Wave wave{.phase = rng.uniform(0, 6.28), .frequencies = {}};
    for (std::size_t j = 0; j < dimensions; ++j) wave.frequencies.push_back(2.2 * rng.normal());
    waves_.push_back(wave);
  }
}

double Waves::operator()(std::span<const double> x) const {
  double sum = 0;
  for (const Wave& wave : waves_)
    sum += std::cos(std::inner_product(x.begin(), x.end(), wave.frequencies.begin(), wave.phase));
  return sum * std::sqrt(2.0 / static_cast<double>(waves_.size()));
}

std::vector<double> place_of(const Space& space, const Genome& genome) {
  std::vector<double> x;
  for (std::size_t i = 0; i < space.size(); ++i) {
    const Domain& domain = space.domains()[i];
    if (domain.kind != DomainKind::kCategorical || domain.ordered) {
      x.push_back(domain.position_of(genome.codes()[i]));
      continue;
    }
    const std::size_t first = x.size();
    x.resize(first + domain.choices.size(), 0);
    x[first + static_cast<std::size_t>(genome.codes()[i])] = 0.4;
  }
  return x;
}

Table synthetic_table(std::uint64_t seed, bool is_continuous) {
  SpaceBuilder builder;
  if (is_continuous) {
    builder.add_float("lr", 1e-5, 1e-1, {.log = true}).add_float("dropout", 0, 0.6);
    builder.add_int("width", 16, 512, {.log = true}).add_float("decay", 0, 1);
  } else {
    builder.add_numbers("lr", {1e-5, 1e-4, 1e-3, 1e-2, 1e-1}, {.ordered = true});
    builder.add_numbers("dropout", {0, 0.3, 0.6}, {.ordered = true});
    builder.add_numbers("width", {16, 64, 256, 1024}, {.ordered = true});
    builder.add_numbers("decay", {0, 0.5, 1}, {.ordered = true});
  }
  builder.add_categorical("optimizer", {"sgd", "adam", "lion"});
  builder.add_categorical("activation", {"relu", "gelu", "tanh", "silu"});
  Table table{.space = builder.build().value()};
  Rng rng(seed);
  std::map<std::uint64_t, Genome> distinct;  // all of the grid, or as many of the continuous space
  for (int i = 0; i < (is_continuous ? 600 : 40'000); ++i) {
    const Genome genome = table.space.sample(rng);
    distinct.emplace(table.space.identity(genome), genome);
  }
  for (const auto& [identity, genome] : distinct) table.candidates.push_back(genome);
  const std::size_t columns = place_of(table.space, table.candidates.front()).size();
  const Waves common(columns, rng.split(100));
  for (std::uint64_t task = 0; task < 8; ++task) {
    const Waves own(columns, rng.split(task));
    Rng noise = rng.split(200 + task);
    const double unit = std::exp(noise.normal());
    table.tasks.push_back("t" + std::to_string(task));
    table.losses.emplace_back();
    for (const Genome& genome : table.candidates) {
      const std::vector<double> x = place_of(table.space, genome);
      table.losses.back().push_back(unit * (common(x) + 0.5 * own(x) + 0.05 * noise.normal()));
    }
  }
  return table;
}

}  // namespace detol
