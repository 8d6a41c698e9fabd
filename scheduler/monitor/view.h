#pragma once

// View: what a user sees of a study, as a plain struct, and its frame as lines of text: a
// pure function, the same for a running search and for `detol status --watch`.
//
//   fashion-cnn  maximize val_accuracy                     1:31 min elapsed  ETA 4:02 min
//   ━━━━━━━━━━━━━━━━━━━━━╸────────────────────────────────────────  27 %  2.7/10 cpu-min
//
//   best     0.8997  trial 1  41 s ago  optimizer=sgd lr=0.0312 batch_size=64
//   front    3 trials  val_accuracy 0.8210 to 0.8997  latency 0.2100 to 1.8000
//   trials   5 trained  2 running  1 complete  2 pruned
//   devices  utilization 97 %
//
//   trial  worker   epoch  curve      val_accuracy    best  in epoch
//       3  local/0    4/9  ▃▆▇█·····        0.8892  0.8892       6 s
//       4  local/1    1/9  ▁········        0.7541  0.7541       2 s
//
//   ! trial 2: worker killed by signal 9 (2x)
//
// A part that does not fit is left out, the least important first; no line reaches the last
// column.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/terminal.h"
#include "encodings/space/trial.h"
#include "scheduler/budget.h"

namespace detol::inline scheduler {

// A trial that is being trained.
struct ViewTrial {
  TrialId trial = 0;
  std::string worker;
  int epoch = 0;              // reported
  int epochs = 0;             // at full length
  std::vector<double> curve;  // the first objective after each epoch; NaN where it is unknown
  double in_epoch_s = 0;      // since the last report, or since the start
  double started_s = 0;       // on any clock: the latest are shown if not all fit
};

struct ViewBest {
  TrialId trial = 0;
  double value = 0;  // of the first objective
  std::vector<std::pair<std::string, double>> others = {};
  double ago_s = 0;  // since the report
  std::vector<std::pair<std::string, std::string>> params;
};

// The Pareto front of several objectives.
struct ViewFront {
  struct Extent {
    std::string metric;
    double low = 0, high = 0;  // of the trials on the front
  };
  int trials = 0;
  std::vector<Extent> extents;  // one per objective
};

struct ViewCounts {
  int trained = 0;  // started, however they ended; the next five add up to it
  int running = 0;
  int waiting = 0;  // to be resumed
  int complete = 0;
  int pruned = 0;
  int failed = 0;
  int untrained = 0;  // refused, or already known
};

// A line that processes wrote, and how often they did.
struct ViewWarning {
  std::string text;
  int count = 1;
};

struct View {
  std::string study;
  std::vector<Objective> objectives;  // of the study, at least one
  std::string state;                  // "done"; empty while it runs
  std::vector<std::string> notes;     // hints and commands, the most important first
  std::vector<Meter> meters;
  double elapsed_s = 0;
  std::optional<double> left_s;           // at the pace since the first view
  std::optional<double> left_now_s = {};  // at the pace of its last third
  ViewCounts counts;
  std::optional<ViewBest> best;
  std::optional<ViewFront> front = {};  // with several objectives, once there is one
  std::vector<ViewTrial> running;       // by id
  std::optional<double> utilization;    // training / device time
  std::vector<ViewWarning> warnings;    // the latest last
};

// Returns at most screen.rows - 1 lines of at most screen.columns - 1 columns.
std::vector<std::string> render(const View& view, const Screen& screen);

// Returns a text such as "12 s", "4:02 min", "1:31 h" or "2 d 4 h".
std::string duration_text(double seconds);

// Returns a metric in a few digits: "0.8997", "1.23e-07", "nan".
std::string value_text(double value);

}  // namespace detol::inline scheduler
