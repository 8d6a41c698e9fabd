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
#include <cstdio>
#include <limits>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "core/rng.h"
#include "experiments/meta_learning/transfer_tables.h"
#include "search/searcher.h"

namespace {

using namespace detol;

constexpr std::uint64_t kOtherSeed = 1'000'000;  // added for a second cold search

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
    compare(read_table({.path = options.text("table", ""),
                        .inputs = split(options.text("inputs", "arch"), ','),
                        .tasks = split(options.text("tasks", ""), ','),
                        .maximise = options.given.contains("maximise"),
                        .grid = options.given.contains("grid"),
                        .graph = options.given.contains("graph")}),
            options);
}
