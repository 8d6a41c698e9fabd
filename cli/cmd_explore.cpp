// `explore`: fills the knowledge base with the same designed sample of a space on each of several
// data sets, one study after the other. Each study is what `detol search --if-exists resume` of
// that data set would run, so `resume`, `status` and all other commands know it, too.

#include <algorithm>
#include <cmath>
#include <csignal>
#include <filesystem>

#include "cli/commands.h"
#include "cli/run_options.h"
#include "cli/search_setup.h"
#include "cli/settings.h"
#include "core/exit_code.h"
#include "core/log.h"
#include "models/choose_finally.h"
#include "models/stop_signals.h"
#include "trainer/collectives/mpi_group.h"

namespace detol::inline cli {
namespace {

namespace fs = std::filesystem;

// What makes a study explore: trials that depend on no outcome, trained to their end. Being the
// first changes to the file, they give way to a --set of the same key.
constexpr const char* kExploring[] = {"search.algorithm=design", "search.pruner=none",
                                      "search.warm_start=none"};

// Returns the name of a data set within a study's: that of its file or folder without extension.
std::string name_of(const std::string& path) {
  fs::path last = fs::path(path).lexically_normal();
  if (!last.has_filename()) last = last.parent_path();  // data/mnist/
  std::string name = last.stem().string();
  std::erase_if(name, [](char c) { return !is_study_name(std::string("x") + c); });
  return name;
}

Result<std::string> share_of(const Budget& budget, std::size_t studies) {
  Budget share = budget;
  for (const auto limit :
       {&Budget::wall_s, &Budget::cpu_s, &Budget::gpu_s, &Budget::trials, &Budget::work}) {
    if (share.*limit) *(share.*limit) /= static_cast<double>(studies);
  }
  if (share.trials) share.trials = std::floor(*share.trials);
  if (share.trials == 0) {
    return usage_error("--budget: {} are less than one for each of {} data sets; give more",
                       to_text(budget), studies);
  }
  return to_text(share);
}

// Returns the arguments of `detol search` for each data set.
Result<std::vector<Arguments>> searches_of(const Arguments& arguments) {
  const std::vector<std::string> paths = arguments.all("data");
  DETOL_ASSIGN(const Budget budget, parse_budget(arguments.text("budget")));
  DETOL_ASSIGN(const std::string share, share_of(budget, paths.size()));
  Arguments common = arguments;
  std::vector<std::string>& changes = common.given["set"];
  changes.insert(changes.begin(), std::begin(kExploring), std::end(kExploring));
  common.given["budget"] = {share};
  common.given["if-exists"] = {"resume"};
  std::vector<Arguments> searches;
  std::map<std::string, std::string> path_of;
  for (const std::string& path : paths) {
    common.given["data"] = {path};
    DETOL_ASSIGN(const StudyConfig config, read_space(common));
    const std::string name = config.study + "-" + name_of(path);
    if (const auto [other, is_new] = path_of.emplace(name, path); !is_new) {
      return usage_error(
          "--data: {} and {} would both be the study '{}'; give one of them another name",
          other->second, path, name);
    }
    searches.push_back(common);
    searches.back().given["study"] = {name};
  }
  return searches;
}

Rows summary_of(const std::vector<SearchSetup>& setups) {
  Rows rows{.columns = {"study", "data", "algorithm", "budget", "training_images"}, .rows = {}};
  for (const auto& [options, preflight] : setups) {
    const StudyConfig& config = options.config;
    rows.rows.push_back({config.study, config.data_path(), config.algorithm.name,
                         to_text(preflight.budget), preflight.data.training});
  }
  return rows;
}

// Runs the studies in turn; where one has only failures, the others may not. Whatever else ends one
// early ends all.
int run_all(const std::vector<SearchSetup>& setups) {
  const AwaitedSignals signals({SIGHUP});  // one that comes between two searches stops the next
  int code = kExitDone;
  for (const SearchSetup& setup : setups) {
    log_info("exploring {} as study {}", setup.options.config.data_path(),
             setup.options.config.study);
    const int one = run_search(setup.options, {},
                               [&](const std::string& study) { end_search(setup.options, study); });
    if (one != kExitDone && one != kExitFailures) return one;
    code = std::max(code, one);
  }
  return code;
}

// Errors (kUsage): the processes of an MPI job can join the workers of one search only.
Result<void> check_alone() {
  const auto place = mpi_place();
  if (!place || place->size == 1) return {};
  return usage_error(
      "explore runs one search after the other and starts their workers itself; leave out mpirun, "
      "and say with --workers how many");
}

Result<int> run_explore(const Arguments& arguments) {
  DETOL_TRY(check_alone());
  DETOL_ASSIGN(const auto searches, searches_of(arguments));
  std::vector<SearchSetup> setups;  // all are checked before the first begins
  for (const Arguments& search : searches) {
    DETOL_ASSIGN(SearchSetup setup, set_up_search(search).map_error([&](Error error) {
      return as_written(std::move(error), search);
    }));
    setup.options.budget = {.limits = setup.preflight.budget};  // of an older study, too
    setups.push_back(std::move(setup));
  }
  if (!arguments.has("dry-run")) return run_all(setups);
  return show(summary_of(setups), arguments.globals);
}

}  // namespace

Command explore_command() {
  return {.name = "explore",
          .summary = "train a designed sample of a space on several data sets",
          .options = with_run_options({
              {"--space", "FILE", "the space file, or the name of a bundled one, such as cnn",
               Option::kRequired},
              {"--data", "PATH...", "the data sets; each is a study, called SPACE-DATA",
               Option::kRequired},
              {"--budget", "B", "for all data sets together; each gets the same share",
               Option::kRequired},
              {"--study", "NAME", "what the studies' names begin with; default: the file's"},
              {"--seed", "S",
               "the same candidates follow from it on every data set; default: that of the space "
               "file, else 0"},
              {"--set", "KEY=VALUE", "change a key of the space file", Option::kRepeated},
              {"--dry-run", "", "check everything, say what would run, create nothing"},
          }),
          .examples =
              "  detol explore --space cnn --data mnist fashion --budget 8cpu-h\n"
              "  detol explore --space table.yaml --data a.csv b.csv --budget 200trials",
          .run = run_explore};
}

}  // namespace detol::inline cli
