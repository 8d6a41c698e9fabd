#include "tests/chaos/chaos.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "core/clock.h"
#include "knowledge/check.h"
#include "knowledge/query.h"
#include "trainer/checkpoint.h"

namespace detol::testing_support {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPatience = "0.03";
constexpr double kLimitS = 60;  // of one run: more than any time limit, times kPatience
constexpr double kGraceS = 2;   // for processes to be gone
constexpr std::size_t kTrialsWithWeights = 10;  // the best trials
constexpr int kEpochs = 3;                      // of the tiny study
constexpr int kMostResumes = 5;                 // more than any single fault needs

// What a trial of tune() runs. Its last number depends on every step before it. `twice` is there
// once two programs of a trial ran at the same time.
constexpr const char* kProgram = R"(x=$1; step=0; loss=0
[ "$2" = --from ] && read step loss < "$3"
read before < "$DETOL_TRIAL_DIR/pid" && grep -qs program.sh /proc/$before/cmdline && touch twice
echo $$ > "$DETOL_TRIAL_DIR/pid"
while [ $step -lt 4 ]; do
  step=$((step + 1)); loss=$(((loss * 3 + x + step) % 10007))
  echo "$$ train.step" >> "$DETOL_FAULT_TRACE"
  sleep 0.05
  echo "{\"step\": $step, \"loss\": $loss}" >> "$DETOL_REPORT"
  echo $step $loss > "$DETOL_CHECKPOINT.tmp" && mv "$DETOL_CHECKPOINT.tmp" "$DETOL_CHECKPOINT"
done
)";

std::string to_text(const Cell& cell) {
  if (const auto* number = std::get_if<std::int64_t>(&cell)) return std::to_string(*number);
  if (const auto* real = std::get_if<double>(&cell)) return fmt::format("{:a}", *real);
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  return "-";
}

std::string table(Reader& reader, const std::string& sql) {
  const auto rows = reader.select(sql);
  if (!rows) return rows.error().message + "\n";
  std::string text;
  for (const auto& row : rows->rows) {
    for (const Cell& cell : row) text += to_text(cell) + " | ";
    text += "\n";
  }
  return text;
}

// Returns the events of the study `tiny`, which all of these searches run.
std::vector<Event> events_of(const ChaosStudy& study) {
  const auto reader = Reader::open(study.database());
  if (!reader) return {};
  const auto record = (*reader)->study("tiny");
  if (!record) return {};
  return (*reader)->events(record->id).value_or(std::vector<Event>{});
}

using Lines = std::vector<std::string>;

void find_doubles(const std::vector<Event>& events, Lines& broken) {
  std::map<std::pair<TrialId, int>, int> reports;
  std::set<TrialId> complete;
  for (const Event& event : events) {
    if (const auto* reported = std::get_if<event::Reported>(&event)) {
      if (++reports[{reported->trial, reported->epoch}] > 1)
        broken.push_back(fmt::format("epoch {} of trial {} is recorded twice", reported->epoch,
                                     reported->trial));
    } else if (const auto* told = std::get_if<event::Told>(&event)) {
      if (told->state == TrialState::kComplete) complete.insert(told->trial);
    } else if (const auto* started = std::get_if<event::Started>(&event)) {
      if (complete.contains(started->trial))
        broken.push_back(fmt::format("trial {} was finished and started again", started->trial));
    }
  }
}

// Finds epochs that a progress line reported and that are not in the ledger.
void find_lost(const std::vector<Event>& events, const std::string& err, Lines& broken) {
  std::set<std::pair<TrialId, int>> known;
  for (const Event& event : events) {
    if (const auto* reported = std::get_if<event::Reported>(&event))
      known.insert({reported->trial, reported->epoch});
  }
  static const std::regex kReport(R"(\| trial (\d+) epoch (\d+):)");
  for (std::sregex_iterator it(err.begin(), err.end(), kReport), end; it != end; ++it) {
    const auto trial = static_cast<TrialId>(std::stoull((*it)[1]));
    if (!known.contains({trial, std::stoi((*it)[2])}))
      broken.push_back(fmt::format("an acknowledged record is lost: {}", it->str()));
  }
}

void find_differences(const std::string& found, const std::string& expected, Lines& broken) {
  if (found == expected) return;
  std::istringstream left(expected), right(found);
  for (std::string expected_line, found_line;;) {
    const bool more_left = static_cast<bool>(std::getline(left, expected_line));
    const bool more_right = static_cast<bool>(std::getline(right, found_line));
    if (!more_left && !more_right) return;
    if (more_left && more_right && expected_line == found_line) continue;
    broken.push_back(fmt::format("the results differ: '{}', undisturbed '{}'",
                                 more_right ? found_line : "nothing",
                                 more_left ? expected_line : "nothing"));
    return;
  }
}

void find_remains(const ChaosStudy& study, Lines& broken) {
  if (!is_alone(study)) {
    for (const pid_t pid : study.processes())
      broken.push_back(fmt::format("process {} is left", pid));
  }
  for (const std::string& name : listing(study.path())) {
    const fs::path path(name);
    if (path.extension().string().starts_with(".tmp-") || path.extension() == ".new" ||
        name.starts_with("run/"))
      broken.push_back(name + " is left");
  }
}

