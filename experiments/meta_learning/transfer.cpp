// Cold against warm starts on tables of candidates, through the library's ask and tell.
//
//   transfer --table FILE.csv --inputs a,b,c --tasks t1,t2 [--maximise] [options]
//   transfer --synthetic SEED [--continuous] [options]
//
// A column of --inputs is a number if all its cells are numbers, else a category; a column `arch`
// of NAS-Bench-201 cells is six categories. Each of --tasks (all by default) is a target in turn,
// and the other columns of --tasks are its sources. A proposal is answered by the candidate nearest
// to it, a repeated one by the same value.
//
//   --grid            a column of numbers is a choice among those that it has, in their order
//   --graph           the candidates of `arch` also have graphs, as those of the encoding `cell`
//   --sources WORDS   warm (default); negated: scores times -1; shuffled: scores of other
//                     candidates; unrelated: one smooth random function instead of the columns;
//                     none: a cold search of another seed, which shows what chance gives;
//                     several words, separated by commas, share their cold runs
//   --algorithm NAME  (portfolio)        --members NAMES  of the portfolio
//   --seeds N  (10)        --first-seed N (0)
//   --target N        the target's number in --tasks; all by default
//   --history N       random candidates that a source has (all)
//   --evaluations N   at most (200)      --reach N  a cold search's best after so many is the goal
//                                        (100); 0: the table's best, at which runs end
//   --warm-only       no cold search, with --reach 0
// Prints for each pair of runs the evaluations that each needed, then medians.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <map>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

#include "core/rng.h"
#include "search/searcher.h"

namespace {

using namespace detol;

constexpr std::uint64_t kOtherSeed = 1'000'000;  // added for a second cold search

struct Table {
  Space space;
  std::vector<Genome> candidates = {};
  std::vector<std::string> tasks = {};
  std::vector<std::vector<double>> losses = {};  // by task and candidate
};

struct Options {
  std::map<std::string, std::string> given;
  std::string text(const std::string& name, const std::string& fallback) const {
    const auto at = given.find(name);
    return at == given.end() ? fallback : at->second;
  }
  std::size_t number(const std::string& name, std::size_t fallback) const {
    return std::stoul(text(name, std::to_string(fallback)));
  }
};

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

Table read_table(const Options& options) {
  std::ifstream file(options.text("table", ""));
  std::string line;
  if (!std::getline(file, line)) quit("cannot read --table");
  const std::vector<std::string> header = split(line, ',');
  std::map<std::string, std::vector<std::string>> columns;
  while (std::getline(file, line)) {
    const std::vector<std::string> cells = split(line, ',');
    for (std::size_t i = 0; i < header.size(); ++i) columns[header[i]].push_back(cells.at(i));
  }
  std::vector<std::string> inputs = split(options.text("inputs", "arch"), ',');
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
    } else if (options.given.contains("grid")) {
      std::ranges::sort(numbers);
      numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
      builder.add_numbers(input, numbers, {.ordered = true});
    } else
      builder.add_float(input, low, high, {.log = low > 0 && high / low >= 100});
  }
  Table table{.space = builder.build().value(), .tasks = split(options.text("tasks", ""), ',')};
  if (options.given.contains("graph"))
    table.space = table.space.with_graph([space = table.space](std::span<const double> codes) {
      return graph_of_cell(space, codes);
    });
  const double sign = options.given.contains("maximise") ? -1 : 1;
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

// Waves: a smooth random function of the unit cube, of variance about 1.
class Waves {
 public:
  Waves(std::size_t dimensions, Rng rng) {
    for (int i = 0; i < 24; ++i) {
      Wave wave{.phase = rng.uniform(0, 6.28), .frequencies = {}};
      for (std::size_t j = 0; j < dimensions; ++j) wave.frequencies.push_back(2.2 * rng.normal());
      waves_.push_back(wave);
    }
  }
  double operator()(std::span<const double> x) const {
    double sum = 0;
    for (const Wave& wave : waves_)
      sum += std::cos(std::inner_product(x.begin(), x.end(), wave.frequencies.begin(), wave.phase));
    return sum * std::sqrt(2.0 / static_cast<double>(waves_.size()));
  }

