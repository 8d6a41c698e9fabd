#pragma once

// StudyConfig: a space file, read and checked: the free choices as a Space, everything else
// as plain values, and the decoding of a genome to a network and its recipe. Immutable after
// loading; cheap to copy; safe to share between threads.
//
// docs/space-file.md documents the format.

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.h"
#include "encodings/common/encoding.h"
#include "encodings/network/cost.h"
#include "encodings/network/network.h"
#include "encodings/network/task.h"
#include "encodings/schema/schema.h"
#include "encodings/space/space.h"
#include "encodings/space/trial.h"
#include "encodings/study/command.h"
#include "encodings/study/data_config.h"
#include "encodings/study/function.h"
#include "encodings/study/metric_constraint.h"
#include "encodings/study/recipe.h"
#include "encodings/study/table.h"
#include "encodings/study/target.h"

namespace detol::inline encoding {

// An algorithm's name with its scalar settings: {name: asha, min_resource: 1}.
struct Named {
  std::string name;
  std::map<std::string, std::string> options;  // settings as they are written
};

// Keep: which epoch of a trial its value and its weights are of, `training.keep`.
enum class Keep { kLast, kBest };

struct ResourceConfig {
  int workers = 0;                  // 0: auto
  int group_size = 0;               // 0: auto
  double max_trial_duration_s = 0;  // 0: none
  int attempts = 3;
};

// ExternalConfig: candidates that others evaluate, who ask for them and tell their values.
struct ExternalConfig {
  int steps = 0;  // of a whole trial, as they report them; 0: until it is told
};

// Candidate is a decoded genome, once the data is known. Without a network (has_networks) it has no
// cost. The candidate of a function or a table has one epoch; that of a command, or an external
// one, its steps as epochs.
struct Candidate {
  Network network;
  Recipe recipe;
  Cost cost;
  std::uint64_t arch_hash = 0;
};

// Returns a candidate of another network with the same recipe. Errors (kInput): it is too large to
// count.
Result<Candidate> with_network(Candidate candidate, Network network);

// Inherit: from which trial of the study a trial takes its initial weights, `search.inherit`.
enum class Inherit {
  kNone,
  kParent,   // from the one that it was made from, where its searcher made it so
  kNearest,  // from the one that most of its weights can come from
};

// WarmStart: what a study takes from others of its knowledge base.
struct WarmStart {
  bool is_auto = true;               // from all that fit
  std::vector<std::string> studies;  // else from these; none: it is independent of others
};

class StudyConfig {
 public:
  std::string study;
  std::uint64_t seed = 0;
  std::optional<FunctionConfig> function;  // instead of data and training
  std::optional<TableConfig> table;        // likewise
  std::optional<CommandConfig> command;    // likewise
  std::optional<ExternalConfig> external;  // likewise
  // What a command or whoever asks needs of its networks; nullopt: it has none.
  std::optional<Task> network_task = {};
  DataConfig data;
  std::string encoding;  // architecture.type
  Constraints constraints;
  Space space;
  int max_epochs = 1;         // the largest value training.epochs can take
  double longest_warmup = 0;  // the largest value training.schedule.warmup_epochs can take
  bool deterministic = true;  // training.deterministic
  // training.keep; nullopt: not said, which is the last epoch in a study that was begun so, and the
  // best in a new one (for_new_study).
  std::optional<Keep> keep = {};
  // The shares of the first epoch after which trials also report, ascending (early_reports).
  std::vector<double> early_reports = {};
  std::vector<std::string> precisions = {};  // all that training.precision can be; empty: fp32
  std::vector<Objective> objectives;
  std::vector<MetricConstraint> metric_constraints = {};
  int latency_batch = 0;  // images of the forward pass that is timed; 0: no latency is measured
  std::optional<Target> epochs_target = {};  // of the metric epochs_to_target
  Named algorithm;
  Named pruner;
  std::vector<std::vector<std::pair<std::string, Value>>> initial_trials;  // completed
  WarmStart warm_start;
  Inherit inherit = Inherit::kNone;
  int repeats = 0;
  bool final_choice = true;  // by cross-validation, where the data allow it
  std::string budget;        // as written; empty if absent
  ResourceConfig resources;

  // The places of values that other folders check, for their messages; the file's name alone where
  // a value is missing.
  Place algorithm_at, pruner_at, initial_trials_at, data_format_at, data_path_at, budget_at,
      precision_at;

  // The file with overrides applied and without comments: loading it again gives the same
  // study. The ledger stores this text, and workers receive it.
  std::string text;