// Runs the program to its end; the code is 128 + SIGKILL if it had to be killed.
Ran run_to_its_end(const ChaosStudy& study, const std::vector<std::string>& words,
                   const std::vector<std::string>& variables, Lines& broken) {
  Program program(study.path(), words, variables);
  const fs::path mark = study.path() / "mark";
  const bool is_hang = !variables.empty() && variables.front().ends_with(":hang");
  // Nothing but a user ends a supervisor that hangs; here the test does.
  const auto hangs_itself = [&] {
    return is_hang && text_of(mark) == std::to_string(program.pid()) + "\n";
  };
  const double limit_s = system_clock().now_s() + kLimitS;
  while (!program.ends_within(0.2) && !hangs_itself() && system_clock().now_s() < limit_s) {
  }
  if (system_clock().now_s() >= limit_s) broken.push_back("it hung");
  if (!program.ends_within(0)) program.kill_everything();
  return program.wait();
}

bool is_allowed(int code, const std::string& fault) {
  if (code == 0 || code == 75) return true;
  if (fault.ends_with(":kill") || fault.ends_with(":hang")) return code == 128 + SIGKILL;
  if (fault.ends_with(":exit")) return code == 1;
  if (fault.ends_with(":enospc") || fault.ends_with(":eio")) return code == 5;
  return false;
}

// Counts how often the program said that a trial was requeued or promoted.
int losses_in(std::string_view err) {
  int losses = 0;
  for (const std::string_view loss : {" requeued: ", " promoted after "}) {
    for (auto at = err.find(loss); at != err.npos; at = err.find(loss, at + 1)) ++losses;
  }
  return losses;
}

}  // namespace

ChaosStudy::ChaosStudy(int images, const std::string& storage) : storage_(storage) {
  write_idx(path() / "data", {.training = images, .test = 8});
  write_bytes(path() / "tiny.yaml", kTinySpace);
  write_bytes(path() / "program.sh", kProgram);
  fs::create_directory(path() / "run");
}

fs::path ChaosStudy::folder_of(TrialId trial) const {
  return path() / storage_ / "detol.db.d" / "tiny" / std::to_string(trial);
}

std::vector<std::string> ChaosStudy::variables() const {
  return {fmt::format("DETOL_STORAGE={}", database().string()),
          fmt::format("XDG_RUNTIME_DIR={}", (path() / "run").string()),
          fmt::format("DETOL_FAULT_TRACE={}", (path() / "trace").string()),
          fmt::format("DETOL_TEST_PATIENCE={}", kPatience), "DETOL_CUDA_LIBRARY=" DETOL_FAKE_GPU};
}

std::map<pid_t, int> ChaosStudy::visits(std::string_view site) const {
  std::istringstream lines(text_of(path() / "trace"));
  std::map<pid_t, int> counts;
  std::string name;
  for (pid_t pid = 0; lines >> pid >> name;) {
    if (name == site) ++counts[pid];
  }
  return counts;
}

int ChaosStudy::steps() const {
  int sum = 0;
  for (const auto& [pid, count] : visits("train.step")) sum += count;
  return sum;
}

std::vector<pid_t> ChaosStudy::processes() const {
  std::vector<pid_t> found;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const pid_t pid = std::atoi(entry.path().filename().c_str());
    if (pid > 0 && text_of(entry.path() / "environ").find(path().string()) != std::string::npos)
      found.push_back(pid);
  }
  return found;
}

std::string ChaosStudy::results() const {
  const auto reader = Reader::open(database());
  if (!reader) return reader.error().message;
  return table(**reader,
               "SELECT trial, state, failure, reason, algorithm, arch_hash, epochs, value, "
               "values_json, params_json FROM v_trials ORDER BY trial") +
         table(**reader,
               "SELECT trial, epoch, name, value FROM v_metrics ORDER BY trial, epoch, name");
}

std::string ChaosStudy::weights() const {
  std::set<fs::path> folders;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder_of(0).parent_path(), none)) {
    if (entry.is_directory()) folders.insert(entry.path());
  }
  if (folders.size() > kTrialsWithWeights) return "";
  std::string text;
  for (const fs::path& folder : folders) {
    int epoch = kEpochs;
    while (epoch > 0 && !read_checkpoint(folder, epoch)) --epoch;
    text +=
        fmt::format("trial {} has the weights of epoch {}\n", folder.filename().string(), epoch);
  }
  return text;
}

Search search_called(const std::string& name, int workers, int trials, const std::string& algorithm,
                     const std::string& pruner) {
  return {.name = name,
          .words = {"search", "--space", "tiny.yaml", "--workers", std::to_string(workers),
                    "--budget", std::to_string(trials) + "trials", "--algorithm", algorithm,
                    "--pruner", pruner, "--device", "cpu"},
          .trainers = workers};
}