 private:
  struct Wave {
    double phase;
    std::vector<double> frequencies;
  };
  std::vector<Wave> waves_;
};

// Returns the place of a candidate for Waves: numbers' positions, a column for each category.
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

// Returns eight related tasks of 600 candidates: a common function, an own one of half its size
// and a little noise, over four numbers and two categories, in units that differ.
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

// Nearest finds the candidate nearest to a genome: positions of numbers, one each for categories.
class Nearest {
 public:
  explicit Nearest(const Table& table) : table_(table) {
    for (std::size_t i = 0; i < table.candidates.size(); ++i)
      exact_.emplace(table.space.identity(table.candidates[i]), i);
  }
  std::size_t operator()(const Genome& genome) const {
    if (const auto at = exact_.find(table_.space.identity(genome)); at != exact_.end())
      return at->second;
    std::size_t best = 0;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < table_.candidates.size(); ++i) {
      double distance = 0;
      for (std::size_t j = 0; j < table_.space.size(); ++j) {
        const Domain& domain = table_.space.domains()[j];
        const double a = genome.codes()[j], b = table_.candidates[i].codes()[j];
        const double gap = domain.position_of(a) - domain.position_of(b);
        distance += domain.kind == DomainKind::kCategorical ? (a == b ? 0 : 1) : gap * gap;
      }
      if (distance >= least) continue;
      least = distance;
      best = i;
    }
    return best;
  }

 private:
  const Table& table_;
  std::map<std::uint64_t, std::size_t> exact_;
};