  // candidate() returns the network, its recipe and cost, or why it is refused: kInvalid if it
  // cannot be built, kTooLarge if it breaks a constraint. The reason has the numbers.
  struct Refused {
    Cause cause = Cause::kInvalid;
    std::string reason;
    std::optional<Cost> cost = {};  // empty: there is no network to count
  };
  tl::expected<Candidate, Refused> candidate(const Genome& genome, const Task& task) const;

  // False if candidates are looked up or computed: there is nothing to train or to export.
  bool trains() const { return !function && !table && !command && !external; }

  // True if candidates are networks, trained by detol or by others.
  bool has_networks() const { return trains() || network_task.has_value(); }

  // True if whoever evaluates a candidate says when that has ended.
  bool ends_by_itself() const { return command || external; }

  // What scores the candidates of a study that does not train: "function", "table", "command",
  // "external".
  std::string_view scorer() const {
    return table ? "table" : command ? "command" : external ? "external" : "function";
  }

  // Returns the active parameters of a candidate, and those with a single value.
  // REQUIRES: command or external.
  std::vector<std::pair<std::string, Value>> parameters(const Genome& genome) const;

  // Returns the candidate's key in a table: one text per column of table->key, empty where a
  // parameter is inactive. REQUIRES: table.
  std::vector<std::string> table_key(const Genome& genome) const;

  // Returns the file or folder that trials are scored with; empty if there is none.
  const std::string& data_path() const { return table ? table->path : data.path; }

  // Returns the architecture section with every choice made, for `detol trial --arch` and exports;
  // "null" where there is none.
  std::string architecture_json(const Genome& genome) const;

 private:
  friend class StudyLoader;
  // The file, with {"$": name} where a choice stands; null for a function's.
  std::shared_ptr<const nlohmann::json> template_;
};

// Returns the metrics that the study's trials report after every epoch; valid as long as `config`.
std::vector<std::string_view> metric_names(const StudyConfig& config);

// Returns the metrics that whoever evaluates a candidate reports; valid as long as `config`.
std::vector<std::string_view> reported_metrics(const StudyConfig& config);

// Returns the study's initial_trials as genomes. Errors: as Space::genome.
Result<std::vector<Genome>> initial_genomes(const StudyConfig& config);

// Returns whether the metric is an objective of the study, or constrained.
bool weighs(const StudyConfig& config, std::string_view metric);

// The metrics of what a network costs, which trials have where the study weighs them: its trainable
// parameters, the FLOPs of one forward pass of one image, the foreseen bytes of its training, the
// measured seconds of one forward pass of latency_batch images, the seconds that its training took
// so far, and the epochs after which it reached epochs_target.
inline constexpr std::array<std::string_view, 6> kCostMetrics = {
    "params", "flops", "memory", "latency", "train_time", "epochs_to_target"};

// Returns those of kCostMetrics that detol knows of the study's trials by itself: all where it
// trains them, the first two of networks that others train.
std::span<const std::string_view> known_costs(const StudyConfig& config);

// The metric by which trials of a study with metric_constraints report how far they break them.
inline constexpr std::string_view kViolationMetric = "constraint_violation";

// Override: one `--set path=value`; value is YAML.
struct Override {
  std::string path;  // search.algorithm, training.epochs
  std::string value;
};

// Reads, overrides and checks a space file. In the study of a table an override of data.path sets
// table.path. Errors (kInput) start with "<source>:<line>:<column>: "; those of an override
// (kUsage) with "--set <path>: ", with the path as their subject.
Result<StudyConfig> load_study_config(std::string_view yaml, std::string_view source,
                                      const std::vector<Override>& overrides = {});

// Returns the config as a new study records it: it keeps the best epoch unless the file says which.
Result<StudyConfig> for_new_study(const StudyConfig& config);

// Returns the config for a study that was begun with the text `begun_with`: where the file does not
// say which epoch it keeps, the study's own choice.
Result<StudyConfig> for_begun_study(const StudyConfig& config, std::string_view begun_with);

// Reads a file of at most 1 MB as load_study_config does. A relative data.path or table.path is
// resolved against the current folder first, then against the file's; the folder of
// a command is made absolute: the current one, unless the file says another.
Result<StudyConfig> read_study_config(const std::string& path,
                                      const std::vector<Override>& overrides = {});

// Does the same with a text instead of a file; relative paths are of the current folder.
Result<StudyConfig> read_study_text(std::string_view yaml, std::string_view source,
                                    const std::vector<Override>& overrides = {});

// True if a study may have this name, which becomes a folder's: no leading dot, and kStudyNameRule.
bool is_study_name(std::string_view name);
inline constexpr std::string_view kStudyNameRule = "at most 100 letters, digits, '-', '_' and '.'";

}  // namespace detol::inline encoding