Search one_worker(int trials) {
  Search search = search_called("one_worker", 1, trials, "gp", "none");
  search.words.insert(search.words.end(), {"--set", "search.algorithm.startup=3"});
  return search;
}
Search pausing(int trials) {
  return search_called("pausing", 1, trials, "evolution", "asha");
}
Search two_workers(int trials) {
  return search_called("two_workers", 2, trials, "random", "none");
}
Search group_of_two(int trials) {
  Search search = search_called("group_of_two", 1, trials, "evolution", "none");
  search.words.insert(search.words.end(), {"--group-size", "2"});
  search.trainers = 2;
  return search;
}
Search joined(int trials) {
  Search search = search_called("joined", 0, trials, "random", "none");
  search.resume.insert(search.resume.end(), {"-j", "0"});
  search.trainers = 1;
  search.is_joined = true;
  return search;
}
Search tune(int trials) {
  return {.name = "tune",
          .words = {"tune",
                    "--study",
                    "tiny",
                    "--metric",
                    "loss:minimize",
                    "--param",
                    "x=int(1,1000)",
                    "--budget",
                    std::to_string(trials) + "trials",
                    "--algorithm",
                    "random",
                    "--steps",
                    "4",
                    "--set",
                    "command.resume=[--from, '{trial.checkpoint}']",
                    "-j",
                    "2",
                    "--",
                    "sh",
                    "program.sh",
                    "{x}"},
          .trainers = 2,
          .runs_programs = true,
          .resume = {"resume", "tiny", "-j", "2", "--retry-failed"}};
}

Search timing(int trials) {
  Search search = search_called("timing", 1, trials, "random", "none");
  search.words.back() = "cuda";  // the fake one, whose shapes have several algorithms
  search.words.insert(search.words.end(), {"--set", "training.deterministic=false"});
  search.is_repeatable = false;
  return search;
}

Baseline run_undisturbed(const Search& search, std::string_view site) {
  const ChaosStudy study(search.images);
  Program program(study.path(), search.words, study.variables());
  const Ran ran = program.wait();
  Baseline baseline{search.is_repeatable ? study.results() : "", study.weights(), study.steps()};
  for (const auto& [pid, count] : study.visits(site))
    baseline.visits = std::max(baseline.visits, count);
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(broken_promises(study, baseline, ran.err, 0), Lines{}) << ran.err;
  return baseline;
}

DisturbedRun run_disturbed(const Search& search, const Baseline& baseline,
                           const std::string& fault) {
  const ChaosStudy study(search.images);
  DisturbedRun run;
  const auto go = [&](const std::vector<std::string>& words,
                      const std::vector<std::string>& variables) {
    const Ran ran = run_to_its_end(study, words, variables, run.broken);
    run.codes.push_back(ran.code);
    run.err += ran.err;
    return ran.code;
  };
  const fs::path mark = study.path() / "mark";
  std::vector<std::string> variables = {"DETOL_FAULT=" + fault,
                                        "DETOL_FAULT_MARK=" + mark.string()};
  for (const std::string& variable : study.variables()) variables.push_back(variable);
  int code = go(search.words, variables);
  run.happened = fs::exists(mark);
  if (!is_allowed(code, fault)) run.broken.push_back(fmt::format("exit code {}", code));
  for (int resumes = 0; code != 0 && resumes < kMostResumes; ++resumes) {
    code = go({"resume", "tiny"}, study.variables());
    if (code == 4) code = go(search.words, study.variables());  // the study did not exist yet
    if (code != 0) run.broken.push_back(fmt::format("resume: exit code {}", code));
  }
  // At most one short trial for each time that a worker was lost. On a busy machine a slow worker
  // is lost, too, because kPatience shortens the time limits.
  const int redone = search.steps_to_redo() * std::max(1, losses_in(run.err));
  const Lines more = broken_promises(study, baseline, run.err, redone);
  run.broken.insert(run.broken.end(), more.begin(), more.end());
  return run;
}

bool is_alone(const ChaosStudy& study) {
  const double limit_s = system_clock().now_s() + kGraceS;
  while (!study.processes().empty() && system_clock().now_s() < limit_s) ::usleep(20'000);
  return study.processes().empty();
}

std::vector<std::string> broken_promises(const ChaosStudy& study, const Baseline& baseline,
                                         const std::string& err, int redone) {
  Lines broken;
  find_remains(study, broken);
  if (fs::exists(study.path() / "twice")) broken.push_back("two programs of a trial ran at once");
  const std::vector<Event> events = events_of(study);
  find_doubles(events, broken);
  find_lost(events, err, broken);
  if (const int steps = study.steps(); steps > baseline.steps + redone)
    broken.push_back(fmt::format("{} steps were trained, undisturbed {}", steps, baseline.steps));
  if (!baseline.results.empty()) find_differences(study.results(), baseline.results, broken);
  if (!baseline.weights.empty()) find_differences(study.weights(), baseline.weights, broken);
  const auto problems = check(study.database());
  if (!problems) broken.push_back(problems.error().message);
  if (problems) broken.insert(broken.end(), problems->begin(), problems->end());
  return broken;
}

int number_from(const char* name, int fallback) {
  const char* text = std::getenv(name);
  return text == nullptr ? fallback : std::atoi(text);
}

}  // namespace detol::testing_support