std::vector<Source> sources_for(const Table& table, std::size_t target, const std::string& kind,
                                const Options& options, std::uint64_t seed) {
  std::vector<Source> sources;
  if (kind == "none") return sources;
  if (kind == "unrelated") {
    const Waves waves(place_of(table.space, table.candidates.front()).size(), Rng(seed));
    sources.push_back({.name = kind, .space = table.space, .history = {}});
    for (const Genome& genome : table.candidates)
      sources.back().history.emplace_back(
          genome, Measured{.values = {waves(place_of(table.space, genome))}});
    return sources;
  }
  for (std::size_t task = 0; task < table.tasks.size(); ++task) {
    if (task == target) continue;
    Source source{.name = table.tasks[task], .space = table.space, .history = {}};
    std::vector<double> losses = table.losses[task];
    Rng rng = Rng(seed).split(task);
    if (kind == "shuffled") rng.shuffle(std::span(losses));
    std::vector<std::size_t> order(losses.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    rng.shuffle(std::span(order));
    order.resize(std::min(order.size(), options.number("history", order.size())));
    for (std::size_t i : order)
      source.history.emplace_back(table.candidates[i],
                                  Measured{.values = {kind == "negated" ? -losses[i] : losses[i]}});
    sources.push_back(std::move(source));
  }
  return sources;
}

// Returns the best loss after each evaluation, the last of which is the first of at most `end`.
std::vector<double> run(const Table& table, const Nearest& nearest, std::size_t target,
                        SearcherSettings settings, const Options& options, double end) {
  if (options.given.contains("members")) settings.options["members"] = options.text("members", "");
  auto searcher =
      make_searcher(options.text("algorithm", "portfolio"), table.space, settings).value();
  std::vector<double> best;
  const std::size_t evaluations = options.number("evaluations", 200);
  double least = std::numeric_limits<double>::infinity();
  for (TrialId id = 0; best.size() < evaluations && !(least <= end); ++id) {
    const Trial trial = searcher->ask(id, 1).at(0);
    const double loss = table.losses[target][nearest(trial.genome)];
    least = std::min(least, loss);
    best.push_back(least);
    searcher->tell(trial, Measured{.values = {loss}, .fidelity = 1, .work = 1});
    if (options.given.contains("trace"))
      std::printf("%zu %.6g %s\n", best.size(), loss, trial.proposer.c_str());
  }
  return best;
}

std::size_t evaluations_to(const std::vector<double>& best, double goal) {
  const auto at = std::ranges::find_if(best, [&](double loss) { return loss <= goal; });
  return static_cast<std::size_t>(at - best.begin()) + 1;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t n = values.size();
  return n == 0 ? 0 : (values[(n - 1) / 2] + values[n / 2]) / 2;
}

// Needed: the evaluations that the runs of one kind of sources took, and of cold runs in the same
// order.
struct Needed {
  std::vector<double> cold, warm;

  void print(const std::string& what) const {
    std::vector<double> ratios;
    for (std::size_t i = 0; i < warm.size(); ++i) ratios.push_back(warm[i] / cold[i]);
    std::printf("%s, %zu pairs: median cold %.1f warm %.1f ratio %.2f, warm over 110: %td\n",
                what.c_str(), warm.size(), median(cold), median(warm), median(ratios),
                std::ranges::count_if(warm, [](double needed) { return needed > 110; }));
  }
};

void compare(const Table& table, const Options& options) {
  const Nearest nearest(table);
  const std::size_t seeds = options.number("seeds", 10), first = options.number("first-seed", 0);
  const std::size_t reach = options.number("reach", 100);
  if (reach > 0 && options.given.contains("warm-only")) quit("--warm-only needs --reach 0");
  const std::vector<std::string> kinds = split(options.text("sources", "warm"), ',');
  std::map<std::string, Needed> all;
  for (std::size_t target = 0; target < table.tasks.size(); ++target) {
    if (options.number("target", target) != target) continue;
    std::map<std::string, Needed> here;
    for (std::uint64_t seed = first; seed < first + seeds; ++seed) {
      SearcherSettings settings{.seed = seed, .objectives = {minimize("loss")}, .options = {}};
      double goal = std::ranges::min(table.losses[target]);
      std::vector<double> cold;
      if (!options.given.contains("warm-only"))
        cold = run(table, nearest, target, settings, options, goal);
      if (reach > 0) goal = cold[std::min(reach, cold.size()) - 1];
      const auto cold_needs = static_cast<double>(evaluations_to(cold, goal));
      std::printf("%s seed %llu: cold %.0f", table.tasks[target].c_str(),
                  static_cast<unsigned long long>(seed), cold_needs);
      for (const std::string& kind : kinds) {
        settings.seed = kind == "none" ? seed + kOtherSeed : seed;
        settings.sources = sources_for(table, target, kind, options, seed);
        const std::vector<double> warm = run(table, nearest, target, settings, options, goal);
        const auto warm_needs = static_cast<double>(evaluations_to(warm, goal));
        for (Needed* needed : {&here[kind], &all[kind]}) {
          needed->cold.push_back(cold_needs);
          needed->warm.push_back(warm_needs);
        }
        std::printf(" %s %.0f", kind.c_str(), warm_needs);
        std::fflush(stdout);
      }
      std::printf("\n");
    }
    for (const auto& [kind, needed] : here) needed.print(table.tasks[target] + " " + kind);
  }
  for (const auto& [kind, needed] : all) needed.print("all " + kind);
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (!name.starts_with("--")) quit("'" + name + "' is no option");
    const bool has_value = i + 1 < argc && !std::string(argv[i + 1]).starts_with("--");
    options.given[name.substr(2)] = has_value ? argv[++i] : "";
  }
  if (options.given.contains("synthetic"))
    compare(synthetic_table(options.number("synthetic", 0), options.given.contains("continuous")),
            options);
  else
    compare(read_table(options), options);
}
